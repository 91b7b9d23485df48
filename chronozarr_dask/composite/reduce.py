"""The one value per pixel and band that a period's observations make, and how many they were.

    method      integers                          float32
    median      middle; floor((a + b) / 2)        middle; mean of the two in float64
    mean        floor(sum / n)                    sum in float64, in order, by n
    percentile  rank k = max(1, ceil(p n / 100))  the same: always an observed value
    first       the earliest valid                the same
    best        the first valid in the order of   the same
                preference that is given

A pixel without a valid observation holds the fill value in every band, and coverage 0. The other way round holds too
where nodata is the least or the greatest number of the dtype, as 0 of uint8 and uint16: a valid pixel never has it, and
a median or a mean of numbers that are all on one side of it never reaches it. Where nodata lies between the values, as
-9999 of int16 or float32 may, a median of two or a mean can come out as nodata by chance; such a pixel is told from an
empty one by its coverage alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.dtypes import Number, is_finite_number
from chronozarr_dask.kernels.median import masked_median, masked_rank
from chronozarr_dask.kernels.observations import count_valid
from chronozarr_dask.kernels.select import first_valid, masked_mean

MethodName = Literal["median", "mean", "percentile", "first", "best"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)


@dataclass(frozen=True)
class Method:
    """How observations become one value.

    Attributes
    ----------
    name : "median", "mean", "percentile", "first" or "best"
    percentile : number or None
        From 0 to 100, for "percentile" alone.
    """

    name: MethodName = "median"
    percentile: Number | None = None

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise InputError(f"composite method {self.name!r} is unknown: take one of {', '.join(METHODS)}")
        if self.name != "percentile":
            if self.percentile is not None:
                raise InputError(
                    f"percentile is {self.percentile} and the method is {self.name}: leave one of them out"
                )
        elif not is_finite_number(self.percentile) or not 0 <= self.percentile <= 100:
            raise InputError(f"percentile is {self.percentile!r}: the method percentile needs a number from 0 to 100")

    @property
    def text(self) -> str:
        """As in the provenance: median, percentile 25."""
        return self.name if self.percentile is None else f"{self.name} {self.percentile:g}"

    def ranks(self, n: int) -> list[int]:
        """Rank from 0 that is taken of 0, 1, .. `n` valid observations; 0 of none.

        The percentile counts as it is written in decimals: 0.1 of 1000 is the first, not the second.
        """
        assert self.percentile is not None
        share = Fraction(str(self.percentile)) / 100
        return [max(1, ceil(share * k)) - 1 for k in range(n + 1)]


def reduce_observations(
    stack: npt.NDArray[Any], valid: npt.NDArray[np.uint8], method: Method, fill: Number,
    order: Sequence[int] | None = None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:  # fmt: skip
    """Composite of one period.

    Parameters
    ----------
    stack : ndarray (observation, band, y, x), uint8, uint16, int16 or float32
        In the order of (datetime, id); read in place. May have no observation.
    valid : ndarray (observation, y, x), uint8, 0 or 1
        Values that are valid are finite and not nodata (`validity`).
    method : Method
    fill : number
        The store's fill value, which the dtype can hold.
    order : sequence of int, optional
        Indices of the observations, the best first: for the method "best", which needs it.

    Returns
    -------
    values : ndarray (band, y, x), the dtype of `stack`
    coverage : ndarray (y, x), uint8
        Number of valid observations; 255 stands for 255 and more (2.5).
    """
    assert (order is not None) == (method.name == "best"), "an order of preference is for the method best alone"
    if method.name == "median":
        values = masked_median(stack, valid, fill)
    elif method.name == "mean":
        values = masked_mean(stack, valid, fill)
    elif method.name == "percentile":
        values = masked_rank(stack, valid, method.ranks(len(stack)), fill)
    else:
        values = first_valid(stack, valid, fill, order)
    return values, count_valid(valid)
