"""What a store is, by the vote of every place that says it: the one thing that each place is then compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chronozarr_dask.format.dtypes import PROFILES
from chronozarr_dask.format.georef import Transform
from chronozarr_dask.format.layout import ceil_div
from chronozarr_dask.store.validate.facts import Facts
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import as_mapping, is_numbers, is_sizes, vote

DATA_NAME = "data"


@dataclass
class Nodes:
    """The groups and arrays that were found.

    Attributes
    ----------
    n_levels : int
    variable : str
        Name of the data array that is there.
    groups : dict
        Level to the attributes of its group.
    arrays : dict
        (level, role name) to facts: data, planes and coordinates.
    volatility : Facts or None
    """

    n_levels: int
    variable: str
    groups: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    arrays: dict[tuple[int, str], Facts] = field(default_factory=dict)
    volatility: Facts | None = None

    def data(self) -> Iterator[tuple[int, Facts]]:
        """(level, facts) of the data arrays there are."""
        return ((k, f) for (k, name), f in self.arrays.items() if name == DATA_NAME)

    def chunked(self) -> Iterator[tuple[int, Facts]]:
        """(level, facts) of data arrays and planes."""
        return ((k, f) for (k, _), f in self.arrays.items() if f.role.is_chunked)

    def planes(self, name: str) -> dict[int, Facts]:
        """Level to facts of one plane."""
        return {k: f for (k, n), f in self.arrays.items() if n == name}


@dataclass(frozen=True)
class Model:
    """The store by majority; None where no place says it.

    Attributes
    ----------
    size : (int, int) or None
        Height and width of level 0.
    shard_time : int or None
        0 when unsharded.
    chain : tuple or None
        The compressor and its configuration.
    transform : six floats or None
        Of level 0.
    nodata : tuple or None
        ``(number,)`` or ``(None,)``.
    """

    n_levels: int
    n_time: int | None
    n_band: int | None
    size: tuple[int, int] | None
    cs: int | None
    dtype: str | None
    shard_time: int | None
    chain: tuple[Any, ...] | None
    crs: str | None
    transform: Transform | None
    nodata: tuple[int | float | None] | None

    def level_size(self, level: int) -> tuple[int, int] | None:
        """(H_k, W_k): ceil(H_0 / 2^k), ceil(W_0 / 2^k) (6)."""
        return None if self.size is None else (ceil_div(self.size[0], 1 << level), ceil_div(self.size[1], 1 << level))

    def grid(self, level: int) -> tuple[int, int] | None:
        """(rows, cols) of cells of a level."""
        size = self.level_size(level)
        return None if size is None or self.cs is None else (ceil_div(size[0], self.cs), ceil_div(size[1], self.cs))

    def level_transform(self, level: int) -> Transform | None:
        """[a * 2^k, b, c, d, e * 2^k, f] (3.3)."""
        if self.transform is None:
            return None
        a, b, c, d, e, f = self.transform
        return a * 2.0**level, b, c, d, e * 2.0**level, f


def build(root: RootFacts, nodes: Nodes) -> Model:
    """The model of a store."""
    data = dict(nodes.data())
    mirrors = {k: e for k, e in enumerate(root.mirror or ()) if k < nodes.n_levels}
    shapes = [s for e in mirrors.values() if is_sizes(s := e.get("shape"), 4)]
    lengths = {
        n: [f.shape[0] if f.shape else None for (_, m), f in nodes.arrays.items() if m == n] for n in ("time", "band")
    }
    every = [f for _, f in nodes.chunked()]
    cuts = [f.chunking for f in every if f.chunking]
    return Model(
        n_levels=nodes.n_levels,
        n_time=vote(
            [f.shape[0] if f.shape else None for f in every] + [s[0] for s in shapes] + lengths["time"] + [root.n_times]
        ),
        n_band=vote(
            [f.shape[1] if f.shape else None for f in data.values()]
            + [s[1] for s in shapes]
            + lengths["band"]
            + [len(root.bands) if root.bands else None]
        ),
        size=_size(nodes, mirrors),
        cs=vote(n for c in cuts for n in c.inner[-2:]),
        dtype=vote(
            [f.dtype if f.dtype in PROFILES else None for f in data.values()] + [f.dtype for f in data.values()]
        ),
        shard_time=vote(c.outer[0] if c.sharded else 0 for c in cuts),
        chain=vote(None if f.compressor is None else f.compressor.settings for f in every),
        crs=_crs(root, nodes),
        transform=_transform(nodes, mirrors),
        nodata=_nodata(root, list(data.values())),
    )


def _size(nodes: Nodes, mirrors: Mapping[int, Mapping[str, Any]]) -> tuple[int, int] | None:
    candidates: list[list[int]] = [
        list(f.shape) for (k, _), f in nodes.arrays.items() if k == 0 and f.role.is_chunked and f.shape
    ]
    shape = mirrors[0].get("shape") if 0 in mirrors else None
    if is_sizes(shape, 4):
        candidates.append(shape)
    data = nodes.arrays.get((0, DATA_NAME))
    if data is not None and is_sizes(data.said.get("spatial:shape"), 2):
        candidates.append(data.said["spatial:shape"])
    sizes = []
    for axis, name in ((-2, "y"), (-1, "x")):
        facts = nodes.arrays.get((0, name))
        length = facts.shape[0] if facts and facts.shape else None
        sizes.append(vote([c[axis] for c in candidates] + [length]))
    return None if sizes[0] is None or sizes[1] is None else (sizes[0], sizes[1])


def _crs(root: RootFacts, nodes: Nodes) -> str | None:
    datasets = [as_mapping(d).get("crs") for d in root.datasets or ()]
    said = [root.block.get("crs"), *datasets, *(g.get("crs") for g in nodes.groups.values())]
    return vote(c if isinstance(c, str) else None for c in said)


def _transform(nodes: Nodes, mirrors: Mapping[int, Mapping[str, Any]]) -> Transform | None:
    """The vote on what every level's transform says of level 0: division by 2^k is exact."""
    said: list[Transform] = []
    sources: list[Mapping[int, Mapping[str, Any]]] = [nodes.groups, mirrors, {k: f.said for k, f in nodes.data()}]
    for source in sources:
        for level, document in source.items():
            values = document.get("transform")
            if is_numbers(values, 6):
                a, b, c, d, e, f = map(float, values)
                said.append((a / 2.0**level, b, c, d, e / 2.0**level, f))
    return vote(said)


def _nodata(root: RootFacts, data: list[Facts]) -> tuple[int | float | None] | None:
    """A fill value speaks only where it is not 0: 0 stands for null too."""
    said: list[Any] = [root.nodata]
    for facts in data:
        value = None if facts.attributes is None else facts.attributes.get("nodata")
        speaks = facts.attributes is not None and (value is None or type(value) in (int, float))
        said.append((value,) if speaks else None)
    fills = [f.document.get("fill_value") for f in data]
    if any(s is not None and s[0] is not None for s in said):
        said += [(v,) for v in fills if type(v) in (int, float)]
    return vote(said)
