"""Hypothesis strategies for what the format describes: pixels, grids, schedules, roots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.format.append import grow_temporal
from chronozarr_dask.format.attributes import Root, mirror
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.codecs import LEVELS, Codec
from chronozarr_dask.format.dtypes import PROFILES
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout
from chronozarr_dask.format.planes import PLANES
from chronozarr_dask.format.provenance import GAP_FILLS, Provenance
from chronozarr_dask.format.temporal import Selection, Temporal

FIRST_MS, LAST_MS = -62135596800000, 253402300799999  # the years 1 to 9999

dtypes = st.sampled_from(sorted(PROFILES))
sizes = st.integers(1, 9)
intervals = st.integers(1, 9)
finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(min_size=1, max_size=8)


def values(dtype: str) -> st.SearchStrategy[Any]:
    """Pixels: the ends of the range and nodata more often than chance would have them."""
    if dtype == "float32":
        return st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, -9999.0]), st.floats(width=32, allow_nan=False, allow_infinity=False)
        )
    info = np.iinfo(dtype)
    return st.one_of(st.sampled_from([0, 1, info.min, info.max]), st.integers(int(info.min), int(info.max)))


def nodatas(dtype: str) -> st.SearchStrategy[Any]:
    """Null, or a value that the pixels often have."""
    return st.one_of(st.none(), st.sampled_from([0, 1]) if dtype != "float32" else st.sampled_from([0.0, -9999.0]))


@st.composite
def rasters(draw: st.DrawFn, dtype: str, n_band: int = 2) -> npt.NDArray[Any]:
    """Pixels (band, y, x) of every parity of height and width."""
    shape = (n_band, draw(sizes), draw(sizes))
    return draw(hnp.arrays(dtype, shape, elements=values(dtype)))


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[npt.NDArray[np.uint8]]:
    """Zeros and ones."""
    return hnp.arrays(np.uint8, shape, elements=st.integers(0, 1))


@st.composite
def codecs(draw: st.DrawFn) -> Codec:
    """Every codec of section 8 in every configuration that a writer may choose."""
    name = draw(st.sampled_from(sorted(LEVELS)))
    low, high, _ = LEVELS[name]
    options = {
        "cname": draw(st.sampled_from(["zstd", "lz4"])),
        "shuffle": draw(st.sampled_from(["noshuffle", "shuffle"])),
    }
    return Codec.make(name, draw(st.integers(low, high)), options if name == "blosc" else None)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Small stores, sharded and not."""
    return Layout(
        n_time=draw(st.integers(1, 30)),
        n_band=draw(st.integers(1, 3)),
        height=draw(st.integers(1, 40)),
        width=draw(st.integers(1, 40)),
        chunk_size=draw(st.sampled_from([2, 4, 16])),
        n_levels=draw(st.integers(1, 5)),
        shard_time=draw(st.none() | st.integers(1, 40)),
        variable=draw(st.sampled_from(["data", "reflectance"])),
    )


@st.composite
def georeferences(draw: st.DrawFn) -> Georeference:
    """North-up grids."""
    size = st.floats(1e-6, 1e5)
    corner = st.floats(-1e8, 1e8)
    transform = (draw(size), 0.0, draw(corner), 0.0, -draw(size), draw(corner))
    return Georeference(f"EPSG:{draw(st.integers(1024, 99999))}", transform)


@st.composite
def bands(draw: st.DrawFn) -> Band:
    """One band."""
    scale = draw(finite.filter(bool))
    return Band(draw(texts), draw(st.none() | st.just("red")), scale, draw(finite), draw(st.none() | texts))


selections = st.builds(
    lambda n, star, plain: Selection(n, star, plain).to_json(),
    st.integers(1, 32),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)


@st.composite
def temporals(draw: st.DrawFn, n_time: int) -> Temporal:
    """Both encodings, measured or forced, of one encode or grown by an append."""
    selection = draw(st.none() | selections)
    if draw(st.booleans()):
        return Temporal.none(selection)
    n_old = draw(st.integers(1, n_time))
    return grow_temporal(Temporal.star_delta(n_old, draw(intervals), selection), n_old, n_time - n_old)


provenances = st.builds(
    Provenance, st.lists(texts, max_size=3).map(tuple), texts, st.sampled_from(GAP_FILLS), st.none() | texts
)


@st.composite
def roots(draw: st.DrawFn) -> tuple[Root, Layout, Georeference]:
    """A root with everything that it may hold, and the layout and grid that it describes."""
    layout, georef = draw(layouts()), draw(georeferences())
    n_time, n_band = layout.n_time, layout.n_band
    times = draw(st.lists(st.integers(FIRST_MS, LAST_MS), min_size=n_time, max_size=n_time, unique=True))
    named = draw(st.lists(bands(), min_size=n_band, max_size=n_band, unique_by=lambda b: b.name))
    keys = st.tuples(*[st.integers(0, 9)] * 3).map(lambda k: "/".join(map(str, k)))
    lengths = st.dictionaries(keys, st.integers(1, 10**9), max_size=4)
    root = Root(
        variable=layout.variable,
        times=tuple(sorted(times)),
        bands=tuple(named),
        nodata=draw(st.none() | st.integers(-(2**15), 65535) | finite),
        crs=georef.crs,
        temporal=draw(temporals(n_time)),
        planes=tuple(p for p in PLANES if draw(st.booleans())),
        level_paths=tuple(str(k) for k in range(layout.n_levels)),
        levels=draw(st.sampled_from([mirror(layout, georef), None])),
        provenance=draw(st.none() | provenances),
        shard_bytes=draw(st.none() | st.dictionaries(st.sampled_from("012"), lengths, max_size=3)),
    )
    return root, layout, georef


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=5,
)


def paths(node: Any) -> list[list[Any]]:
    """Every place of a JSON document, as the keys that lead there."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [p for key, value in items for p in ([key], *([key, *rest] for rest in paths(value)))]
