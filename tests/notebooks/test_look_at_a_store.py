"""Notebook 1 in a kernel: its pictures, its slider and its clicks give what the store holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import chronozarr_dask as czd
from tests.notebooks.kernel import complaints, execute, pictures, printed, read

NAME = "1-look-at-a-store.ipynb"
T, H, W = 8, 900, 1000
BANDS = [czd.Band(f"B0{i}", c, 1e-4, 0.0, "reflectance") for i, c in enumerate(("blue", "green", "red", "nir"))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fields of 50 x 50 pixels that change in time, star-delta; timestep 2 is empty, 3 in part carried over."""
    folder = tmp_path_factory.mktemp("notebook-1")
    rng = np.random.default_rng(4)
    fields = rng.integers(200, 5000, (T, len(BANDS), H // 50, W // 50)).astype("uint16")
    data = fields.repeat(50, 2).repeat(50, 3)
    coverage = np.full((T, H, W), 2, "uint8")
    coverage[2], data[2] = 0, 0
    coverage[3, :450] = 0
    coords = {
        "time": np.arange("2023-01", "2023-09", dtype="M8[M]").astype("M8[ns]"),
        "y": 5_000_000 - 10 * (np.arange(H) + 0.5),
        "x": 500_000 + 10 * (np.arange(W) + 0.5),
    }
    cube = xr.DataArray(data, coords, ("time", "band", "y", "x"))
    counts = xr.DataArray(coverage, {k: coords[k] for k in ("time", "y", "x")}, ("time", "y", "x"))
    given = {"bands": BANDS, "coverage": counts, "crs": "EPSG:32631", "encoding": "star-delta"}
    czd.encode(cube, folder / "store", **given)
    return folder / "store"


ASSERTIONS = """
from matplotlib.backend_bases import MouseEvent

assert (fine, coarse) == (0, 1)

def expected(t, level):
    rgb = store.read(t, level=level)[[2, 1, 0]].transpose(1, 2, 0)
    shade = np.clip((rgb.astype("f4") * np.float32(1e-4) - dark) / (bright - dark), 0, 1) ** 0.7
    return np.where((rgb == 0).any(-1, keepdims=True), NO_DATA, shade)

for t in (5, 2, 0, 7):
    slider.value = t
    assert np.allclose(picture.get_array(), expected(t, 1), atol=1e-4), t
    assert date.value == str(store.times[t])[:10]
    assert now.get_xdata()[0] == store.times[t]
assert np.allclose(fig_frame.axes[0].images[0].get_array(), expected(0, 0), atol=1e-4)

def click(ax, x, y, button=1):
    at = ax.transData.transform((x, y))
    event = MouseEvent("button_press_event", fig_time.canvas, *at, button)
    fig_time.canvas.callbacks.process(event.name, event)

for x, y in ((500_123, 4_999_987), (509_999, 4_991_001), (503_337, 4_995_432)):
    click(ax_map, x, y)
    assert abs(series.x - x) <= 5 and abs(series.y - y) <= 5
    row, col = int((5_000_000 - y) // 10), int((x - 500_000) // 10)
    truth = np.stack([store.read_window(t, (row, row + 1, col, col + 1))[:, 0, 0] for t in range(8)])
    counts = np.stack([store.read_coverage(t)[row, col] for t in range(8)])
    assert np.array_equal(series.data, truth)
    drawn = [line for line in ax_series.lines if line is not now]
    assert len(drawn) == 3 * len(store.bands)
    for b in range(len(store.bands)):
        whole, filled, hollow = (line.get_ydata() for line in drawn[3 * b : 3 * b + 3])
        values = np.where(truth[:, b] == 0, np.nan, truth[:, b] * 1e-4)
        assert np.allclose(whole, values, equal_nan=True)
        assert np.allclose(filled, np.where(counts > 0, values, np.nan), equal_nan=True)
        assert np.allclose(hollow, np.where(counts == 0, values, np.nan), equal_nan=True)
        assert drawn[3 * b + 2].get_markerfacecolor() == "white"
    assert [bar.get_height() for bar in ax_count.patches] == counts.tolist()
    assert cross.get_xdata()[0] == series.x and cross.get_ydata()[0] == series.y
    assert "requests" in fig_time.get_suptitle()
    low, high = ax_series.get_ylim()
    assert low < np.nanmin(values) and high > np.nanmax(values)

before = series
click(ax_series, *ax_series.transData.inverted().transform(ax_series.transAxes.transform((0.5, 0.5))))
click(ax_map, 505_000, 4_995_000, button=3)
assert series is before

for k, t in enumerate(several):
    values = store.read(t, level=level_of(400)).astype(float)
    with np.errstate(invalid="ignore"):
        index = np.where(values[2] == 0, np.nan, (values[3] - values[2]) / (values[3] + values[2]))
    assert np.allclose(ndvi[k], index, equal_nan=True, atol=1e-5)

assert np.array_equal(fig_change.axes[0].collections[0].get_array(), store.volatility())
requests = {what: cost.requests for what, cost in costs.items()}
assert requests["a cell, level 0"] == 2  # a residual and its anchor
assert (requests["a pixel through time"], requests["then its neighbour"]) == (16, 14)  # data and coverage; two anchors
assert requests["volatility"] == 2
"""


def test_pictures_slider_and_clicks_show_what_the_store_holds(store, tmp_path):
    notebook = execute(NAME, tmp_path, ASSERTIONS, CHRONOZARR_STORE=str(store))
    assert complaints(notebook) == []
    assert pictures(notebook) == 4
    text = printed(notebook)
    assert "B02 (red)" in text
    assert "level 0     1000 x 900 pixels of 10" in text


def test_without_a_store_there_is_one_clear_message(tmp_path, monkeypatch):
    monkeypatch.setenv("CHRONOZARR_STORE", str(tmp_path / "nothing"))
    source = read(NAME).cells[1].source.removeprefix("%matplotlib widget\n")
    with pytest.raises(FileNotFoundError, match=r"there is no store at .*nothing: run `make demo`.*CHRONOZARR_STORE"):
        exec(compile(source, "cell", "exec"), {})
