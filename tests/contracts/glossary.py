"""Departures from the glossary, by kind. `python -m tests.contracts.glossary` lists them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.contracts.sources import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contracts.sources import Module

GLOSSARY = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
_ALLOWED_FUNCTIONS = frozenset(GLOSSARY["allowed"]["functions"])
_ALLOWED_MODULES = frozenset(GLOSSARY["allowed"]["modules"])
_ALLOWED_NAMES = frozenset(GLOSSARY["allowed"]["names"])
_PARTICIPLE = re.compile(
    r"\w+ed|kept|told|shown|held|given|taken|said|made|sent|found|begun|written|known|seen|left|cut"
    r"|meant|spent|built|lost|done|drawn|chosen|gone|sought|bound"
)
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_LIMIT_WORDS = frozenset({"MOST", "LEAST", "FEW", "LONGEST", "SHORTEST", "LARGEST"})
_FIXED_MODULES = frozenset({"__init__", "tools", "models", "service", "store", "jobs", "tables"})
_CONTAINERS = frozenset(
    {"dict", "list", "set", "defaultdict", "deque", "WeakKeyDictionary", "Lock"}
)


@cache
def split_words(name: str) -> list[str]:
    """Split an identifier into lower-case words: `HTTPHandler_base` is http, handler, base."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name)
    return spaced.lower().split()


def find_gerund_modules(module: Module) -> Iterator[str]:
    """Name the module if it ends in -ing and is no noun of the field."""
    name = Path(module.path).stem
    if name.endswith("ing") and name not in _ALLOWED_MODULES:
        yield module.path


def find_participle_functions(module: Module) -> Iterator[str]:
    """Name functions that are a bare participle."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name.lstrip("_")
            if _PARTICIPLE.fullmatch(name) and name not in _ALLOWED_FUNCTIONS and "_" not in name:
                yield f"{module.path}:{node.lineno} {node.name}"


def find_limit_constants(module: Module) -> Iterator[str]:
    """Name constants that say MOST or LEAST where everybody says MAX or MIN."""
    for name, line in _assigned(module.tree):
        if _CONSTANT.fullmatch(name) and _LIMIT_WORDS & set(name.split("_")):
            yield f"{module.path}:{line} {name}"


def find_mutable_state(module: Module) -> Iterator[str]:
    """Name containers at module level that the program may fill."""
    for statement in module.tree.body:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_empty_container(value):
            yield f"{module.path}:{statement.lineno}"


def find_forbidden_words(module: Module) -> Iterator[str]:
    """Name identifiers with a word that is forbidden in this package."""
    forbidden = {
        word
        for row in GLOSSARY["forbidden"]
        if module.dotted.startswith(tuple(row["packages"]))
        for word in row["words"]
    }
    names = {(name, line) for name, line in _defined(module)}
    for name, line in sorted(names, key=lambda pair: pair[1]):
        if name not in _ALLOWED_NAMES and forbidden & set(split_words(name)):
            yield f"{module.path}:{line} {name}"


def find_repeated_classes(sources: tuple[Module, ...]) -> Iterator[str]:
    """Name classes that are defined more than once in the package."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in sources:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{module.path}:{node.lineno}")
    yield from (f"{name}: {', '.join(at)}" for name, at in places.items() if len(at) > 1)


def find_repeated_modules(sources: tuple[Module, ...]) -> Iterator[str]:
    """Name modules whose base name occurs twice in one package: core, server, each toolset."""
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module in sources:
        parts = module.path.removeprefix("src/rolltop/").split("/")
        depth = 2 if parts[0] == "toolsets" else 1
        base = Path(parts[-1]).stem
        if len(parts) > depth and base not in _FIXED_MODULES:
            places["/".join(parts[:depth]), base].append(module.path)
    yield from (f"{base}: {', '.join(at)}" for (_, base), at in places.items() if len(at) > 1)


@cache
def find_departures() -> dict[str, list[str]]:
    """Return all departures by the names of their ceilings."""
    sources = modules("src/rolltop/")
    by_module = {
        "gerund_modules": find_gerund_modules,
        "participle_functions": find_participle_functions,
        "least_most_constants": find_limit_constants,
        "mutable_module_state": find_mutable_state,
        "forbidden_words": find_forbidden_words,
    }
    found = {
        kind: [one for module in sources for one in find(module)]
        for kind, find in by_module.items()
    }
    found["repeated_classes"] = list(find_repeated_classes(sources))
    found["repeated_modules"] = list(find_repeated_modules(sources))
    return found


def _assigned(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, int]]:
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            yield from _assigned(statement)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        yield from ((one.id, one.lineno) for one in targets if isinstance(one, ast.Name))


def _defined(module: Module) -> Iterator[tuple[str, int]]:
    yield from _assigned(module.tree)
    yield Path(module.path).stem, 1
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def _is_empty_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict | ast.List | ast.Set):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Call):
        return False
    function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in _CONTAINERS and not value.args


if __name__ == "__main__":
    for kind, departures in find_departures().items():
        sys.stdout.write(f"\n{kind}: {len(departures)}\n")
        if kind in sys.argv[1:] or len(sys.argv) == 1:
            sys.stdout.writelines(f"  {one}\n" for one in departures)
