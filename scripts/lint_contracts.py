"""Two kinds of rule for import-linter that say what may be, where its own say what may not.

``may_import``: some modules import the standard library and a named list, nothing else.
``imported_by``: an outside package is imported by some modules, by no others.

Both look at direct imports, everywhere in a file (inside functions and under TYPE_CHECKING too), and pass over
modules that do not exist.
"""

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT = "chronozarr_dask"


def within(module: str, parents: set[str]) -> bool:
    """Tell whether a module is one of the parents or inside one."""
    return any(module == parent or module.startswith(parent + ".") for parent in parents)


def imports(graph: ImportGraph) -> list[tuple[str, str]]:
    """All direct imports of the package: (importer, imported), sorted."""
    inside = sorted(module for module in graph.modules if within(module, {ROOT}))
    return [(module, found) for module in inside for found in sorted(graph.find_modules_directly_imported_by(module))]


class _DirectImports(Contract):
    def wrong(self, graph: ImportGraph) -> list[tuple[str, str]]:
        raise NotImplementedError

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = self.wrong(graph)
        lines = [
            f"{importer} imports {imported} (line {detail['line_number']}: {detail['line_contents']})"
            for importer, imported in found
            for detail in graph.get_import_details(importer=importer, imported=imported)
        ]
        return ContractCheck(kept=not found, metadata={"lines": lines})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["lines"]:
            output.print_error(line)


class MayImport(_DirectImports):
    """``modules`` import the standard library, themselves and ``allowed``."""

    type_name = "may_import"
    modules = fields.SetField(subfield=fields.StringField())
    allowed = fields.SetField(subfield=fields.StringField())

    def wrong(self, graph: ImportGraph) -> list[tuple[str, str]]:
        inside, allowed = set(self.modules), set(self.modules) | set(self.allowed) | sys.stdlib_module_names
        return [(m, i) for m, i in imports(graph) if within(m, inside) and not within(i, allowed)]


class ImportedBy(_DirectImports):
    """``packages`` are imported by ``modules``, by no others."""

    type_name = "imported_by"
    packages = fields.SetField(subfield=fields.StringField())
    modules = fields.SetField(subfield=fields.StringField())

    def wrong(self, graph: ImportGraph) -> list[tuple[str, str]]:
        packages, modules = set(self.packages), set(self.modules)
        return [(m, i) for m, i in imports(graph) if within(i, packages) and not within(m, modules)]
