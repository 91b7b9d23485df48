"""Sections 3.1, 3.2, 3.4, 3.5 and 3.7: the root attributes `multiscales` and `chronozarr`, written and read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.arrays import group
from chronozarr_dask.format.bands import Band
from chronozarr_dask.format.dtypes import Number, is_finite_number
from chronozarr_dask.format.georef import Georeference, Transform
from chronozarr_dask.format.hosting import consolidated
from chronozarr_dask.format.layout import COVERAGE, MASK, VOLATILITY, Layout
from chronozarr_dask.format.planes import Plane
from chronozarr_dask.format.provenance import Provenance
from chronozarr_dask.format.sharding import MAX_OBJECT_BYTES
from chronozarr_dask.format.temporal import Temporal
from chronozarr_dask.format.times import parse_time, render_time

SPEC_VERSION = "0.2.0"
READABLE = re.compile(r"0\.[12]\.\d+([-+].*)?")
METHOD = {"method": "block_mean", "version": f"chronozarr {SPEC_VERSION}", "args": []}

ShardBytes = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class LevelMirror:
    """One entry of ``chronozarr.levels`` (3.7)."""

    path: str
    resolution: float
    transform: Transform
    shape: tuple[int, int, int, int]
    grid: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """The entry as it is stored."""
        return {
            "path": self.path,
            "resolution": self.resolution,
            "transform": list(self.transform),
            "shape": list(self.shape),
            "grid": list(self.grid),
        }

    @classmethod
    def from_json(cls, entry: Any) -> LevelMirror:
        """Parse an entry; StoreError if a field is missing or of another form."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("path"), str):
            raise StoreError(f"chronozarr.levels has {entry!r}: not an object with a path (3.7)")
        path = entry["path"]
        resolution = entry.get("resolution")
        if not is_finite_number(resolution):
            raise StoreError(f"chronozarr.levels[{path}].resolution is {resolution!r}: not a number (3.7)")
        transform, shape, grid = entry.get("transform"), entry.get("shape"), entry.get("grid")
        if not isinstance(transform, list) or len(transform) != 6 or not all(is_finite_number(v) for v in transform):
            raise StoreError(f"chronozarr.levels[{path}].transform is {transform!r}: six numbers expected (3.7)")
        if not _is_sizes(shape, 4) or not _is_sizes(grid, 2):
            raise StoreError(f"chronozarr.levels[{path}]: shape {shape!r} or grid {grid!r} is not 4 and 2 sizes (3.7)")
        return cls(path, float(resolution), tuple(map(float, transform)), tuple(shape), tuple(grid))  # type: ignore[arg-type]


def mirror(layout: Layout, georef: Georeference) -> tuple[LevelMirror, ...]:
    """The ``levels`` mirror of a layout."""
    return tuple(
        LevelMirror(str(k), georef.resolution(k), georef.level_transform(k), layout.data_shape(k), layout.grid(k))
        for k in range(layout.n_levels)
    )


