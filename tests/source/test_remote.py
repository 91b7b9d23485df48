"""What hosts and client libraries say of a source: one error each, with a remedy. Nothing here asks a host."""

import pytest

from chronozarr_dask.errors import InputError, TargetError
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.remote import told_of
from chronozarr_dask.store.reader import open_store

NOWHERE = {"endpoint_url": "http://127.0.0.1:9"}


@pytest.fixture
def no_credentials(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.nc", "s3://bucket/a.nc cannot be read: "),
        ("*.tif", "the files of s3://bucket/*.tif cannot be listed: "),
        ("m.csv", "the manifest s3://bucket/m.csv cannot be read: "),
    ],
)
def test_a_source_in_a_bucket_without_credentials(no_credentials, name, begins):
    with pytest.raises(InputError) as error:
        open_source(f"s3://bucket/{name}", storage_options=NOWHERE)
    assert str(error.value).startswith(begins)
    for part in ("Unable to locate credentials", "AWS_PROFILE", "anon=True", "--source-option anon=true"):
        assert part in str(error.value)


def test_a_store_in_a_bucket_without_credentials(no_credentials):
    with pytest.raises(TargetError, match=r"s3://bucket/a.cz/zarr.json: .*credentials.*--storage-option anon=true"):
        open_store("s3://bucket/a.cz", NOWHERE)


def test_gdal_without_credentials_is_not_tried_again(no_credentials):
    with pytest.raises(InputError, match=r"GeoTIFF: AWS_SECRET.*set AWS_ACCESS_KEY_ID.*--source-option anon=true"):
        open_source("s3://bucket/a_20240101.tif")


def test_a_bug_is_no_error_of_the_source():
    with pytest.raises(ZeroDivisionError), told_of("it"):
        _ = 1 / 0
