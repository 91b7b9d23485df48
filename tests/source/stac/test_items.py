import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.source.stac.items import Scene, parse_item
from tests.source.stac.made import asset, item, scene


def test_an_item_of_earth_search_v1():
    found = scene(
        "S2A_31UDQ_20200203_0_L2A",
        platform="sentinel-2a",
        constellation="sentinel-2",
        grid__code="MGRS-31UDQ",
        eo__cloud_cover=12.5,
        s2__product_type="S2MSI2A",
        s2__processing_baseline="05.10",
        s2__generation_time="2023-06-02T16:20:01.000000Z",
        s2__datastrip_id="S2A_OPER_MSI_L2A_DS_2APS_20230602T162001_S20200203T105911_N05.10",
        earthsearch__boa_offset_applied=True,
    )
    assert (found.platform, found.constellation, found.tile) == ("sentinel-2a", "sentinel-2", "31UDQ")
    assert (found.cloud_cover, found.baseline, found.offset_applied) == (12.5, 5.1, True)
    assert render_time(found.datetime) == "2020-02-03T10:59:11.024Z"
    assert render_time(found.processing_time) == "2023-06-02T16:20:01Z"
    assert found.datastrip_start == "20200203T105911"
    assert found.is_sentinel2
    red = found.asset("B04")
    assert red.href == "/data/S2A_31UDQ_20200203_0_L2A/B04.tif"
    assert (red.crs, red.shape, red.transform) == ("EPSG:32631", (64, 64), (10.0, 0.0, 500000.0, 0.0, -10.0, 5000000.0))


@pytest.mark.parametrize(
    ("properties", "tile"),
    [
        ({"grid:code": "MGRS-1CCV"}, "01CCV"),
        ({"s2:mgrs_tile": "06VVN"}, "06VVN"),
        ({"s2:mgrs_tile": "T06VVN"}, "06VVN"),
        ({"mgrs:utm_zone": 5, "mgrs:latitude_band": "Q", "mgrs:grid_square": "KB"}, "05QKB"),
        ({"sentinel:utm_zone": 17, "sentinel:latitude_band": "S", "sentinel:grid_square": "PR"}, "17SPR"),
        ({"s2:tile_id": "S2B_OPER_MSI_L2A_TL_2BPS_20240710T103747_A038356_T37MGP_N05.10"}, "37MGP"),
        ({}, "31UDQ"),
    ],
)
def test_the_tile_by_every_name_that_it_has(properties, tile):
    made = item()
    made["properties"].update(properties)
    assert parse_item(made).tile == tile


def test_landsat_has_path_and_row_and_no_offset():
    found = scene(
        "LC08_X", collection="landsat-c2-l2", platform="LANDSAT_8", landsat__wrs_path="14", landsat__wrs_row=9
    )
    assert (found.platform, found.tile, found.is_sentinel2, found.baseline) == ("landsat-8", "014/009", False, None)


def test_an_item_without_datetime_has_its_start():
    found = parse_item(item(moment=None, start_datetime="2021-01-01T00:00:00Z", end_datetime="2021-12-31T00:00:00Z"))
    assert render_time(found.datetime) == "2021-01-01T00:00:00Z"
    with pytest.raises(InputError, match="start_datetime of item 'S2A_31UDQ_20200203_0'"):
        parse_item(item(moment=None))


@pytest.mark.parametrize("cloud", [None, "much", float("nan"), True])
def test_cloud_cover_that_is_no_number_is_missing(cloud):
    assert scene(eo__cloud_cover=cloud).cloud_cover is None


# ---- projection ----------------------------------------------------------------------------------------------------


def only(properties=None, **fields):
    made = item(assets={"B04": {"href": "B04.tif", "type": "image/tiff", **fields}})
    del made["properties"]["proj:code"]
    made["properties"].update(properties or {})
    return parse_item(made).asset("B04")


def test_nothing_is_made_up_where_an_item_says_nothing():
    bare = only()
    assert (bare.crs, bare.shape, bare.transform, bare.nodata, bare.scale, bare.dtype) == (None,) * 6


@pytest.mark.parametrize(
    ("fields", "crs"),
    [
        ({"proj:code": "EPSG:32631"}, "EPSG:32631"),
        ({"proj:code": "epsg:32631"}, "EPSG:32631"),
        ({"proj:epsg": 32631}, "EPSG:32631"),
        ({"proj:epsg": "32631"}, "EPSG:32631"),
        ({"proj:epsg": None}, None),
        ({"proj:code": "IAU_2015:30100"}, "IAU_2015:30100"),
        ({"proj:code": "EPSG:32632", "proj:epsg": 32631}, "EPSG:32632"),
    ],
)
def test_code_and_epsg_at_the_item_or_the_asset(fields, crs):
    assert only(fields).crs == crs
    assert only({"proj:epsg": 3035}, **fields).crs == (crs or "EPSG:3035")


