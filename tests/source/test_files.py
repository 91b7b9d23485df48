"""NetCDF files and Zarr stores open as they are stored, lazily, without a warning; all else gets one clear error."""

import pickle
from importlib.util import find_spec
from zipfile import ZipFile

import fsspec
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

from chronozarr_dask.errors import InputError
from chronozarr_dask.plan.shape import Blocks
from chronozarr_dask.source import datasets
from chronozarr_dask.source.cube import as_cube
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.view import is_in_memory
from tests.source.cubes import make, one_band, pixels


def dataset():
    out = xr.Dataset({"B04": one_band(crs=None), "B08": make(crs=None).isel(band=1, drop=True)})
    out = out.assign_coords(spatial_ref=((), 0, {"epsg_code": "EPSG:32631"}))
    for band in out.data_vars:
        out[band].attrs = {"grid_mapping": "spatial_ref", "scale_factor": 0.0001, "add_offset": -0.1}
    return out


def write_netcdf(path, fmt="NETCDF4"):
    """The older kinds have no unsigned integers: they store the bits, and say so."""
    source = dataset()
    if fmt != "NETCDF4":
        for band in source.data_vars:
            source[band] = source[band].astype("int16").assign_attrs(source[band].attrs, _Unsigned="true")
    chunked = {b: {"chunksizes": (1, 2, 5), "zlib": True} for b in source.data_vars}
    source.to_netcdf(path, engine="netcdf4", format=fmt, encoding=chunked if fmt.startswith("NETCDF4") else None)


def write_zarr(path, version):
    chunks = {b: {"chunks": (1, 2, 5)} for b in ("B04", "B08")}
    dataset().to_zarr(path, zarr_format=version, encoding=chunks, consolidated=version == 2)


def check(source, hint=True):
    cube = as_cube(source)
    assert [b.name for b in cube.bands] == ["B04", "B08"]
    assert (cube.bands[0].scale, cube.bands[0].offset) == (0.0001, -0.1)
    assert (cube.dtype, cube.georef.crs, cube.georef.transform[0]) == ("uint16", "EPSG:32631", 10.0)
    assert cube.times[1] == 1_706_745_600_000
    np.testing.assert_array_equal(np.concatenate([p.values for p in cube.parts], axis=1), pixels())
    if hint:
        assert cube.source_chunks() == Blocks((0, 1, 2, 3), (0, 2, 4), (0, 5), opaque=False)


@pytest.mark.parametrize(
    "fmt", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"]
)
@pytest.mark.parametrize("name", ["cube.nc", "cube", "a cube.zarr"])
def test_netcdf_of_any_kind_under_any_name(tmp_path, fmt, name):
    write_netcdf(tmp_path / name, fmt)
    check(open_source(tmp_path / name), hint=fmt.startswith("NETCDF4"))
    check(open_source(f"file://{tmp_path / name}"), hint=fmt.startswith("NETCDF4"))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["cube.zarr", "cube", "a cube.nc"])
def test_zarr_folders(tmp_path, version, name):
    write_zarr(tmp_path / name, version)
    check(open_source(str(tmp_path / name)))


def zipped(folder, archive, top=""):
    with ZipFile(archive, "w") as out:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                out.write(path, top + path.relative_to(folder).as_posix())
    return archive


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("top", ["", "cube.zarr/", "a/b/"])
def test_zarr_in_a_zip(tmp_path, version, top):
    write_zarr(tmp_path / "cube.zarr", version)
    check(open_source(zipped(tmp_path / "cube.zarr", tmp_path / "cube.zip", top)))


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_behind_a_url(tmp_path, version):
    write_zarr(tmp_path / "cube.zarr", version)
    fs = fsspec.filesystem("memory")
    fs.put(str(tmp_path / "cube.zarr"), f"/source{version}/cube.zarr", recursive=True)
    check(open_source(f"memory://source{version}/cube.zarr"))
    check(open_source(f"memory://source{version}/cube.zarr/", storage_options={}))


def test_a_name_behind_a_url_is_no_pattern(tmp_path):
    write_zarr(tmp_path / "cube.zarr", 3)
    fs = fsspec.filesystem("memory")
    for name in ("cube[1]?.zarr", "cube12.zarr"):
        fs.put(f"{tmp_path}/cube.zarr", "/brackets/raw", recursive=True)
        fs.mv("/brackets/raw", f"/brackets/{name}", recursive=True)
    check(open_source("memory://brackets/cube[1]?.zarr"))


