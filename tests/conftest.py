"""What all tests share: services, real data, and the rule that a skip has a name (and in CI is a failure)."""

import os

# Two cores, several processes: numeric libraries that each start their own threads only get in each other's way.
# Set before numpy is imported, and inherited by worker processes.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.services import seaweedfs

REPO = Path(__file__).resolve().parent.parent
FORBID_SKIPS = "CZ_FORBID_SKIPS"

# In CI the same examples every time; elsewhere new ones. No deadline: a machine under load is not a bug.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "default")


# ---- skips ---------------------------------------------------------------------------------------------------------


def _forbid(report: Any) -> Any:
    """Turn a skip into a failure when CZ_FORBID_SKIPS=1."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(FORBID_SKIPS) == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{FORBID_SKIPS}=1 forbids this skip. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _forbid((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _forbid((yield))


# ---- environment ---------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def _environment() -> Iterator[None]:
    """Each file begins with the same environment: Dask's nannies leave settings of theirs, of the allocator too."""
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]
    os.environ.update(before)


# ---- services and data ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def s3_server() -> Iterator[seaweedfs.S3Server]:
    """A real S3 server: ``endpoint``, ``key``, ``secret``, ``storage_options``, ``client()``, ``new_bucket()``."""
    try:
        seaweedfs.program()
    except seaweedfs.NotInstalledError as missing:
        pytest.skip(str(missing))
    with seaweedfs.running() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: seaweedfs.S3Server) -> str:
    """The name of a fresh, empty bucket on the S3 server."""
    return s3_server.new_bucket()


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real scenes and cubes, ``shared/realdata`` beside the checkout."""
    folder = REPO.parent / "shared" / "realdata"
    if not folder.is_dir():
        pytest.skip("real data: there is no folder shared/realdata beside the checkout")
    return folder
