"""Queries drawn from the lines of real files, so that most of them match something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from rolltop.toolsets.retrieval.models import Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_GLOBS = (
    None, None, None, "*.py", "!*.py", "odd/", "*.{txt,bin}", "json/**", "/[a-c]*.py",
    "**/__init__.py", "asyncio/*_events.py", "email/mime/", "!{encodings,email}/",
)  # fmt: skip
_PIECES = (
    r"\w+", r"\d{1,3}", "[a-fA-F]+", ".*", ".{0,5}", r"\b", r"\s", r"\s*", r"\S+", "(?:s|es)?", "",
    "x*", r"\.", "[^a-z]", r"(\w)", r"\W", "(?i:SELF)", "(?i)", r"\p{Lu}", r"\B",
)  # fmt: skip
_STARTS = ("", "", "", "^", r"^\s*", r"\b", "(?i)", "(?-u)", "(?s)", "(?:self|os)?")
_ENDS = ("", "", "", "$", r"\s*$", r"\b", "|import", "+", "?", "{2}", r"\z")


@st.composite
def queries(draw: st.DrawFn, root: Path, files: Sequence[str]) -> Query:
    """Return a query for the files: text of a line, whole, damaged, or as part of an expression."""
    regex = draw(st.booleans())
    text = _expression(draw, root, files) if regex else _literal(draw, root, files)
    return Query(
        text,
        regex=regex,
        case=draw(st.sampled_from(("sensitive", "sensitive", "ignore", "smart"))),
        file_glob=draw(st.sampled_from(_GLOBS)),
        context=0,
    )


def _literal(draw: st.DrawFn, root: Path, files: Sequence[str]) -> str:
    text = _stretch(draw, root, files, 30)
    change = draw(st.sampled_from(("none", "none", "none", "upper", "swap", "extra")))
    if change == "upper":
        return text.upper()
    if change == "swap":
        return text.swapcase()
    return text + draw(st.characters(codec="utf-8", exclude_characters="\r\n\0")) * (
        change == "extra"
    )


def _expression(draw: st.DrawFn, root: Path, files: Sequence[str]) -> str:
    parts = [draw(st.sampled_from(_STARTS))]
    for _ in range(draw(st.integers(1, 3))):
        parts += [re.escape(_stretch(draw, root, files, 8)), draw(st.sampled_from(_PIECES))]
    if draw(st.booleans()):
        parts = [*parts[:2], *parts[-1:]]
    return "".join(parts) + draw(st.sampled_from(_ENDS))


def _stretch(draw: st.DrawFn, root: Path, files: Sequence[str], longest: int) -> str:
    """Return some text of some line; never white space alone."""
    name = draw(st.sampled_from(files))
    content = (root / name).read_bytes().decode("utf-8", "ignore").replace("\0", "")
    rows = [row.strip() for row in re.split(r"[\r\n]+", content)]
    rows = [row for row in rows if row] or ["import"]
    row = draw(st.sampled_from(rows))[:2000]
    start = draw(st.integers(0, len(row) - 1))
    return row[start : start + draw(st.integers(1, longest))].strip() or "import"
