"""The player's pixels: stored values as the page's script decodes them, by section 4.

Star-delta timesteps go in as residuals, (time, band, y, x) little-endian, compressed with gzip; the script adds the
anchor, modulo 2^bits, as a browser that reads the store itself would.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chronozarr_dask.format.temporal import residual
from chronozarr_dask.format.times import render_time
from chronozarr_dask.run.reporting.choice import Part
from chronozarr_dask.run.reporting.look import Frame, frames
from chronozarr_dask.store.reader import Store


@dataclass(frozen=True)
class Reel:
    """A part that was read for the player.

    Attributes
    ----------
    part : Part
    frames : tuple of Frame
    """

    part: Part
    frames: tuple[Frame, ...]

    @classmethod
    def of(cls, store: Store, part: Part) -> Reel:
        """Read a part; the anchors of its timesteps come along."""
        anchors = {store.temporal.reference(t) for t in part.times}
        part = replace(part, times=tuple(sorted({*part.times, *anchors})))
        return cls(part, tuple(frames(store, part)))


def payload(store: Store, reels: Sequence[Reel], shown: Sequence[int], stretch: Sequence[float] | None) -> Any:
    """What the script is given, as JSON."""
    return {
        "dtype": store.dtype.name,
        "nodata": store.nodata,
        "encoding": store.temporal.encoding,
        "bands": [b.name for b in store.bands],
        "shown": list(shown),
        "stretch": None if stretch is None else list(stretch),
        "times": [render_time(int(t)) for t in store.times.astype("int64")],
        "levels": [_level(store, reel) for reel in reels],
    }


def _level(store: Store, reel: Reel) -> Mapping[str, Any]:
    part, found = reel.part, reel.frames
    at = {t: i for i, t in enumerate(part.times)}
    references = [at[store.temporal.reference(t)] for t in part.times]
    stored = [
        f.data if ref == i else residual(f.data, found[ref].data)
        for i, (f, ref) in enumerate(zip(found, references, strict=True))
    ]
    height, width = part.shape
    masks = [f.mask for f in found if f.mask is not None]
    counts = [f.coverage for f in found if f.coverage is not None]
    return {
        "level": part.level,
        "height": height,
        "width": width,
        "row": part.window.y0,
        "col": part.window.x0,
        "stride": part.stride,
        "times": list(part.times),
        "bands": list(part.bands),
        "references": references,
        "data": _packed(np.stack(stored).astype(store.dtype.newbyteorder("<"))),
        "mask": _packed(np.stack(masks)) if masks else None,
        "coverage": _packed(np.stack(counts)) if counts else None,
    }


def _packed(values: npt.NDArray[Any]) -> str:
    return base64.b64encode(gzip.compress(values.tobytes(), 3, mtime=0)).decode()
