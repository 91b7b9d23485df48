"""Read a scene on the store's grid, a window at a time: class planes by nearest, bands copied or resampled.

Each plane is opened once a window and read once. A raster that shares the grid is copied, a coarser one that nests in
it is repeated (`placement`). Any other is resampled at the exact centres of the grid's pixels: classes by nearest;
bands bilinear, or by the mean over a pixel's footprint where that is more than 1.5 pixels of the raster high or wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError, ReadError
from chronozarr_dask.format.dtypes import Number, is_finite_number
from chronozarr_dask.format.layout import Window
from chronozarr_dask.source.access import Access
from chronozarr_dask.source.bandfile import (
    TOLD_WITHIN,
    BandHeader,
    BandOnGrid,
    Centres,
    Resampling,
    check_told,
    read_header,
)
from chronozarr_dask.source.geotiff.gdal import NO_ACCESS, with_file
from chronozarr_dask.source.stac.assets import SceneAsset
from chronozarr_dask.source.stac.grid import Grid
from chronozarr_dask.source.stac.items import Scene
from chronozarr_dask.source.stac.signing import Signer

T = TypeVar("T")


@dataclass(frozen=True)
class Plane:
    """One raster of a scene on a part of the grid.

    Attributes
    ----------
    part : Window
        Of the grid, in pixels.
    pixels : ndarray of the part's shape
        The file's dtype, native byte order; `missing` beyond the raster.
    missing : number or None
        What stands for no value in `pixels`; None: what is not finite.
    present : ndarray of the part's shape, uint8, or None
        Validity by the mask or the alpha band of the file, where it has one; by its extent where `missing` is None and
        the pixels are integers.
    nbytes : int
        Bytes that were decoded for it, of pixels and of the mask.
    """

    part: Window
    pixels: npt.NDArray[Any]
    missing: Number | None
    present: npt.NDArray[np.uint8] | None = None
    nbytes: int = 0


@dataclass(frozen=True)
class Observer:
    """Reads planes of scenes on a grid.

    Attributes
    ----------
    grid : Grid
    resampling : "auto", "nearest", "bilinear" or "mean"
        Of bands that do not nest in the grid.
    signer : Signer or None
        Signs hrefs at the moment of reading.
    access : Access
        How files in buckets are reached.
    told_within : float
        Pixels by which an item may be wrong about the place of its file.
    """

    grid: Grid
    resampling: Resampling = "auto"
    signer: Signer | None = None
    told_within: float = TOLD_WITHIN
    access: Access = NO_ACCESS

    def header(self, scene: Scene, asset: SceneAsset) -> BandHeader:
        """Header of a band's file; no pixel is read."""

        def use(file: Any) -> BandHeader:
            header = read_header(asset, file)
            check_told(asset, header.raster, self.told_within)
            return header

        return self._with(scene, asset, use)

    def classes(self, scene: Scene, asset: SceneAsset, centres: Centres, nothing: int) -> Plane | None:
        """The class plane of a scene on the part of the window that it covers; None where it covers nothing.

        Returns
        -------
        Plane
            Of uint8 or uint16; `nothing` beyond the raster.

        Raises
        ------
        InputError
            If the file cannot be read, or holds no whole numbers from 0 to 65535.
        """

        def use(opened: Any) -> Plane | None:
            file = _Counted(opened)
            taken = BandOnGrid.of(file, asset, self.grid, centres, None, self.told_within)
            if taken is None:
                return None
            pixels = taken.pixels("nearest", nothing)
            whole = pixels if pixels.dtype in (np.uint8, np.uint16) else _unsigned(pixels, taken.nodata, nothing)
            present = taken.present()
            return Plane(taken.part, whole, nothing, present, file.nbytes)

        return self._with(scene, asset, use)

    def band(
        self, scene: Scene, asset: SceneAsset, centres: Centres, part: Window | None, missing: Number | None
    ) -> Plane | None:
        """A band of a scene on `part` of the window, or on the part that it covers; None where it covers nothing.

        Parameters
        ----------
        missing : number or None
            What stands for no value where neither the file nor the item says, and never enters a kernel where they
            do; None: what is not finite.

        Raises
        ------
        InputError
            If the file cannot be read; the message names the item, the band and the href.
        """

        def use(opened: Any) -> Plane | None:
            file = _Counted(opened)
            taken = BandOnGrid.of(file, asset, self.grid, centres, part, self.told_within)
            if taken is None:
                return None
            also = 0 if scene.is_sentinel2 and taken.dtype.kind == "u" else missing  # DN 0, with or without a tag
            none = next((n for n in (taken.nodata, asset.nodata, also) if _fits(n, taken.dtype)), None)
            pixels = taken.pixels(self.resampling, none, also=also)
            unmarked = none is None and taken.dtype.kind != "f"
            present = taken.present(unmarked=unmarked)
            return Plane(taken.part, pixels, none, present, file.nbytes)

        return self._with(scene, asset, use)

    def _with(self, scene: Scene, asset: SceneAsset, use: Callable[[Any], T]) -> T:
        driver = "JP2OpenJPEG" if asset.is_jpeg2000 else "GTiff"
        what = f"band {asset.name!r} of {scene.where}"

        def read(href: str) -> T:
            shown = None if href == asset.href else asset.href
            return with_file(href, use, lambda: "cannot be read", shown=shown, driver=driver, access=self.access)

        try:
            return read(asset.href) if self.signer is None else self.signer.read(asset.href, read)
        except (InputError, OSError) as error:
            text = str(error) if asset.href in str(error) else f"{asset.href}: {error}"
            kind = ReadError if isinstance(error, (ReadError, OSError)) else InputError
        raise kind(f"{what}: {text}")


class _Counted:
    """An open file that counts the bytes that are decoded of it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.nbytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, *args: Any, **how: Any) -> npt.NDArray[Any]:
        """As the file's."""
        return self._count(self._file.read(*args, **how))

    def read_masks(self, *args: Any, **how: Any) -> npt.NDArray[Any]:
        """As the file's."""
        return self._count(self._file.read_masks(*args, **how))

    def _count(self, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        self.nbytes += pixels.nbytes
        return pixels


def _unsigned(pixels: npt.NDArray[Any], nodata: float | None, nothing: int) -> npt.NDArray[np.uint16]:
    """Classes of another dtype as uint16: nodata, and what is not finite, stands for `nothing`."""
    numbers = pixels.astype(np.float64)
    none = ~np.isfinite(numbers)
    if is_finite_number(nodata):
        none |= numbers == nodata
    numbers[none] = nothing
    wrong = (numbers < 0) | (numbers > 65535) | (numbers != np.floor(numbers))
    if wrong.any():
        raise InputError(
            f"holds {numbers[wrong][0]:.12g}, and classes are whole numbers from 0 to 65535: name the asset of classes"
        )
    return numbers.astype(np.uint16)


def _fits(nodata: float | None, dtype: np.dtype[Any]) -> bool:
    """Whether a nodata value is one that the dtype can hold; NaN stands for what is not finite anyway."""
    if not is_finite_number(nodata):
        return False
    if dtype.kind == "f":
        return True
    info = np.iinfo(dtype)
    return float(nodata).is_integer() and info.min <= nodata <= info.max
