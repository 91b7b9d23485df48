"""From observations to composites: periods, validity, mosaics, the one value of each pixel, gaps. No I/O, no cluster.

scenes -> `validity` (which pixels count, offsets) -> `mosaic` (tiles of a pass are one observation)
       -> `periods` (which observations make a timestep) -> `reduce` (values and coverage) -> `fill` (gaps)

Observations are in the order of (datetime, id) everywhere. One of them is ``(band, y, x)`` with a validity ``(y, x)``
that all bands share, uint8, 1 is valid.
"""
