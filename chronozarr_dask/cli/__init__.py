"""The command line: options in, text and exit codes out. Exit codes: 0 done, 1 a problem, 2 bad usage."""

from chronozarr_dask.cli.app import app, main

__all__ = ["app", "main"]
