"""Pixels on their way: what is packed comes back, what is torn is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chronozarr_dask.errors import StoreError
from chronozarr_dask.store.frames import pack, unpack

arrays = st.sampled_from(["uint8", "uint16", "int16", "float32", ">u2"]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=4, max_dims=4, min_side=0, max_side=4))
)


@given(arrays)
def test_what_is_packed_comes_back_little_endian(frames: np.ndarray[Any, Any]):
    found = unpack(pack(frames), "here")
    little = frames.astype(frames.dtype.newbyteorder("<"))
    assert found.dtype == little.dtype
    assert found.shape == frames.shape
    assert found.tobytes() == little.tobytes()


def test_a_window_of_a_larger_array_is_packed_too():
    whole = np.arange(100, dtype=np.uint16).reshape(1, 1, 10, 10)
    assert np.array_equal(unpack(pack(whole[:, :, 2:5, 3:9]), "here"), whole[:, :, 2:5, 3:9])


@given(st.data())
def test_a_torn_file_is_told_with_its_place(data: st.DataObject):
    blob = pack(np.arange(64, dtype=np.uint16).reshape(1, 1, 8, 8))
    cut = data.draw(st.integers(0, len(blob) - 1))
    with pytest.raises(StoreError, match=r"^here: .*torn"):
        unpack(blob[:cut], "here")


@given(st.data())
def test_a_changed_byte_of_pixels_is_told(data: st.DataObject):
    blob = bytearray(pack(np.arange(64, dtype=np.uint16).reshape(1, 1, 8, 8)))
    at = data.draw(st.integers(blob.index(b"\n") + 1, len(blob) - 1))
    blob[at] ^= 0x10
    with pytest.raises(StoreError, match="crc32c"):
        unpack(bytes(blob), "here")
