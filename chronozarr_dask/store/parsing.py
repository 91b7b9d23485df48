"""JSON of documents that anyone may have written: standard JSON, its numbers finite, not nested without end.

What nests deeper than any document of a store would be taken by one call and break the next, wherever the recursion of
Python happens to end.
"""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 64
"""Of objects and lists in each other; those of a store take about ten."""


def parse_json(blob: bytes, **hooks: Any) -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    blob : bytes
    **hooks
        As `json.loads` takes them: ``parse_int``, ``parse_float``.

    Raises
    ------
    ValueError
        If it is no JSON (NaN and Infinity are none), or is nested deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(blob, parse_constant=_no_constant, **hooks)
    except RecursionError as error:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from error
    _check_depth(value)
    return value


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _check_depth(value: Any) -> None:
    inner = [value]
    for _ in range(MAX_DEPTH):
        outer = [v for v in inner if isinstance(v, (dict, list))]
        if not outer:
            return
        inner = [v for container in outer for v in (container.values() if isinstance(container, dict) else container)]
    raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
