"""Photograph the report of the demo for the README: ``python -m scripts.picture``, after ``make demo``.

Needs Chromium. What is shown is the page from its looks to the end of its player, with a pixel chosen.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PAGE = Path("build/demo/store.czarr.run/report.html")
PICTURE = Path("notebooks/report.png")
WIDTH, COLOURS, MARGIN = 1100, 256, 4


def main(page: Path = PAGE, picture: Path = PICTURE) -> None:
    """Write the picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 1400}, device_scale_factor=1.4)
        tab.goto(page.resolve().as_uri())
        tab.wait_for_function("document.fonts.ready.then(() => true)")
        picture_of_player = tab.locator("#player canvas").first
        size = picture_of_player.bounding_box()
        assert size, "the page has no player"
        picture_of_player.click(position={"x": size["width"] * 0.3, "y": size["height"] * 0.35})
        tab.wait_for_timeout(500)
        boxes = [tab.locator(f"#{name}").bounding_box() for name in ("looks", "player")]
        assert all(boxes), "the page has no looks or no player"
        top, bottom = boxes[0]["y"], boxes[1]["y"] + boxes[1]["height"]  # type: ignore[index]
        shot = tab.screenshot(
            full_page=True, clip={"x": MARGIN, "y": top, "width": WIDTH - 2 * MARGIN, "height": bottom - top}
        )
        browser.close()
    image = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1)
    image.save(picture, optimize=True)
    print(f"{picture}: {image.width} x {image.height}, {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
