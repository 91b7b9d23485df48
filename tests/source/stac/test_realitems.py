"""Every real item file: it works, or one clear error names what is missing.

The tables have, for a file: how many items it holds, the bands asked for, the grid that follows from the items (CRS,
pixel size, upper-left corner, width, height) or what the error about it says, and the offset under the policy auto or
what its error says.
"""

import json
import re
from pathlib import Path

import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.grid import derive_grid
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.source.stac.offsets import decide_offsets
from chronozarr_dask.source.stac.search import Query, read_scenes
from chronozarr_dask.source.stac.twins import drop_twins

S2, LANDSAT = ["B02", "B8A", "SCL"], ["blue", "QA_PIXEL"]
NO_BASELINE = "has no processing_baseline"
NO_PROJ = r"1 of 1 items do not tell their grid \(proj:code or proj:epsg, and proj:transform\)"
ODC, TOOLS = "stac/opendatacube__odc-stac/", "stac/opendatacube__odc-tools/"
RUSTAC, GEOPARQUET = "stac/stac-utils__rustac/", "stac/stac-utils__stac-geoparquet/"
USGS = "landsat/stactools_c2l2_005009/tests/data-files/assets/LC08_L2SP_005009_20150710_20200908_02_T2_"


def tile(zone, x, y, height=10980):
    return f"EPSG:32{zone}", 10, x, y, 10980, height


