"""One browser for all tests of pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless browser."""
    try:
        browser.program()
    except browser.NotInstalledError as missing:
        pytest.skip(str(missing))
    with browser.running() as program:
        yield program
