"""``xr.open_dataset(url, engine="chronozarr_dask")``: a level of a store, lazy.

xarray imports this module whenever it looks which engines there are, so what reads stores is imported later.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from xarray.backends import BackendEntrypoint

from chronozarr_dask.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

SUFFIX = ".czarr"
"""By which a URL is known to be a store without a request."""


class ChronozarrEntrypoint(BackendEntrypoint):
    """The engine. With ``chunks={}`` each stored chunk is a chunk of Dask."""

    description = "Open a level of a chronozarr store"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj", "drop_variables", "level", "physical", "storage_options",
    )  # fmt: skip

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        level: int = 0,
        physical: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """A level as a lazy Dataset: one request opens it, nothing else is read before values are asked for.

        Parameters
        ----------
        filename_or_obj : str or path
            A folder, or any fsspec URL.
        drop_variables : str or iterable of str, optional
            Left out. Physical values are NaN where the mask says so, with the mask dropped too.
        level : int
            0 is the native resolution.
        physical : bool
            float32 of stored * scale + offset, NaN where a pixel is invalid, instead of stored values.
        storage_options : mapping, optional
            For fsspec; not for a folder.

        Returns
        -------
        Dataset
            As `Store.to_xarray` gives it: it may be pickled, and read from by many threads.

        Raises
        ------
        InputError
            If it is not a path or URL, or there is no such level.
        StoreError, TargetError
            As `open_store` raises them.
        """
        from chronozarr_dask.store.reader import open_store

        if not isinstance(filename_or_obj, (str, os.PathLike)):
            raise InputError(
                f"the engine chronozarr_dask opens a folder or a URL, and was given a "
                f"{type(filename_or_obj).__name__}: a store is many objects"
            )
        dataset = open_store(filename_or_obj, storage_options).to_xarray(level, physical)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return dataset.drop_vars(dropped, errors="ignore")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is a folder with the root document of a store, or a URL that ends in ``.czarr``.

        A URL is not asked: other engines have their turn, and a guess must not take a request.
        """
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        text = os.fspath(filename_or_obj)
        if not isinstance(text, str):
            return False
        if "://" in text and not text.startswith("file://"):
            return text.rstrip("/").endswith(SUFFIX)
        try:
            root = Path(text.removeprefix("file://")).expanduser() / "zarr.json"
            return root.is_file() and b'"chronozarr"' in root.read_bytes()
        except (OSError, ValueError):  # no right to it; no path at all
            return False
