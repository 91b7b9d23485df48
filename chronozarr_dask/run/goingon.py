"""How a person goes on with a run: by a command, or in Python, where only the program that began it has the cube."""

from __future__ import annotations

from chronozarr_dask.store.journal import ARGUMENTS, PLAN, RECIPE, Journal


def is_kept(journal: Journal) -> bool:
    """Whether a journal keeps what its run was begun with."""
    return any(journal.objects.size(name) is not None for name in (ARGUMENTS, RECIPE))


def is_from_python(journal: Journal) -> bool:
    """Whether only a program can go on: there is a plan, and not what the run was begun with. One request to three."""
    return not is_kept(journal) and journal.objects.size(PLAN) is not None


def way_on(run: str, target: str, *, from_python: bool) -> str:
    """What to call, for a message that says "go on with".

    Parameters
    ----------
    run : str
        By which commands find it.
    target : str
        URL of the store.
    from_python : bool
        As of `is_from_python`.
    """
    if from_python:
        return f"the same call in Python and resume=True, as in `{python_call(target)}`"
    return f"`chronozarr-dask resume {run}` (in Python resume=True)"


def python_call(target: str) -> str:
    """The call that goes on with a run that was begun from Python."""
    return f"encode(cube, {target!r}, resume=True)"