def test_crs_by_wkt_or_projjson_alone():
    import pyproj

    crs = pyproj.CRS.from_epsg(32631)
    assert only({"proj:wkt2": crs.to_wkt(), "proj:epsg": None}).crs == "EPSG:32631"
    assert only({"proj:projjson": crs.to_json_dict(), "proj:epsg": None}).crs == "EPSG:32631"


def test_six_or_nine_numbers_of_a_transform():
    six = [10, 0, 5.5, 0, -10, 7]
    assert only({"proj:transform": six}).transform == (10.0, 0.0, 5.5, 0.0, -10.0, 7.0)
    assert only({"proj:transform": [*six, 0, 0, 1]}).transform == (10.0, 0.0, 5.5, 0.0, -10.0, 7.0)
    with pytest.raises(InputError, match=r"proj:transform of asset 'B04' of item .* six or nine"):
        only({"proj:transform": [10, 0, 5]})


def test_the_items_transform_is_not_for_an_asset_of_another_shape():
    of_item = {"proj:shape": [64, 64], "proj:transform": [10, 0, 0, 0, -10, 0]}
    assert only(of_item).shape == (64, 64)
    assert only(of_item, **{"proj:shape": [64, 64]}).transform == (10.0, 0.0, 0.0, 0.0, -10.0, 0.0)
    assert only(of_item, **{"proj:shape": [32, 32]}).transform is None


# ---- bands ---------------------------------------------------------------------------------------------------------

