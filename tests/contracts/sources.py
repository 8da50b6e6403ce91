"""The repository's own files, read once per run."""

from __future__ import annotations

import ast
import gc
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "rolltop"
PYTHON_FOLDERS = ("src", "tests", "scripts", "benchmarks", "examples")


@dataclass(frozen=True)
class Module:
    """One Python file: its path from the repository's top, its lines and its syntax tree."""

    path: str
    lines: tuple[str, ...]
    tree: ast.Module

    @property
    def dotted(self) -> str:
        """The name it is imported by, as in `rolltop.core.errors`."""
        parts = Path(self.path.removeprefix("src/")).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, as `ast.walk` gives them; walked once."""
        return tuple(ast.walk(self.tree))


@cache
def files() -> tuple[str, ...]:
    """The path of every file that is or would be committed, from the repository's top."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  # found on PATH as by any user
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(sorted(name for name in listed.split("\0") if (ROOT / name).is_file()))


@cache
def modules(folder: str = "") -> tuple[Module, ...]:
    """The parsed Python files below `folder`, or all of them; data for tests left out."""
    found = tuple(
        read(name)
        for name in files()
        if name.endswith(".py")
        and name.startswith(tuple(f"{part}/" for part in PYTHON_FOLDERS))
        and name.startswith(folder)
        and not name.startswith("tests/data/")
    )
    gc.freeze()  # millions of nodes, which the collector would go through to the end of the run
    return found


@cache
def read(name: str) -> Module:
    """The Python file at `name`, a path from the repository's top."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return Module(name, tuple(text.split("\n")), ast.parse(text, filename=name))


def toolset_names() -> list[str]:
    """The folders below `toolsets`, sorted."""
    return sorted(
        folder.name
        for folder in (SOURCE / "toolsets").iterdir()
        if folder.is_dir() and folder.name != "__pycache__"
    )
