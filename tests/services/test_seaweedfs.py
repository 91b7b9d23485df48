"""The S3 server is what the other tests take it for."""

import contextlib
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError

from tests.services import seaweedfs

pytestmark = pytest.mark.s3


@pytest.fixture
def client(s3_server):
    with contextlib.closing(s3_server.client()) as client:
        yield client


def status(error):
    return error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_object_comes_back(client, s3_bucket):
    client.put_object(Bucket=s3_bucket, Key="a/b", Body=b"0123456789")
    assert client.get_object(Bucket=s3_bucket, Key="a/b")["Body"].read() == b"0123456789"


@pytest.mark.parametrize(("asked", "given"), [("bytes=2-4", b"234"), ("bytes=-3", b"789")])
def test_ranges(client, s3_bucket, asked, given):
    client.put_object(Bucket=s3_bucket, Key="k", Body=b"0123456789")
    answer = client.get_object(Bucket=s3_bucket, Key="k", Range=asked)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert answer["Body"].read() == given


def test_conditional_create_is_refused_the_second_time(client, s3_bucket):
    client.put_object(Bucket=s3_bucket, Key="claim", Body=b"first", IfNoneMatch="*")
    with pytest.raises(ClientError) as error:
        client.put_object(Bucket=s3_bucket, Key="claim", Body=b"second", IfNoneMatch="*")
    assert status(error) == 412
    assert client.get_object(Bucket=s3_bucket, Key="claim")["Body"].read() == b"first"


def test_wrong_secret_is_refused(s3_server, s3_bucket):
    stranger = s3_server.client(aws_secret_access_key="wrong")
    with contextlib.closing(stranger), pytest.raises(ClientError) as error:
        stranger.put_object(Bucket=s3_bucket, Key="k", Body=b"")
    assert status(error) == 403


def test_presigned_url(client, s3_bucket):
    client.put_object(Bucket=s3_bucket, Key="k", Body=b"signed")
    url = client.generate_presigned_url("get_object", Params={"Bucket": s3_bucket, "Key": "k"})
    with urlopen(Request(url)) as answer:
        assert answer.read() == b"signed"


def test_fsspec_reaches_it(s3_server, s3_bucket):
    import fsspec

    files = fsspec.filesystem("s3", **s3_server.storage_options)
    files.pipe_file(f"{s3_bucket}/a/b", b"xyz")
    assert files.cat_file(f"{s3_bucket}/a/b", start=1, end=3) == b"yz"
    assert files.find(s3_bucket) == [f"{s3_bucket}/a/b"]


def test_listens_on_loopback_only_and_sends_no_telemetry(s3_server):
    command = Path(f"/proc/{s3_server.pid}/cmdline")
    if not command.exists():
        pytest.skip("process arguments: there is no /proc on this system")
    arguments = command.read_text().split("\0")
    assert "-master.telemetry=false" in arguments
    assert "-ip.bind=127.0.0.1" in arguments


def test_server_dies_with_the_process_that_started_it(s3_server, tmp_path):
    """However that goes: killed, here."""
    script = (
        "import os; from tests.services import seaweedfs; started = seaweedfs.running(); server = started.__enter__(); "
        "print(server.pid, server.endpoint.split(':')[-1], flush=True); os.kill(os.getpid(), 9)"
    )
    repo = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=repo,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    pid, port = map(int, done.stdout.split())
    seaweedfs.remove_sockets(port)
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail(f"the server, pid {pid}, is still there")


def test_a_machine_without_the_program_is_told_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(seaweedfs.NotInstalledError, match="S3 server: the `weed` program is not installed"):
        seaweedfs.program()
