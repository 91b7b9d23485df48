"""The page as a browser shows it: its figures are those of report.json, the player's values those of the store."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chronozarr_dask as czd
from chronozarr_dask.errors import InputError
from chronozarr_dask.store.reader import open_store
from tests.encode import cubes
from tests.report.made import HOSTILE, SHAPE, encoded, page_of, report_of
from tests.services.browser import Opened, opened

STORES: dict[str, tuple[str, str, tuple[str, ...], Any]] = {
    "uint16": ("uint16", "star-delta", ("coverage",), {}),
    "uint8": ("uint8", "star-delta", ("mask",), {}),
    "none": ("uint16", "none", (), {"nodata": None}),
    "int16": ("int16", "none", ("coverage", "mask"), {"nodata": -3700}),
    "float32": ("float32", "none", (), {"nodata": 0.1}),
}


@pytest.fixture(scope="module", params=STORES)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[Any]:
    """A store and its page, open."""
    dtype, encoding, planes, options = STORES[request.param]
    path = encoded(tmp_path_factory.mktemp("page") / "s.cz", dtype, encoding, planes=planes, **options)
    with opened(chromium, page_of(path)) as page:
        yield path, page


def value_of(page: Opened, name: str) -> Any:
    return page.page.evaluate("name => JSON.parse(document.querySelector(`[data-figure=${name}]`).dataset.value)", name)


def test_frames_are_the_values_of_the_store(shown: tuple[Path, Opened]) -> None:
    path, page = shown
    store = open_store(path)
    assert page.page.evaluate("JSON.parse(document.getElementById('player-data').textContent).levels.length") == 3
    for k in range(3):
        level = 2 - k
        for t in (0, 1, 3, 4, 5, SHAPE[0] - 1):
            frame = page.page.evaluate("([k, t]) => document.getElementById('stage').frame(k, t)", [k, t])
            expected = store.read(t, level)
            assert np.array(frame, expected.dtype).tobytes() == expected.tobytes(), (level, t)
            assert frame == expected.ravel().tolist()


def test_a_click_shows_the_stored_value(shown: tuple[Path, Opened]) -> None:
    path, page = shown
    store = open_store(path)
    page.page.select_option("#level", "0")
    page.page.locator("#time").focus()
    page.page.keyboard.press("Home")
    page.page.keyboard.press("ArrowRight")
    box = page.page.locator("#canvas").bounding_box()
    height, width = store.levels[2].shape[2:]
    assert box is not None
    at = {"x": box["width"] * (7 + 0.5) / width, "y": box["height"] * (3 + 0.5) / height}
    page.page.locator("#canvas").click(position=at)
    told = page.page.locator("#readout").inner_text()
    assert "2023-12-01, row 3, column 7" in told
    for band, value in enumerate(store.read(1, 2)[:, 3, 7].tolist()):
        found = re.search(rf"B{band:02} (\S+?)(,| |$)", told)
        assert found is not None
        assert float(found[1]) == value
    counts = store.read_coverage(1, 2)
    if counts is not None:
        assert f"coverage {counts[3, 7]}" in told
    assert page.page.locator("#series svg").count() == 1


def test_figures_are_those_of_the_report(shown: tuple[Path, Opened]) -> None:
    path, page = shown
    doc = report_of(path)
    assert page.figure("status").inner_text() == "complete"
    assert value_of(page, "stored_bytes") == doc["stored_bytes"]
    assert value_of(page, "regions_done") == doc["regions_done"]
    assert value_of(page, "n_time") == doc["store"]["times"]["n"]
    assert value_of(page, "size") == [doc["store"]["shape"]["x"], doc["store"]["shape"]["y"]]
    assert value_of(page, "volatility_most") == doc["seen"]["volatility"]["most"]
    for level in "012":
        for name, figures in (("bytes", doc["bytes_by_level"]), ("objects", doc["objects_by_level"])):
            cell = page.page.locator(f"tr[data-level='{level}'] td[data-of={name}]").inner_text()
            assert int(cell.replace(",", "")) == figures[level]
    rects = page.page.locator(".heat rect title")
    first = doc["seen"]["observations"]["means"][0][0][0]
    shown_as = f"{first * 100:.1f} %" if doc["seen"]["observations"]["of"] == "valid" else f"{first:.2f}"
    assert rects.count() == SHAPE[0] * 16
    number = shown_as.removesuffix(" %").rstrip("0").rstrip(".")
    assert rects.first.text_content() == f"A1, 2023-11-01: {number or 0}{' %' if shown_as[-1] == '%' else ''}"


def test_the_page_asks_nothing_says_nothing_and_fits_a_narrow_window(shown: tuple[Path, Opened]) -> None:
    _, page = shown
    assert (page.requests, page.said) == ([], [])
    page.page.set_viewport_size({"width": 380, "height": 800})
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 380
    page.page.set_viewport_size({"width": 1280, "height": 900})


def test_keys_move_through_time(shown: tuple[Path, Opened]) -> None:
    _, page = shown
    page.page.locator("#stage").focus()
    now = page.page.locator("#now")
    page.page.keyboard.press("Home")
    assert now.inner_text().startswith("2023-11-01")
    page.page.keyboard.press("ArrowLeft")
    assert now.inner_text().startswith("2024-06-01"), "around the end"
    page.page.keyboard.press("Space")
    assert page.page.locator("#play").inner_text() == "Pause"
    page.page.keyboard.press("Space")
    assert page.page.locator("#play").get_attribute("aria-pressed") == "false"


def test_hostile_texts_are_texts(tmp_path: Path, chromium: Any) -> None:
    notes = {"sources": [HOSTILE], "composite": "x", "gap_fill": "none", "notes": HOSTILE}
    bands = [czd.Band(HOSTILE, "red"), czd.Band("b", units=HOSTILE)]
    czd.encode(cubes.cube(shape=SHAPE), tmp_path / "s", chunk_size=16, bands=bands, provenance=notes)
    with opened(chromium, page_of(tmp_path / "s")) as page:
        page.page.locator("#canvas").click()
        assert page.page.locator("img[src=x]").count() == 0
        assert "hacked" not in page.page.title()
        assert HOSTILE in page.page.locator("#band option").first.inner_text()
        assert HOSTILE in page.page.locator("#readout").inner_text()
        assert HOSTILE in page.page.locator("#store").inner_text()
        assert (page.requests, page.said) == ([], [])


def test_a_failed_run_has_a_page(tmp_path: Path, chromium: Any) -> None:
    broken = cubes.cube("float32", SHAPE)
    broken.values[3, 0, 5, 5] = np.nan
    with pytest.raises(InputError, match="NaN"):
        czd.encode(broken, tmp_path / "s", chunk_size=16, encoding="none")
    with opened(chromium, page_of(tmp_path / "s"), width=380) as page:
        assert page.figure("status").inner_text() == "failed"
        assert page.figure("error").inner_text() == report_of(tmp_path / "s")["error"]
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 380
        assert (page.requests, page.said) == ([], [])


def test_one_timestep_and_one_pixel(tmp_path: Path, chromium: Any) -> None:
    one = cubes.as_cube(np.full((1, 1, 1, 1), 7, np.uint8)).assign_attrs(transform=(10, 0, 500_000, 0, -10, 5_000_000))
    czd.encode(one, tmp_path / "s", chunk_size=16)
    shutil.copy(page_of(tmp_path / "s"), tmp_path / "page.html")
    with opened(chromium, tmp_path / "page.html") as page:
        page.page.locator("#canvas").click()
        assert "B00 7" in page.page.locator("#readout").inner_text()
        assert page.said == []
