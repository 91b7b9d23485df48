"""A headless Chromium for tests of pages: the Debian package ``chromium``, driven by playwright.

Nothing is downloaded: where there is no browser on this machine, tests are skipped by name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")


class NotInstalledError(Exception):
    """There is no browser on this machine."""


def program() -> str:
    """Path of the browser; NotInstalledError names what to install."""
    for name in NAMES:
        if (path := shutil.which(name)) is not None:
            return path
    raise NotInstalledError("browser: there is no chromium on this machine; apt-get install chromium")


@dataclass
class Opened:
    """A page that is open, and what went on in it.

    Attributes
    ----------
    page : Page
    requests : list of str
        URLs that it asked for, beside its own.
    said : list of str
        Errors and warnings of its console, and errors of its scripts.
    """

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def figure(self, name: str) -> Any:
        """What an element of the page says under the name of a figure."""
        return self.page.locator(f"[data-figure={name}]").first


@contextmanager
def running() -> Iterator[Browser]:
    """The browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, width: int = 1280) -> Iterator[Opened]:
    """A page from a file, in a context of its own; its player, where it has one, is ready."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    found = Opened(page)
    url = path.as_uri()
    page.on("request", lambda r: found.requests.append(r.url) if r.url != url and r.url[:5] != "data:" else None)
    page.on("console", lambda m: found.said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.said.append(str(error)))
    try:
        page.goto(url)
        if page.locator("#player-data").count():
            page.wait_for_selector("#stage:not([hidden])")
        yield found
    finally:
        context.close()
