"""Whether a disk can hold what will be written: refused before anything is."""

from __future__ import annotations

import math
import os
import shutil

import numpy as np

from chronozarr_dask.errors import TargetFullError
from chronozarr_dask.plan.memory import human
from chronozarr_dask.plan.spec import StoreSpec
from chronozarr_dask.store.target import Objects

LEAST_RATIO = 0.02
"""Of the raw bytes: no raster worth storing compresses better, so less space than that is surely too little."""


def check_space(target: Objects, spec: StoreSpec) -> None:
    """Raise TargetFullError when the disk under a folder has less room than the store needs at the very least."""
    if "://" in target.url:
        return
    folder = target.url
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    raw = math.prod(spec.layout.data_shape(0)) * np.dtype(spec.dtype).itemsize
    needed = int(raw * LEAST_RATIO)
    if free < needed:
        raise TargetFullError(
            f"{target.url}: {human(free)} are free, and a store of {human(raw)} of pixels needs at least "
            f"{human(needed)}; make room, or name a target on another disk"
        )
