"""The piece of a text that shows why it was found."""

from __future__ import annotations

import re
from typing import Final

from rolltop.core.search.words import words

WIDTH: Final = 240
"""Code points of a snippet, the marks for what was cut counted."""

_SPACE: Final = re.compile(r"\s+")
_NAME: Final = re.compile(r"\w+")
_CUT: Final = "…"
_TELLING: Final = 3  # first letters of a word that taking off its ending leaves
_LOOKED_AT: Final = 20_000  # code points; parts are shorter, except of very long texts


def snippet(text: str, query: str, width: int = WIDTH) -> str:
    """Return at most `width` code points of `text` on one line, around most words of `query`.

    Without a word of the query it is the beginning. `…` stands where something was cut.
    """
    line = _SPACE.sub(" ", text[:_LOOKED_AT]).strip()
    if len(line) <= width:
        return line
    start = _best_start(line, frozenset(words(query)), width)
    end = min(len(line), start + width - (start > 0) - 1)
    if end + 1 >= len(line):  # the mark would take the last one's place
        end = len(line)
        start = max(0, end - width + 1)
    shown = line[start:end]
    return f"{_CUT if start else ''}{shown}{_CUT if end < len(line) else ''}"


def _best_start(line: str, wanted: frozenset[str], width: int) -> int:
    """Return where the stretch with most different words of the query starts."""
    beginnings = tuple({word[:_TELLING] for word in wanted})
    found: list[tuple[int, frozenset[str]]] = []
    for name in _NAME.finditer(line):
        folded = name[0].casefold()
        if any(beginning in folded for beginning in beginnings) or not folded.isascii():
            has = wanted.intersection(words(name[0]))
            if has:
                found.append((name.start(), has))
    lead = width // 6
    best = most = end = 0
    for at, (start, _has) in enumerate(found):
        while end < len(found) and found[end][0] < start + width - lead:
            end += 1
        covered = len(frozenset[str]().union(*(has for _, has in found[at : min(end, at + 20)])))
        if covered > most:
            best, most = start, covered
        if most == len(wanted):
            break
    return _word_start(line, max(0, best - lead)) if best > lead else 0


def _word_start(line: str, near: int) -> int:
    space = line.find(" ", near, near + 20)
    return near if space < 0 else space + 1
