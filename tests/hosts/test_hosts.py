"""Several hosts: workers and clients are cut off or switched off in the middle of a run, and the store is the same.

Scheduler, three workers, S3, and client each have a network namespace and an address of their own. The bucket keeps
versions, so each PUT that came to its end is counted by the server itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from tests.chaos.keys import read_plan, region_of_keys
from tests.encode import cubes
from tests.services import hosts
from tests.services.hosts import Rack, wait_for
from tests.services.seaweedfs import NotInstalledError

pytestmark = [pytest.mark.timeout(1500), pytest.mark.cluster, pytest.mark.s3, pytest.mark.slow]

BUCKET = "hosts"
N_BEFORE = 5
"""Receipts before a host is lost."""

IN_FLIGHT = 2
"""Regions that a worker of one thread holds at most: one that it works on, and one that waits there."""


@pytest.fixture(scope="module")
def rack() -> Iterator[Rack]:
    try:
        hosts.check_installed()
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    with hosts.rack(3) as made:
        yield made


class Transcript:
    """What happened when, as a person would note it down; a file of the environment's CZ_TRANSCRIPT keeps it."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        """Note a line."""
        self.lines.append(f"{time.monotonic() - self.begun:6.1f} s  {text}")
        print(self.lines[-1])

    def keep(self) -> None:
        """Append it to the file, if one is named."""
        if path := os.environ.get("CZ_TRANSCRIPT"):
            with Path(path).open("a") as file:
                file.write("".join(f"{line}\n" for line in [*self.lines, ""]))


