"""One product from its recipe: search, composite, encode. A resume takes the scenes from the journal, and no search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronozarr_dask._version import __version__
from chronozarr_dask.errors import InputError, ResumeError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.options import EncodeOptions, make_options
from chronozarr_dask.options.recipe import ENCODE_FIELDS, PRODUCT, Recipe
from chronozarr_dask.plan.regions import Region
from chronozarr_dask.run.belongings import recipe_arguments
from chronozarr_dask.run.clock import Clock
from chronozarr_dask.run.composites import Composites, make_composites, make_provenance
from chronozarr_dask.run.encode import run_input
from chronozarr_dask.run.found import Found, find
from chronozarr_dask.run.prepare import Input, differences
from chronozarr_dask.run.progress import NoProgress, Progress, Step
from chronozarr_dask.run.recipecheck import secret_faults
from chronozarr_dask.run.recipes import Document, flat, read_recipe
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.scenebook import SceneBook, UsedScene
from chronozarr_dask.run.scenebytes import scene_reading
from chronozarr_dask.store.journal import ARGUMENTS, ITEMS, PLAN, RECIPE, Journal, dump, journal_url
from chronozarr_dask.store.target import open_target

NOT_PRODUCT = frozenset({"source.page_size", "source.sign"})
"""Fields of the product's parts that change no pixel."""


@dataclass(frozen=True)
class Product:
    """A recipe with its scenes, ready to be planned or run."""

    recipe: Recipe
    found: Found
    composites: Composites
    options: EncodeOptions

    @classmethod
    def of(cls, recipe: Recipe, found: Found) -> Product:
        """All decisions that need no pixel."""
        fields = {name: getattr(recipe.encode, name) for name in ENCODE_FIELDS}
        options = make_options(
            **fields, journal=recipe.target.journal, provenance=make_provenance(recipe, found.scenes)
        )
        return cls(recipe, found, make_composites(recipe, found), options)

    def input(self, document: Document) -> Input:
        """The input of the encode."""
        return Input(
            described=self.composites.raster,
            frames=self.composites.frames,
            gap_fill=self.recipe.composite.gap_fill,
            making=self.composites.making,
            making_rows=self.composites.frames.composition.strips.height,
            identity={**product_identity(self.recipe), "scenes": self.found.digest},
            documents={
                RECIPE: document.written.encode(),
                ITEMS: dump(self.found.to_json()),
                ARGUMENTS: recipe_arguments(),
            },
            book=self.book(),
            reading=scene_reading(self.recipe, self.composites),
        )

    def book(self) -> SceneBook:
        """What is known of the scenes before the run."""
        steps = self.composites.frames.timesteps
        at = {
            (use.scene.collection, use.scene.id): text
            for text, s in zip(self.composites.labels, steps, strict=True)
            for o in s.observations
            for use in o
        }
        used = tuple(
            UsedScene(
                scene.id,
                render_time(scene.datetime),
                at[scene.collection, scene.id],
                decision.offset,
                decision.rule,
                scene.collection,
            )
            for scene, decision in zip(self.found.scenes, self.found.decisions, strict=True)
        )
        return SceneBook(used, self.found.dropped, self.composites.labels)


def run_recipe(
    recipe: str | os.PathLike[str],
    settings: Sequence[str] = (),
    *,
    resume: bool = False,
    client: Any = None,
    progress: Progress | None = None,
) -> RunReport:
    """Make the product of a recipe, as the command ``run``.

    Parameters
    ----------
    recipe : str or path
        YAML file.
    settings : sequence of str
        ``path.to.field=value``, in place of what the recipe says.
    resume, client
        As of `run_document`; the recipe's `cluster` is not looked at.
    progress : callable, optional
        As of `encode`; also told of the stages "search" and "plan".
    """
    document, checked = read_recipe(os.fspath(recipe), settings)
    return run_document(document, checked, resume=resume, client=client, progress=progress)


def run_document(
    document: Document,
    recipe: Recipe,
    *,
    resume: bool = False,
    client: Any = None,
    progress: Progress | None = None,
    only: frozenset[Region] | None = None,
) -> RunReport:
    """Make the product of a recipe that was read.

    Parameters
    ----------
    document : Document
        The recipe as it was written; the journal keeps it.
    recipe : Recipe
    resume : bool
        Go on with an interrupted run of the same recipe.
    client : distributed.Client, optional
        Cluster to run on; threads of this process when left out.
    progress : callable, optional
        As of `encode`; also told of the stages "search" and "plan".

    Raises
    ------
    As of `encode`; InputError also for what is wrong with the recipe or its items.
    """
    check_no_secrets(recipe)
    clock, told = Clock(), progress or NoProgress()
    told(Step("search", 0, 1))
    with clock.stage("search"):
        found = (_frozen(recipe) if resume else None) or find(recipe)
    told(Step("plan", 0, 1))
    with clock.stage("plan"):
        product = Product.of(recipe, found)
        given = product.input(document)
    target = recipe.target
    run = {"fail_fast": recipe.run.fail_fast, "claim": recipe.run.claim, "grace": recipe.run.grace, "only": only}
    how: Any = {"client": client, "resume": resume, "progress": progress, "clock": clock, **run}
    return run_input(given, target.url, dict(target.storage_options), product.options, **how)


def product_identity(recipe: Recipe) -> dict[str, Any]:
    """The fields that decide what the pixels are, by their dotted path."""
    fields = flat(recipe.model_dump(mode="json", include=set(PRODUCT), exclude_none=True))
    bands = fields["source.bands"]
    fields["source.bands"] = [band["name"] if list(band) == ["name"] else band for band in bands]
    return {k: v for k, v in fields.items() if k not in NOT_PRODUCT}


def check_no_secrets(recipe: Recipe) -> None:
    """Raise InputError where a recipe holds a secret: the journal keeps the recipe."""
    for path, text in secret_faults(recipe):
        raise InputError(f"{'.'.join(map(str, path))}: {text}")


def _frozen(recipe: Recipe) -> Found | None:
    """The scenes of the run that is resumed; None when it ended before they were frozen.

    Raises
    ------
    ResumeError
        If it was the run of another recipe: its scenes are not those of this one.
    """
    target = open_target(recipe.target.url, dict(recipe.target.storage_options))
    place = journal_url(target.url, recipe.target.journal)
    journal = Journal(open_target(place, dict(recipe.target.storage_options)))
    plan = journal.read(PLAN)
    if plan is None:  # nothing is stored yet, and the items may be those of another recipe
        return None
    if plan["version"] == __version__:
        before = {k: v for k, v in plan["identity"].items() if k.split(".")[0] in PRODUCT}
        if changed := differences(before, product_identity(recipe)):
            raise ResumeError(
                f"{target.url} was begun with another recipe, and cannot go on with this one. {'; '.join(changed)}. To "
                f"begin anew name another target, or remove {target.url} and {journal.url} first"
            )
    doc: Mapping[str, Any] | None = journal.read(ITEMS)
    return None if doc is None else Found.from_json(doc)
