"""Stored numbers stay as they are; what the file says of them goes to the bands and to nodata."""

import numpy as np
import pytest
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.packing import check_stored, declared_nodata, declared_scales, stored_dtype, unpacked


def array(dtype="uint16", attrs=None, encoding=None):
    out = xr.DataArray(np.zeros((1, 2, 2), dtype), dims=("time", "y", "x"), name="B04", attrs=attrs)
    out.encoding.update(encoding or {})
    return out


@pytest.mark.parametrize(
    ("dtype", "attrs", "stored"),
    [
        ("uint16", {}, "uint16"),
        (">u2", {}, "uint16"),
        ("int16", {"_Unsigned": "true"}, "uint16"),
        (">i2", {"_Unsigned": "TRUE"}, "uint16"),
        ("int8", {"_Unsigned": "true"}, "uint8"),
        ("int16", {"_Unsigned": "false"}, "int16"),
        ("uint8", {"_Unsigned": "false"}, "int8"),
        ("float32", {"_Unsigned": "true"}, "float32"),
    ],
)
def test_stored_dtype(dtype, attrs, stored):
    assert stored_dtype(array(dtype, attrs)) == np.dtype(stored)


@pytest.mark.parametrize(
    ("dtype", "encoding", "part"),
    [
        ("float32", {"scale_factor": 0.0001, "dtype": np.dtype("uint16")}, "scale_factor 0.0001"),
        ("float64", {"scale_factor": 0.5, "add_offset": -10.0}, "scale_factor 0.5, add_offset -10.0"),
        ("float32", {"add_offset": 273.15}, "add_offset 273.15"),
        ("float32", {"dtype": "uint16", "_FillValue": 0}, "stored as uint16"),
    ],
)
def test_decoded_floats_are_refused(dtype, encoding, part):
    with pytest.raises(InputError) as error:
        check_stored(array(dtype, encoding=encoding), "variable 'B04'")
    text = str(error.value)
    assert all(
        p in text for p in ("variable 'B04'", dtype, part, "mask_and_scale=False", "masked=False", "drop_encoding")
    )
    check_stored(array(dtype, encoding=encoding).drop_encoding(), "a")


@pytest.mark.parametrize(
    ("dtype", "encoding"),
    [
        ("float32", {}),
        ("float32", {"dtype": "float32", "_FillValue": -9999.0}),
        ("uint16", {"scale_factor": 0.1}),
        ("uint16", {"dtype": "int16", "_Unsigned": "true"}),
    ],
)
def test_stored_numbers_pass(dtype, encoding):
    check_stored(array(dtype, encoding=encoding), "a")


@pytest.mark.parametrize(
    ("attrs", "scales"),
    [
        ({}, [{}, {}]),
        ({"scale_factor": 0.0001}, [{"scale": 0.0001}] * 2),
        ({"scale_factor": np.float32(0.5), "add_offset": np.int16(-3)}, [{"scale": 0.5, "offset": -3.0}] * 2),
        ({"scale_factor": np.array([0.25])}, [{"scale": 0.25}] * 2),
        ({"scales": (0.1, 0.2), "offsets": [1, 2]}, [{"scale": 0.1, "offset": 1.0}, {"scale": 0.2, "offset": 2.0}]),
        ({"scales": (0.1, 0.2), "scale_factor": 7.0}, [{"scale": 0.1}, {"scale": 0.2}]),
        ({"units": "K"}, [{"units": "K"}] * 2),
        ({"units": ("K", "m")}, [{"units": "K"}, {"units": "m"}]),
        ({"units": ""}, [{}, {}]),
    ],
)
def test_scales(attrs, scales):
    assert declared_scales(attrs, 2) == scales


def test_a_scale_that_is_no_number():
    with pytest.raises(InputError, match=r"scale_factor is 'small': not a number"):
        declared_scales({"scale_factor": "small"}, 1)


@pytest.mark.parametrize(
    ("dtype", "attrs", "encoding", "nodata"),
    [
        ("uint16", {}, {}, None),
        ("uint16", {"_FillValue": np.uint16(7)}, {}, 7),
        ("uint16", {"missing_value": 65535}, {}, 65535),
        ("uint16", {"nodata": 3.0}, {}, 3),
        ("uint16", {"nodatavals": (5, 5)}, {}, 5),
        ("uint16", {"missing_value": [5, 5, 5]}, {}, 5),
        ("int16", {"_FillValue": -1, "_Unsigned": "true"}, {}, 65535),
        ("uint16", {}, {"_FillValue": 9}, 9),
        ("uint16", {"_FillValue": 9, "missing_value": 9}, {"_FillValue": 9}, 9),
        ("int16", {"_FillValue": np.int16(-32768)}, {}, -32768),
        ("int16", {"_FillValue": np.int16(-1), "_Unsigned": "true"}, {}, 65535),
        ("float32", {"_FillValue": np.float32(1e20), "missing_value": 1e20}, {}, float(np.float32(1e20))),
        ("float32", {"_FillValue": np.float32("nan")}, {}, None),
        ("float32", {"missing_value": "NaN", "nodata": "-9999"}, {}, -9999.0),
        ("float32", {"_FillValue": np.array([-1.0])}, {}, -1.0),
    ],
)
def test_nodata(dtype, attrs, encoding, nodata):
    got = declared_nodata(array(dtype, attrs, encoding), 2, "a")
    assert got == nodata
    assert type(got) is type(nodata)


@pytest.mark.parametrize(
    ("dtype", "attrs", "parts"),
    [
        (
            "uint16",
            {"_FillValue": 0, "missing_value": 65535},
            ["variable 'B04'", "0 (attribute _FillValue", "65535", "nodata="],
        ),
        (
            "uint16",
            {"missing_value": np.array([1, 2, 3])},
            ["1 (attribute missing_value[0])", "2 (attribute missing_value[1])"],
        ),
        ("uint16", {"_FillValue": np.int16(-1)}, ["-1", "0 to 65535"]),
        (
            "uint16",
            {"nodatavals": (0, 9)},
            ["0 (attribute nodatavals of band 1)", "9 (attribute nodatavals of band 2)"],
        ),
        (
            "uint16",
            {"_FillValue": -9999},
            ["attribute _FillValue of variable 'B04'", "-9999", "0 to 65535", "nodata=None"],
        ),
        ("uint8", {"nodata": 0.5}, ["0.5", "0 to 255"]),
        ("uint8", {"nodata": "none"}, ["'none'", "not a number"]),
        ("float32", {"nodata": float("inf")}, ["inf"]),
    ],
)
def test_nodata_refused(dtype, attrs, parts):
    with pytest.raises(InputError) as error:
        declared_nodata(array(dtype, attrs), 2, "variable 'B04'")
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_packed_coordinates():
    coordinate = xr.DataArray(np.array([1, 2], "i2"), dims="x", attrs={"scale_factor": 0.5, "add_offset": 3.0})
    assert unpacked(coordinate).tolist() == [3.5, 4.0]
    assert unpacked(coordinate.assign_attrs(scale_factor=None)).tolist() == [4.0, 5.0]
    assert unpacked(xr.DataArray(np.array([1, 2], "i2"), dims="x")).dtype == np.int16
