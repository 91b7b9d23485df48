"""The complete example of section 3.9 as data: 5 months, 2 bands, 700 x 600 px, star-delta, sharded, planes."""

from __future__ import annotations

from typing import Any

from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.format.georef import Georeference
from chronozarr_dask.format.layout import Layout

LAYOUT = Layout(n_time=5, n_band=2, height=700, width=600, chunk_size=512, n_levels=2, shard_time=4)
GEOREF = Georeference("EPSG:32631", (10.0, 0.0, 746090.0, 0.0, -10.0, 2540440.0))
CODEC = Codec("zstd", 5)
NODATA = 0

MILLISECONDS = (1704067200000, 1706745600000, 1709251200000, 1711929600000, 1714521600000)

SHARD_BYTES = {
    "0": {
        "0/0/0": 1412807, "0/0/1": 388120, "0/1/0": 1290455, "0/1/1": 351902,
        "1/0/0": 402211, "1/0/1": 101347, "1/1/0": 377689, "1/1/1": 96410,
    },
    "1": {"0/0/0": 388554, "1/0/0": 98203},
}  # fmt: skip

MULTISCALES = [
    {
        "datasets": [{"path": "0", "crs": "EPSG:32631"}, {"path": "1", "crs": "EPSG:32631"}],
        "type": "reduce",
        "metadata": {"method": "block_mean", "version": "chronozarr 0.2.0", "args": []},
    }
]

CHRONOZARR: dict[str, Any] = {
    "spec_version": "0.2.0",
    "variable": "data",
    "times": [
        "2024-01-01T00:00:00Z",
        "2024-02-01T00:00:00Z",
        "2024-03-01T00:00:00Z",
        "2024-04-01T00:00:00Z",
        "2024-05-01T00:00:00Z",
    ],
    "bands": [
        {"name": "B04", "common_name": "red", "scale": 0.0001, "offset": 0.0, "units": "reflectance"},
        {"name": "B08", "common_name": "nir", "scale": 0.0001, "offset": 0.0, "units": "reflectance"},
    ],
    "band_names": ["B04", "B08"],
    "nodata": 0,
    "crs": "EPSG:32631",
    "temporal": {
        "encoding": "star-delta",
        "anchor_interval": 2,
        "anchor_indices": [0, 2, 4],
        "delta_reference": {"1": 0, "3": 2},
    },
    "volatility_path": "volatility",
    "mask_variable": "mask",
    "coverage_variable": "coverage",
    "provenance": {
        "sources": ["sentinel-2-l2a"],
        "composite": "monthly median",
        "gap_fill": "carry-forward",
        "notes": "SCL classes 4, 5, 6, 7 and 11 kept",
    },
    "levels": [
        {
            "path": "0",
            "resolution": 10.0,
            "transform": [10.0, 0.0, 746090.0, 0.0, -10.0, 2540440.0],
            "shape": [5, 2, 700, 600],
            "grid": [2, 2],
        },
        {
            "path": "1",
            "resolution": 20.0,
            "transform": [20.0, 0.0, 746090.0, 0.0, -20.0, 2540440.0],
            "shape": [5, 2, 350, 300],
            "grid": [1, 1],
        },
    ],
    "shard_bytes": SHARD_BYTES,
}

LEVEL_0 = {
    "zarr_format": 3,
    "node_type": "group",
    "attributes": {
        "crs": "EPSG:32631",
        "transform": [10.0, 0.0, 746090.0, 0.0, -10.0, 2540440.0],
        "resolution": 10.0,
    },
}

_ZSTD = {"name": "zstd", "configuration": {"level": 5, "checksum": False}}
_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
_KEYS = {"name": "default", "configuration": {"separator": "/"}}


def _sharded(inner: list[int], codecs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    configuration = {
        "chunk_shape": inner,
        "codecs": codecs,
        "index_codecs": [_LITTLE, {"name": "crc32c"}],
        "index_location": "end",
    }
    return [{"name": "sharding_indexed", "configuration": configuration}]


DATA: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [5, 2, 700, 600],
    "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2, 512, 512]}},
    "chunk_key_encoding": _KEYS,
    "fill_value": 0,
    "codecs": _sharded([1, 2, 512, 512], [_LITTLE, _ZSTD]),
    "dimension_names": ["time", "band", "y", "x"],
    "attributes": {"_ARRAY_DIMENSIONS": ["time", "band", "y", "x"], "nodata": 0},
}

MASK: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [5, 700, 600],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 512, 512]}},
    "chunk_key_encoding": _KEYS,
    "fill_value": 0,
    "codecs": _sharded([1, 512, 512], [{"name": "bytes"}, _ZSTD]),
    "dimension_names": ["time", "y", "x"],
    "attributes": {"_ARRAY_DIMENSIONS": ["time", "y", "x"]},
}

TIME: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [5],
    "data_type": "int64",
    "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5]}},
    "chunk_key_encoding": _KEYS,
    "codecs": [_LITTLE, _ZSTD],
    "dimension_names": ["time"],
    "attributes": {
        "_ARRAY_DIMENSIONS": ["time"],
        "units": "milliseconds since 1970-01-01T00:00:00",
        "calendar": "proleptic_gregorian",
    },
}

DATA_SHARDS = [f"0/data/c/{t}/0/{r}/{c}" for t in (0, 1) for r in (0, 1) for c in (0, 1)]
MASK_SHARDS = [f"0/mask/c/{t}/{r}/{c}" for t in (0, 1) for r in (0, 1) for c in (0, 1)]
