"""What a region needs, as numbers that are known before the run."""

from __future__ import annotations

import pytest

from chronozarr_dask.format.layout import Layout
from chronozarr_dask.plan.memory import PixelBytes, does_not_fit, human, region_bytes

LAYOUT = Layout(12, 4, 4096, 4096, 512, 4)
PIXEL = PixelBytes(data=8, planes=2)


def test_level_0_and_a_third_more_and_one_cell_in_hand():
    level_0 = 12 * 1024 * 1024 * 10
    in_hand = 12 * 1.5 * 512**2 * 8
    assert region_bytes(LAYOUT, PIXEL, (2, 2), 12, assembled=False) == int(level_0 * 4 / 3 + in_hand)
    assert region_bytes(LAYOUT, PIXEL, (2, 2), 12, assembled=True) == int(level_0 * 2 + in_hand)


def test_a_region_is_not_larger_than_the_raster():
    small = Layout(12, 4, 100, 4096, 512, 4)
    assert region_bytes(small, PIXEL, (4, 4), 1, assembled=True) == int(100 * 2048 * 10 * 2 + 1.5 * 512**2 * 8)


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (512 * 2**20, "512.0 MiB"), (2**45, "32.0 TiB")]
)
def test_bytes_for_a_person(n: int, text: str):
    assert human(n) == text


def test_what_does_not_fit_names_both_numbers_and_the_options():
    text = str(does_not_fit(int(9.4 * 2**30), 4 * 2**30, "a region of 4 x 4 cells"))
    assert text.endswith("or set chunk_size, shard_time or anchor_interval lower")
    for part in ("a region of 4 x 4 cells", "9.4 GiB", "4.0 GiB", "memory", "chunk_size"):
        assert part in text


def test_options_that_were_named_are_the_first_to_be_lowered() -> None:
    text = str(does_not_fit(2, 1, "a region", ("region_cells", "time_slab")))
    assert text.endswith("or set region_cells, time_slab, chunk_size, shard_time or anchor_interval lower")
