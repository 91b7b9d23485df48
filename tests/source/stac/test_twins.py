import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.source.stac.twins import drop_twins
from tests.source.stac.made import scene

STRIP = "S2A_OPER_MSI_L2A_DS_{by}_{processed}_S{start}_N{baseline}"


def strip(start: str, processed: str = "20200203T120000", baseline: str = "02.13", by: str = "SGS_") -> str:
    return STRIP.format(by=by, processed=processed, start=start, baseline=baseline)


def twin(item_id, moment="2020-02-03T10:59:11.024Z", baseline="02.13", start=None, platform="sentinel-2a", **fields):
    if start is not None:
        fields["s2__datastrip_id"] = start if "_S" in start else strip(start)
    return scene(
        item_id, moment, platform=platform, grid__code="MGRS-31UDQ", s2__processing_baseline=baseline, **fields
    )


def kept(*scenes):
    """Ids that count; the same for every order of the input."""
    results = {drop_twins(order) for order in itertools.permutations(scenes)}
    assert len(results) == 1
    result = results.pop()
    assert len(result.kept) + len(result.dropped) == len(scenes)
    return [s.id for s in result.kept]


def test_case_4_reprocessed_twins():
    old = scene(
        "S2A_31UDQ_20200203_0",
        "2020-02-03T10:59:11.024Z",
        s2__processing_baseline="02.13",
        s2__datastrip_id=strip("20200203T105911", "20200203T124600", "02.13"),
    )
    new = scene(
        "S2A_31UDQ_20200203_1",
        "2020-02-03T10:59:11.025Z",
        s2__processing_baseline="05.00",
        s2__datastrip_id=strip("20200203T105911", "20230612T214223", "05.00", by="S2RP"),
    )
    other = scene("S2B_31UDQ_20200218_0", "2020-02-18T10:59:09.024Z", s2__processing_baseline="05.00")
    assert kept(old, new, other) == ["S2A_31UDQ_20200203_1", "S2B_31UDQ_20200218_0"]
    (dropped,) = drop_twins([other, new, old]).dropped
    assert (dropped.scene.id, dropped.kept) == ("S2A_31UDQ_20200203_0", "S2A_31UDQ_20200203_1")
    assert "processing baseline 02.13 and not 05.00" in dropped.reason


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [
        ("00.9995", "01.0005", 1),
        ("00.000", "01.000", 1),
        ("00.000", "01.001", 2),
        ("59.400", "59.600", 1),
    ],
)
def test_times_are_clustered_not_rounded(a, b, n):
    assert len(kept(twin("A", f"2020-02-03T10:59:{a}Z"), twin("B", f"2020-02-03T10:59:{b}Z"))) == n


def test_a_chain_of_neighbours_is_one_acquisition():
    chain = [twin(f"A{i}", f"2020-02-03T10:59:{s}Z") for i, s in enumerate(("00.0", "00.9", "01.8", "02.7"))]
    assert kept(*chain) == ["A3"]
    assert kept(chain[0], chain[2]) == ["A0", "A2"]


def test_another_platform_or_tile_is_another_acquisition():
    assert len(kept(twin("A"), twin("B", platform="sentinel-2b"))) == 2
    other = scene("C", platform="sentinel-2a", grid__code="MGRS-31UDP")
    assert len(kept(twin("A"), other)) == 2


def test_platforms_and_tiles_are_the_same_however_they_are_written():
    other = scene(
        "B", "2020-02-03T10:59:11.024Z", platform="Sentinel-2A", s2__mgrs_tile="31UDQ", s2__processing_baseline="05.00"
    )
    assert kept(twin("A"), other) == ["B"]


def test_two_datastrips_of_one_tile_and_day_both_stay():
    assert len(kept(twin("A", start="20200203T105911"), twin("B", start="20200203T110002"))) == 2


def test_a_missing_datastrip_matches_any():
    assert kept(twin("A", start="20200203T105911"), twin("B", baseline="05.00")) == ["B"]
    assert kept(twin("A"), twin("B")) == ["B"]


