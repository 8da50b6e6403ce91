"""What ripgrep itself says about a list of files, run and read in another way than the product."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

from rolltop.toolsets.retrieval.grep.ripgrep import RipgrepRun, ripgrep_path
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.models import SearchRoot
from rolltop.workspace import Roots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from rolltop.toolsets.retrieval.models import Query, SearchResults

_CASES = {"sensitive": "-s", "ignore": "-i", "smart": "-S"}
_AT_ONCE = 5_000
_MARKS = (b"\xff\xfe", b"\xfe\xff")


class BrokenPattern(Exception):
    """Ripgrep cannot use the expression."""


def trees_of(path: Path, *more: Path) -> list[SearchRoot]:
    """Return live trees of the folders; the first is `code`, others have their own names."""
    named = {"code": path} | {other.name: other for other in more}
    roots = Roots.open(named, base=path)
    return [SearchRoot.from_walk(roots, root) for root in roots.named]


def found(path: Path, query: Query, limit: int = 10_000) -> SearchResults:
    """Return what a search of the folder finds."""
    return search(trees_of(path), query, limit=limit)


def printed_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the bytes of what each run of ripgrep printed from now on."""
    sizes: list[int] = []
    result = RipgrepRun.result

    def record(run: RipgrepRun, *asked: Any) -> bytes:
        printed = result(run, *asked)
        sizes.append(len(printed))
        return printed

    monkeypatch.setattr(RipgrepRun, "result", record)
    return sizes


def lines(root: Path, files: Sequence[str], query: Query) -> list[tuple[str, int, str]]:
    """Return path, number and text of each line that ripgrep finds, in the product's order.

    Raises:
        BrokenPattern: it is no expression for ripgrep.

    """
    text_files = [name for name in files if not _is_binary(root / name)]
    rows: list[tuple[str, int, str]] = []
    for start in range(0, len(text_files), _AT_ONCE):
        names = [os.fsencode(name) for name in text_files[start : start + _AT_ONCE]]
        for row in _run(root, names, query).split(b"\n"):
            name, _, rest = row.partition(b"\0")
            if rest:
                number, _, text = rest.partition(b":")
                shown = text.removesuffix(b"\r").decode("utf-8", "surrogateescape")
                rows.append((os.fsdecode(name), int(number), shown))
    return sorted(rows, key=lambda row: (row[0].split("/"), row[1]))


def _run(root: Path, names: list[bytes], query: Query) -> bytes:
    flags = ["--no-config", "--text", "--crlf", "--no-ignore", "--hidden", "-nH", "--null"]
    kind = [] if query.regex else ["-F"]
    done = subprocess.run(
        [
            ripgrep_path(),
            *flags,
            "--no-heading",
            *kind,
            _CASES[query.case],
            "-e",
            query.text,
            "--",
            *names,
        ],
        cwd=root,
        capture_output=True,
        check=False,
        timeout=120,
    )
    if done.returncode not in {0, 1}:
        raise BrokenPattern(done.stderr)
    return done.stdout


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(8192)
    return b"\0" in head and not head.startswith(_MARKS)
