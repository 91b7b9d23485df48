"""A local cluster: its size, its thread limits, TLS."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import LocalCluster
from distributed.security import Security

from chronozarr_dask.errors import InputError
from chronozarr_dask.run.clients import connected
from chronozarr_dask.run.local import GDAL_CACHE_MB, ONE_THREAD, local_client, worker_environment

pytestmark = pytest.mark.cluster


def limits() -> dict[str, Any]:
    """What the libraries of a worker hold to, asked of themselves."""
    import multiprocessing
    import signal

    import numba
    import numcodecs.blosc
    import rasterio._env
    import zarr

    import chronozarr_dask.store.compress  # noqa: F401  as every task of a region does

    gdal = ctypes.CDLL(rasterio._env.__file__)  # GDAL itself is among what it is linked with
    gdal.GDALGetCacheMax64.restype = ctypes.c_longlong
    return {
        "environment": {name: os.environ.get(name) for name in ONE_THREAD},
        "blosc": numcodecs.blosc.use_threads,
        "numba": numba.get_num_threads(),
        "zarr": zarr.config.get("threading.max_workers"),
        "gdal cache": gdal.GDALGetCacheMax64(),
        "start": multiprocessing.get_start_method(allow_none=True),
        "ignored": [signal.getsignal(s) is signal.SIG_IGN for s in (signal.SIGINT, signal.SIGTERM)],
    }


def test_the_threads_of_a_worker_are_dasks_and_no_library_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {*worker_environment(1), "PYTHONHASHSEED"}
    for name in names:
        monkeypatch.delenv(name, raising=False)  # what the user has set there counts
    before = {name: os.environ.get(name) for name in names}
    with local_client(workers=1, threads=1):
        pass
    assert {name: os.environ.get(name) for name in names} == before, "the next cluster has threads of its own"
    with local_client(workers=1, threads=2, memory=2**30) as client:
        (info,) = client.scheduler_info(n_workers=-1)["workers"].values()
        assert (info["nthreads"], info["memory_limit"]) == (2, 2**30)
        (found,) = client.run(limits).values()
    assert found["environment"] == dict.fromkeys(ONE_THREAD, "1")
    assert found["blosc"] is False
    assert found["numba"] == 1
    assert found["zarr"] == 2
    assert found["gdal cache"] == GDAL_CACHE_MB * 2**20
    assert found["ignored"] == [True, True]


def test_tls_by_the_certificates_of_dasks_configuration(tmp_path: Path) -> None:
    security = Security.temporary()
    names = {"ca-file": security.tls_ca_file, "client.cert": security.tls_client_cert}
    names["client.key"] = security.tls_client_key
    how: dict[str, Any] = {"processes": False, "dashboard_address": ":0", "protocol": "tls://", "silence_logs": 60}
    with LocalCluster(n_workers=1, threads_per_worker=1, security=security, **how) as cluster:
        at = cluster.scheduler_address
        assert at.startswith("tls://")
        with pytest.raises(InputError, match=r"needs certificates, and distributed\.comm\.tls\.ca-file .* is not set"):
            refused(at)
        config = {}
        for name, text in names.items():
            (tmp_path / name).write_text(text)
            config[f"distributed.comm.tls.{name}"] = str(tmp_path / name)
        with dask.config.set(config), connected(at) as client:
            assert client.submit(sum, [1, 2]).result() == 3
        other = Security.temporary()
        (tmp_path / "ca-file").write_text(other.tls_ca_file)
        with dask.config.set(config), pytest.raises(InputError, match="no Dask scheduler answers at tls://"):
            refused(at)
        missing = config | {"distributed.comm.tls.client.key": str(tmp_path / "nowhere")}
        with dask.config.set(missing), pytest.raises(InputError, match=r"TLS__CLIENT__KEY"):
            refused(at)


def refused(address: str) -> None:
    with connected(address):
        raise AssertionError("it was let in")
