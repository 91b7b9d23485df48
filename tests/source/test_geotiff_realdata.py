"""Real scenes of one file for each band. Every real file is in tests/realdata."""

import numpy as np
import pytest
import rasterio

from chronozarr_dask import encode, open_store
from chronozarr_dask.errors import InputError
from chronozarr_dask.source.files import open_source


def listed(tmp_path, rows):
    path = tmp_path / "files.csv"
    path.write_text("\n".join(["uri,datetime,bands", *(",".join(map(str, row)) for row in rows)]))
    return path


def test_sentinel2_of_one_file_for_each_band(realdata, tmp_path):
    folder = realdata / "sentinel2_romania_eupl"
    days, bands = sorted(p.name for p in folder.iterdir() if p.is_dir()), ["B02", "B03", "B04", "B08"]
    rows = [(folder / d / f"{b}.tif", f"{d[:4]}-{d[4:6]}-{d[6:]}", b) for d in days for b in bands]
    source = open_source(listed(tmp_path, rows))
    encode(source, tmp_path / "s.zarr", chunk_size=64)
    stored = open_store(tmp_path / "s.zarr").to_xarray(level=0)
    assert stored.data.shape == (27, 4, 100, 100)
    assert list(stored.band.values) == bands
    for t, day in enumerate(days):
        assert str(stored.time.values[t])[:10].replace("-", "") == day
        for b, band in enumerate(bands):
            with rasterio.open(folder / day / f"{band}.tif") as raw:
                assert (stored.data.values[t, b] == raw.read(1)).all()
    # the same files by their names, with the date in the folder's
    by_name = open_source(f"{folder}/2018*/B0*.tif")
    assert np.array_equal(by_name.data.isel(time=[0, 26]).values, source.data.isel(time=[0, 26]).values)


def test_two_resolutions_do_not_agree(realdata, tmp_path):
    folder = realdata / "sentinel2_romania_eupl" / "20180402"
    with pytest.raises(InputError, match=r"B04.tif and .*B11.tif differ in size: 100 rows x 100 columns and 50 rows"):
        open_source(listed(tmp_path, [(folder / f"{b}.tif", "2018-04-02", b) for b in ("B04", "B11")]))


def test_two_dates_in_a_landsat_name(realdata):
    folder = realdata / "landsat" / "stactools_c2l2_005009"
    with pytest.raises(InputError, match=r"2 different dates in its name \(20150710, 20200908\)"):
        open_source(f"{folder}/*_SR_B?.TIF")
    source = open_source(f"{folder}/*_SR_B?.TIF", date_format="L2SP_??????_%Y%m%d")
    assert list(source.band.values) == ["B2", "B3", "B4", "B5"]
    assert str(source.time.values[0])[:10] == "2015-07-10"
