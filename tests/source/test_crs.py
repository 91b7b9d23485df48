"""Section 3.2: one EPSG code, from any of the places where writers put a CRS."""

import numpy as np
import pyproj
import pytest
import rioxarray  # noqa: F401
import xarray as xr

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.crs import crs_warnings, find_crs, parse_crs
from tests.source.cubes import one_band

UTM = pyproj.CRS.from_epsg(32631)
BARE = one_band(crs=None)
LOCAL = "+proj=laea +lat_0=10 +lon_0=20 +x_0=0 +y_0=0 +ellps=GRS80 +units=m"

EUROPE = "+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80 +towgs84=1,2,3,0,0,0,0 +units=m"


def found(array, explicit=None, dataset=None, geographic=False):
    return find_crs(
        array, xr.Dataset(coords=array.coords) if dataset is None else dataset, explicit, geographic
    ).to_epsg()


def mapping(name, attrs, value=0):
    return BARE.assign_coords({name: xr.Variable((), value, attrs)})


CF = {k: v for k, v in UTM.to_cf().items() if k != "crs_wkt"}
URL = "http://www.opengis.net/def/crs/EPSG/0/32631"


@pytest.mark.parametrize(
    "array",
    [
        mapping("spatial_ref", {"crs_wkt": UTM.to_wkt()}),
        mapping("spatial_ref", {"spatial_ref": UTM.to_wkt("WKT1_GDAL")}),
        mapping("spatial_ref", {"crs_wkt": UTM.to_wkt("WKT1_ESRI")}),
        mapping("spatial_ref", UTM.to_cf()),
        mapping("crs", {"proj4": "+proj=utm +zone=31 +datum=WGS84 +units=m +no_defs"}),
        mapping("crs", {"epsg_code": "EPSG:32631"}),
        mapping("crs", {"epsg_code": 32631}),
        mapping("crs", CF),
        mapping("crs", {}, "EPSG:32631"),
        mapping("crs", {}, 32631),
        mapping("utm", UTM.to_cf()).assign_attrs(grid_mapping="utm"),
        mapping("utm", UTM.to_cf()).assign_attrs(grid_mapping="utm: x y"),
        mapping("epsg", {}, 32631),
        mapping("proj:epsg", {}, np.int64(32631)),
        mapping("proj:code", {}, "EPSG:32631"),
        BARE.assign_attrs(crs="EPSG:32631"),
        BARE.assign_attrs(crs="epsg:32631"),
        BARE.assign_attrs(crs="+init=epsg:32631"),
        BARE.assign_attrs(crs=32631),
        BARE.assign_attrs(crs="32631"),
        BARE.assign_attrs({"proj:code": "EPSG:32631"}),
        BARE.assign_attrs({"proj:epsg": 32631}),
        BARE.assign_attrs({"proj:wkt2": UTM.to_wkt()}),
        BARE.assign_attrs({"proj:projjson": UTM.to_json_dict()}),
        BARE.assign_attrs(_CRS={"url": URL}),
        BARE.assign_attrs(_CRS={"wkt": UTM.to_wkt()}),
        BARE.rio.write_crs("EPSG:32631"),
    ],
)
def test_places(array):
    assert found(array) == 32631


def test_a_grid_mapping_of_the_encoding_and_of_the_dataset():
    array = BARE.copy()
    array.encoding["grid_mapping"] = "utm"
    dataset = xr.Dataset({"a": array, "utm": ((), 0, UTM.to_cf())}, attrs={"crs": "EPSG:32631"})
    assert found(array, dataset=dataset) == 32631


def test_an_attribute_of_the_dataset():
    assert found(BARE, dataset=xr.Dataset({"a": BARE}, attrs={"crs": "EPSG:3035"})) == 3035


@pytest.mark.parametrize("crs", ["EPSG:32631", 32631, "32631", UTM, UTM.to_wkt(), "urn:ogc:def:crs:EPSG::32631", CF])
def test_named_by_the_caller(crs):
    assert found(BARE, crs) == 32631
    assert found(BARE.assign_attrs(crs="EPSG:32631"), crs) == 32631


@pytest.mark.parametrize("code", [32631, 3035, 5070, 4326, 2154, 27700, 3577, 3413, 6933, 2193, 3031, 4258, 3857])
@pytest.mark.parametrize("version", ["WKT2_2019", "WKT1_GDAL", "WKT1_ESRI"])
def test_codes_survive_wkt(code, version):
    wkt = pyproj.CRS.from_epsg(code).to_wkt(version)
    assert found(mapping("spatial_ref", {"crs_wkt": wkt})) == code


