import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.source.stac.offsets import decide_offsets
from tests.source.stac.made import scene


def offset(policy="auto", overrides=None, **fields):
    (decision,) = decide_offsets([scene(**fields)], policy, overrides)
    assert decision.rule
    return decision.offset


def test_case_1_by_baseline_not_by_date():
    for early, late in (("02.12", "05.00"), ("03.01", "05.10")):
        scenes = [
            scene("S2A_31UDQ_20190302_0", "2019-03-02T10:59:11Z", s2__processing_baseline=early),
            scene("S2A_31UDQ_20190317_0", "2019-03-17T10:59:11Z", s2__processing_baseline=late),
        ]
        assert [d.offset for d in decide_offsets(scenes)] == [0, -1000]
    with pytest.raises(InputError, match=r"'S2A_31UDQ_20190317_0'.*processing_baseline"):
        decide_offsets([scenes[0], scene("S2A_31UDQ_20190317_0", "2019-03-17T10:59:11Z")])


@pytest.mark.parametrize("flag", ["earthsearch__boa_offset_applied", "sentinel__boa_offset_applied"])
def test_case_2_already_applied(flag):
    bands = {"raster:bands": [{"scale": 0.0001, "offset": -0.1}]}
    assets = {"B04": {"href": "B04.tif", "type": "image/tiff", **bands}}
    assert offset(s2__processing_baseline="05.10", assets=assets, **{flag: True}) == 0
    assert offset(s2__processing_baseline="05.10", assets=assets, **{flag: False}) == -1000
    assert offset(s2__processing_baseline="05.10", assets=assets) == -1000
    assert offset(s2__processing_baseline="03.01", assets=assets) == 0


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("02.12", 0),
        ("03.01", 0),
        ("3.99", 0),
        ("04.00", -1000),
        ("4", -1000),
        (4, -1000),
        (4.0, -1000),
        ("05.00", -1000),
        ("5.10", -1000),
        (5.1, -1000),
        ("05.11", -1000),
        ("N0510", -1000),
        ("N05.10", -1000),
        ("0301", 0),
        ("N0400", -1000),
        ("10.00", -1000),
        ("99.99", -1000),
    ],
)
def test_baselines_are_numbers(baseline, expected):
    assert offset(s2__processing_baseline=baseline) == expected


@pytest.mark.parametrize("baseline", [None, "", "latest", "five", True, "5.1.0", float("nan"), -1])
def test_a_baseline_that_is_no_number_is_missing(baseline):
    with pytest.raises(InputError, match="no processing_baseline that reads as a number"):
        offset(s2__processing_baseline=baseline)


@pytest.mark.parametrize(
    "properties",
    [
        {"s2__processing_baseline": "05.00"},
        {"sentinel__processing_baseline": "05.00"},
        {"sentinel2__processing_baseline": "05.00"},
        {"processing_baseline": "05.00"},
        {"processing__version": "05.00"},
    ],
)
def test_the_property_by_the_names_of_each_catalogue(properties):
    assert offset(**properties) == -1000


def test_a_version_of_software_is_no_baseline():
    with pytest.raises(InputError, match="processing_baseline"):
        offset(processing__version="1.2.3")


def test_a_product_name_is_a_hint_and_no_proof():
    name = "S2B_MSIL2A_20220107T063239_N0301_R077_T42TUM_20220107T084202"
    with pytest.raises(InputError, match=f"processing_baseline.*{name}"):
        offset(sentinel__product_id=name)


@pytest.mark.parametrize(
    ("fields", "is_sentinel2"),
    [
        ({"collection": "sentinel-2-l2a"}, True),
        ({"collection": "sentinel-2-c1-l2a"}, True),
        ({"collection": "sentinel-s2-l2a-cogs"}, True),
        ({"collection": "s2_l2a_c1"}, True),
        ({"constellation": "Sentinel 2", "collection": "mine"}, True),
        ({"constellation": "sentinel-2", "collection": None}, True),
        ({"platform": "Sentinel-2B", "collection": "mine"}, True),
        ({"platform": "sentinel-2c", "collection": "mine"}, True),
        ({"platform": "landsat-8", "collection": "landsat-c2-l2"}, False),
        ({"platform": "sentinel-1a", "collection": "sentinel-1-rtc"}, False),
        ({"collection": None}, False),
        ({"collection": "s2cloudless"}, False),
    ],
)
def test_what_says_sentinel_2(fields, is_sentinel2):
    made = scene("X", **fields)
    assert made.is_sentinel2 == is_sentinel2
    if is_sentinel2:
        with pytest.raises(InputError, match=r"'X'.*processing_baseline"):
            decide_offsets([made])
    else:
        assert decide_offsets([made])[0].offset == 0


def test_level_1c_is_not_guessed_at():
    for fields in ({"s2__product_type": "S2MSI1C"}, {"collection": "sentinel-2-l1c"}):
        with pytest.raises(InputError, match="level 1C"):
            offset(s2__processing_baseline="05.00", **fields)
        assert offset("none", s2__processing_baseline="05.00", **fields) == 0


def test_policies_of_the_recipe_and_of_one_item():
    assert offset("none") == 0
    assert offset(-1000) == -1000
    assert offset("auto", {"S2A_31UDQ_20200203_0": "none"}) == 0
    assert offset("none", {"S2A_31UDQ_20200203_0": "auto"}, s2__processing_baseline="05.00") == -1000
    assert offset("auto", {"S2A_31UDQ_20200203_0": 7}) == 7
    with pytest.raises(InputError, match="'nobody', which is not among the 1 items"):
        offset("auto", {"nobody": 0})
    for wrong in ("yes", True, 1.5):
        with pytest.raises(InputError, match="give auto, none or a whole number"):
            offset(wrong)


@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(["{:02d}.{:02d}", "{}.{:02d}", "N{:02d}{:02d}"]))
def test_every_way_to_write_a_baseline_decides_alike(major, minor, form):
    expected = -1000 if major >= 4 else 0
    found = scene(s2__processing_baseline=form.format(major, minor))
    assert decide_offsets([found])[0].offset == expected
    assert decide_offsets([Scene.from_json(found.to_json())]) == decide_offsets([found])
