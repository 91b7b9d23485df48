"""From the frames that a region reads to its level 0: checks, planes, and what slabs hand to each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from chronozarr_dask.errors import InputError, StoreError
from chronozarr_dask.format.layout import Window
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.store.journal import Journal
from chronozarr_dask.store.pixels import Level0
from tests.store.stores import Memory

DAY = 86_400_000


def level0(**how: Any) -> Level0:
    """One slab over three days, at row 10, column 20."""
    plain = Level0(
        journal=Journal(Memory()),
        region=Region(0, 0, 0, 0),
        next_region=None,
        reads=(0, 1, 2),
        handed=(),
        carry=(),
        times=tuple(range(0, 9 * DAY, DAY)),
        window=Window(10, 14, 20, 25),
        band_names=("red", "nir"),
        fill=7,
    )
    return replace(plain, **how)


def frames(dtype: str = "float32", n: int = 3, n_band: int = 2) -> np.ndarray[Any, Any]:
    return np.arange(n * n_band * 20).reshape(n, n_band, 4, 5).astype(dtype)


# ---- checks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32", ">u2", ">f4"])
def test_sound_frames_become_little_endian_and_contiguous(dtype: str):
    given = frames(dtype)[:, :, ::-1]
    found = level0().data(given)
    assert found.dtype.newbyteorder("=") == np.dtype(dtype).newbyteorder("=")
    assert found.dtype.byteorder in "<|="
    assert found.flags.c_contiguous
    assert np.array_equal(found, given)


@pytest.mark.parametrize(
    ("value", "counts"), [(np.nan, "1 NaN and 0"), (np.inf, "0 NaN and 1"), (-np.inf, "0 NaN and 1")]
)
def test_nan_and_infinities_are_named_with_their_place_in_the_raster(value: float, counts: str):
    given = frames()
    given[1, 1, 2, 3] = value
    with pytest.raises(InputError) as caught:
        level0().data(given)
    for part in (counts, "timestep 1 (1970-01-02T00:00:00Z), band nir, row 12, column 23", "2.3"):
        assert part in str(caught.value)


def test_nan_become_fill_and_a_mask():
    given = frames()
    given[1, 1, 2, 3] = np.nan
    expected = given.copy()
    expected[1, 1, 2, 3] = 7
    assert np.array_equal(level0(nan_to_mask=True).data(given), expected)
    mask = level0(nan_to_mask=True).mask(given)
    assert (mask.shape, mask.dtype) == ((3, 1, 4, 5), np.uint8)
    assert np.argwhere(mask == 0).tolist() == [[1, 0, 2, 3]]
    expected[1, :, 2, 3] = 7
    assert np.array_equal(level0(nan_to_mask=True, fill_masked=True).data(given), expected)


def test_infinities_are_refused_under_nan_to_mask_too():
    given = frames()
    given[0, 0, 0, 0], given[2, 0, 1, 1] = np.nan, np.inf
    with pytest.raises(InputError, match=r"1 infinite values .*timestep 2 .*band red, row 11, column 21"):
        level0(nan_to_mask=True).data(given)


def test_fill_masked_fills_where_the_mask_is_0():
    mask = np.ones((3, 1, 4, 5), np.uint8)
    mask[2, 0, 1, 1] = 0
    expected = frames("uint16")
    expected[2, :, 1, 1] = 7
    assert np.array_equal(level0(fill_masked=True).data(frames("uint16"), mask), expected)
    assert np.array_equal(level0().data(frames("uint16"), mask), frames("uint16"))


def test_a_mask_of_other_values_is_named_with_place_and_count():
    mask = np.ones((3, 1, 4, 5), np.uint8)
    mask[1, 0, 3, 4] = mask[2, 0, 0, 0] = 2
    with pytest.raises(InputError, match=r"mask has 2 at timestep 1 \(1970-01-02.*\), row 13, column 24, and 2 values"):
        level0().mask(mask)


@pytest.mark.parametrize("value", [-1, 256])
def test_a_plane_that_uint8_cannot_hold_is_named(value: int):
    counts = np.ones((3, 1, 4, 5), np.int64)
    counts[1, 0, 3, 4] = value
    with pytest.raises(InputError, match=rf"has {value} at timestep 1 \(1970-01-02.*\), row 13, column 24: uint8"):
        level0().coverage(counts)
    counts[1, 0, 3, 4] = 255
    assert level0().coverage(counts).dtype == np.uint8


# ---- slabs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data", "mask", "coverage"])
def test_a_slab_hands_on_what_the_next_needs(name: str):
    """Interval 6, shards of 4: slab 1 reads 4, 5, 6, 7 and hands on 6; slab 2 reads 8 to 12 and has 6 too."""
    journal = Journal(Memory())
    first = level0(
        journal=journal, region=Region(0, 0, 0, 1), next_region=Region(0, 0, 0, 2), reads=(4, 5, 6, 7), carry=(6,)
    )
    second = level0(journal=journal, region=Region(0, 0, 0, 2), reads=(7, 8), handed=(6,))
    dtype, n_band = ("uint16", 2) if name == "data" else ("uint8", 1)
    a, b = (frames(dtype, n, n_band) % 2 for n in (4, 2))
    assert np.array_equal(getattr(first, name)(a), a)
    assert isinstance(journal.objects, Memory)
    assert list(journal.objects.objects) == [f"handover/0/0-0-2/{name}"]
    assert second.present == (6, 7, 8)
    assert np.array_equal(getattr(second, name)(b), np.concatenate([a[2:3], b]))


def test_frames_are_put_where_their_timesteps_belong():
    """A slab that reads 4 and 6 and was handed 5."""
    journal = Journal(Memory())
    before = level0(journal=journal, next_region=Region(0, 0, 0, 1), reads=(5,), carry=(5,))
    middle, around = frames("uint16", 1), frames("uint16", 2) + 500
    before.data(middle)
    found = level0(journal=journal, region=Region(0, 0, 0, 1), reads=(4, 6), handed=(5,)).data(around)
    assert np.array_equal(found, np.stack([around[0], middle[0], around[1]]))


def test_a_slab_that_reads_nothing_has_what_it_was_handed():
    journal = Journal(Memory())
    level0(journal=journal, next_region=Region(0, 0, 0, 1), reads=(6,), carry=(6,)).data(frames("uint16", 1))
    found = level0(journal=journal, region=Region(0, 0, 0, 1), reads=(), handed=(6,)).data(frames("uint16", 0))
    assert np.array_equal(found, frames("uint16", 1))


def test_nothing_is_handed_on_after_the_last_slab():
    journal = Journal(Memory())
    level0(journal=journal).data(frames())
    assert isinstance(journal.objects, Memory)
    assert journal.objects.objects == {}


def test_a_handover_that_is_not_there_is_told():
    with pytest.raises(StoreError, match=r"memory/handover/0/0-0-1/data: the slab before has not handed over .*\[6\]"):
        level0(region=Region(0, 0, 0, 1), reads=(7,), handed=(6,)).data(frames("uint16", 1))


def test_a_torn_handover_is_told():
    journal = Journal(Memory())
    level0(journal=journal, next_region=Region(0, 0, 0, 1), reads=(6,), carry=(6,)).data(frames("uint16", 1))
    assert isinstance(journal.objects, Memory)
    key = "handover/0/0-0-1/data"
    journal.objects.objects[key] = journal.objects.objects[key][:-3]
    with pytest.raises(StoreError, match="torn"):
        level0(journal=journal, region=Region(0, 0, 0, 1), reads=(7,), handed=(6,)).data(frames("uint16", 1))