@dataclass(frozen=True)
class Root:
    """What the root attributes say.

    Attributes
    ----------
    spec_version, variable, crs : str
    times : tuple of int
        Milliseconds since the epoch.
    bands : tuple of Band
    nodata : number or None
    temporal : Temporal
    planes : tuple
        Those of "mask" and "coverage" that the store has.
    level_paths : tuple of str
        From `multiscales`, in order.
    levels : tuple of LevelMirror or None
        None in a store without the mirror (v0.1).
    provenance : Provenance or None
    shard_bytes : mapping or None
        level path -> "t_shard/row/col" -> length (7.3).
    """

    variable: str
    times: tuple[int, ...]
    bands: tuple[Band, ...]
    nodata: Number | None
    crs: str
    temporal: Temporal
    planes: tuple[Plane, ...]
    level_paths: tuple[str, ...]
    levels: tuple[LevelMirror, ...] | None
    provenance: Provenance | None = None
    shard_bytes: ShardBytes | None = None
    spec_version: str = SPEC_VERSION

    def to_json(self) -> dict[str, Any]:
        """The two blocks of the root attributes."""
        block: dict[str, Any] = {
            "spec_version": self.spec_version,
            "variable": self.variable,
            "times": [render_time(t) for t in self.times],
            "bands": [b.to_json() for b in self.bands],
            "band_names": [b.name for b in self.bands],
            "nodata": self.nodata,
            "crs": self.crs,
            "temporal": self.temporal.to_json(),
            "volatility_path": VOLATILITY,
        }
        for plane in self.planes:
            block[f"{plane}_variable"] = plane
        if self.provenance is not None:
            block["provenance"] = self.provenance.to_json()
        if self.levels is not None:
            block["levels"] = [entry.to_json() for entry in self.levels]
        if self.shard_bytes is not None:
            block["shard_bytes"] = {k: dict(v) for k, v in self.shard_bytes.items()}
        datasets = [{"path": p, "crs": self.crs} for p in self.level_paths]
        return {"multiscales": [{"datasets": datasets, "type": "reduce", "metadata": METHOD}], "chronozarr": block}

    def document(self, below: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The root ``zarr.json`` with the consolidated metadata of the documents `below` it (3.1)."""
        return {**group(self.to_json()), "consolidated_metadata": consolidated(below)}

    @classmethod
    def from_document(cls, doc: Any) -> Root:
        """Parse a root ``zarr.json``.

        Raises
        ------
        StoreError
            If it is not the root of a chronozarr store of v0.1 or v0.2, naming the field and the section.
        """
        if not isinstance(doc, Mapping) or doc.get("zarr_format") != 3 or doc.get("node_type") != "group":
            raise StoreError("the root zarr.json is not the document of a Zarr v3 group (2)")
        attributes = doc.get("attributes")
        block = attributes.get("chronozarr") if isinstance(attributes, Mapping) else None
        if not isinstance(attributes, Mapping) or not isinstance(block, Mapping):
            raise StoreError(
                "the root zarr.json has no attribute 'chronozarr': a Zarr group, but not of this format (3.1)"
            )
        version = check_version(block.get("spec_version"))
        times = block.get("times")
        if not isinstance(times, list) or not times:
            raise StoreError("chronozarr.times is missing or empty (3.2)")
        bands = block.get("bands")
        if not isinstance(bands, list) or not bands:
            raise StoreError("chronozarr.bands is missing or empty (3.2)")
        levels = block.get("levels")
        if levels is not None and not isinstance(levels, list):
            raise StoreError("chronozarr.levels is not a list (3.7)")
        crs = block.get("crs")
        if not isinstance(crs, str):
            raise StoreError(f"chronozarr.crs is {crs!r}: a text like EPSG:32631 expected (3.2)")
        provenance = block.get("provenance")
        return cls(
            variable=_variable(block.get("variable", "data")),
            times=tuple(parse_time(t) for t in times),
            bands=tuple(Band.from_json(b) for b in bands),
            nodata=_nodata(block, version),
            crs=crs,
            temporal=Temporal.from_json(_temporal_block(block, version), len(times)),
            planes=_planes(block),
            level_paths=_level_paths(attributes.get("multiscales")),
            levels=None if levels is None else tuple(LevelMirror.from_json(e) for e in levels),
            provenance=None if provenance is None else Provenance.from_json(provenance),
            shard_bytes=_shard_bytes(block.get("shard_bytes")),
            spec_version=version,
        )


def check_version(version: Any) -> str:
    """Return a spec_version that can be read (0.1.x, 0.2.x); StoreError names any other (10)."""
    if isinstance(version, str) and READABLE.fullmatch(version):
        return version
    if isinstance(version, str) and re.match(r"(0\.([3-9]|\d\d)|[1-9]\d*\.)", version):
        raise StoreError(f"the store is of chronozarr v{version}, newer than this reader: it knows v0.1 and v0.2 (10)")
    raise StoreError(f"chronozarr.spec_version is {version!r}: this reader knows 0.1.x and 0.2.x (10)")


def _temporal_block(block: Mapping[str, Any], version: str) -> Any:
    temporal = block.get("temporal")
    if version.startswith("0.1.") and isinstance(temporal, Mapping):
        return {"encoding": "star-delta", **temporal}  # a v0.1 store is star-delta (10)
    return temporal


def _variable(name: Any) -> str:
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise StoreError(f"chronozarr.variable is {name!r}: the name of an array expected (3.2)")
    return name


def _nodata(block: Mapping[str, Any], version: str) -> Number | None:
    value = block.get("nodata", 0 if version.startswith("0.1.") else None)
    if value is not None and not is_finite_number(value):
        raise StoreError(f"chronozarr.nodata is {value!r}: a finite number or null expected (2.3)")
    return value


def _planes(block: Mapping[str, Any]) -> tuple[Plane, ...]:
    out: list[Plane] = []
    for plane in (MASK, COVERAGE):
        name = block.get(f"{plane}_variable")
        if name is not None:
            if name != plane:
                raise StoreError(f"chronozarr.{plane}_variable is {name!r}: '{plane}' or nothing (2.4, 2.5)")
            out.append(plane)  # type: ignore[arg-type]
    return tuple(out)


def _level_paths(multiscales: Any) -> tuple[str, ...]:
    if not isinstance(multiscales, list) or len(multiscales) != 1 or not isinstance(multiscales[0], Mapping):
        raise StoreError("multiscales is not a list of exactly one entry (3.1, 3.4)")
    datasets = multiscales[0].get("datasets")
    if not isinstance(datasets, list) or not datasets or not all(isinstance(d, Mapping) for d in datasets):
        raise StoreError("multiscales[0].datasets is not a list of objects (3.4)")
    paths = [d.get("path") for d in datasets]
    if paths != [str(k) for k in range(len(paths))]:
        raise StoreError(f"multiscales[0].datasets are {paths}: '0', '1', ... in order and without gaps expected (3.4)")
    return tuple(str(p) for p in paths)


def _shard_bytes(value: Any) -> ShardBytes | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise StoreError("chronozarr.shard_bytes is not an object (7.3)")
    for level, entries in value.items():
        if not isinstance(entries, Mapping) or not all(
            type(n) is int and 0 < n <= MAX_OBJECT_BYTES for n in entries.values()
        ):
            raise StoreError(f"chronozarr.shard_bytes[{level!r}] does not map shards to lengths (7.3)")
    return value


def _is_sizes(value: Any, n: int) -> bool:
    return isinstance(value, list) and len(value) == n and all(type(v) is int and v > 0 for v in value)
