"""Queries with the one document each is to find, from text that nobody wrote for a search.

Functions of installed packages give two kinds: the summary line of a docstring finds the code
below it, and finds the rest of its own docstring. Installed documentation gives a third: the
title of a section finds its text. Each kind comes twice, for tuning and for testing: the
standard library and other packages, or files divided by a hash of their path.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import random
import re
import site
import sysconfig
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS: Final = 1000
QUERIES: Final = 300
SHORTEST: Final = 120
LONGEST: Final = 3000
_SEED: Final = 20261121
_DOC_FOLDERS: Final = (Path("/usr/share/doc"), Path("/usr/share/cmake-3.25/Help"))
_DOC_ENDINGS: Final = (".md", ".md.gz", ".rst", ".rst.gz")
_UNDERLINED: Final = re.compile(r"^(\S.*)\n([=\-~^*\"'#+`])\2{2,}[ \t]*$", re.MULTILINE)
_HASHED: Final = re.compile(r"^#{1,4} +(\S.*?)#*[ \t]*$", re.MULTILINE)
_WORD: Final = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True)
class Pair:
    """A query and the document it is to find."""

    query: str
    document: str


@dataclass(frozen=True)
class PairSet:
    """Documents of one kind; the first QUERIES of them are searched for."""

    name: str
    pairs: tuple[Pair, ...]


def tuning_sets() -> list[PairSet]:
    """Return the sets that parameters may be chosen on."""
    return _sets("tuning", testing=False)


def testing_sets() -> list[PairSet]:
    """Return the sets that no parameter was chosen on."""
    return _sets("test", testing=True)


def _sets(prefix: str, *, testing: bool) -> list[PairSet]:
    code, prose = _functions(_packages() if testing else _standard_library())
    sections = [pair for name, pair in _sections() if (_hash(name) % 2 == 1) is testing]
    kinds = {"summary → code": code, "summary → docstring": prose, "title → section": sections}
    return [PairSet(f"{prefix}: {name}", _chosen(pairs)) for name, pairs in kinds.items()]


def _chosen(pairs: list[Pair]) -> tuple[Pair, ...]:
    """Return a sample in which no query and no document stands twice."""
    queries: set[str] = set()
    documents: set[str] = set()
    once: list[Pair] = []
    shuffled = sorted(pairs, key=lambda pair: (pair.query, pair.document))
    random.Random(_SEED).shuffle(shuffled)  # noqa: S311  # a sample, not a secret
    for pair in shuffled:
        if pair.query.casefold() not in queries and pair.document not in documents:
            queries.add(pair.query.casefold())
            documents.add(pair.document)
            once.append(pair)
    return tuple(once[:DOCUMENTS])


def _standard_library() -> Iterator[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
    for file in sorted(folder.rglob("*.py")):
        if not skipped & set(file.relative_to(folder).parts):
            yield file


def _packages() -> Iterator[Path]:
    for folder in site.getsitepackages():
        for file in sorted(Path(folder).rglob("*.py")):
            if not {"test", "tests"} & set(file.parts):
                yield file


def _functions(files: Iterator[Path]) -> tuple[list[Pair], list[Pair]]:
    """Return summary → code and summary → rest of the docstring, from different functions."""
    code: list[Pair] = []
    prose: list[Pair] = []
    for file in files:
        try:
            source = file.read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            summary, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
            summary = " ".join(summary.split())
            if not _is_query(summary):
                continue
            if _fits(rest) and _hash(summary) % 2:
                prose.append(Pair(summary, rest))
            elif not isinstance(node, ast.ClassDef) and _fits(body := _body(source, node)):
                code.append(Pair(summary, body))
    return code, prose


def _body(source: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a function's source without its docstring."""
    lines = source.splitlines()
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    end = node.body[0].end_lineno or node.body[0].lineno
    return "\n".join([*head, *lines[end : node.end_lineno]])


def _sections() -> Iterator[tuple[str, Pair]]:
    """Return each section of installed documentation with the name of where it comes from."""
    for distribution in distributions():
        _headers, _, described = (distribution.read_text("METADATA") or "").partition("\n\n")
        yield from _sections_of(distribution.name, described)
    for folder in _DOC_FOLDERS:
        for file in sorted(folder.rglob("*")):
            if file.name.endswith(_DOC_ENDINGS) and file.is_file():
                raw = file.read_bytes()
                raw = gzip.decompress(raw) if file.suffix == ".gz" else raw
                yield from _sections_of(str(file.parent), raw.decode("utf-8", "replace"))


def _sections_of(name: str, text: str) -> Iterator[tuple[str, Pair]]:
    pattern = _UNDERLINED if _UNDERLINED.search(text) else _HASHED
    heads = list(pattern.finditer(text))
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        title, body = head[1].strip(), text[head.end() : end].strip()
        if _is_query(title) and _fits(body):
            yield name, Pair(title, body)


def _is_query(text: str) -> bool:
    return 2 <= len(_WORD.findall(text)) <= 25 and len(text) <= 200  # noqa: PLR2004  # what people type


def _fits(text: str) -> bool:
    return SHORTEST <= len(text) <= LONGEST


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4])


if __name__ == "__main__":
    for pair_set in [*tuning_sets(), *testing_sets()]:
        print(pair_set.name, len(pair_set.pairs), pair_set.pairs[0])