TABLE = [
    ("stac/cdse/issue1043-api-proj-code__FeatureCollection.json", 1, S2, tile(636, 699960, 300000), -1000),
    ("stac/cdse/s2_l2a_test_item.json", 1, S2, tile(632, 600000, 5200020), 0),
    (
        f"{ODC}LC08_L2SP_028030_20200114_20200824_02_T1_SR.json",
        1,
        LANDSAT,
        ("EPSG:32615", 30, 173085, 4904715, 7931, 8041),
        0,
    ),
    (
        f"{ODC}LC08_L2SR_081119_20200101_20200823_02_T2.json",
        1,
        LANDSAT,
        ("EPSG:3031", 1164.15, 857085, -127485, 200, 200),
        0,
    ),
    (
        f"{ODC}LE07_L2SP_044033_20210329_20210424_02_T1_SR.json",
        1,
        LANDSAT,
        ("EPSG:32610", 30, 478485, 4416615, 8151, 7131),
        0,
    ),
    (f"{ODC}S2B_MSIL2A_20190629T212529_R043_T06VVN_20201006T080531.json", 1, S2, tile(606, 399960, 6800040), 0),
    (
        f"{ODC}S2B_MSIL2A_20190629T212529_R043_T06VVN_20201006T080531_raster_ext.json",
        1,
        S2,
        tile(606, 399960, 6800040),
        0,
    ),
    (
        f"{ODC}ga_ls8c_ard_3-1-0_088080_2020-05-25_final.stac-item.json",
        1,
        ["nbart_blue", "oa_fmask"],
        ("EPSG:32656", 30, 526785, -3077085, 7781, 7841),
        0,
    ),
    (f"{ODC}lidar_dem.json", 1, ["dem"], ("EPSG:28355", 1, 766000, 6732000, 2000, 2000), 0),
    (f"{ODC}only_crs_proj.json", 1, ["BS_PC_10"], f"{NO_PROJ}: 3af1acae", 0),
    (f"{ODC}site1-20200606-tall-strip-africa.geojson", 9, S2, tile(735, 499980, 9200020, 90978), 0),
    (f"{ODC}site2-2020_jun_jul-35MNM.geojson", 13, S2, tile(735, 499980, 9200020), 0),
    (f"{TOOLS}29V-2021.stac-item.json", 1, ["data"], ("EPSG:32629", 10, 312930, 7100463.58702909, 37414, 89438), 0),
    (
        f"{TOOLS}60U-2020.stac-item.json",
        1,
        ["data"],
        ("EPSG:32660", 10, 186554.85147020232, 5892994.68704876, 42183, 18061),
        0,
    ),
    (
        f"{TOOLS}LC08_L2SR_081119_20200101_20200823_02_T2.json",
        1,
        LANDSAT,
        ("EPSG:3031", 1164.15, 857085, -127485, 200, 200),
        0,
    ),
    (f"{TOOLS}S2A_17SPR_20221106_0_L2A.json", 1, S2, tile(617, 600000, 3600000), 0),
    (f"{TOOLS}S2A_28QCH_20200714_0_L2A.json", 1, S2, tile(628, 300000, 2300040), 0),
    (f"{TOOLS}S2B_31QGB_20200831_0_L2A.json", 1, S2, tile(631, 699960, 2200020), 0),
    (
        f"{TOOLS}S2B_42TUM_20220107_0_L2A.json",
        1,
        S2,
        tile(642, 300000, 4700040),
        f"S2B_42TUM_20220107_0_L2A.*{NO_BASELINE}.*N0301",
    ),
    (f"{TOOLS}S2B_T37MGP_20240710T073012_L2A_C1.json", 1, S2, tile(737, 699960, 9400000), -1000),
    (f"{TOOLS}S2B_T37MGP_20240710T073012_L2A_C1_rel_links.json", 1, S2, tile(737, 699960, 9400000), -1000),
    (
        f"{TOOLS}ga_ls5t_nbart_gm_cyear_3_x30y14_1999--P1Y_final.stac-item.json",
        1,
        ["blue"],
        ("EPSG:3577", 30, 192000, -4032000, 3200, 3200),
        0,
    ),
    (
        f"{TOOLS}ga_ls8c_ard_3-1-0_088080_2020-05-25_final.stac-item.json",
        1,
        ["nbart_blue"],
        ("EPSG:32656", 30, 526785, -3077085, 7781, 7841),
        0,
    ),
    (
        f"{TOOLS}ga_s2am_ard_3-2-1_49JFM_2016-12-14_final.stac-item.json",
        1,
        ["nbart_blue"],
        tile(749, 600000, 7200040),
        NO_BASELINE,
    ),
    (f"{TOOLS}lidar_dem.json", 1, ["dem"], ("EPSG:28355", 1, 766000, 6732000, 2000, 2000), 0),
    (f"{TOOLS}world-wrapping.stac-item.json", 1, ["blue"], ("EPSG:3832", 30, 3336000, -1983990, 3200, 3201), 0),
    (f"{RUSTAC}item-collection.json", 10, S2, tile(613, 399960, 4500000), -1000),
    (f"{RUSTAC}two-sentinel-2-items.json", 2, S2, tile(613, 399960, 4500000), -1000),
    (f"{GEOPARQUET}3dep-lidar-dsm-pc.json", 4, ["data"], ("EPSG:26911", 2, 758397, 4227063, 3073, 14738), 0),
    (
        f"{GEOPARQUET}cop-dem-glo-30-pc.json",
        4,
        ["data"],
        ("EPSG:4326", 1 / 360, -180.0013888888889, -88.99986111111112, 1440, 3600),
        0,
    ),
    (f"{GEOPARQUET}io-lulc-annual-v02-pc.json", 4, ["data"], ("EPSG:32660", 10, 166030, 7991500, 66794, 799150), 0),
    (f"{GEOPARQUET}landsat-c2-l2-pc.json", 4, LANDSAT, r"2 CRSs: 3 on EPSG:32655, 1 on EPSG:32656.*grid\.crs", 0),
    (f"{GEOPARQUET}naip-pc.json", 4, ["red", "NIR"], ("EPSG:26920", 0.3, 202180.8, 2033979.6, 113200, 70889), 0),
    (f"{GEOPARQUET}sentinel-1-rtc-pc.json", 4, ["vh", "vv"], ("EPSG:32633", 10, 373180, 3924100, 36307, 62891), 0),
    (f"{GEOPARQUET}sentinel-2-item.json", 1, S2, tile(624, 499980, 9100020), -1000),
    (f"{GEOPARQUET}sentinel-2-l2a-pc.json", 4, S2, r"2 CRSs: 2 on EPSG:32646, 2 on EPSG:32647.*grid\.crs", -1000),
    (
        "sentinel2/B_gfmap_cdse_2023OctDec/items.json",
        19,
        ["B02", "SCL"],
        ("EPSG:32631", 10, 587880, 5685430, 46, 52),
        0,
    ),
    (
        "sentinel2/D_eolearn_TestEOPatch_2015_2017/items.json",
        68,
        ["NDVI", "CLM"],
        ("EPSG:32633", 9.99479222007154, 465181.0522318204, 5080254.63349641, 100, 101),
        0,
    ),
    (
        "sentinel2/openeo_local_stac_3dates/collection.json",
        3,
        ["B04", "B02"],
        r"3 of 3 items do not tell their grid.*openEO_2023-06-01Z\.tif",
        0,
    ),
    (
        "sentinel2/titiler_34SGA_20200318/fixtures__item.json",
        1,
        ["B02"],
        tile(634, 699960, 3600000),
        f"S2A_34SGA_20200318_0_L2A.*{NO_BASELINE}",
    ),
    (
        "sentinel2_romania_eupl/items.json",
        27,
        ["B02", "B11", "SCL"],
        ("EPSG:3035", 10, 5271982.576551932, 2533004.2149151857, 100, 100),
        f"NRT_RO_20180402.*{NO_BASELINE}",
    ),
    ("landsat/C_landsat8_L8NY18_2018/items.json", 19, ["B4", "BQA"], r"on 19 grids.*grid\.align_to", 0),
    (f"{USGS}SR_stac.json", 1, ["red", "QA_PIXEL"], NO_PROJ, 0),
    (f"{USGS}ST_stac.json", 1, ["ST_B10", "QA_PIXEL"], NO_PROJ, 0),
]
MISSING = [
    ("stac/cdse/s2_l2a_test_item.json", "B10", r"'S2A_32TPS_20230602_0_L2A' .* no asset or band 'B10'.* blue, .* scl"),
    (f"{GEOPARQUET}sentinel-2-item.json", "rededge", "'rededge' means more than one asset .*: B05, B06, B07"),
    (
        f"{GEOPARQUET}naip-pc.json",
        "image",
        "asset 'image' .* holds 4 bands: ask for one by name: Red, Green, Blue, NIR",
    ),
    (f"{USGS}ST_stac.json", "red", "no asset or band 'red'.* QA_PIXEL.TIF"),
]


