"""Tiles of one pass."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.composite.mosaic import group_passes, merge_tile
from chronozarr_dask.kernels.select import first_valid_numpy
from tests.format.strategies import dtypes
from tests.kernels import observed


def test_the_first_valid_tile_stays() -> None:
    bands, valid = np.full((1, 1, 4), 9, np.uint16), np.zeros((1, 4), np.uint8)
    merge_tile(bands, valid, np.array([[[1, 2, 3, 4]]], np.uint16), np.array([[1, 0, 0, 0]], np.uint8))
    merge_tile(bands, valid, np.array([[[5, 6, 7, 8]]], np.uint16), np.array([[1, 1, 0, 0]], np.uint8))
    merge_tile(bands, valid, np.array([[[0, 0, 30, 40]]], np.uint16), np.array([[1, 1, 1, 0]], np.uint8))
    assert bands.tolist() == [[[1, 6, 30, 9]]]
    assert valid.tolist() == [[1, 1, 1, 0]]


def test_a_tile_of_a_part_of_the_region() -> None:
    bands, valid = np.zeros((2, 3, 4), np.uint16), np.zeros((3, 4), np.uint8)
    part = (slice(1, 3), slice(2, 4))
    merge_tile(bands[(slice(None), *part)], valid[part], np.full((2, 2, 2), 7, np.uint16), np.eye(2, dtype=np.uint8))
    assert valid.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert np.array_equal(bands, np.stack([valid * 7] * 2))


@given(st.data(), dtypes)
def test_merging_equals_the_first_valid_of_a_stack(draw: st.DataObject, dtype: str) -> None:
    stack, flags = draw.draw(observed.observations(dtype))
    bands, valid = np.full(stack.shape[1:], 3, dtype), np.zeros(flags.shape[1:], np.uint8)
    for tile, tile_valid in zip(stack, flags, strict=True):
        merge_tile(bands, valid, tile, tile_valid)
    assert observed.same_bits(bands, first_valid_numpy(stack, flags, 3))
    assert np.array_equal(valid, flags.any(axis=0))


# ---- which scenes are one observation --------------------------------------------------------------------------------

MINUTE = 60_000
A, B = "sentinel-2a", "sentinel-2b"


def groups(*scenes: tuple[str | None, float], mosaic: bool = True) -> list[tuple[int, ...]]:
    """Of (platform, minutes)."""
    return list(group_passes([(p, round(m * MINUTE)) for p, m in scenes], mosaic=mosaic))


def test_tiles_of_one_pass_are_one_observation() -> None:
    assert groups((A, 0), (A, 0.25), (A, 0.25), (A, 7)) == [(0, 1, 2, 3)]
    assert groups((A, 0), (A, 98)) == [(0,), (1,)]
    assert groups() == []


def test_the_gap_is_from_a_tile_to_the_next_one() -> None:
    assert groups((A, 0), (A, 10), (A, 20), (A, 30)) == [(0, 1, 2, 3)]
    assert groups((A, 0), (A, 10 + 1 / MINUTE)) == [(0,), (1,)]
    assert groups((A, 0), (A, 5), (A, 16), (A, 17)) == [(0, 1), (2, 3)]


def test_platforms_are_apart_and_observations_are_in_the_order_of_their_first_scenes() -> None:
    assert groups((A, 0), (B, 1), (A, 2), (B, 3), (A, 98), (B, 4000)) == [(0, 2), (1, 3), (4,), (5,)]


def test_a_scene_of_an_unknown_platform_is_alone() -> None:
    assert groups((None, 0), (None, 0), ("", 0), ("", 0), (A, 0), (A, 0)) == [(0,), (1,), (2,), (3,), (4, 5)]
    assert groups((A, 0), (None, 1), (A, 2)) == [(0, 2), (1,)]


def test_without_a_mosaic_each_scene_is_alone() -> None:
    assert groups((A, 0), (A, 0.25), (None, 1), mosaic=False) == [(0,), (1,), (2,)]


@given(st.lists(st.tuples(st.sampled_from([None, A, B]), st.integers(0, 60)), max_size=14), st.booleans())
def test_groups_by_the_definition(scenes: list[tuple[str | None, int]], mosaic: bool) -> None:
    """Two scenes are of one pass when a chain of scenes of the platform joins them, no gap of it over 10 minutes."""
    scenes.sort(key=lambda s: s[1])
    found = groups(*scenes, mosaic=mosaic)
    assert sorted(i for g in found for i in g) == list(range(len(scenes)))
    assert [g[0] for g in found] == sorted(g[0] for g in found)
    of = {i: n for n, g in enumerate(found) for i in g}
    for i, (platform, at) in enumerate(scenes):
        for j in range(i + 1, len(scenes)):
            same = mosaic and platform is not None and scenes[j][0] == platform
            chain = [m for p, m in scenes[i : j + 1] if p == platform]
            joined = same and all(b - a <= 10 for a, b in itertools.pairwise(chain))
            assert (of[i] == of[j]) == joined, (i, j, at)
