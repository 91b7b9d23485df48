"""How every kernel here is compiled: lazily, without the GIL, and kept on disk.

- Lazily: a program that never meets float32 never compiles for it.
- ``nogil``: Dask's threads run kernels side by side.
- ``cache``: each worker process would otherwise compile for itself what the last one compiled. numba keeps the machine
  code in ``NUMBA_CACHE_DIR``, else in ``__pycache__`` beside the module, else in the user's cache folder: the first of
  them that it may write to. In a container with a read-only file system and no home there is none, and numba raises
  while the module is imported; `compiled` then compiles without keeping, which costs each process a few seconds once.
- ``error_model="numpy"``: a division does not have to look for zero, so that a loop with one can use vector
  instructions.
- No ``fastmath`` and no ``parallel``: each result is the same bits on any processor, with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function at its first call, for the types of that call."""
    try:
        kernel = numba.njit(function, nogil=True, error_model="numpy", cache=True)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        kernel = numba.njit(function, nogil=True, error_model="numpy")
    return cast(F, kernel)
