"""What a model of fields alone cannot see in a recipe, and no item is needed for: values that exclude one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chronozarr_dask.composite.reduce import Method
from chronozarr_dask.composite.validity import BitRule, ClassRule
from chronozarr_dask.errors import InputError
from chronozarr_dask.format.bands import as_bands
from chronozarr_dask.options import make_options
from chronozarr_dask.options.recipe import ENCODE_FIELDS, Recipe
from chronozarr_dask.run.faults import Fault, Path
from chronozarr_dask.run.found import period_ms
from chronozarr_dask.source.stac.hrefs import unsigned
from chronozarr_dask.store.secrets import redacted_url
from chronozarr_dask.store.target import secret_options

BAND_FIELDS = {"name", "common_name", "scale", "offset", "units"}


def further_faults(recipe: Recipe) -> list[Fault]:
    """What is wrong with a recipe whose fields are each allowed."""
    return [*secret_faults(recipe), *_without_effect(recipe), *_refusals(recipe)]


def secret_faults(recipe: Recipe) -> Iterator[Fault]:
    """Where a recipe holds a secret: the journal keeps the recipe. The secret itself is not repeated."""
    for part, options in (("source", recipe.source.storage_options), ("target", recipe.target.storage_options)):
        for name in secret_options(options):
            yield (
                (part, "storage_options", *name.split(".")),
                "secrets do not go into a recipe, which the journal keeps; let all processes find credentials by "
                "themselves (environment, profile or role)",
            )
    urls: list[tuple[Path, str | None]] = [
        (("source", k), getattr(recipe.source, k)) for k in ("api", "items", "files")
    ]
    urls += [(("target", "url"), recipe.target.url), (("target", "journal"), recipe.target.journal)]
    for path, url in urls:
        if url is not None and (held := _held(url)):
            yield (
                path,
                f"holds {held}, and the journal keeps the recipe: take it out, and let all processes find credentials "
                f"by themselves (environment, profile or role)",
            )


def _held(url: str) -> str | None:
    try:
        return None if unsigned(url) == redacted_url(url) == url else "a signature or a key"
    except InputError:
        return "a user name or a password"


ONLY_FOR = {
    "collections": ("api", "items"), "query": ("api", "items"), "ids": ("api", "items"), "filter": ("api",),
    "date_format": ("files",),
}  # fmt: skip
"""Fields of a source, and the places of scenes that they mean something for."""


def _without_effect(recipe: Recipe) -> Iterator[Fault]:
    """What is given and would mean nothing."""
    source = recipe.source
    place = next(name for name in ("api", "items", "files") if getattr(source, name) is not None)
    for name, places in ONLY_FOR.items():
        if getattr(source, name) and place not in places:
            yield ("source", name), f"means nothing for source.{place}, only for {' and '.join(places)}: leave it out"


def _refusals(recipe: Recipe) -> Iterator[Fault]:
    source, composite = recipe.source, recipe.composite
    checks: list[tuple[Path, Callable[[], object]]] = [
        (("period",), lambda: period_ms(recipe.period)),
        (("composite", "percentile"), lambda: Method(composite.method, composite.percentile)),
        (("encode",), lambda: make_options(**{name: getattr(recipe.encode, name) for name in ENCODE_FIELDS})),
        (
            ("source", "bands"),
            lambda: as_bands(b.model_dump(include=BAND_FIELDS, exclude_none=True) for b in source.bands),
        ),
    ]
    if (classes := source.classes) is not None:
        checks.append((("source", "classes"), lambda: ClassRule(classes.keep, classes.nothing)))
    if (bits := source.bits) is not None:
        checks.append((("source", "bits"), lambda: BitRule(bits.reject)))
    for path, check in checks:
        try:
            check()
        except InputError as error:
            yield _nearer(path, str(error), recipe), str(error)


def _nearer(path: Path, text: str, recipe: Any) -> Path:
    """The field of a part that a message begins with, where it does."""
    for name in path:
        recipe = getattr(recipe, str(name))
    begin = text.split(" ", 1)[0].removeprefix(".".join(map(str, path)) + ".")
    return (*path, begin) if begin in getattr(type(recipe), "model_fields", {}) else path
