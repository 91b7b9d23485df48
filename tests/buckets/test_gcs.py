"""Google Cloud Storage, as far as an emulator goes: it takes no notice of conditions (x-goog-if-generation-match)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import ConditionalCreateError, TargetError
from chronozarr_dask.store.listing import names
from chronozarr_dask.store.target import open_target
from tests.encode.test_deterministic import hashes
from tests.encode.test_resume import OPTIONS, make_cube
from tests.services import seaweedfs


@pytest.fixture(scope="module")
def gcs() -> Iterator[dict[str, Any]]:
    """Storage options of an emulator with the bucket "cubes"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks by gRPC, which the emulator does not speak
        emulator = pytest.importorskip("gcp_storage_emulator.server", reason="GCS: there is no emulator")
        port = seaweedfs.free_ports()
        server = emulator.create_server("127.0.0.1", port, in_memory=True, default_bucket="cubes")
        server.start()
        yield {"token": "anon", "endpoint_url": f"http://127.0.0.1:{port}"}
        server.stop()


def test_objects(gcs: dict[str, Any]) -> None:
    target = open_target("gs://cubes/x", gcs)
    assert target.is_empty()
    target.put("k", b"0123456789")
    assert not target.is_empty()
    assert (target.get("k"), target.size("k"), target.tail("k", 4)) == (b"0123456789", 10, (b"6789", 10))
    assert (target.get_range("k", 2, 5), target.get("no"), target.size("no")) == (b"234", None, None)
    target.delete("k")
    target.delete("k")
    assert target.get("k") is None
    with pytest.raises(TargetError, match="no such bucket"):
        open_target("gs://elsewhere/x", gcs).put("k", b"x")


def test_a_name_is_no_pattern(gcs: dict[str, Any]) -> None:
    place, other = open_target("gs://cubes/y[1].run", gcs), open_target("gs://cubes/y1.run", gcs)
    for key in ("staging/a/0", "staging/b", "claim.json"):
        place.put(key, b"x")
        other.put(key, b"x")
    place.delete_prefix("staging")
    assert list(names(place)) == ["claim.json"]
    assert sorted(names(other)) == ["claim.json", "staging/a/0", "staging/b"]
    other.delete_prefix("staging")
    other.delete_prefix("staging")
    assert list(names(other)) == ["claim.json"]


@pytest.mark.parametrize("end", [b"", b"\r", b"\n", b"\r\n", b"\n\r", b"\r\r"])
def test_every_byte_is_stored(end: bytes, gcs: dict[str, Any]) -> None:
    target = open_target("gs://cubes/bytes", gcs)
    target.put("k", bytes(range(256)) + end)
    assert target.get("k") == bytes(range(256)) + end


def test_a_store_that_takes_no_notice_of_conditions_is_refused(gcs: dict[str, Any]) -> None:
    with pytest.raises(ConditionalCreateError, match=r"no conditional create.*--no-claim"):
        czd.encode(make_cube(), "gs://cubes/claimed", storage_options=gcs, **OPTIONS)
    assert open_target("gs://cubes/claimed.run", gcs).is_empty()


def test_without_a_claim_the_store_equals_one_on_disk(gcs: dict[str, Any], tmp_path: Path) -> None:
    cube, options = make_cube(), {**OPTIONS, "shard_time": 3}
    czd.encode(cube, "gs://cubes/s", storage_options=gcs, claim=False, **options)
    czd.encode(cube, tmp_path / "s", **options)
    target = open_target("gs://cubes/s", gcs)
    for key in hashes(tmp_path / "s"):
        assert target.get(key) == (tmp_path / "s" / key).read_bytes(), key
    assert np.array_equal(czd.open_store("gs://cubes/s", storage_options=gcs).read(4), cube.values[4])
    with pytest.raises(TargetError, match="is not empty"):
        czd.encode(cube, "gs://cubes/s", storage_options=gcs, claim=False, **options)