def test_levels_of_a_store_behind_a_url_are_told_too():
    fs = fsspec.filesystem("memory")
    fs.pipe("/levels/zarr.json", b'{"attributes": {"chronozarr": {}}}')
    fs.pipe("/levels/0/zarr.json", b'{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    assert "chronozarr store already" in refusal("memory://levels/0")
    assert "chronozarr store already" in refusal("memory://levels")


@pytest.mark.s3
def test_zarr_in_a_bucket(tmp_path, s3_server, s3_bucket):
    write_zarr(tmp_path / "cube.zarr", 3)
    fs = fsspec.filesystem("s3", **s3_server.storage_options)
    fs.put(f"{tmp_path}/cube.zarr/", f"{s3_bucket}/deep/cube.zarr/", recursive=True)
    fs.put(f"{tmp_path}/cube.zarr/", f"{s3_bucket}/", recursive=True)
    for url in (f"s3://{s3_bucket}/deep/cube.zarr", f"s3://{s3_bucket}"):
        check(open_source(url, storage_options=s3_server.storage_options))
    assert "neither an object nor" in refusal(f"s3://{s3_bucket}/no", storage_options=s3_server.storage_options)


def test_it_is_lazy_and_as_stored(tmp_path):
    write_netcdf(tmp_path / "cube.nc")
    source = open_source(tmp_path / "cube.nc")
    assert source["B04"].dtype == "uint16"
    assert source["B04"].chunks is None
    assert "units" in source["time"].attrs
    assert "spatial_ref" in source.coords
    assert not any(map(is_in_memory, as_cube(source).parts))


def test_what_cf_says_belongs_to_a_variable_is_no_band(tmp_path):
    source = dataset().assign(area=(("y", "x"), np.ones((4, 5), "float32")))
    source["B04"].attrs["cell_measures"] = "area: area"
    source.to_netcdf(tmp_path / "cube.nc", engine="netcdf4")
    check(open_source(tmp_path / "cube.nc"), hint=False)


def test_a_variable(tmp_path):
    write_netcdf(tmp_path / "cube.nc")
    assert "B08" in open_source(tmp_path / "cube.nc", variable="B04")
    with pytest.raises(InputError, match=r"no variable 'B05': it has B04, B08"):
        open_source(tmp_path / "cube.nc", variable="B05")


def test_a_relative_path_and_a_worker_elsewhere(tmp_path, monkeypatch):
    write_zarr(tmp_path / "cube.zarr", 3)
    zipped(tmp_path / "cube.zarr", tmp_path / "cube.zip")
    write_netcdf(tmp_path / "cube.nc")
    monkeypatch.chdir(tmp_path)
    sources = [open_source(name) for name in ("cube.zarr", "cube.zip", "cube.nc")]
    monkeypatch.chdir("/")
    for source in sources:
        check(source)
        check(pickle.loads(pickle.dumps(source)))


# ---- refused -------------------------------------------------------------------------------------------------------


def refusal(path, **how):
    with pytest.raises(InputError) as error:
        open_source(path, **how)
    text = str(error.value)
    assert "\n" not in text
    return text


def text_file(tmp_path):
    (tmp_path / "a").write_text("name,value\n")


def tiff(tmp_path):
    (tmp_path / "a").write_bytes(b"II*\x00" + bytes(100))


def empty_folder(tmp_path):
    (tmp_path / "a").mkdir()


def empty_group(tmp_path):
    zarr.open_group(tmp_path / "a", mode="w").create_group("inner")


def bare_array(tmp_path):
    zarr.create_array(tmp_path / "a", shape=(2, 2), dtype="uint8")


def bare_array_of_version_2(tmp_path):
    zarr.create_array(tmp_path / "a", shape=(2, 2), dtype="uint8", zarr_format=2)


def nameless_dimensions(tmp_path):
    zarr.open_group(tmp_path / "a", mode="w").create_array("b", shape=(2, 2), dtype="uint8")


def chronozarr_root(tmp_path):
    zarr.open_group(tmp_path / "a", mode="w", attributes={"chronozarr": {"spec_version": "0.2.0"}})


def chronozarr_level(tmp_path):
    zarr.open_group(tmp_path, mode="w", attributes={"chronozarr": {"spec_version": "0.2.0"}}).create_group("a")


def broken_document(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "zarr.json").write_text("{")


def cut_short(tmp_path):
    write_netcdf(tmp_path / "whole")
    (tmp_path / "a").write_bytes((tmp_path / "whole").read_bytes()[:3000])


def broken_zip(tmp_path):
    (tmp_path / "a").write_bytes(b"PK\x03\x04" + bytes(50))


def zip_of_something_else(tmp_path):
    with ZipFile(tmp_path / "a", "w") as out:
        out.writestr("readme.txt", "no store")


def coordinates_only(tmp_path):
    with netCDF4.Dataset(tmp_path / "a", "w") as out:
        out.createDimension("x", 2)
        out.createVariable("x", "f8", ("x",))


@pytest.mark.parametrize(
    ("prepare", "parts"),
    [
        (lambda _: None, ["does not exist", "NetCDF", "Zarr"]),
        (text_file, ["neither a NetCDF file nor a Zarr store", "name,val"]),
        (tiff, ["is a TIFF", "rioxarray", "expand_dims"]),
        (empty_folder, ["not a Zarr store", "zarr.json"]),
        (empty_group, ["group without arrays", "below"]),
        (bare_array, ["single Zarr array", "group"]),
        (bare_array_of_version_2, ["single Zarr array"]),
        (nameless_dimensions, ["cannot be read as zarr", "dimension_names"]),
        (chronozarr_root, ["chronozarr store already", "open_store"]),
        (chronozarr_level, ["chronozarr store already", "level"]),
        (broken_document, ["not JSON"]),
        (cut_short, ["cannot be read as"]),
        (broken_zip, [".zip", "cut short"]),
        (zip_of_something_else, ["not a Zarr store"]),
        (coordinates_only, ["no data variable", "x"]),
    ],
)
def test_refused(tmp_path, prepare, parts):
    prepare(tmp_path)
    text = refusal(tmp_path / "a")
    assert all(p in text for p in (str(tmp_path / "a"), *parts)), text


def test_refused_urls():
    assert "neither an object nor a Zarr store" in refusal("memory://nothing/here")


def test_behind_a_cache(tmp_path):
    """simplecache asks for several objects at once, and raises where one is absent."""
    write_zarr(tmp_path / "cube.zarr", 2)
    fsspec.filesystem("memory").put(str(tmp_path / "cube.zarr"), "/cached/cube.zarr", recursive=True)
    options = {"simplecache": {"cache_storage": str(tmp_path / "cache")}}
    check(open_source("simplecache::memory://cached/cube.zarr", storage_options=options))
    assert "nosuch" in refusal("nosuch://bucket/key")
    assert "storage_options are for remote URLs" in refusal("cube.nc", storage_options={"anon": True})


def test_no_reader_is_installed(tmp_path, monkeypatch):
    write_netcdf(tmp_path / "a")
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    assert "chronozarr-dask[netcdf]" in refusal(tmp_path / "a")


def test_engines_by_kind_and_by_what_is_installed(monkeypatch):
    installed = set()
    monkeypatch.setattr(datasets, "find_spec", lambda name: name in installed or None)
    hdf5, classic = b"\x89HDF\r\n\x1a\n", b"CDF\x01\x00\x00\x00\x00"
    assert datasets.engines_for(hdf5, remote=False) == []
    installed |= {"h5netcdf"}
    assert datasets.engines_for(hdf5, remote=False) == []
    installed |= {"netCDF4"}
    assert datasets.engines_for(hdf5, remote=False) == ["netcdf4"]
    assert datasets.engines_for(hdf5, remote=True) == []
    assert datasets.engines_for(classic, remote=False) == ["netcdf4"]
    installed |= {"h5py", "scipy"}
    assert datasets.engines_for(hdf5, remote=False) == ["h5netcdf", "netcdf4"]
    assert datasets.engines_for(hdf5, remote=True) == ["h5netcdf"]
    assert datasets.engines_for(classic, remote=True) == ["scipy"]


@pytest.mark.skipif(not (find_spec("h5py") or find_spec("pyfive")), reason="netcdf: h5netcdf needs h5py or pyfive")
def test_netcdf_behind_a_url(tmp_path):
    write_netcdf(tmp_path / "cube.nc")
    fs = fsspec.filesystem("memory")
    fs.put(str(tmp_path / "cube.nc"), "/source/cube.nc")
    check(open_source("memory://source/cube.nc"))


@pytest.mark.parametrize("version", [2, 3])
def test_without_consolidated_metadata_the_bands_are_in_order_of_their_names(tmp_path, version):
    names = [f"b{i}" for i in (7, 3, 9, 1, 8, 2)]
    source = xr.Dataset({n: one_band(crs=None) for n in names})
    source.to_zarr(tmp_path / "a", zarr_format=version, consolidated=False)
    assert list(open_source(tmp_path / "a").data_vars) == sorted(names)


def test_a_store_that_was_opened_stays_as_it_is(tmp_path):
    write_zarr(tmp_path / "cube.zarr", 3)
    before = {p: p.read_bytes() for p in (tmp_path / "cube.zarr").rglob("*") if p.is_file()}
    check(open_source(tmp_path / "cube.zarr"))
    assert before == {p: p.read_bytes() for p in (tmp_path / "cube.zarr").rglob("*") if p.is_file()}
