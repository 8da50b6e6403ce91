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
    r"\w{8,}", "[0-9a-f]{4,}", r"\S{20,}?", ".{60,}", "(?:[a-z]{2}){5}", r"[^\x00-\x7f]",
)  # fmt: skip
_STARTS = ("", "", "", "^", r"^\s*", r"\b", "(?i)", "(?-u)", "(?s)", "(?:self|os)?")
_ENDS = ("", "", "", "$", r"\s*$", r"\b", "|import", "+", "?", "{2}", r"\z")
_ATOMS = (
    "a", "B", "s", "K", "_", "7", "é", "\u017f", "漢", "-", " ", ".", r"\.", r"\d", r"\D", r"\w",
    r"\W", r"\s", r"\S", "[a-z]", "[A-Z]", "[^a-z]", "[0-9a-f]", "[^0-9]", "[[:alpha:]]",
    "[[:^alpha:]]", "[[:xdigit:]_]", r"[\w.-]", r"[^\x00-\x7f]", r"[\x20-\x7e]", r"[^\W\d]",
    r"[\x{61}-\u007A]", r"[a-z&&[^s]]", "[]a-]", "[^]a-]", "[ks]", r"\x41", r"\u{e9}", r"\pL",
    r"\p{Lu}", r"\t", "(?i:k)", "[]-9]", "[^]-a]", "[+-[b]", "[-a]", r"[\--[a]", r"(?x:\x {6b})",
)  # fmt: skip
_EDGES = ("", "", "", "", r"\b", "^", "$", r"\B", "(?i)", r"\b{start}", r"\<", r"(?-u:\b)", "(?x)")
_TIMES = (
    "", "", "", "*", "+", "?", "{0}", "{1,3}", "{2}", "{4}", "{7,}", "{9}", "{16}", "{40}", "{110}",
    "+?", "{8,}?", "{2}{5}", "{,9}",
)  # fmt: skip
_LETTERS = (
    "a", "f", "k", "K", "s", "z", "B", "_", "0", "7", "-", ".", " ", "\t", "\r", "é", "\u017f",
    "\u212a", "漢", "٣", "\x7f", "]", "\x01", "&",
)  # fmt: skip
ASCII = tuple(letter for letter in _LETTERS if letter.isascii())


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


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> str:
    """Return an expression of classes, repetitions and groups; ripgrep may refuse it."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.integers(0, 3)) == 0:
            opening = draw(st.sampled_from(("(", "(?:", "(?P<n>", "(?i:")))
            inside = "|".join(draw(st.lists(patterns(depth - 1), min_size=1, max_size=2)))
            atom = f"{opening.replace('n', f'n{depth}{len(parts)}')}{inside})"
        else:
            atom = draw(st.sampled_from(_ATOMS))
        parts += [draw(st.sampled_from(_EDGES)), atom, draw(st.sampled_from(_TIMES))]
    return "".join(parts)


@st.composite
def texts_of_stretches(draw: st.DrawFn, letters: Sequence[str] = _LETTERS) -> str:
    """Return lines of long stretches of few letters."""
    some = st.lists(st.sampled_from(letters), min_size=1, max_size=3)
    times = st.sampled_from((1, 1, 2, 3, 4, 8, 16, 20, 40, 55, 110))
    stretches = st.tuples(some, times)
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        line = draw(st.lists(stretches, max_size=4))
        lines.append("".join("".join(one) * often for one, often in line))
    return "\n".join(lines)
