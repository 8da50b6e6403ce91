"""The piece of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rolltop.core.fulltext.analyzer import tokenize

SNIPPET_WIDTH: Final = 240
"""Code points of a snippet, the marks for what was cut counted."""

_SPACE: Final = re.compile(r"\s+")
_NAME: Final = re.compile(r"\w+")
_ELLIPSIS: Final = "…"
_MAX_BEGINNING: Final = 3  # first letters of a word by which it is looked for
_MAX_SCANNED: Final = 20_000  # code points; parts are shorter, except of very long texts


def snippet(text: str, query: str, width: int = SNIPPET_WIDTH) -> str:
    """Return at most `width` code points of `text` on one line, around most words of `query`.

    Without a word of the query it is the beginning. `…` stands where something was cut.
    """
    line = _SPACE.sub(" ", text[:_MAX_SCANNED]).strip()
    if len(line) <= width:
        return line
    start = _best_window_start(line, frozenset(tokenize(query)), width)
    end = min(len(line), start + width - (start > 0) - 1)
    if end + 1 >= len(line):  # the mark would take the last one's place
        end = len(line)
        start = max(0, end - width + 1)
    shown = line[start:end]
    return f"{_ELLIPSIS if start else ''}{shown}{_ELLIPSIS if end < len(line) else ''}"


def _best_window_start(line: str, wanted: frozenset[str], width: int) -> int:
    """Return where the stretch with most different words of the query starts."""
    found: list[tuple[int, int, frozenset[str]]] = []
    for name in _candidate_names(line, wanted):
        has = wanted.intersection(tokenize(name[0]))
        if has:
            found.append((*name.span(), has))
    lead = width // 6
    best = most = end = 0
    for at, (start, _end, own) in enumerate(found):
        # A name that is cut at the end would not show that it is the one that was looked for.
        while end < len(found) and found[end][1] < start + width - lead - 1:
            end += 1
        covered = len(own.union(*(has for *_span, has in found[at : min(end, at + 20)])))
        if covered > most:
            best, most = start, covered
        if most == len(wanted):
            break
    return _word_start(line, max(0, best - lead)) if best > lead else 0


def _candidate_names(line: str, wanted: frozenset[str]) -> Iterator[re.Match[str]]:
    """Yield the names in which words may be that are wanted, from left to right."""
    if not line.isascii():  # a letter may have several forms
        yield from _NAME.finditer(line)
        return
    # A stem has all letters of its word but for the last: `kei` of `key`.
    beginnings = {
        re.escape(word[: max(2, len(word) - 1)][:_MAX_BEGINNING])
        for word in wanted
        if word.isascii()
    }
    if not beginnings:
        return
    at = 0
    for spot in re.finditer("|".join(beginnings), line.lower()):
        if spot.start() >= at:
            at = max(at, line.rfind(" ", at, spot.start()) + 1)
            name = next(name for name in _NAME.finditer(line, at) if name.end() > spot.start())
            at = name.end()
            yield name


def _word_start(line: str, near: int) -> int:
    space = line.find(" ", near, near + 20)
    return near if space < 0 else space + 1