def test_a_missing_datastrip_joins_the_nearest_and_never_merges_two_strips():
    first = twin("A", "2020-02-03T10:59:11.0Z", start="20200203T105911")
    second = twin("C", "2020-02-03T10:59:11.8Z", start="20200203T110002")
    nameless = twin("B", "2020-02-03T10:59:11.7Z", baseline="05.00")
    assert kept(first, second, nameless) == ["A", "B"]


def test_a_strip_does_not_chain_through_another():
    strips = [
        twin("A", "2020-02-03T10:59:11.0Z", start="20200203T105911"),
        twin("B", "2020-02-03T10:59:11.9Z", start="20200203T110002"),
        twin("C", "2020-02-03T10:59:12.8Z", start="20200203T105911"),
    ]
    assert len(kept(*strips)) == 3


def test_the_highest_numeric_baseline_then_processing_time_then_id():
    assert kept(twin("B", baseline="05.09"), twin("A", baseline="05.10")) == ["A"]
    assert kept(twin("B", baseline="9.99"), twin("A", baseline="10.00")) == ["A"]
    assert kept(twin("B", baseline=None), twin("A", baseline="00.01")) == ["A"]
    old = {"baseline": "02.13", "s2__generation_time": "2024-01-01T00:00:00Z"}
    new = {"baseline": "05.00", "s2__generation_time": "2023-01-01T00:00:00Z"}
    assert kept(twin("B", **old), twin("A", **new)) == ["A"]
    early, late = "2020-02-03T12:00:00Z", "2020-02-03T12:00:00.001+00:00"
    assert kept(twin("B", s2__generation_time=early), twin("A", s2__generation_time=late)) == ["A"]
    assert kept(twin("A"), twin("B")) == ["B"]


def test_the_same_item_twice_counts_once_also_without_tile():
    made = [scene("X", collection="c", moment="2020-01-01T00:00:00Z") for _ in range(2)]
    assert kept(*made) == ["X"]
    assert "a copy of item 'X'" in drop_twins(made).dropped[0].reason
    assert len(kept(scene("X", collection="c"), scene("Y", collection="c"))) == 2


def is_twin_slowly(a, b):
    same_strip = a.datastrip_start == b.datastrip_start
    return (a.platform, a.tile) == (b.platform, b.tile) and abs(a.datetime - b.datetime) <= 1000 and same_strip


SCENES = st.lists(
    st.builds(
        lambda ms, strip_no, baseline, satellite, no: twin(
            f"I{no}",
            f"2020-02-03T10:59:0{ms // 1000}.{ms % 1000:03d}Z",
            baseline=baseline,
            start=f"20200203T10590{strip_no}" if strip_no else None,
            platform=f"sentinel-2{satellite}",
        ),
        st.integers(0, 4000),
        st.sampled_from([0, 1, 2]),
        st.sampled_from([None, "02.13", "05.00", "05.10"]),
        st.sampled_from("ab"),
        st.integers(0, 3),
    ),
    max_size=9,
)


@given(SCENES, st.randoms())
def test_the_result_does_not_depend_on_the_order(scenes, random):
    expected = drop_twins(scenes)
    shuffled = list(scenes)
    random.shuffle(shuffled)
    assert drop_twins(shuffled) == expected
    assert drop_twins(expected.kept).kept == expected.kept or any(s.datastrip_start is None for s in scenes)
    assert {d.kept for d in expected.dropped} <= {s.id for s in expected.kept}


@given(SCENES)
def test_where_all_datastrips_are_known_clusters_are_connected_components(scenes):
    scenes = [s for s in scenes if s.datastrip_start]
    parts = [[s] for s in scenes]
    merged = True
    while merged:
        merged = False
        for i, j in itertools.combinations(range(len(parts)), 2):
            if any(is_twin_slowly(a, b) for a in parts[i] for b in parts[j]):
                parts[i] += parts.pop(j)
                merged = True
                break
    assert len(drop_twins(scenes).kept) == len(parts)