def test_wkt_that_writes_its_code_down_and_its_axes_in_another_order():
    wkt = pyproj.CRS.from_epsg(3035).to_wkt("WKT1_GDAL")
    own = 'AUTHORITY["EPSG","3035"]]'
    assert wkt.endswith(own)
    wkt = wkt.removesuffix(own) + 'AXIS["Easting",EAST],AXIS["Northing",NORTH],' + own
    assert found(mapping("spatial_ref", {"crs_wkt": wkt})) == 3035


def test_a_code_that_belongs_to_another_definition_is_not_believed():
    wkt = (
        UTM.to_wkt("WKT1_GDAL")
        .replace('AUTHORITY["EPSG","32631"]', 'AUTHORITY["EPSG","3035"]')
        .replace("zone 31N", "?")
    )
    assert "3035" in wkt
    with pytest.raises(InputError, match="no EPSG code") as error:
        found(mapping("spatial_ref", {"crs_wkt": wkt.replace('"central_meridian",3', '"central_meridian",3.5')}))
    assert "3035" not in str(error.value)  # nor suggested


def test_wkt_with_a_datum_shift_of_zero():
    wkt = UTM.to_wkt("WKT1_GDAL").replace('AUTHORITY["EPSG","6326"]', 'TOWGS84[0,0,0,0,0,0,0],AUTHORITY["EPSG","6326"]')
    assert pyproj.CRS.from_wkt(wkt).is_bound
    assert found(mapping("spatial_ref", {"crs_wkt": wkt})) == 32631


@pytest.mark.parametrize(
    ("array", "explicit", "parts"),
    [
        (BARE, None, ["no CRS", "spatial_ref", "crs='EPSG:32631'"]),
        (BARE.assign_attrs(grid_mapping="utm"), None, ["'utm' did not come along", "decode_coords='all'"]),
        (
            BARE.assign_attrs(crs="EPSG:3035"),
            32631,
            ["argument crs is EPSG:32631", "attribute 'crs'", "EPSG:3035", "remove"],
        ),
        (
            mapping("spatial_ref", UTM.to_cf()).assign_attrs(crs="EPSG:32632"),
            None,
            ["variable 'spatial_ref' is EPSG:32631", "attribute 'crs' of the array is EPSG:32632"],
        ),
        (mapping("utm", {}).assign_attrs(grid_mapping="utm"), None, ["nor an attribute crs; pass crs="]),
        (BARE.assign_attrs(crs=EUROPE), None, ["no EPSG code", "resembles EPSG:3035", "crs='EPSG:3035' if its datum"]),
        (BARE.assign_attrs(crs=LOCAL), None, ["attribute 'crs'", "'unknown'", "no EPSG code", "pass crs=", "warp"]),
        (BARE.assign_attrs(crs=LOCAL), 4326, ["WGS 84", "'unknown'", "only one is geographic"]),
        (BARE, LOCAL, ["the argument crs", "no EPSG code"]),
        (BARE, "UTM 31", ["the argument crs", "'UTM 31'", "pyproj does not understand"]),
        (BARE, "EPSG:999999", ["'EPSG:999999'"]),
        (BARE.assign_attrs(crs="nonsense"), None, ["attribute 'crs' of the array", "'nonsense'"]),
    ],
)
def test_refused(array, explicit, parts):
    with pytest.raises(InputError) as error:
        found(array, explicit)
    assert all(p in str(error.value) for p in parts), str(error.value)


def test_latitude_and_longitude_alone_are_no_crs():
    with pytest.raises(InputError, match=r"latitude and longitude, so pass crs='EPSG:4326'"):
        found(BARE, geographic=True)


def test_a_crs_without_a_code_is_what_the_caller_names():
    assert found(BARE.assign_attrs(crs=LOCAL), 3035) == 3035


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        (3857, ["Web Mercator", "UTM"]),
        (3785, ["Web Mercator"]),
        (4326, ["geographic", "degrees", "UTM"]),
        (4258, ["geographic"]),
        (32631, []),
        (3395, []),
        (6933, []),
    ],
)
def test_warnings(code, parts):
    told = crs_warnings(parse_crs(code, "here"))
    assert len(told) == bool(parts)
    assert all(p in told[0] for p in parts)