@dataclass(frozen=True)
class Bucket:
    """The bucket, seen from the S3 host."""

    rack: Rack

    def _call(self, do: Any) -> Any:
        s3 = self.rack.s3
        return self.rack.hosts.hosts["s3"].call(lambda: do(s3.client()))

    def fill(self, folder: Path, prefix: str) -> None:
        """Create the bucket, which keeps versions, and put a folder into it."""

        def do(client: Any) -> None:
            client.create_bucket(Bucket=BUCKET)
            client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
            for key, data in cubes.objects(folder).items():
                client.put_object(Bucket=BUCKET, Key=f"{prefix}/{key}", Body=data)

        self._call(do)

    def keys(self, prefix: str) -> list[str]:
        """Keys under a prefix, without it."""

        def do(client: Any) -> list[str]:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
            return [o["Key"].removeprefix(f"{prefix}/") for page in pages for o in page.get("Contents", ())]

        out: list[str] = self._call(do)
        return out

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Objects under a prefix."""
        keys = self.keys(prefix)

        def do(client: Any) -> dict[str, bytes]:
            def get(key: str) -> bytes:
                data: bytes = client.get_object(Bucket=BUCKET, Key=f"{prefix}/{key}")["Body"].read()
                return data

            with ThreadPoolExecutor(8) as pool:  # its threads are on the same host as this one
                return dict(zip(keys, pool.map(get, keys), strict=True))

        out: dict[str, bytes] = self._call(do)
        return out

    def puts(self, prefix: str) -> Counter[str]:
        """How often each key under a prefix was put."""

        def do(client: Any) -> Counter[str]:
            pages = client.get_paginator("list_object_versions").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
            return Counter(v["Key"].removeprefix(f"{prefix}/") for page in pages for v in page.get("Versions", ()))

        out: Counter[str] = self._call(do)
        return out

    def receipts(self, target: str) -> set[str]:
        """Names of the regions of a run that have receipts."""
        return set(self.keys(f"{target}.run/receipts"))


def encode(rack: Rack, target: str, *words: str, host: str = "client") -> subprocess.Popen[bytes]:
    endpoint = f"endpoint_url={rack.s3.endpoint}"
    storage = ("--storage-option", endpoint, "--source-option", endpoint)
    shape = ("--chunk-size", "32", "--region-cells", "2", "--levels", "3", "--encoding", "star-delta", "--quiet")
    places = (f"s3://{BUCKET}/cube.zarr", f"s3://{BUCKET}/{target}")
    return rack.client(target, "encode", *places, *storage, *shape, *words, "--scheduler", rack.scheduler, host=host)


def ended(rack: Rack, process: subprocess.Popen[bytes], target: str, host: str = "client") -> None:
    code = process.wait(1000)
    said = rack.hosts.hosts[host].log(target).read_text()
    assert code == 0, said[-3000:] + rack.hosts.hosts["scheduler"].log("scheduler").read_text()[-3000:]


@pytest.fixture(scope="module")
def bucket(rack: Rack, tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    """The source in the bucket, and the store of a run that nobody disturbed under ``quiet``."""
    out = Bucket(rack)
    source = tmp_path_factory.mktemp("source") / "cube.zarr"
    cube: xr.DataArray = cubes.cube("uint16", (9, 2, 260, 230))
    cube.chunk({"time": 3, "y": 64, "x": 64}).to_dataset(name="data").to_zarr(source, zarr_format=2)
    out.fill(source, "cube.zarr")
    log = rack.hosts.hosts["scheduler"].log("scheduler")
    wait_for("every worker", lambda: log.read_text().count("Register worker") >= 3, 200)
    ended(rack, encode(rack, "quiet"), "quiet")
    return out


def test_a_worker_is_cut_off_and_another_is_switched_off(rack: Rack, bucket: Bucket) -> None:
    note = Transcript()
    once = bucket.puts("quiet")
    regions = region_of_keys(read_plan(bucket.objects("quiet.run")["plan.json"]))
    assert set(once.values()) == {1}, "a run without faults stores each object once"
    note(f"undisturbed: {len(once)} objects of {len(set(regions.values()))} regions, each put once")

    process = encode(rack, "disturbed")
    note("begun on " + ", ".join(f"{w.name} {w.address}" for w in rack.workers) + f"; client {hosts.NET}.11")
    wait_for("a few receipts", lambda: len(bucket.receipts("disturbed")) >= N_BEFORE, 300)
    cut, killed, _ = rack.workers
    cut.cut()
    note(f"{cut.name}: cable out")
    pids = killed.pids()
    killed.kill()
    done, stored = bucket.receipts("disturbed"), bucket.keys("disturbed")
    assert process.poll() is None, "it must be running when the hosts are lost"
    assert "zarr.json" not in stored
    begun = {regions[key] for key in stored} - done
    note(f"{killed.name}: kill -9 of {len(pids)} processes; {len(done)} receipts, {len(begun)} regions stored in part")
    ended(rack, process, "disturbed")
    note("the client ended with exit code 0")

    assert bucket.objects("disturbed") == bucket.objects("quiet")
    assert bucket.puts("disturbed.run")["heartbeat.json"] > 1, "what is put twice is counted twice"
    twice = {key: n - 1 for key, n in bucket.puts("disturbed").items() if n > 1}
    redone = {regions[key] for key in twice}
    note(f"byte-equal; put twice: {sum(twice.values())} objects, of the regions {', '.join(sorted(redone)) or '-'}")
    assert set(twice) <= set(regions), "nothing of the commit is written twice"
    assert len(redone & done) <= 2, "what has a receipt is not done again, unless its host was lost before it said so"
    assert len(redone) <= 2 * IN_FLIGHT, "at most what the two hosts held is done twice"
    log = rack.hosts.hosts["scheduler"].log("scheduler").read_text()
    for line in log.splitlines():
        if "emove worker" in line or "losing" in line or "did not" in line:
            note(f"scheduler: {line[:150]}")
    cut.mend()
    note.keep()


def test_a_client_is_cut_off_and_another_host_takes_the_run_over(rack: Rack, bucket: Bucket) -> None:
    """Its process lives, and nobody can ask it: a resume elsewhere watches its heartbeat, and takes the run over."""
    note = Transcript()
    first = encode(rack, "left")
    wait_for("a few receipts", lambda: len(bucket.receipts("left")) >= N_BEFORE, 300)
    client = rack.hosts.hosts["client"]
    client.cut()
    assert first.poll() is None
    note("client: cable out")

    second = encode(rack, "left", "--resume", host="client2")
    ended(rack, second, "left", host="client2")
    claims = [json.loads(bucket.objects("left.run")[key]) for key in ("claim.json", "claim.2.json")]
    assert claims[0]["token"] != claims[1]["token"]
    note("another host took the run over, and ended with exit code 0")
    assert bucket.objects("left") == bucket.objects("quiet")
    puts = bucket.puts("left")

    client.mend()
    code = first.wait(400)
    said = client.log("left").read_text()
    note(f"client: cable back; its process ended with exit code {code}: {' '.join(said.split())[-200:]}")
    assert code == 1
    assert bucket.puts("left") == puts, "it writes nothing more"
    assert bucket.objects("left") == bucket.objects("quiet")
    note.keep()
