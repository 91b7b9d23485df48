"""Recipes as text: YAML with the place of every value, ``--set`` on top of it, and one error for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from chronozarr_dask.errors import InputError
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.options.schema import recipe_schema
from chronozarr_dask.run.faults import Path, told
from chronozarr_dask.run.recipecheck import further_faults


class _Loader(yaml.SafeLoader):
    """YAML in which a date is a text, and on, off, yes and no are too: a recipe means what it looks like."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node that is no alias: with aliases a few lines could stand for a document without an end."""
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.composer.ComposerError(
                None, None, "aliases (*name) are not for recipes: write the value out", mark
            )
        return super().compose_node(parent, index)


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
    settings : tuple of path
        What was set on top of it.
    """

    name: str
    written: str
    values: dict[str, Any]
    lines: Mapping[Path, int]
    settings: tuple[Path, ...] = ()

    @classmethod
    def parse(cls, text: str, name: str) -> Document:
        """A document out of YAML; InputError says which line is wrong."""
        try:
            root = yaml.compose(text, _Loader)
            values = yaml.load(text, _Loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            at = f", line {mark.line + 1}" if mark else ""
            problem = _problem(error)
            hint = "; indent with spaces" if "'\\t'" in problem else ""
            raise InputError(f"{name}{at}: this is no YAML of a recipe: {problem}{hint}") from error
        if not isinstance(values, dict):
            raise InputError(f"{name} is no recipe: it has no fields; begin with version: 1")
        return cls(name, text, values, dict(_lines(root, (), name)))

    def with_values(self, settings: Sequence[str]) -> Document:
        """The document with ``path.to.field=value`` set; the value is YAML."""
        values, lines, given = _copied(self.values), dict(self.lines), list(self.settings)
        for setting in settings:
            dotted, mark, text = setting.partition("=")
            path = tuple(dotted.split("."))
            if not mark or not all(path):
                raise InputError(f"--set {setting}: give path.to.field=value, as in target.url=/data/store")
            try:
                value = yaml.load(text, _Loader)
            except yaml.YAMLError as error:
                raise InputError(f"--set {setting}: the value is no YAML: {_problem(error)}; quote a text") from error
            _put(values, path, value, setting)
            lines = {k: v for k, v in lines.items() if k[: len(path)] != path}
            given.append(path)
        written = yaml.safe_dump(values, sort_keys=False, allow_unicode=True) if settings else self.written
        return Document(self.name, written, values, lines, tuple(given))

    def recipe(self) -> Recipe:
        """The recipe, checked.

        Raises
        ------
        InputError
            With the line, the field, and what is allowed there.
        """
        try:
            recipe = Recipe.model_validate(self.values)
        except ValidationError as error:
            found = told(error, self.values, recipe_schema())
        else:
            found = further_faults(recipe)
            if not found:
                return recipe
        raise InputError("\n".join(f"{self.where(path)}: {_said(path, text)}" for path, text in found))

    def where(self, path: Path) -> str:
        """What a message about a field begins with: the file and the line, or that it was set."""
        for n in range(len(path), 0, -1):
            at = path[:n]
            if at in self.settings:
                return "--set"
            if at in self.lines:
                return f"{self.name}, line {self.lines[at]}"
            if any(given[:n] == at for given in self.settings):
                return "--set"
        return self.name


def _said(path: Path, text: str) -> str:
    """A sentence with its field in front, which it may begin with already."""
    dotted = ".".join(map(str, path))
    for begin in (dotted, str(path[-1]) if path else ""):
        if text.startswith(f"{begin} "):
            return f"{dotted}{text[len(begin) :]}"
    return f"{dotted}: {text}" if path else text


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


def _problem(error: yaml.YAMLError) -> str:
    parts = [text for name in ("context", "problem") if (text := getattr(error, name, None))]
    return ": ".join(parts) or " ".join(str(error).split())


def _lines(node: Any, path: Path, name: str) -> Iterator[tuple[Path, int]]:
    if node is None:
        return
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag != "tag:yaml.org,2002:str":
                raise InputError(f"{name}, line {line}: the key {key.value} is no text: write it as '{key.value}'")
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
        if inner is None:
            inner = at[name] = {}
        if path[i:] and name == "target" and isinstance(inner, str):
            inner = at[name] = {"url": inner}
        dotted = ".".join(map(str, path[: i + 1]))
        if isinstance(inner, list):
            raise InputError(f"--set {setting}: {dotted} is a list: set it as a whole, as in --set '{dotted}=[a, b]'")
        if not isinstance(inner, dict):
            raise InputError(f"--set {setting}: {dotted} is {inner!r} and has no fields")
        at = inner
    at[path[-1]] = value
