import pytest

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.hrefs import redacted, resolve, unsigned

BLOB = "https://sentinel2l2a01.blob.core.windows.net/sentinel2-l2/31/U/B04.tif"


@pytest.mark.parametrize(
    ("signed", "plain"),
    [
        (BLOB, BLOB),
        (
            f"{BLOB}?st=2024-01-01T00%3A00%3A00Z&se=2024&sp=rl&sv=2021&sr=c&skoid=x&sktid=y&skt=z&ske=1&sks=b&sig=Ab%2F=",
            BLOB,
        ),
        (f"{BLOB}?versionid=3&sig=abc&se=1", f"{BLOB}?versionid=3"),
        ("https://h/a.tif?sr=100", "https://h/a.tif?sr=100"),  # no signature: not ours to cut
        (
            "https://b.s3.amazonaws.com/a.tif?X-Amz-Signature=1&X-Amz-Credential=2&x-amz-expires=3",
            "https://b.s3.amazonaws.com/a.tif",
        ),
        ("https://b.s3.amazonaws.com/a.tif?AWSAccessKeyId=1&Signature=2&Expires=3", "https://b.s3.amazonaws.com/a.tif"),
        ("https://storage.googleapis.com/b/a.tif?X-Goog-Signature=1", "https://storage.googleapis.com/b/a.tif"),
        ("https://h/a.tif?token=secret&v=1", "https://h/a.tif?v=1"),
        ("s3://bucket/key?x.tif", "s3://bucket/key?x.tif"),
        ("/data/with?sig=in a name.tif", "/data/with?sig=in a name.tif"),
    ],
)
def test_a_signature_is_cut_off_and_nothing_else(signed, plain):
    assert unsigned(signed) == plain


def test_a_password_is_refused_without_printing_it():
    with pytest.raises(InputError, match=r"example\.org") as caught:
        unsigned("https://me:hunter2@example.org/a.tif")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("href", "base", "absolute"),
    [
        ("./a/B04.tif", "/data/items.json", "/data/a/B04.tif"),
        ("../a/B04.tif", "/data/x/item.json", "/data/a/B04.tif"),
        ("B04.tif", "s3://bucket/x/item.json", "s3://bucket/x/B04.tif"),
        ("../B04.tif", "https://h/x/y/item.json?token=1", "https://h/x/B04.tif"),
        ("/abs/B04.tif", "/data/items.json", "/abs/B04.tif"),
        ("s3://other/B04.tif", "/data/items.json", "s3://other/B04.tif"),
        ("file:///data/with%20blank.tif", None, "/data/with blank.tif"),
        ("B04.tif", "file:///data/items.json", "/data/B04.tif"),
        ("B04.tif", None, "B04.tif"),
    ],
)
def test_relative_hrefs_go_by_the_file_that_holds_the_item(href, base, absolute):
    assert resolve(href, base) == absolute


def test_queries_are_cut_out_of_messages():
    text = redacted(f"'/vsicurl/{BLOB}?se=1&sig=Ab%2F=' not recognized, HTTP 403")
    assert "sig" not in text
    assert text.endswith("' not recognized, HTTP 403")


@pytest.mark.parametrize("name", ["key", "password", "code", "access_key", "secret", "jwt", "hdnts"])
def test_other_names_of_keys(name: str) -> None:
    assert unsigned(f"https://host/a.tif?v=2&{name}=CANARY") == "https://host/a.tif?v=2"


def test_a_fragment_is_cut() -> None:
    assert unsigned("https://host/a.tif#sig=CANARY") == "https://host/a.tif"


def test_a_bucket_has_no_fragments() -> None:
    assert unsigned("s3://bucket/a#1.tif") == "s3://bucket/a#1.tif"


def test_a_url_within_a_path_of_gdal() -> None:
    with pytest.raises(InputError, match=r"^an href begins with /vsicurl/, .* give the URL itself$") as error:
        unsigned("/vsicurl/https://user:CANARY@host/a.tif?sig=CANARY")
    assert "CANARY" not in str(error.value)
