"""The options of ``encode``, made from the fields of `EncodeOptions`: names, defaults and help are read there.

A field of a plain type (bool, int, text, a choice) becomes an option of that type. What is richer in Python is a text
here, and `FORMS` says how it is written and read.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import Band
from chronozarr_dask.options import PLACEMENT_FIELDS, EncodeOptions, make_options

BAND_KEYS = ("name", "common_name", "scale", "offset", "units")

PANELS: Mapping[str, tuple[str, ...]] = {
    "Input": ("variable", "crs", "nodata", "bands", "mask", "coverage", "nan_to_mask", "fill_masked", "provenance"),
    "Format": ("encoding", "anchor_interval", "codec", "codec_level", "codec_options"),
    "Layout": ("chunk_size", "shard_time", "levels", "shard_bytes_limit"),
    "Work": (*PLACEMENT_FIELDS, "journal"),
}
"""Panels of the help; a field that is in none of them goes with the work."""


@dataclass(frozen=True)
class Form:
    """How a field is written on the command line.

    Attributes
    ----------
    metavar : str
    read : callable
        From the text to the field's value; ValueError or InputError says what is wrong with it.
    flag : str or None
        Where the option's name is not the field's; such an option may be repeated, once for each entry.
    help : str
        In place of the field's description, where that speaks of Python.
    """

    metavar: str
    read: Callable[[str], Any] = str
    flag: str | None = None
    help: str = ""


def read_nodata(text: str) -> float | int | str | None:
    """A number, ``null`` or ``default``."""
    if text in ("null", "default"):
        return None if text == "null" else text
    try:
        return int(text)
    except ValueError:
        return float(text)


def read_band(text: str) -> str | dict[str, Any]:
    """NAME[:COMMON_NAME[:SCALE[:OFFSET[:UNITS]]]] as a name, or as the keys that are given."""
    parts = dict(zip(BAND_KEYS, text.split(":", len(BAND_KEYS) - 1), strict=False))
    given: dict[str, Any] = {key: part for key, part in parts.items() if part}
    for key in ("scale", "offset"):
        if key in given:
            given[key] = float(given[key])
    Band(**{"name": "any", **given})
    return given["name"] if list(given) == ["name"] else given


def read_pair(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError("give KEY=VALUE")
    return key, value


def read_count_or_all(text: str) -> int | str:
    """A number of timesteps, or ``all``."""
    return text if text == "all" else int(text)


def read_cells(text: str) -> int | tuple[int, ...]:
    """N, or ROWS,COLS."""
    numbers = tuple(int(part) for part in text.split(","))
    return numbers[0] if len(numbers) == 1 else numbers


def read_json(text: str) -> Any:
    """JSON, or that of a file."""
    if not text.startswith("@"):
        return json.loads(text)
    try:
        return json.loads(Path(text[1:]).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{text[1:]} cannot be read: {error.strerror}") from None


FORMS: Mapping[str, Form] = {
    "crs": Form("CRS"),
    "nodata": Form("NUMBER|null|default", read_nodata),
    "bands": Form(
        "NAME[:...]",
        read_band,
        "--band",
        "One band of the source, in order; repeat it for each: NAME:COMMON:SCALE:OFFSET:UNITS, as in "
        "B04:red:0.0001:-0.1. What is empty or left out at the end stays as the source has it.",
    ),
    "codec_options": Form(
        "KEY=VALUE",
        read_pair,
        "--codec-option",
        "Of blosc alone: cname=NAME or shuffle=KIND, as in --codec-option cname=lz4. Repeat it.",
    ),
    "shard_time": Form("N|all", read_count_or_all),
    "mask": Form(
        "VARIABLE",
        help="Variable of the source that is 1 where a pixel is valid and 0 where not (2.4); the mask or alpha band of "
        "GeoTIFFs that have one when left out.",
    ),
    "coverage": Form("VARIABLE", help="Variable of the source that counts the observations behind a pixel (2.5)."),
    "provenance": Form(
        "JSON|@FILE",
        read_json,
        help="Where the pixels come from: a JSON object of sources, composite, gap_fill and notes (3.8), or @ and the "
        "name of a file that holds it.",
    ),
    "region_cells": Form(
        "N|ROWS,COLS",
        read_cells,
        help="Cells along the edge of a region, or its rows and columns of cells; even. Chosen from the memory when "
        "left out.",
    ),
    "memory": Form("BYTES"),
    "journal": Form("FOLDER|URL", help="Where the journal goes; TARGET.run when left out."),
    "variable": Form("VARIABLE", help="Variable of the source to encode; when left out, all rasters, as bands."),
}


def flag_of(name: str) -> str:
    """The option of a field, as ``--codec-level``."""
    form = FORMS.get(name)
    return form.flag if form is not None and form.flag is not None else f"--{name.replace('_', '-')}"


def help_of(name: str) -> str:
    """What the help says of a field."""
    form = FORMS.get(name)
    return (form.help if form is not None else "") or EncodeOptions.model_fields[name].description or ""


def with_encode_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one parameter for each field of `EncodeOptions`, in place of its ``**given``."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    fields = [_parameter(name, EncodeOptions.model_fields[name], panel) for panel, name in _in_panels()]
    kept = [p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD]
    before = [p for p in kept if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    after = [p for p in kept if p.kind is inspect.Parameter.KEYWORD_ONLY]
    command.__signature__ = inspect.Signature([*before, *fields, *after])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in (*before, *fields, *after)}
    return command


def read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `EncodeOptions` out of what the command line gave; bad usage is told with the option's name."""
    out = {name: _read(name, value) for name, value in given.items()}
    try:
        make_options(**out)
    except InputError as error:
        raise typer.BadParameter(in_flags(str(error))) from None
    return out


