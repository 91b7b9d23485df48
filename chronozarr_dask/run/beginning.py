"""What a run was begun with, as its journal keeps it: enough to go on with it from the journal alone, and no secret.

A recipe is kept as it was written. Of `encode` on the command line it is the source and the options; of a cube that was
in memory nothing can be kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from chronozarr_dask.errors import ChronozarrError, InputError, ResumeError
from chronozarr_dask.graph.frames import CubeFrames
from chronozarr_dask.options import EncodeOptions, make_options
from chronozarr_dask.run.clock import Clock
from chronozarr_dask.run.encode import run_input
from chronozarr_dask.run.journals import Run
from chronozarr_dask.run.prepare import Input, read_cube
from chronozarr_dask.run.progress import Progress
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.source.files import open_source
from chronozarr_dask.source.stac.hrefs import unsigned
from chronozarr_dask.store.journal import ARGUMENTS, RECIPE, dump
from chronozarr_dask.store.secrets import redacted_url, redacted_urls
from chronozarr_dask.store.target import secret_options

GIVEN = ("variable", "crs", "nodata", "bands")
"""What stands in place of what GeoTIFFs say, which need not agree in it then."""


@dataclass(frozen=True)
class Source:
    """What `encode` reads: a file, a store or a stack of files, by its path or URL.

    Attributes
    ----------
    url : str
    storage_options : mapping
        Of the source.
    date_format : str or None
    options : mapping
        Fields of `EncodeOptions`, as JSON.
    """

    url: str
    storage_options: Mapping[str, Any]
    date_format: str | None
    options: Mapping[str, Any]

    def document(self) -> bytes:
        """As the journal keeps it: secrets are named, and their values are not there."""
        secrets = secret_options(self.storage_options)
        url, left_out = self._without_signature()
        kept = {
            **asdict(self),
            "url": url,
            "storage_options": _without(self.storage_options, frozenset(secrets)),
            "left_out": secrets,
            "signed": left_out,
        }
        return dump({"command": "encode", "folder": os.getcwd(), **kept})

    def _without_signature(self) -> tuple[str, bool]:
        if "://" not in self.url or self.url.startswith("file://"):
            return os.path.abspath(os.path.expanduser(self.url.removeprefix("file://"))), False
        try:
            url = unsigned(self.url)
        except InputError:  # it has a user name or a password
            return "", True
        if redacted_url(url) != url:  # behind a chain, as of simplecache, or in a fragment
            return "", True
        return url, url != self.url


def encode_source(
    source: Source,
    target: str,
    storage_options: Mapping[str, Any],
    *,
    client: Any = None,
    progress: Progress | None = None,
    **how: Any,
) -> RunReport:
    """Encode what a path or URL names; `how` and errors are those of `encode`."""
    if client is not None and (secrets := secret_options(source.storage_options)):
        raise InputError(
            f"the options of the source have {', '.join(secrets)}: secrets do not travel to the workers; let them find "
            f"credentials by themselves (environment, profile or role) and leave these out (--source-option)"
        )
    options = make_options(**source.options)
    clock = Clock()
    with clock.stage("plan"):
        given = source_input(source, options, travels=client is not None)
    told: Any = {"client": client, "progress": progress, "clock": clock, **how}
    return run_input(given, target, dict(storage_options), options, **told)


def source_input(source: Source, options: EncodeOptions, *, travels: bool = False) -> Input:
    """The input that a path or URL names; InputError where it cannot be opened, or is not something to store.

    With `travels` it will be read on a cluster: what takes a secret of this process is refused then.
    """
    try:
        opened = open_source(
            source.url,
            variable=options.variable,
            storage_options=source.storage_options,
            date_format=source.date_format,
            given={name for name in GIVEN if getattr(options, name) != EncodeOptions.model_fields[name].default},
            travels=travels,
        )
    except ChronozarrError:
        raise
    except OSError as error:
        said = redacted_urls(f"{source.url} cannot be opened: {error}")
        raise InputError(said) from (error if said.endswith(str(error)) else None)
    cube = read_cube(opened, options)
    return Input(cube, CubeFrames(cube), documents={ARGUMENTS: source.document()})


@dataclass(frozen=True)
class Beginning:
    """What a journal says of the beginning of its run.

    Attributes
    ----------
    folder : str
        Current folder of the process that began it: relative paths of a recipe begin there.
    recipe : Document or None
    source : Source or None
        One of the two is there.
    """

    folder: str
    recipe: Document | None
    source: Source | None

    @property
    def is_relative(self) -> bool:
        """Whether the recipe has paths that begin in its folder."""
        if self.recipe is None:
            return False
        source = self.recipe.values.get("source") or {}
        paths = (self.recipe.values.get("area"), source.get("items"), source.get("files"))
        return any(isinstance(p, str) and "://" not in p and not os.path.isabs(p) for p in paths)

    def check_folder(self) -> None:
        """Raise ResumeError where relative paths would begin in another folder than before."""
        if self.is_relative and os.path.realpath(self.folder) != os.path.realpath(os.getcwd()):
            raise ResumeError(
                f"the recipe of this run has relative paths, and was begun in {self.folder}: change to that folder"
            )


def read_beginning(run: Run, source_options: Mapping[str, Any] | None = None) -> Beginning:
    """What a run was begun with.

    Parameters
    ----------
    run : Run
    source_options : mapping, optional
        Of the source of an `encode`: in place of what is kept, and for the secrets that are not.

    Raises
    ------
    ResumeError
        If the journal does not keep it, or not all of it; or it is a recipe, and there are options of the source.
    """
    doc = run.journal.read(ARGUMENTS)
    folder = os.getcwd() if doc is None else doc["folder"]
    written = run.journal.objects.get(RECIPE)
    if written is not None:
        if source_options:
            raise ResumeError(
                f"--source-option (source_options=) is for what encode reads, and the run into {run.target.url} is of "
                f"a recipe, which keeps its own as source.storage_options: leave the option out"
            )
        return Beginning(folder, Document.parse(written.decode(), f"{run.journal.url}/{RECIPE}"), None)
    if doc is None or doc["command"] != "encode":
        raise ResumeError(_unknown(run))
    given = dict(source_options or {})
    if doc["signed"]:
        raise ResumeError(
            f"the source of the run into {run.target.url} was a URL with a signature or a password, which is not kept; "
            f"go on with `chronozarr-dask encode SOURCE {run.target.url} --resume` and the options that it began with"
        )
    missing = [name for name in doc["left_out"] if name.split(".")[0] not in given]
    if missing:
        again = " ".join(f"--source-option {name.split('.')[0]}=..." for name in missing)
        raise ResumeError(
            f"the run into {run.target.url} was given {', '.join(missing)} for its source, which are secrets and not "
            f"kept in its journal; give them again: {again}"
        )
    options = {**doc["options"], "journal": run.journal.url if doc["options"].get("journal") else None}
    source = Source(doc["url"], {**doc["storage_options"], **given}, doc["date_format"], options)
    return Beginning(folder, None, source)


def _unknown(run: Run) -> str:
    if run.plan_document is None:
        return (
            f"the run into {run.target.url} ended before it kept what it was begun with, and nothing is stored: remove "
            f"it with `chronozarr-dask clean {run.url}`, then begin again"
        )
    return (
        f"the run into {run.target.url} was begun from Python, with a cube that only that program has: go on there "
        f"with encode(cube, {run.target.url!r}, resume=True), the same cube and the same options"
    )


def _without(options: Mapping[str, Any], secrets: frozenset[str], prefix: str = "") -> dict[str, Any]:
    """Options without those of the dotted names."""
    return {
        name: _without(value, secrets, f"{prefix}{name}.") if isinstance(value, Mapping) else value
        for name, value in options.items()
        if f"{prefix}{name}" not in secrets
    }
