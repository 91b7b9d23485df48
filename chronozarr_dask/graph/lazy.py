"""Dask's public calls, as this project makes them: the caller names every key, and an array is one block.

A name given is a name not hashed, and no function is called while a graph is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed, delayed


def call(function: Callable[..., Any], *args: Any, name: str) -> Delayed:
    """A call of `function` as the task `name`; lazy arguments are computed first."""
    # Dask must not look for collections within the function: that would walk through every field of every scene.
    out: Delayed = delayed(function, pure=False, traverse=False)(*args, dask_key_name=name)
    return out


def array_of(function: Callable[..., Any], *args: Any, shape: tuple[int, ...], dtype: Any, name: str) -> da.Array:
    """What a call returns, an ndarray of `shape` and `dtype`, as an array of one block."""
    out: da.Array = da.from_delayed(call(function, *args, name=name), shape, dtype, name=f"{name}-block")
    return out


def map_block(
    function: Callable[..., Any], *arrays: da.Array, shape: tuple[int, ...], dtype: Any, name: str
) -> da.Array:
    """`map_blocks` over arrays of one block; `meta` is given, since Dask must not call the function to learn of it."""
    chunks = tuple((n,) for n in shape)
    meta = np.empty((0,) * len(shape), dtype)
    out: da.Array = da.map_blocks(function, *arrays, chunks=chunks, dtype=dtype, name=name, meta=meta)
    return out


def map_object(function: Callable[[npt.NDArray[Any]], Any], array: da.Array, *, name: str) -> Delayed:
    """What `function` makes of the block, as an ndarray (1, 1, 1, 1) of it: a Dask array holds arrays alone."""
    boxed = map_block(_Boxed(function), array, shape=(1, 1, 1, 1), dtype=object, name=name)
    out: Delayed = boxed.to_delayed(optimize_graph=False).item()
    return out


@dataclass(frozen=True)
class _Boxed:
    function: Callable[[npt.NDArray[Any]], Any]

    def __call__(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        out = np.empty((1, 1, 1, 1), object)
        out[0, 0, 0, 0] = self.function(block)
        return out
