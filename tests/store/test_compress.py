"""Section 8: chunks of every codec there and back, equal bytes each time, and damaged bytes answered by an error."""

import gzip
import zlib
from concurrent.futures import ThreadPoolExecutor

import google_crc32c
import numcodecs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronozarr_dask.errors import StoreError
from chronozarr_dask.format.codecs import Codec
from chronozarr_dask.store.compress import compress, crc32c, decompress, most_bytes
from tests.store.stores import refused

CODECS = [
    Codec("zstd", 1),
    Codec("zstd", 5),
    Codec("gzip", 6),
    *(Codec("blosc", 1, c, s) for c in ("zstd", "lz4") for s in ("noshuffle", "shuffle")),
]
DTYPES = ["u1", "<u2", "<i2", "<f4"]
SHAPE = (2, 16, 16)


def chunk(dtype: str, seed: int = 0) -> npt.NDArray[np.generic]:
    """A chunk that compresses somewhat."""
    rows = np.random.default_rng(seed).integers(0, 9, (2, 4, 16)) * 25
    return np.repeat(rows, 4, axis=1).astype(dtype)


@pytest.mark.parametrize("codec", [*CODECS, Codec("gzip", 0), Codec("blosc", 0, "lz4", "noshuffle")], ids=str)
@pytest.mark.parametrize("edge", [2, 16, 512])
def test_noise_takes_no_more_than_the_most(codec: Codec, edge: int):
    noise = np.random.default_rng(0).integers(0, 256, (4, edge, edge), np.uint8)
    assert noise.nbytes < len(compress(noise, codec)) <= most_bytes(noise.nbytes)


def test_checksum_of_memory_that_can_be_written_to():
    data = np.random.default_rng(0).bytes(2**20 + 7)
    assert crc32c(memoryview(bytearray(data))) == crc32c(data)


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(codec: Codec, dtype: str):
    data = chunk(dtype)
    blob = compress(data, codec)
    again = decompress(blob, codec, data.dtype, SHAPE, "here")
    assert again.tobytes() == data.tobytes()
    assert (again.dtype, again.shape) == (data.dtype, SHAPE)


def test_negative_zero_and_nan_keep_their_bits():
    data = np.array([[-0.0, 0.0], [np.nan, np.inf]], "<f4")
    for codec in CODECS:
        assert decompress(compress(data, codec), codec, data.dtype, data.shape, "here").tobytes() == data.tobytes()


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_equal_chunks_have_equal_bytes_in_every_thread(codec: Codec):
    data = np.random.default_rng(1).integers(0, 50, (4, 128, 128)).astype("<u2")
    with ThreadPoolExecutor(4) as pool:
        blobs = set(pool.map(lambda _: compress(data, codec), range(8)))
    assert blobs == {compress(data.copy(), codec)}


def test_bytes_that_other_encoders_write():
    """A gzip stream of two members; a zstd frame without a content size; a blosc frame that is stored as it is."""
    data = chunk("u1")
    raw = data.tobytes()
    assert np.array_equal(
        decompress(gzip.compress(raw[:50]) + gzip.compress(raw[50:]), Codec("gzip"), data.dtype, SHAPE, ""), data
    )
    assert np.array_equal(decompress(unsized(raw), Codec(), data.dtype, SHAPE, ""), data)
    noise = np.random.default_rng(0).integers(0, 256, SHAPE).astype("u1")
    stored = bytes(numcodecs.Blosc("lz4", clevel=0).encode(noise))
    assert np.array_equal(decompress(stored, Codec("blosc", 1, "lz4"), noise.dtype, SHAPE, ""), noise)


def unsized(raw: bytes) -> bytes:
    """A zstd frame of one raw block without Frame_Content_Size (RFC 8878, 3.1.1): what a streaming encoder writes."""
    block = (len(raw) << 3) | 1
    return b"\x28\xb5\x2f\xfd\x00\x58" + block.to_bytes(3, "little") + raw


def cases() -> list[tuple[str, Codec, bytes]]:
    """Bytes that are no chunk of `SHAPE` and uint8."""
    raw = chunk("u1").tobytes()
    zstd, blosc = numcodecs.Zstd(5), numcodecs.Blosc("zstd", 1)
    out = [("nothing", codec, b"") for codec in CODECS]
    out += [("cut", c, compress(chunk("u1"), c)[:-1]) for c in CODECS]
    out += [("cut to its header", c, compress(chunk("u1"), c)[:16]) for c in CODECS]
    out += [("something follows", c, compress(chunk("u1"), c) + b"x") for c in CODECS]
    out += [("too short", c, compress(chunk("u1")[:1], c)) for c in CODECS]
    out += [("too long", c, compress(chunk("<u2"), c)) for c in CODECS]
    out += [
        ("another codec", Codec(), gzip.compress(raw)),
        ("another codec", Codec("gzip"), bytes(zstd.encode(raw))),
        ("another codec", Codec("blosc"), bytes(zstd.encode(raw))),
        ("another codec", Codec(), bytes(blosc.encode(raw))),
        ("a zlib stream", Codec("gzip"), zlib.compress(raw)),
        ("unsized, too short", Codec(), unsized(raw[:-1])),
        ("unsized, too long", Codec(), unsized(raw + b"x")),
        ("two frames", Codec(), bytes(zstd.encode(raw)) * 2),
        ("64 MiB of zeros", Codec("gzip"), gzip.compress(bytes(2**26))),
    ]
    return out


@pytest.mark.parametrize(("name", "codec", "blob"), cases())
def test_bytes_that_are_not_the_chunk(name: str, codec: Codec, blob: bytes):
    with pytest.raises(StoreError, match=r"^here"):
        decompress(blob, codec, np.dtype("u1"), SHAPE, "here")


@given(st.sampled_from(CODECS), st.data())
def test_any_damage_is_an_error_or_harmless(codec: Codec, draw: st.DataObject):
    blob = bytearray(compress(chunk("<u2"), codec))
    for _ in range(draw.draw(st.integers(1, 3))):
        blob[draw.draw(st.integers(0, len(blob) - 1))] = draw.draw(st.integers(0, 255))
    said = refused(lambda: decompress(bytes(blob), codec, np.dtype("<u2"), SHAPE, "here"))
    assert said == "" or said.startswith("here")


@given(st.sampled_from(CODECS), st.binary(max_size=64))
def test_any_bytes_are_an_error(codec: Codec, blob: bytes):
    with pytest.raises(StoreError, match=r"^here"):
        decompress(blob, codec, np.dtype("<u2"), (2, 64, 64), "here")


def test_crc32c_is_castagnoli():
    """The check value of RFC 3720, B.4: 32 bytes of zeros."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"123456789") == 0xE3069283 == google_crc32c.value(b"123456789")