def in_flags(text: str) -> str:
    """A message with Python keywords put as options: ``codec_level`` as --codec-level, ``crs=`` as --crs."""
    for name in EncodeOptions.model_fields:
        flag = flag_of(name)
        text = re.sub(rf"(?<![\w./'\"-]){name}=(?=['\"\w])", f"{flag} ", text)
        text = re.sub(rf"(?<![\w./'\"-]){name}=", flag, text)
        if "_" in name:
            text = re.sub(rf"(?<![\w./'\"-]){name}(?![\w.=/'\"])", flag, text)
    return text


def _in_panels() -> list[tuple[str, str]]:
    named = [(panel, name) for panel, names in PANELS.items() for name in names]
    rest = EncodeOptions.model_fields.keys() - {name for _, name in named}
    return named + [("Work", name) for name in EncodeOptions.model_fields if name in rest]


def _parameter(name: str, field: FieldInfo, panel: str) -> inspect.Parameter:
    form = FORMS.get(name)
    default: Any = field.default
    kind: Any = _plain(field.annotation) if form is None else str
    if form is not None and form.flag is not None:
        kind, default = list[str], None
    flag = flag_of(name)
    option = typer.Option(
        flag,  # a flag that is off needs no --no- beside it
        metavar=None if form is None else form.metavar,
        help=help_of(name),
        rich_help_panel=panel,
        show_default=default is not None and default is not False,
    )
    hint = kind | None if default is None else kind
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])


def _plain(annotation: Any) -> Any:
    """A type without its None."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    assert len(kinds) == 1, annotation
    return kinds[0]


def _read(name: str, value: str | Sequence[str] | None) -> Any:
    form = FORMS.get(name)
    if form is None or value is None:
        return value
    if isinstance(value, str):
        return _read_text(name, form, value)
    entries = [_read_text(name, form, text) for text in value]
    if not entries:
        return None
    return dict(entries) if form.read is read_pair else entries


def _read_text(name: str, form: Form, text: str) -> Any:
    try:
        return form.read(text)
    except ValueError as error:
        why = f": {error}" if isinstance(error, InputError) or form.read is read_json else ""
        raise typer.BadParameter(f"{flag_of(name)} is {text!r}: it takes {form.metavar}{why}") from None
