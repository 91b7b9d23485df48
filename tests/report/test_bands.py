"""A band shows what it has, however little that is, and whether or not the others have anything there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import chronozarr_dask as czd
from tests.encode import cubes
from tests.report.made import page_of
from tests.services.browser import Opened, opened

COLOURS = [czd.Band(name, name) for name in ("red", "green", "blue")]
DRAWN = """([x, y]) => {
  const from = document.getElementById("canvas"), copy = new OffscreenCanvas(from.width, from.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(from, 0, 0);
  return Array.from(context.getImageData(x, y, 1, 1).data);
}"""


def encode(values: Any, store: Path, **how: Any) -> Path:
    czd.encode(cubes.as_cube(values), store, chunk_size=16, encoding="none", levels=1, **how)
    return store


def pixel(page: Opened, x: int, y: int) -> list[int]:
    """Red, green, blue and alpha of a pixel of the canvas."""
    return list(page.page.evaluate(DRAWN, [x, y]))


def test_red_alone_where_no_pixel_has_all_three(tmp_path: Path, chromium: Any) -> None:
    values = np.zeros((2, 3, 8, 8), np.uint16)
    values[:, 0, :4] = 100  # red in the north, green and blue in the south
    values[:, 0, 0, 0] = 300
    values[:, 1:, 4:] = 50
    with opened(chromium, page_of(encode(values, tmp_path / "s", bands=COLOURS))) as page:
        assert page.page.locator("#now").inner_text().endswith("no valid pixel")
        page.page.select_option("#band", "0")
        assert "no valid pixel" not in page.page.locator("#now").inner_text()
        assert [pixel(page, 0, 0)[3], pixel(page, 1, 1)[3], pixel(page, 1, 6)[3]] == [255, 255, 0]
        assert pixel(page, 0, 0)[0] > pixel(page, 1, 1)[0]
        page.page.select_option("#band", "1")
        assert [pixel(page, 1, 1)[3], pixel(page, 1, 6)[3]] == [0, 255]
        page.page.select_option("#band", "colour")
        assert pixel(page, 1, 1)[3] == 0
        assert page.said == []


def test_a_band_of_two_pixels_that_a_sample_misses(tmp_path: Path, chromium: Any) -> None:
    values = np.zeros((4, 4, 200, 200), np.uint16)  # 160,000 pixels of a band, of which every third is looked at
    values[:, :3] = 9
    values[1, 3, 0, [12, 15]] = 1000, 3000  # at 40,012 and 40,015
    bands = [*COLOURS, czd.Band("sparse")]
    with opened(chromium, page_of(encode(values, tmp_path / "s", bands=bands))) as page:
        page.page.select_option("#band", "3")
        page.page.locator("#stage").focus()
        page.page.keyboard.press("Home")
        page.page.keyboard.press("ArrowRight")
        assert [pixel(page, x, 0) for x in (12, 15)] == [[0, 0, 0, 255], [255, 255, 255, 255]]
        assert page.said == []


def test_a_band_of_nothing(tmp_path: Path, chromium: Any) -> None:
    values = np.full((2, 2, 8, 8), 5, np.uint16)
    values[:, 1] = 0
    with opened(chromium, page_of(encode(values, tmp_path / "s"))) as page:
        page.page.select_option("#band", "1")
        assert page.page.locator("#now").inner_text().endswith("no valid pixel")
        page.page.select_option("#band", "0")
        assert pixel(page, 1, 1)[3] == 255
        assert page.said == []
