"""Numbers as a person reads them, as in reports."""

from chronozarr_dask.run.text import nbytes, number, plural, seconds

__all__ = ["nbytes", "number", "plural", "seconds"]
