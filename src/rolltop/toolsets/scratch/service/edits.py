"""Exact edits of a text: all of them or none, with a look at the text where one does not fit."""

from __future__ import annotations

import re
from heapq import nlargest
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from rolltop.core.arguments import shown
from rolltop.core.text.lines import Lines
from rolltop.toolsets.scratch.models.records import LineEdit, Replacement
from rolltop.toolsets.scratch.service.checks import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rolltop.core.errors import Invalid
    from rolltop.toolsets.scratch.models.records import Edit

_NEAREST: Final = 3
_LINE_SHOWN: Final = 100
_WORD: Final = re.compile(r"\w+")


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return the text after the edits: first the lines, by their numbers now, then in order.

    Raises Invalid (VALIDATION_ERROR): lines overlap or are not there, or a text to replace is
    found nowhere, or in several places without `all`.
    """
    changed = _with_lines(text, [edit for edit in edits if isinstance(edit, LineEdit)])
    for at, edit in enumerate(edits):
        if isinstance(edit, Replacement):
            changed = _replaced(changed, edit, at)
    return changed


def _with_lines(text: str, edits: Sequence[LineEdit]) -> str:
    if not edits:
        return text
    lines = Lines(text)
    ordered = sorted(edits, key=lambda edit: (edit.first, edit.last))
    for edit in ordered:
        if edit.last > len(lines) or edit.first > len(lines) + 1:
            raise wrong(
                f"The cell has {len(lines)} lines; the edit names {edit.first} to {edit.last}",
                "scratch_read shows the lines as they are now.",
            )
    for before, after in pairwise(ordered):
        if after.first <= before.last or after.first == before.first:
            raise wrong(
                f"Edits overlap at line {after.first}", "Join them into one edit of these lines."
            )
    parts: list[str] = []
    end = 0
    for edit in ordered:
        start, stop = lines.span(edit.first, edit.last)
        parts += [text[end:start], _separated(edit, text, start, stop)]
        end = stop
    return "".join([*parts, text[end:]])


def _separated(edit: LineEdit, text: str, start: int, stop: int) -> str:
    """Return an edit's text with the line breaks that keep it apart from what stands around it."""
    new, newline = edit.text, "\r\n" if "\r\n" in text[:4096] else "\n"
    if not new:
        return new
    ended = text[start:stop].endswith("\n") if stop > start else True
    if not new.endswith("\n") and (stop < len(text) or (ended and start < stop)):
        new += newline
    if start == len(text) and text and not text.endswith("\n"):
        new = newline + new
    return new


def _replaced(text: str, edit: Replacement, at: int) -> str:
    found = text.count(edit.old)
    if not found:
        raise wrong(
            f"edits[{at}].old is not in the cell: {shown(edit.old)}; nothing was written. "
            f"Nearest lines: {_shown(_near(text, edit.old))}",
            "Copy the text exactly, white space too, as scratch_read shows it.",
        )
    if found > 1 and not edit.everywhere:
        raise _several(text, edit, at, found)
    return text.replace(edit.old, edit.new)


def _several(text: str, edit: Replacement, at: int, found: int) -> Invalid:
    lines = Lines(text)
    places = (lines.line_at(start) for start in _occurrences(text, edit.old))
    numbers = islice(dict.fromkeys(places), _NEAREST)
    shown_lines = [(number, lines.between(number, number)) for number in numbers]
    return wrong(
        f"edits[{at}].old is in the cell {found} times; nothing was written. "
        f"Found at: {_shown(shown_lines)}",
        "Send more of the text around the one you mean, or all: true to replace every one.",
    )


def _occurrences(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


def _near(text: str, sought: str) -> list[tuple[int, str]]:
    """Return the lines that share the most words with what was sought, numbered, in order."""
    words = set(_WORD.findall(sought.lower()))

    def alikeness(line: str) -> float:
        own = set(_WORD.findall(line.lower()))
        return len(words & own) / (len(words | own) or 1)

    numbered = (pair for pair in enumerate(text.split("\n"), 1) if pair[1].strip())
    best = nlargest(_NEAREST, ((alikeness(line), -number, line) for number, line in numbered))
    return sorted((-number, line) for _, number, line in best)


def _shown(lines: Iterable[tuple[int, str]]) -> str:
    return "; ".join(f"{number}: {line.strip()[:_LINE_SHOWN]}" for number, line in lines)