V1 = {
    "blue": asset("B02.tif", 64, 10, **{"eo:bands": [{"name": "blue", "common_name": "blue"}]}),
    "blue-jp2": asset(
        "B02.jp2", 64, 10, **{"eo:bands": [{"name": "blue", "common_name": "blue"}], "type": "image/jp2"}
    ),
    "nir08": asset("B8A.tif", 32, 20, **{"eo:bands": [{"name": "nir08", "common_name": "nir08"}]}),
    "scl": asset("SCL.tif", 32, 20, **{"raster:bands": [{"nodata": 0, "data_type": "uint8"}]}),
    "visual": asset(
        "TCI.tif", 64, 10, **{"eo:bands": [{"name": n, "common_name": n} for n in ("red", "green", "blue")]}
    ),
    "thumbnail": asset("T.tif", 64, 10, roles=["thumbnail"]),
    "meta": {"href": "m.xml", "type": "application/xml"},
}
V0 = {
    "B02": asset("B02.tif", 64, 10, **{"eo:bands": [{"name": "B02", "common_name": "blue"}]}),
    "B8A": asset("B8A.tif", 32, 20, **{"eo:bands": [{"name": "B8A", "common_name": "nir08"}]}),
    "SCL": asset("SCL.tif", 32, 20),
}
CDSE = {
    **{
        f"B02_{r}m": asset(f"B02_{r}m.jp2", 640 // r, r, bands=[{"name": "B02", "eo:common_name": "blue"}])
        for r in (20, 10, 60)
    },
    "B8A_20m": asset("B8A.jp2", 32, 20, bands=[{"name": "B8A", "eo:common_name": "nir08"}]),
    "SCL_20m": asset("SCL.jp2", 32, 20, nodata=0, data_type="uint8"),
    "TCI_10m": asset(
        "T.jp2", 64, 10, bands=[{"name": "B04", "eo:common_name": "red"}, {"name": "B02", "eo:common_name": "blue"}]
    ),
}


@pytest.mark.parametrize(
    ("assets", "asked", "key"),
    [
        *((V1, asked, "blue") for asked in ("B02", "blue", "b02", "Blue")),
        *((V1, asked, "scl") for asked in ("SCL", "scl")),
        (V1, "B8A", "nir08"),
        (V1, "blue-jp2", "blue-jp2"),
        *((V0, asked, "B02") for asked in ("B02", "blue")),
        *((V0, asked, "B8A") for asked in ("B8A", "nir08")),
        (V0, "scl", "SCL"),
        *((CDSE, asked, "B02_10m") for asked in ("B02", "blue", "B02_10m")),
        (CDSE, "B02_60m", "B02_60m"),
        (CDSE, "SCL", "SCL_20m"),
    ],
)
def test_bands_by_the_names_of_each_catalogue(assets, asked, key):
    assert scene(assets=assets).asset(asked).key == key


def test_geotiff_comes_before_jpeg_2000():
    bands = {"eo:bands": [{"name": "B04", "common_name": "red"}]}
    jp2 = {"type": "image/jp2"}
    both = {"a-jp2": asset("B04.jp2", 64, 10, **bands, **jp2), "b": asset("B04.tif", 64, 10, **bands)}
    assert [scene(assets=both).asset(name).key for name in ("B04", "red")] == ["b", "b"]


def test_a_missing_band_names_item_band_and_what_there_is():
    with pytest.raises(InputError, match=r"'S2A_31UDQ_20200203_0' .* has no asset or band 'B11'.* B04, B08, SCL"):
        scene().asset("B11")
    with pytest.raises(InputError, match="raster assets are none"):
        scene(assets={"meta": V1["meta"]}).asset("B04")


def test_one_common_name_for_several_bands_is_ambiguous():
    edges = {b: asset("x", 32, 20, **{"eo:bands": [{"name": b, "common_name": "rededge"}]}) for b in ("B05", "B06")}
    with pytest.raises(InputError, match=r"'rededge' means more than one asset of item .*: B05, B06"):
        scene(assets=edges).asset("rededge")


def test_bands_of_one_file():
    bands = [{"name": "Red", "common_name": "red"}, {"name": "NIR", "common_name": "nir"}]
    raster = [{"nodata": 0, "data_type": "uint8"}, {"nodata": 255, "data_type": "uint8"}]
    found = scene(
        assets={"image": asset("i.tif", 64, 1, **{"eo:bands": bands, "raster:bands": raster})}, collection="naip"
    )
    assert [(a.band_index, a.nodata) for a in (found.asset("red"), found.asset("NIR"))] == [(1, 0.0), (2, 255.0)]
    with pytest.raises(InputError, match="holds 2 bands: ask for one by name: Red, NIR"):
        found.asset("image")


def test_scale_offset_nodata_and_dtype_in_each_version_of_stac():
    expected = (0.0, 0.0001, -0.1, "uint16")
    for fields in (
        {"raster:bands": [{"nodata": 0, "data_type": "uint16", "scale": 0.0001, "offset": -0.1}]},
        {"bands": [{"name": "B04", "nodata": 0, "data_type": "uint16", "raster:scale": 0.0001, "raster:offset": -0.1}]},
        {"nodata": 0, "data_type": "uint16", "raster:scale": 0.0001, "raster:offset": -0.1},
    ):
        found = only(**fields)
        assert (found.nodata, found.scale, found.offset, found.dtype) == expected


def test_bands_by_number_before_stac_1():
    made = item("LC08", collection="landsat", assets={"SR_B4.TIF": asset("x.TIF", 64, 30, **{"eo:bands": [1]})})
    made["properties"]["eo:bands"] = [
        {"name": "SR_B3", "common_name": "green"},
        {"name": "SR_B4", "common_name": "red"},
    ]
    assert [parse_item(made).asset(name).key for name in ("SR_B4", "red", "sr_b4.tif")] == ["SR_B4.TIF"] * 3


# ---- the frozen item list -------------------------------------------------------------------------------------------


@given(
    st.sampled_from([0, 255, "nan", -32768, "-inf", None]),
    st.sampled_from([None, [64, 64]]),
    st.floats(0, 100) | st.none(),
)
def test_json_there_and_back(nodata, shape, cloud):
    fields = {"raster:bands": [{"nodata": nodata, "data_type": "float32"}], "proj:shape": shape}
    fields["alternate"] = {"https": {"href": "https://h/B04.tif?token=secret"}}
    made = item(assets={"B04": {**asset("B04.tif", 64, 10), **fields}}, eo__cloud_cover=cloud)
    before = parse_item(made, "/data/items.json")
    text = json.dumps(before.to_json(), allow_nan=False)
    after = Scene.from_json(json.loads(text))
    assert json.dumps(after.to_json(), allow_nan=False) == text
    assert "secret" not in text
    assert after.asset("B04").alternates == (("https", "https://h/B04.tif"),)
    if nodata != "nan":
        assert after == before
        assert pickle.loads(pickle.dumps(after)) == before


def test_a_narrowed_scene_has_the_asked_bands_under_their_names():
    narrow = scene(assets=V1).narrowed(["B02", "SCL"])
    assert [(a.name, a.key) for a in narrow.assets] == [("B02", "blue"), ("SCL", "scl")]
    again = Scene.from_json(json.loads(json.dumps(narrow.to_json())))
    assert again == narrow
    assert [again.asset(name).key for name in ("B02", "SCL")] == ["blue", "scl"]


def test_what_is_no_item_or_no_scene_is_refused():
    with pytest.raises(InputError, match="no STAC item"):
        parse_item({"type": "Collection", "id": "x"})
    with pytest.raises(InputError, match="no scene of a frozen item list"):
        Scene.from_json({"id": "x"})
    with pytest.raises(InputError, match="was it edited"):
        Scene.from_json({**scene().to_json(), "surprise": 1})


@pytest.mark.parametrize("bbox", [["a", "b", "c", "d"], [None] * 4, [1, 2, 3, float("nan")]])
def test_a_bbox_that_is_none(bbox):
    fields = item("A") | {"bbox": bbox}
    with pytest.raises(InputError, match=r"bbox of item 'A' .* is \["):
        parse_item(fields)


def test_a_path_and_row_that_are_no_numbers():
    fields = item("LC08", collection="landsat", landsat__wrs_path="x", landsat__wrs_row="1")
    with pytest.raises(InputError, match="wrs_path"):
        parse_item(fields)


@pytest.mark.parametrize("alternate", ["x", {"a": "b"}, [1]])
def test_an_alternate_that_is_none_is_passed_over(alternate):
    fields = item("A")
    for one in fields["assets"].values():
        one["alternate"] = alternate
    assert all(a.alternates == () for a in parse_item(fields).assets)
