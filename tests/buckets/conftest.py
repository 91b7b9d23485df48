"""The S3 server by way of a proxy that makes trouble; one for all tests, since each new endpoint is a new client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chronozarr_dask.store import retries
from tests.services.proxy import Proxy
from tests.services.seaweedfs import S3Server


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "WAIT", 0.002)


@pytest.fixture(scope="session")
def way(s3_server: S3Server) -> Iterator[Proxy]:
    """The proxy."""
    with Proxy(s3_server.endpoint) as proxy:
        yield proxy


@pytest.fixture
def proxy(way: Proxy) -> Iterator[Proxy]:
    """The proxy, calm and with nothing counted."""
    way.calm()
    yield way
    way.calm()


@pytest.fixture
def options(proxy: Proxy, s3_server: S3Server) -> dict[str, Any]:
    """Storage options by way of the proxy."""
    return proxy.options(s3_server)
