"""Pixels and masks of a stack of files as lazy arrays of xarray: a window is read as it is asked for, and forgotten.

For each timestep and file one open, one read of the window, one close. So any number of threads and processes may read,
and nothing but file names travels to them. Each pixel of a window is read once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.geotiff.gdal import NO_ACCESS, load_rasterio, with_file


@dataclass(frozen=True)
class Piece:
    """A file's part in a timestep: its bands, side by side with those of the timestep's other files.

    Attributes
    ----------
    uri : str
    indexes : tuple of int
        Bands in the file, counted from 1, in the order of the stack.
    names : tuple of str
        Of these bands, for messages.
    mask : int, "internal" or None
        As in `Header`.
    """

    uri: str
    indexes: tuple[int, ...]
    names: tuple[str, ...]
    mask: int | str | None


@dataclass(frozen=True)
class _Span:
    """Rows or columns from `start` to `stop`, and where in them those that were asked for are."""

    start: int
    stop: int
    pick: Any

    @classmethod
    def of(cls, key: Any, n: int) -> _Span:
        places = np.atleast_1d(np.arange(n)[key])
        if not places.size:
            return cls(0, 0, slice(0, 0))
        start, stop = int(places.min()), int(places.max()) + 1
        return cls(start, stop, slice(None) if _is_run(places, start, stop) else places - start)


def _is_run(places: npt.NDArray[Any], start: int, stop: int) -> bool:
    return bool(places.size == stop - start and (np.diff(places) == 1).all())


class _Windows(BackendArray):
    """What pixels and masks share: an orthogonal key becomes timesteps and one window, then the rest of the key."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, pieces: Sequence[Sequence[Piece]], size: tuple[int, int], access: Access) -> None:
        self.access = access
        self.pieces = tuple(tuple(p) for p in pieces)
        self.grid = size

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        *before, row, column = key
        y, x = _Span.of(row, self.grid[0]), _Span.of(column, self.grid[1])
        wanted = [np.atleast_1d(np.arange(n)[k]) for n, k in zip(self.shape, before, strict=False)]
        out = np.empty((*(w.size for w in wanted), y.stop - y.start, x.stop - x.start), self.dtype)
        if out.size:
            for i, t in enumerate(wanted[0]):
                self._fill(out[i], self.pieces[int(t)], wanted[1:], (y, x))
        out = out[..., y.pick, :][..., x.pick]
        return out.squeeze(tuple(i for i, k in enumerate(key) if isinstance(k, (int, np.integer))))

    @abstractmethod
    def _fill(
        self,
        out: npt.NDArray[Any],
        pieces: tuple[Piece, ...],
        wanted: list[npt.NDArray[Any]],
        spans: tuple[_Span, _Span],
    ) -> None:
        """Fill one timestep."""

    def _read_file(self, piece: Piece, indexes: list[int], what: str, spans: tuple[_Span, _Span]) -> npt.NDArray[Any]:
        """A window (band, y, x) of a file; band 0 is the mask that lies beside its bands."""
        y, x = spans
        window = load_rasterio().windows.Window(x.start, y.start, x.stop - x.start, y.stop - y.start)

        def use(file: Any) -> npt.NDArray[Any]:
            if file.shape != self.grid:
                raise InputError(
                    f"{piece.uri} has {file.shape} rows and columns, and had {self.grid} when the stack was opened: it "
                    f"was replaced meanwhile; open the stack again"
                )
            data: npt.NDArray[Any] = (
                file.read_masks([1], window=window) if indexes == [0] else file.read(indexes, window=window)
            )
            return data

        place = f"rows {y.start} to {y.stop - 1}, columns {x.start} to {x.stop - 1}"
        return with_file(
            piece.uri,
            use,
            lambda: f"cannot be read in {what}, {place}: it may be cut short or damaged",
            access=self.access,
        )


class Pixels(_Windows):
    """(time, band, y, x) of a stack.

    Parameters
    ----------
    pieces : sequence (time) of sequences of Piece
        The bands of a timestep's pieces, one behind the other, are the bands of the stack.
    size : (height, width)
    dtype : dtype
    access : Access
        How remote files are reached.
    """

    def __init__(
        self,
        pieces: Sequence[Sequence[Piece]],
        size: tuple[int, int],
        dtype: np.dtype[Any],
        access: Access = NO_ACCESS,
    ) -> None:
        super().__init__(pieces, size, access)
        self.dtype = dtype
        self.shape = (len(self.pieces), sum(len(p.indexes) for p in self.pieces[0]), *size)

    def _fill(
        self,
        out: npt.NDArray[Any],
        pieces: tuple[Piece, ...],
        wanted: list[npt.NDArray[Any]],
        spans: tuple[_Span, _Span],
    ) -> None:
        first = 0
        for piece in pieces:
            places = np.flatnonzero((wanted[0] >= first) & (wanted[0] < first + len(piece.indexes)))
            here = [int(b) - first for b in wanted[0][places]]
            first += len(piece.indexes)
            if here:
                label = f"band{'s' if len(here) > 1 else ''} {', '.join(piece.names[b] for b in here)}"
                out[places] = self._read_file(piece, [piece.indexes[b] for b in here], label, spans)


class Masks(_Windows):
    """(time, y, x), uint8: 1 where every file of the timestep says that the pixel is there, by alpha or by its mask."""

    dtype = np.dtype(np.uint8)

    def __init__(self, pieces: Sequence[Sequence[Piece]], size: tuple[int, int], access: Access = NO_ACCESS) -> None:
        super().__init__(pieces, size, access)
        self.shape = (len(self.pieces), *size)

    def _fill(
        self,
        out: npt.NDArray[Any],
        pieces: tuple[Piece, ...],
        wanted: list[npt.NDArray[Any]],
        spans: tuple[_Span, _Span],
    ) -> None:
        out[...] = 1
        for piece in pieces:
            if piece.mask is not None:
                index, label = (piece.mask, "its alpha band") if isinstance(piece.mask, int) else (0, "its mask")
                out &= self._read_file(piece, [index], label, spans)[0] > 0
