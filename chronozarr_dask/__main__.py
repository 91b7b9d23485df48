"""``python -m chronozarr_dask`` is the program ``chronozarr-dask``."""

from chronozarr_dask.cli.app import main

if __name__ == "__main__":
    main()
