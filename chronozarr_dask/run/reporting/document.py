"""`report.json`: what the journal, the run and the store say, as one document without pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from chronozarr_dask.errors import InputError
from chronozarr_dask.format.times import render_time
from chronozarr_dask.options import EncodeOptions
from chronozarr_dask.run.facts import facts
from chronozarr_dask.run.recipes import Document
from chronozarr_dask.run.report import RunReport
from chronozarr_dask.run.reporting.attempts import in_all, seconds_by_stage, staged_bytes
from chronozarr_dask.run.reporting.look import Look
from chronozarr_dask.run.versions import versions
from chronozarr_dask.source.stac.hrefs import redacted
from chronozarr_dask.store.journal import ESTIMATE, RECIPE, Journal
from chronozarr_dask.store.reader import Store

STAGES = ("search", "plan", "stage", "select", "run", "commit")
OF_ATTEMPT = ("status", "error", "began", "ended", "seconds_by_stage", "attempt", "regions_done", "staged_bytes")
HIDDEN = "(not shown)"


def run_document(
    run: RunReport, options: Mapping[str, Any], journal: Journal, before: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What is known of a run.

    Parameters
    ----------
    run : RunReport
    options : mapping
        As of `told_options`.
    journal : Journal
    before : mapping or None
        The report of the attempt before this one: attempts are kept, the latest last.
    """
    own = run.to_json()
    own["error"] = None if run.error is None else without_queries(run.error)
    own["failures"] = [{**f, "error": without_queries(f["error"])} for f in own["failures"]]
    earlier = [] if before is None else list(before.get("attempts", []))
    attempts = [*earlier, {name: own[name] for name in OF_ATTEMPT}]
    return {
        **own,
        "recipe": _recipe(journal),
        "options": dict(options),
        "attempts": attempts,
        "stages": stages(run, attempts, journal.read(ESTIMATE)),
    }


def store_document(store: Store | None, look: Look | None, volatility: npt.NDArray[np.float32] | None) -> Any:
    """What is known of a store: what its documents say, and what was seen of its pixels."""
    if store is None or look is None:
        return {"store": None, "seen": None}
    return {"store": facts(store), "seen": _seen(store, look, volatility)}


def stages(
    run: RunReport, attempts: Sequence[Mapping[str, Any]], estimate: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """One entry for each stage: what was planned (None where nothing was) beside what all attempts took.

    What is stored is told by the receipts, time and what was read by the attempts' reports.
    """
    planned: Mapping[str, Any] = {} if estimate is None else estimate.get("stages", {})
    seconds = seconds_by_stage(attempts)
    actual: dict[str, dict[str, Any]] = {name: {"seconds": seconds[name]} for name in STAGES if name in seconds}
    if "run" in actual:
        actual["run"] |= {
            "bytes_in": in_all(attempts, "bytes_in"),
            "bytes_out": run.stored_bytes,
            "objects": run.objects,
            "units": run.regions_done,
        }
    staged = staged_bytes(attempts)
    if "stage" in actual or staged:
        actual.setdefault("stage", {})["bytes_out"] = staged
    names = [*STAGES, *(name for name in planned if name not in STAGES)]
    return [
        {"stage": name, "planned": planned.get(name), "actual": actual.get(name)}
        for name in names
        if name in planned or name in actual
    ]


def told_options(options: EncodeOptions) -> dict[str, Any]:
    """The options of an encode that are not the defaults; of an array that was given, that it was."""
    out = {}
    for name, field in EncodeOptions.model_fields.items():
        value = getattr(options, name)
        if value is field.default:
            continue
        plain = _plain(value)
        if plain is not field.default and plain != field.default:
            out[name] = plain
    return out


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Sequence):
        return [_plain(v) for v in value]
    return f"({type(value).__name__})"


def without_queries(text: str) -> str:
    """An error's text; what follows a URL's question mark may be a signature."""
    return redacted(text) if "://" in text else text


def _recipe(journal: Journal) -> str | None:
    """The recipe as it was written; without the values of its storage options, in which people keep keys."""
    blob = journal.objects.get(RECIPE)
    if blob is None:
        return None
    text = blob.decode("utf-8", "replace")
    if "storage_options" not in text:
        return text
    try:
        values = Document.parse(text, RECIPE).values
    except InputError as error:
        return f"{RECIPE} cannot be read: {error}"
    return yaml.safe_dump(_hidden(values), sort_keys=False, allow_unicode=True)


def _hidden(value: Any, inside: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {k: _hidden(v, inside or k == "storage_options") for k, v in value.items()}
    if isinstance(value, list):
        return [_hidden(v, inside) for v in value]
    return HIDDEN if inside else value


def _seen(store: Store, look: Look, volatility: npt.NDArray[np.float32] | None) -> dict[str, Any]:
    part, w = look.part, look.part.window
    height, width = store.levels[part.level].shape[2:]
    return {
        "level": part.level,
        "window": [w.y0, w.y1, w.x0, w.x1],
        "whole": w.shape == (height, width),
        "times": [render_time(int(store.times[t].astype("int64"))) for t in part.times],
        "all_times": len(part.times) == len(store.times),
        "observations": {
            "of": "coverage" if "coverage" in store.planes else "valid",
            "means": [[[round(v, 6) for v in row] for row in plane] for plane in look.counts.tolist()],
        },
        "coverage": _range(look.coverage),
        "volatility": None if volatility is None else _range(volatility.astype(np.float64)),
        "stretch": None if look.stretch is None else list(look.stretch),
        "bands": [store.bands[b].name for b in look.shown],
    }


def _range(values: npt.NDArray[np.float64]) -> dict[str, float]:
    return {"least": float(values.min()), "mean": float(values.mean()), "most": float(values.max())}


def bare_run() -> dict[str, Any]:
    """In place of `run_document` where no run is known: what made the report."""
    return {"status": "complete", "error": None, "versions": versions()}
