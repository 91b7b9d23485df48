"""Section 5: the stored volatility as an array with the places of its cells."""

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from tests.store.stores import LITTLE, ZSTD, Memory, compressed, numbered, opened, refused

GRID = np.arange(12, dtype="<f4").reshape(3, 4) / 16
DIMS = ["row", "col"]


def document(**fields: Any) -> dict[str, Any]:
    return {
        "zarr_format": 3, "node_type": "array", "shape": [3, 4], "data_type": "float32", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [LITTLE, ZSTD], "dimension_names": DIMS, "attributes": {"_ARRAY_DIMENSIONS": DIMS}, **fields,
    }  # fmt: skip


def objects(**fields: Any) -> Memory:
    """5 x 7 pixels of 10 m in cells of 2 x 2."""
    made, _ = numbered()
    made.put_json("volatility/zarr.json", document(**fields))
    made.put("volatility/c/0/0", compressed(GRID))
    return made


def test_a_value_lies_at_the_centre_of_what_the_raster_has_of_its_cell():
    found = opened(objects()).volatility()
    assert found.dims == ("row", "col")
    assert found.dtype == np.float32
    assert np.array_equal(found, GRID)
    assert found.x.values.tolist() == [500010, 500030, 500050, 500065]  # the last cell has one column
    assert found.y.values.tolist() == [4999990, 4999970, 4999955]
    assert found.attrs["crs"] == "EPSG:32631"


def test_it_costs_two_requests_and_is_counted():
    made = objects()
    store = opened(made)
    with store.measure() as cost:
        store.volatility()
    assert made.requests() == [("get", "volatility/zarr.json"), ("get", "volatility/c/0/0")]
    nbytes = len(json.dumps(document())) + len(compressed(GRID))
    assert (cost.requests, cost.chunks, cost.bytes_fetched, cost.bytes_decoded) == (2, 1, nbytes, GRID.nbytes)
    assert cost.amplification == 1


def test_a_chunk_that_is_not_stored_is_fill():
    made = objects(fill_value=0.25)
    made.delete("volatility/c/0/0")
    assert (opened(made).volatility() == 0.25).all()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"shape": [3, 3]}, "level 0 has [3, 4] cells"),
        ({"chunk_grid": {"configuration": {"chunk_shape": [3, 2]}}}, "volatility is one chunk"),
        ({"chunk_grid": 5}, "volatility is one chunk"),
        ({"data_type": "float64"}, "not the document of a float32 array"),
        ({"codecs": [LITTLE]}, "section 8"),
    ],
)
def test_a_document_that_is_wrong_is_refused(fields, text):
    assert text in refused(opened(objects(**fields)).volatility)


def test_a_damaged_chunk_is_refused():
    made = objects()
    made.put("volatility/c/0/0", b"nothing")
    assert "volatility/c/0/0" in refused(opened(made).volatility)


def test_a_store_without_it_opens_and_says_so():
    made, _ = numbered()
    assert "the store has no volatility" in refused(opened(made).volatility)


def test_of_an_encode_it_is_the_mean_change_against_the_anchor(tmp_path):
    rng = np.random.default_rng(8)
    data = rng.integers(1, 5000, (5, 2, 40, 70), "uint16")
    coords = {"y": 100 - np.arange(40.0), "x": np.arange(70.0), "time": np.arange(5).astype("M8[D]").astype("M8[ns]")}
    cube = xr.DataArray(data, coords, ("time", "band", "y", "x"))
    czd.encode(cube, tmp_path / "store", crs="EPSG:32631", chunk_size=32, encoding="none")
    found = czd.open_store(tmp_path / "store").volatility()
    for row in range(2):
        for col in range(3):
            cell = data[:, :, 32 * row : 32 * row + 32, 32 * col : 32 * col + 32].astype(float)
            mean = np.mean(np.abs(cell[1:] - cell[0]))  # the only anchor of five timesteps
            assert found[row, col] == pytest.approx(mean / 10000, rel=1e-6)
