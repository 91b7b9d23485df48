"""What is wrong with a recipe, in sentences: the field, what is there, and what is allowed.

What is allowed is read from the JSON Schema of the model, so it cannot say anything else than the schema beside the
recipes.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

Path = tuple[str | int, ...]
Fault = tuple[Path, str]

SHOWN = 60
"""Characters of a wrong value that are shown."""

_MISSING = "missing"
_UNKNOWN = ("extra_forbidden", "invalid_key")


def told(error: ValidationError, values: Any, schema: Mapping[str, Any]) -> list[Fault]:
    """One sentence for each field that is wrong, in the order of the document.

    Parameters
    ----------
    error : pydantic.ValidationError
    values : mapping
        What was checked.
    schema : mapping
        JSON Schema of the model.
    """
    found: dict[Path, dict[Path, Any]] = {}
    for fault in error.errors():
        field, path = _in_document(fault["loc"], fault["type"], values)
        found.setdefault(field, {}).setdefault(path, fault)
    out: dict[Path, str] = {}
    for field, faults in found.items():
        deeper = {p: f for p, f in faults.items() if len(p) > len(field)}
        for path, fault in (deeper or faults).items():
            out.setdefault(path, _text(path, fault, values, schema))
    # A list that is too short because of what is wrong in it has one fault, not two.
    return [(p, t) for p, t in out.items() if not any(q != p and q[: len(p)] == p for q in out) or not p]


def _in_document(loc: Sequence[str | int], kind: str, values: Any) -> tuple[Path, Path]:
    """(field, path): where a fault is, without the names that pydantic gives to the alternatives of a field.

    The field is what has alternatives, else the path itself.
    """
    path: list[str | int] = []
    field: Path | None = None
    at = values
    for i, part in enumerate(loc):
        if _holds(at, part):
            at = at[part]
        elif kind == _MISSING and i == len(loc) - 1 and isinstance(part, str):
            at = None
        else:
            field = tuple(path) if field is None else field
            continue
        path.append(part)
    return (tuple(path) if field is None else field), tuple(path)


def _holds(at: Any, part: str | int) -> bool:
    if isinstance(at, Mapping):
        return part in at
    return isinstance(at, list) and isinstance(part, int) and part < len(at)


def _text(path: Path, fault: Any, values: Any, schema: Mapping[str, Any]) -> str:
    kind = fault["type"]
    if kind in _UNKNOWN:
        names = _fields(_at(schema, path[:-1], schema), schema)
        near = difflib.get_close_matches(str(path[-1]), names, 1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        return f"there is no such field; {hint} are {', '.join(names)}"
    here = _at(schema, path, schema)
    allowed = allow(here, schema)
    if kind == _MISSING and isinstance(fault["loc"][-1], str):
        said = here.get("description")
        return f"is missing; give {allowed}{f' ({said})' if said else ''}"
    if kind == "value_error":
        return str(fault["msg"]).removeprefix("Value error, ")
    return f"{_shown(_value(values, path))} is not allowed; give {allowed}"


def _value(values: Any, path: Path) -> Any:
    for part in path:
        values = values[part]
    return values


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


# ---- JSON Schema ---------------------------------------------------------------------------------------------------


def allow(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What a part of a schema allows, in words.

    >>> allow({"anyOf": [{"enum": ["auto", "none"]}, {"type": "integer", "minimum": 1}, {"type": "null"}]}, {})
    'auto, none or a whole number of at least 1'
    """
    words = list(dict.fromkeys(_alternatives(part, schema)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "a value"


def _alternatives(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    here = _resolved(part, schema)
    kind = here.get("type")
    if "anyOf" in here:
        for one in here["anyOf"]:
            yield from _alternatives(one, schema)
    elif "const" in here or "enum" in here:
        yield from (str(v) for v in here.get("enum", [here.get("const")]))
    elif kind in ("integer", "number"):
        yield ("a whole number" if kind == "integer" else "a number") + _between(here)
    elif kind == "string":
        yield "a size as in 4GB" if "pattern" in here else "a text"
    elif kind == "boolean":
        yield "true or false"
    elif kind == "array":
        yield _list(here, schema)
    elif kind == "object":
        names = _fields(here, schema)
        yield f"the fields {', '.join(names)}" if names else "a mapping of names to values"


def _list(here: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if (several := here.get("prefixItems")) is not None:
        kind = allow(several[0], schema)
        return f"a list of {len(several)} {kind.removeprefix('a ')}s"
    return f"a list, each of it {allow(here.get('items', {}), schema)}"


def _between(here: Mapping[str, Any]) -> str:
    least, most = here.get("minimum"), here.get("maximum")
    if least is not None and most is not None:
        return f" from {least:g} to {most:g}"
    return "" if least is None else f" of at least {least:g}"


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = part.get("$ref")
    return part if ref is None else schema["$defs"][ref.rsplit("/", 1)[-1]]


def _fields(part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Names of the fields of a part, or of the alternative of it that has fields."""
    here = _resolved(part, schema)
    for one in here.get("anyOf", ()):
        if names := _fields(one, schema):
            return names
    return list(here.get("properties", ()))


def _at(part: Mapping[str, Any], path: Path, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a schema at a path of a document; an empty one where the schema tells nothing."""
    if not path:
        return part
    here = _resolved(part, schema)
    name, rest = path[0], path[1:]
    for one in here.get("anyOf", ()):
        if found := _at(one, path, schema):
            return found
    if isinstance(name, int):
        several = here.get("prefixItems", [])
        inner = several[name] if name < len(several) else here.get("items")
    else:
        inner = here.get("properties", {}).get(name, here.get("additionalProperties"))
    return _at(inner, rest, schema) if isinstance(inner, Mapping) else {}
