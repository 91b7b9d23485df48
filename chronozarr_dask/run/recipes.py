"""Recipes as text: YAML with the place of every value, ``--set`` on top of it, and one error for what is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from chronozarr_dask.errors import InputError
from chronozarr_dask.options.recipe import Recipe

Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """YAML in which a date is a text, and on, off, yes and no are too: a recipe means what it looks like."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in rules if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")
    ]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


@dataclass(frozen=True)
class Document:
    """A recipe as it was written.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    written : str
        As it was written, or with what was set.
    values : mapping
    lines : mapping of path to line
        Counted from 1.
    """

    name: str
    written: str
    values: dict[str, Any]
    lines: Mapping[Path, int]

    @classmethod
    def parse(cls, text: str, name: str) -> Document:
        """A document out of YAML; InputError says which line is wrong."""
        try:
            root = yaml.compose(text, _Loader)
            values = yaml.load(text, _Loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            at = f"line {mark.line + 1}: " if mark else ""
            raise InputError(f"{name} is no YAML: {at}{getattr(error, 'problem', None) or error}") from error
        if not isinstance(values, dict):
            raise InputError(f"{name} is no recipe: it has no keys; begin with version: 1")
        return cls(name, text, values, dict(_lines(root, (), name)))

    def with_values(self, settings: Sequence[str]) -> Document:
        """The document with ``path.to.field=value`` set; the value is YAML."""
        values, lines = _copied(self.values), dict(self.lines)
        for setting in settings:
            dotted, mark, text = setting.partition("=")
            path = tuple(dotted.split("."))
            if not mark or not all(path):
                raise InputError(f"--set {setting!r}: give path.to.field=value, as in target.url=/data/store")
            try:
                value = yaml.load(text, _Loader)
            except yaml.YAMLError as error:
                raise InputError(f"--set {setting!r}: the value is no YAML: {error}") from error
            _put(values, path, value, setting)
            lines = {k: v for k, v in lines.items() if k[: len(path)] != path}
        written = yaml.safe_dump(values, sort_keys=False) if settings else self.written
        return Document(self.name, written, values, lines)

    def recipe(self) -> Recipe:
        """The recipe, checked.

        Raises
        ------
        InputError
            With the line, the field, and what is allowed there.
        """
        try:
            return Recipe.model_validate(self.values)
        except ValidationError as error:
            found = _told(error)
        raise InputError("; ".join(self._message(path, text) for path, text in found))

    def _message(self, path: Path, text: str) -> str:
        at = next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), None)
        field = ".".join(map(str, path))
        return f"{self.name}{f', line {at}' if at else ''}: {field + ': ' if field else ''}{text}"


def read_recipe(path: str, settings: Sequence[str] = ()) -> tuple[Document, Recipe]:
    """The recipe of a file, with settings on top of it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the recipe {path} cannot be read: {error}") from error
    document = Document.parse(text, path).with_values(settings)
    return document, document.recipe()


def flat(value: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Leaves of nested mappings by their dotted path."""
    if isinstance(value, Mapping) and value:
        return {k: v for name, inner in value.items() for k, v in flat(inner, (*path, str(name))).items()}
    return {".".join(path): value}


# ---- YAML ----------------------------------------------------------------------------------------------------------


def _lines(node: Any, path: Path, name: str) -> Iterator[tuple[Path, int]]:
    if node is None:
        return
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                dotted = ".".join(map(str, (*path, key.value)))
                raise InputError(f"{name}, line {line}: {dotted} is given twice, before in line {seen[key.value]}")
            seen[key.value] = line
            yield from _lines(value, (*path, key.value), name)
            yield (*path, key.value), line
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield from _lines(value, (*path, i), name)


def _copied(value: Any) -> Any:
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def _put(values: dict[str, Any], path: Path, value: Any, setting: str) -> None:
    at: Any = values
    for i, name in enumerate(path[:-1]):
        inner = at.setdefault(name, {})
        if path[i:] and name == "target" and isinstance(inner, str):
            inner = at[name] = {"url": inner}
        if not isinstance(inner, dict):
            raise InputError(f"--set {setting!r}: {'.'.join(map(str, path[: i + 1]))} is {inner!r} and has no fields")
        at = inner
    at[path[-1]] = value


# ---- what is wrong -------------------------------------------------------------------------------------------------


def _told(error: ValidationError) -> list[tuple[Path, str]]:
    """(path, text) of each fault; of the alternatives of one field one."""
    out: dict[Path, str] = {}
    for fault in error.errors():
        path = _in_document(fault["loc"])
        text = _text(fault, path)
        out[path] = f"{out[path]}, or {text}" if path in out and text not in out[path] else text
    return list(out.items())


def _in_document(loc: Sequence[str | int]) -> Path:
    """The path without what pydantic puts in for alternatives of a union."""
    path: list[str | int] = []
    model: Any = Recipe
    for part in loc:
        if isinstance(part, int):
            path.append(part)
            continue
        fields = getattr(model, "model_fields", {})
        if part in fields:
            path.append(part)
            model = _model_of(fields[part].annotation)
        elif (
            path and not (isinstance(part, str) and (part[0].islower() is False or "[" in part or part in _KINDS))
        ) or not path:
            path.append(part)
    return tuple(path)


_KINDS = frozenset({"int", "float", "str", "bool", "none", "url", "literal"})


def _model_of(annotation: Any) -> Any:
    """The model inside of an annotation, None where there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if (found := _model_of(inner)) is not None:
            return found
    return None


def _text(fault: Any, path: Path) -> str:
    given = fault.get("input")
    if fault["type"] == "extra_forbidden":
        names = _fields_at(path[:-1])
        near = difflib.get_close_matches(str(path[-1]), names, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"there is no such field; there are {', '.join(names)}{hint}"
    if fault["type"] == "missing":
        return "is missing"
    message = fault["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    return message if isinstance(given, dict | list) or given is None else f"{given!r}: {message}"


def _fields_at(path: Path) -> list[str]:
    model: Any = Recipe
    for part in path:
        if isinstance(part, str):
            model = (
                _model_of(model.model_fields[part].annotation) if part in getattr(model, "model_fields", {}) else None
            )
    return list(getattr(model, "model_fields", {}))
