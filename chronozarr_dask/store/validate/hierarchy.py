"""Sections 2, 2.4, 2.5 and 6: which groups and arrays there are."""

from __future__ import annotations

from collections.abc import Mapping

from chronozarr_dask.format.layout import VOLATILITY
from chronozarr_dask.store.validate.documents import BLOCK, Documents, check_node
from chronozarr_dask.store.validate.facts import COORDINATE_ROLES, DATA, PLANE_ROLES, VOLATILITY_ROLE, read_array
from chronozarr_dask.store.validate.model import DATA_NAME, Nodes
from chronozarr_dask.store.validate.problem import Findings
from chronozarr_dask.store.validate.root import RootFacts
from chronozarr_dask.store.validate.values import vote

MAX_LEVELS = 64
"""More levels than any raster has; what a malformed document may ask to be looked for."""


def read_nodes(root: RootFacts, documents: Documents, out: Findings) -> Nodes:
    """Every group and array that the root promises, what is missing reported."""
    n_said = [min(len(v), MAX_LEVELS) if v else None for v in (root.datasets, root.mirror)]
    n = max((s for s in n_said if s), default=0) or _count(documents)
    names = dict.fromkeys([root.variable or DATA_NAME, DATA_NAME])
    parts = [*names, *COORDINATE_ROLES, *PLANE_ROLES]
    documents.read([str(n), VOLATILITY, *(str(k) for k in range(n)), *(f"{k}/{p}" for k in range(n) for p in parts)])
    variable = _variable(root, documents, n, out)
    there = [k for k in range(n) if not (documents.absent(str(k)) and documents.absent(f"{k}/{variable}"))]
    n_levels = vote([*n_said, there[-1] + 1 if there else None]) or 1
    if n_levels == n and not documents.absent(str(n)):
        out.error("3.4", f"{n}/zarr.json", "a level group follows the last one listed; list it, or remove it", n, n + 1)
    nodes = Nodes(n_levels, variable)
    for k in range(n_levels):
        _read_level(nodes, k, root, documents, out)
    if VOLATILITY in documents.found:
        nodes.volatility = read_array(VOLATILITY, VOLATILITY_ROLE, documents.found[VOLATILITY], out)
    elif VOLATILITY not in documents.broken:
        out.error("5", f"{VOLATILITY}/zarr.json", "every store has a volatility array", "an array", None)
    _check_planes(root, nodes, documents, out)
    return nodes


def _count(documents: Documents) -> int:
    """Number of level groups from 0, for a root that lists none."""
    n = 0
    while n < MAX_LEVELS:
        documents.read([str(n)])
        if documents.absent(str(n)):
            break
        n += 1
    return max(n, 1)


def _variable(root: RootFacts, documents: Documents, n: int, out: Findings) -> str:
    """The name under which data arrays are there."""
    name = root.variable or DATA_NAME
    there = {v: not all(documents.absent(f"{k}/{v}") for k in range(n)) for v in (name, DATA_NAME)}
    if there[DATA_NAME] and not there[name]:
        out.error("3.2", f"{BLOCK}.variable", f"no level has the array {name!r}", DATA_NAME, name)
        return DATA_NAME
    return name


def _read_level(nodes: Nodes, k: int, root: RootFacts, documents: Documents, out: Findings) -> None:
    paths = {DATA_NAME: f"{k}/{nodes.variable}", **{n: f"{k}/{n}" for n in (*COORDINATE_ROLES, *PLANE_ROLES)}}
    group = f"{k}/zarr.json"
    if all(documents.absent(p) for p in (str(k), *paths.values())):
        out.error("6", group, "this level is missing: levels are consecutive from 0", "a group", None)
        return
    if str(k) in documents.found:
        check_node(documents.found[str(k)], group, "group", out)
        attributes = documents.found[str(k)].get("attributes")
        if isinstance(attributes, Mapping):
            nodes.groups[k] = attributes
        else:
            message = "a level group has the attributes crs, transform and resolution"
            out.error("3.3", f"{group}: attributes", message, "an object", attributes)
    elif str(k) not in documents.broken:
        out.error("2", group, "the level has no group document", "a group", None)
    for name, role in {DATA_NAME: DATA, **COORDINATE_ROLES, **PLANE_ROLES}.items():
        path = paths[name]
        if path in documents.found:
            nodes.arrays[k, name] = read_array(path, role, documents.found[path], out)
        elif path not in documents.broken and name not in PLANE_ROLES:
            out.error(role.section, f"{path}/zarr.json", "the level lacks this array", "an array", None)


def _check_planes(root: RootFacts, nodes: Nodes, documents: Documents, out: Findings) -> None:
    """2.4, 2.5: at every level or at none, named in the root exactly when there."""
    levels = range(nodes.n_levels)
    for name, role in PLANE_ROLES.items():
        there = [k for k in levels if not documents.absent(f"{k}/{name}")]
        where = f"{BLOCK}.{name}_variable"
        named = f"{name}_variable" in root.block
        if not there and named:
            out.error(role.section, where, f"no level has the array {name!r}; leave the field out", None, name)
        elif len(there) == nodes.n_levels and not named:
            out.error(role.section, where, f"the levels have the array {name!r}; name it here", name, None)
        elif 0 < len(there) < nodes.n_levels:
            stray = not named and len(there) * 2 <= nodes.n_levels
            message = f"the level {'has' if stray else 'lacks'} a {name}: it is at every level or at none"
            for k in there if stray else [k for k in levels if k not in there]:
                out.error(role.section, f"{k}/{name}/zarr.json", message, not stray, stray)