@pytest.mark.parametrize(("name", "n", "bands", "grid", "offset"), TABLE, ids=[row[0] for row in TABLE])
def test_the_table(realdata, name, n, bands, grid, offset):
    scenes = [s.narrowed(bands) for s in read_scenes(str(realdata / name), Query())]
    assert len(scenes) == n
    assert len(drop_twins(scenes).kept) == n
    for scene in scenes:
        frozen = json.dumps(scene.to_json(), allow_nan=False)
        assert json.dumps(Scene.from_json(json.loads(frozen)).to_json()) == frozen
        assert all(a.href.startswith(("/", "https://", "http://", "s3://")) for a in scene.assets)

    if isinstance(grid, str):
        with pytest.raises(InputError, match=grid):
            derive_grid(scenes, bands)
    else:
        found = derive_grid(scenes, bands)
        crs, *numbers = grid
        a, _, c, _, _, f = found.transform
        assert found.crs == crs
        assert [a, c, f, found.width, found.height] == pytest.approx(numbers, rel=1e-12)

    if isinstance(offset, str):
        with pytest.raises(InputError, match=re.compile(offset)):
            decide_offsets(scenes)
        assert {d.offset for d in decide_offsets(scenes, "none")} == {0}
    else:
        assert {d.offset for d in decide_offsets(scenes)} == {offset}


@pytest.mark.parametrize(("name", "band", "message"), MISSING)
def test_a_band_that_is_not_there(realdata, name, band, message):
    with pytest.raises(InputError, match=message):
        read_scenes(str(realdata / name), Query())[0].asset(band)


def test_no_item_file_is_left_out(realdata):
    files = {str(p.relative_to(realdata)) for p in (realdata / "stac").rglob("*") if p.is_file()}
    files |= {str(p.relative_to(realdata)) for p in realdata.rglob("items.json")}
    assert files <= {row[0] for row in TABLE}


def test_local_hrefs_are_files(realdata):
    for name in ("sentinel2_romania_eupl", "sentinel2/B_gfmap_cdse_2023OctDec", "landsat/C_landsat8_L8NY18_2018"):
        for scene in read_scenes(str(realdata / name / "items.json"), Query()):
            assert all(Path(a.href).is_file() for a in scene.assets)


def test_an_earth_search_v1_item_keeps_its_own_offset_apart_from_the_decision(realdata):
    (scene,) = read_scenes(str(realdata / "stac/cdse/s2_l2a_test_item.json"), Query())
    assert scene.asset("B02").offset == -0.1
    assert scene.offset_applied
    assert decide_offsets([scene])[0].offset == 0


def test_copernicus_data_space_has_another_place_for_each_file(realdata):
    (scene,) = read_scenes(str(realdata / "stac/cdse/issue1043-api-proj-code__FeatureCollection.json"), Query())
    band = scene.asset("B04")
    assert (band.key, band.dtype, band.scale, band.offset, band.is_jpeg2000) == (
        "B04_10m",
        "uint16",
        0.0001,
        -0.1,
        True,
    )
    assert band.href.startswith("s3://eodata/")
    assert dict(band.alternates)["https"].startswith("https://")
    assert scene.datastrip_start == "20200322T075811"
