"""Who may import whom: the contracts in pyproject.toml, and what a static graph can't see."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contracts.sources import ROOT, Module, modules
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("sources")  # one process parses them

SERVER_ONLY = {"mcp", "mcp_types", "sse_starlette", "starlette", "uvicorn"}
DATABASE_ONLY = {"alembic", "psycopg", "psycopg_pool", "sqlcipher3", "sqlite3"}
LAYERS = (
    "rolltop.core",
    "rolltop.workspace",
    "rolltop.documents",
    "rolltop.toolsets",
    "rolltop.app",
    "rolltop.health",
    "rolltop.web",
    "rolltop.server",
)

LIST_TOOLS = """
import sys
from rolltop.toolsets import TOOLSETS
listed = [(tool.name, tool.description) for toolset in TOOLSETS for tool in toolset.tools]
assert listed
heavy = {"alembic", "numpy", "psycopg", "sqlalchemy", "sqlcipher3", "sqlite3"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""


def test_import_contracts_are_kept() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr
    assert " 0 broken" in run.stdout


def late_imports(module: Module) -> Iterator[str]:
    """The names that a file gives to `lazy` or `import_module`, where they are literal."""
    for node in module.nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        match node.func:
            case ast.Attribute(attr=called) | ast.Name(id=called):
                first = node.args[0]
            case _:
                continue
        if called in {"lazy", "import_module", "__import__"} and isinstance(first, ast.Constant):
            yield str(first.value)


def is_below(name: str, package: str) -> bool:
    """Whether `name` is `package` or inside it."""
    return name == package or name.startswith(package + ".")


def late_import_allowed(importer: str, imported: str) -> bool:
    """Whether a late import keeps the rules that import-linter checks on the early ones."""
    top = imported.partition(".")[0]
    if top in SERVER_ONLY:
        return is_below(importer, "rolltop.server")
    if top in DATABASE_ONLY:
        return is_below(importer, "rolltop.core.db") or ".migrations" in importer
    own = next((at for at, layer in enumerate(LAYERS) if is_below(importer, layer)), len(LAYERS))
    theirs = next((at for at, layer in enumerate(LAYERS) if is_below(imported, layer)), 0)
    if own == theirs == LAYERS.index("rolltop.toolsets"):
        return importer.split(".")[:3] == imported.split(".")[:3]
    return theirs <= own


def test_late_imports_keep_the_same_rules() -> None:
    broken = [
        f"{module.path} → {name}"
        for module in modules("src/rolltop")
        for name in late_imports(module)
        if not late_import_allowed(module.dotted, name)
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("rolltop.server.stdio", "mcp.server", True),
        ("rolltop.core.dispatch", "mcp.types", False),
        ("rolltop.core.db.engine", "sqlite3", True),
        ("rolltop.toolsets.tasks.store", "sqlite3", False),
        ("rolltop.toolsets.tasks.tools", "rolltop.toolsets.tasks.service", True),
        ("rolltop.toolsets.tasks.tools", "rolltop.toolsets.reader.service", False),
        ("rolltop.core.dispatch", "rolltop.toolsets", False),
        ("rolltop.cli", "rolltop.app", True),
        ("rolltop.core.token_counter", "splintr", True),
    ],
)
def test_rule_for_late_imports(importer: str, imported: str, *, allowed: bool) -> None:
    assert late_import_allowed(importer, imported) is allowed


def test_listing_all_tools_loads_nothing_heavy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIST_TOOLS],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr


IMPORT_ALL = """
import builtins, importlib, os, pkgutil
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH"):
    delattr(os, name)
UNIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
find = builtins.__import__

def refuse(name, globals=None, *rest):
    if name in UNIX and globals and globals["__name__"].startswith("rolltop."):
        raise ImportError(name)
    return find(name, globals, *rest)

builtins.__import__ = refuse
import rolltop
for module in pkgutil.walk_packages(rolltop.__path__, "rolltop."):
    if not module.name.endswith((".env", "__main__")):
        importlib.import_module(module.name)
"""


def test_no_module_needs_what_only_unix_has() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORT_ALL], check=True, timeout=PATIENCE)
