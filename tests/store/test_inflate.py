"""Section 8 against bytes that lie: a decoder takes the memory that is expected, whatever the bytes would give."""

import gzip
import subprocess
import sys
import time

import numcodecs
import numpy as np
import pytest

from chronozarr_dask.store.inflate import DAMAGED, inflate, inflate_up_to, zstd_size
from tests.fuzz.targets import bounded

MAGIC = b"\x28\xb5\x2f\xfd"
RAW = bytes(range(200)) * 5
TWO_GIB = 2**31 - 2**17


def frame(*blocks: tuple[int, int, bytes], descriptor: int = 0) -> bytes:
    """A zstd frame by RFC 8878, 3.1.1: blocks of (0 stored, 1 one byte repeated; decoded size; bytes)."""
    out = MAGIC + bytes([descriptor, 0x58])
    for i, (kind, size, body) in enumerate(blocks):
        out += (size << 3 | kind << 1 | (i == len(blocks) - 1)).to_bytes(3, "little") + body
    return out


def bomb(nbytes: int) -> bytes:
    """A zstd frame without a content size that decodes to zeros: 4 bytes for each 128 KiB."""
    return frame(*[(1, 2**17, b"\0")] * (nbytes // 2**17))


def blosc_that_announces(nbytes: int) -> bytes:
    blob = bytearray(numcodecs.Blosc("lz4", 1).encode(RAW))
    blob[4:8] = nbytes.to_bytes(4, "little")
    return bytes(blob)


BOMBS = {
    "zstd, nothing announced": ("zstd", bomb(2**26)),
    "zstd, announced": ("zstd", bytes(numcodecs.Zstd(1).encode(bytes(2**26)))),
    "gzip": ("gzip", gzip.compress(bytes(2**26), mtime=0)),
    "blosc": ("blosc", bytes(numcodecs.Blosc("lz4", 9).encode(bytes(2**26)))),
    "blosc that lies": ("blosc", blosc_that_announces(2**31 - 1)),
}


def test_a_frame_without_a_size_decodes_as_far_as_it_must():
    assert zstd_size(frame((0, len(RAW), RAW))) is None
    assert inflate(frame((0, len(RAW), RAW)), "zstd", len(RAW)).tobytes() == RAW
    assert inflate(frame((0, 100, RAW[:100]), (1, 50, b"x")), "zstd", 150).tobytes() == RAW[:100] + b"x" * 50
    assert inflate_up_to(frame((0, len(RAW), RAW)), "zstd", len(RAW)) == RAW


@pytest.mark.parametrize("wrong", [1, len(RAW) - 1, len(RAW) + 1, 2**20])
def test_a_frame_without_a_size_must_have_the_size(wrong: int):
    with pytest.raises(DAMAGED):
        inflate(frame((0, len(RAW), RAW)), "zstd", wrong)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_go_off(name: str):
    codec, blob = BOMBS[name]
    with bounded(4 * 1000 + 4 * len(blob) + 2**17):
        with pytest.raises(DAMAGED):
            inflate(blob, codec, 1000)  # type: ignore[arg-type]
        with pytest.raises(DAMAGED):
            inflate_up_to(blob, codec, 1000)  # type: ignore[arg-type]


LIMITED = """
import resource, sys
from tests.store.test_inflate import BOMBS, DAMAGED, TWO_GIB, bomb, inflate, inflate_up_to
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
for codec, blob in [*BOMBS.values(), ("zstd", bomb(TWO_GIB))]:
    for decode in (inflate, inflate_up_to):
        try:
            decode(blob, codec, 1000)
        except DAMAGED as error:
            assert not isinstance(error, MemoryError)
        else:
            raise SystemExit(f"{codec}: taken")
print("all refused")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc: Linux")
def test_bombs_leave_the_memory_of_a_process_alone():
    """What C libraries allocate is not seen by tracemalloc: 64 MiB more of address space must do."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120)
    assert done.stdout == "all refused\n", done.stderr


def test_gzip_members_cost_what_they_are_long():
    """Each of 100,000 empty members once: a decoder that copies the rest at each would take minutes."""
    blob = gzip.compress(b"", mtime=0) * 100_000 + gzip.compress(RAW)
    start = time.thread_time()
    assert inflate(blob, "gzip", len(RAW)).tobytes() == RAW
    assert time.thread_time() - start < 10


def test_what_is_decoded_is_owned_and_writable():
    for codec, blob in (("zstd", numcodecs.Zstd(1).encode(RAW)), ("gzip", gzip.compress(RAW))):
        out = inflate(bytes(blob), codec, len(RAW))  # type: ignore[arg-type]
        assert out.flags.writeable
        assert out.dtype == np.uint8


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        MAGIC,
        MAGIC + b"\0\x58",  # no block
        frame((0, 5, b"abc")),  # cut
        frame((0, 3, b"abc")) + b"x",  # something follows
        frame((0, 3, b"abc"), descriptor=0x04),  # without the checksum that it says it has
        b"\x1f\x8b" + bytes(20),
    ],
)
def test_frames_whose_blocks_do_not_add_up(blob: bytes):
    with pytest.raises(DAMAGED):
        inflate_up_to(blob, "zstd", 1000)
    with pytest.raises(DAMAGED):
        inflate(blob, "zstd", 5)
