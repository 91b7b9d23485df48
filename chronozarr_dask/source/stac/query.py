"""The query extension of STAC, applied to the properties of an item out of a file."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from chronozarr_dask.errors import InputError

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "neq": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
    "in": lambda value, listed: value in listed,
    "startsWith": lambda value, text: str(value).startswith(text),
    "endsWith": lambda value, text: str(value).endswith(text),
    "contains": lambda value, text: text in value,
}


def matches(properties: Mapping[str, Any], query: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether `properties` meet every condition of `query`; a property that is missing or null meets none.

    Raises
    ------
    InputError
        If an operator is unknown, or the two values cannot be compared.
    """
    return all(
        _holds(name, properties.get(name), op, wanted)
        for name, conditions in query.items()
        for op, wanted in conditions.items()
    )


def _holds(name: str, value: Any, op: str, wanted: Any) -> bool:
    if op not in _OPERATORS:
        raise InputError(f"query of {name!r} has operator {op!r}: it must be one of {', '.join(_OPERATORS)}")
    if value is None:
        return False
    try:
        return bool(_OPERATORS[op](value, wanted))
    except TypeError as error:
        raise InputError(f"query of {name!r}: {value!r} {op} {wanted!r} cannot be compared ({error})") from error
