"""The arithmetic that touches every pixel: numpy in, numpy out, each compiled kernel beside its numpy twin.

`chronozarr_dask.format` says what is right; the tests hold both twins to it, bit for bit.
"""
