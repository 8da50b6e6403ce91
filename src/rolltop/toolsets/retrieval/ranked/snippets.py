"""Snippets: the few lines of a chunk that show its purpose and its match.

A chunk may be a file of one line or of a million: the number of Python steps depends on the
output and the matches; the text itself is only scanned by string methods.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

# Code points of a preview, ellipses included.
PREVIEW: Final = 400

_HEAD: Final = 160
_MARK: Final = "…"
# Code points of a longer line that are worth including.
_MIN_LENGTH: Final = _HEAD // 4

# Consecutive lines that count as one match.
_TOGETHER: Final = 3

# Matching lines that are examined; each text gets an equal share.
_MAX_LINES: Final = 2_000

_VISIBLE: Final = re.compile(r"[^\s@#/*=-]")
_NOT_BLANK: Final = re.compile(r"\S")


def snippet(own: str, wanted: Collection[str]) -> str:
    """Select the first line of a chunk and the lines with most of the wanted texts.

    `…` marks omitted lines. A long line is truncated around its match. `wanted` are lower-case
    texts.
    """
    last = len(own.rstrip())
    telling = _VISIBLE.search(own)
    first = own.rfind("\n", 0, telling.start()) + 1 if telling else 0
    end = _end(own, first)
    shown = [_truncate(own[first:end].strip(), _HEAD if end < last else PREVIEW, wanted)]
    best = _best(own, end + 1, wanted)
    following = _NOT_BLANK.search(own, end)
    if following and following.start() < best:
        shown.append(_MARK)
    for start, line in _fill_line(own, best):
        room = PREVIEW - sum(map(len, shown)) - len(shown)
        if start + len(line) < last:
            room -= len(f"\n{_MARK}")
        if room < min(len(line), _MIN_LENGTH):
            shown += [_MARK] * (not shown[-1].endswith(_MARK))
            break
        shown.append(_truncate(line, room, wanted))
    return "\n".join(shown)


def _fill_line(own: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank from a line's start on: where each starts, and its text.

    White space at the end of a line is left out.
    """
    while found := _NOT_BLANK.search(own, start):
        start = own.rfind("\n", start, found.start()) + 1 or start
        end = _end(own, found.start())
        yield start, own[start:end].rstrip()
        start = end


def _best(own: str, first: int, wanted: Collection[str]) -> int:
    """Find the start of the line that, with the next two, contains most of the texts.

    The first of equals; `first`, before which no line counts, if there is no match.
    """
    lowered = _lower_case(own)
    present = [text for text in wanted if text in lowered]
    share = _MAX_LINES // len(present) if len(present) > 1 else 1
    found: dict[int, set[str]] = {}
    frequent: list[str] = []
    for text in present:
        starts = list(_lines(lowered, text, first, share))
        for start in starts:
            found.setdefault(start, set()).add(text)
        if len(starts) == share:
            frequent.append(text)
    if len(present) > 1 and frequent:
        _add_around(lowered, first, found, frequent)
    best, most = first, 0
    for start in sorted(found):
        second = _end(lowered, start) + 1
        third = _end(lowered, second) + 1
        together = len(found[start].union(found.get(second, ()), found.get(third, ())))
        if found[start] and together > most:
            best, most = start, together
        if most == len(present):
            break
    return best


def _add_around(
    text: str, first: int, found: dict[int, set[str]], frequent: Collection[str]
) -> None:
    """Search for very frequent texts only around the lines that were found."""
    lines: set[int] = set()
    for start in found:
        before = text.rfind("\n", first, max(first, start - 1)) + 1 or first
        at = text.rfind("\n", first, max(first, before - 1)) + 1 or first
        for _ in range(2 * _TOGETHER - 1):
            lines.add(at)
            at = _end(text, at) + 1
    for start in lines:
        line = text[start : _end(text, start)]
        found.setdefault(start, set()).update(one for one in frequent if one in line)


def _lines(text: str, term: str, start: int, most: int) -> Iterator[int]:
    """Yield the starts of up to `most` lines that contain a term, from `start` on."""
    for _ in range(most):
        at = text.find(term, start)
        if at < 0:
            return
        yield text.rfind("\n", start, at) + 1 or start
        start = _end(text, at) + 1


def _lower_case(text: str) -> str:
    """Lower the case of a text and keep its length."""
    return text.replace("İ", "I").lower()


def _end(text: str, at: int) -> int:
    """Find the end of the line at a position, without its line break."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _truncate(line: str, room: int, wanted: Collection[str]) -> str:
    """Truncate a line to `room` code points around its first wanted text."""
    if len(line) <= room:
        return line
    lowered = _lower_case(line)
    found = [(at, len(text)) for text in wanted if (at := lowered.find(text)) >= 0]
    at, length = min(found, default=(0, 0))
    if not at or at + length < room:
        return line[: room - 1] + _MARK
    inside = room - 2 * len(_MARK)
    start = min(at, max(1, at - (inside - length) // 2))
    if start + inside + 1 >= len(line):
        return _MARK + line[1 - room :]
    return _MARK + line[start : start + inside] + _MARK
