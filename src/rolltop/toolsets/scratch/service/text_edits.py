"""Exact edits of a text, all or none; errors show the lines that nearly match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final

from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.text.lines import TextLines
from rolltop.toolsets.scratch.models.records import Edit, LineEdit, Replacement
from rolltop.toolsets.scratch.service.cell_input import capacity_error, invalid_value

_MAX_SUGGESTIONS: Final = 3
_MAX_SHOWN_LINE: Final = 100
# Characters of a line whose words are found in one go, in which no other thread runs.
_MAX_COMPARED_LINE: Final = 10_000
_WORD: Final = re.compile(r"\w+")
_LONE_LF: Final = re.compile(r"(?<!\r)\n")
# Characters that the replacements of one call read and write: at most 2 s of work.
_MAX_WORK: Final = 1 << 28


def apply_edits(text: str, edits: Sequence[Edit], max_length: int = 0) -> str:
    """Apply edits to a text: first the line edits, by their numbers now, then the others in order.

    Raises InvalidArgument if lines overlap or do not exist, or a text to replace does not occur,
    or occurs more than once without `all`, or an edit makes more than `max_length` characters
    (0: any number), or all together are too much work.
    """
    changed = _apply_line_edits(text, [edit for edit in edits if isinstance(edit, LineEdit)])
    work = 0
    for at, edit in enumerate(edits):
        if isinstance(edit, Replacement):
            found = _count_occurrences(changed, edit, at)
            length = len(changed) + found * (len(edit.new) - len(edit.old))
            if max_length and length > max_length:
                raise capacity_error(
                    f"edits[{at}] makes the content {length} characters long; a cell may have "
                    f"{max_length} bytes",
                    "Split it over several cells.",
                )
            work += len(changed) + length
            if work > _MAX_WORK:
                raise capacity_error(
                    f"The edits up to edits[{at}] read and write {work} characters; those of one "
                    f"call may read and write {_MAX_WORK}; nothing was written",
                    "Send the edits in several calls, or the whole text by scratch_replace_cell.",
                )
            changed = changed.replace(edit.old, edit.new)
    return changed


def _apply_line_edits(text: str, edits: Sequence[LineEdit]) -> str:
    if not edits:
        return text
    lines = TextLines(text)
    ordered = sorted(edits, key=lambda edit: (edit.first, edit.last))
    for edit in ordered:
        # A text without lines is one that is blank, to who replaces it.
        if edit.last > max(len(lines), 1) or edit.first > len(lines) + 1:
            raise invalid_value(
                f"The cell has {len(lines)} lines; the edit names {edit.first} to {edit.last}",
                f"line_start {len(lines) + 1} with line_end {len(lines)} appends; scratch_read "
                "shows the lines as they are now.",
            )
    for before, after in pairwise(ordered):
        if after.first <= before.last or after.first == before.first:
            raise invalid_value(
                f"Edits overlap at line {after.first}", "Join them into one edit of these lines."
            )
    parts: list[str] = []
    end = 0
    for edit in ordered:
        start, stop = lines.span(edit.first, edit.last)
        parts += [text[end:start], _with_line_breaks(edit, text, start, stop)]
        end = stop
    return "".join([*parts, text[end:]])


def _with_line_breaks(edit: LineEdit, text: str, start: int, stop: int) -> str:
    """Add the line breaks that separate an edit's text from the lines around it."""
    new, newline = edit.text, "\r\n" if "\r\n" in text[:4096] else "\n"
    if not new:
        return new
    if newline == "\r\n" and not _LONE_LF.search(text, 0, 4096):
        new = _LONE_LF.sub(newline, new)
    ended = text[start:stop].endswith("\n") if stop > start else True
    if not new.endswith("\n") and (stop < len(text) or (ended and start < stop)):
        new += newline
    if start == len(text) and text and not text.endswith("\n"):
        new = newline + new
    return new


def _count_occurrences(text: str, edit: Replacement, at: int) -> int:
    """Return how often an edit applies. Raises InvalidArgument if it does not or is ambiguous."""
    found = text.count(edit.old)
    if not found:
        raise invalid_value(
            f"edits[{at}].old is not in the cell: {value_preview(edit.old)}; nothing was written. "
            f"Nearest lines: {_format_lines(_similar_lines(text, edit.old))}",
            "Copy the text exactly, white space too, as scratch_read shows it.",
        )
    # Those that overlap are several too, of which only the first would be counted.
    if not edit.everywhere and text.find(edit.old, text.find(edit.old) + 1) >= 0:
        raise _ambiguous_edit(text, edit, at, max(found, 2))
    return found


def _ambiguous_edit(text: str, edit: Replacement, at: int, found: int) -> InvalidArgument:
    lines = TextLines(text)
    numbers = islice(_lines_with(text, lines, edit.old), _MAX_SUGGESTIONS)
    shown_lines = [(number, lines.between(number, number)) for number in numbers]
    return invalid_value(
        f"edits[{at}].old is in the cell {found} times; nothing was written. "
        f"Found at: {_format_lines(shown_lines)}",
        "Send more of the text around the one you mean, or all: true to replace every one.",
    )


def _lines_with(text: str, lines: TextLines, part: str) -> Iterator[int]:
    """Yield the number of each line that the part begins on."""
    start = text.find(part)
    while start >= 0:
        number = lines.line_at(start)
        yield number
        start = text.find(part, lines.span(number, number)[1])


def _similar_lines(text: str, target: str) -> list[tuple[int, str]]:
    """Find the lines that share the most words with a text, with their numbers, in order."""
    words = _words(target)

    def alikeness(line: str) -> float:
        own = _words(line)
        both = len(words & own)
        return both / (len(words) + len(own) - both or 1)

    numbered = (pair for pair in enumerate(text.split("\n"), 1) if pair[1].strip())
    best = nlargest(
        _MAX_SUGGESTIONS, ((alikeness(line), -number, line) for number, line in numbered)
    )
    return sorted((-number, line) for _, number, line in best)


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line[:_MAX_COMPARED_LINE].lower()))


def _format_lines(lines: Iterable[tuple[int, str]]) -> str:
    return "; ".join(f"{number}: {line.strip()[:_MAX_SHOWN_LINE]}" for number, line in lines)
