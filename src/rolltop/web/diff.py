"""The lines of two texts as one list, as `diff -u` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rolltop.core.text.diff import diff_lines

MAX_LINES: Final = 2_000
_CONTEXT: Final = 3


def compare_texts(old: str, new: str) -> list[str]:
    """Return the lines that differ with some around them: each begins with `+`, `-`, blank or @."""
    shown: list[str] = []
    for line in _compare_lines(old.splitlines(), new.splitlines()):
        if len(shown) == MAX_LINES:
            return [*shown, "@ more lines differ"]
        shown.append(line)
    return shown


def _compare_lines(before: list[str], after: list[str]) -> Iterator[str]:
    shown = 0  # lines of `before` that are behind us
    for hunk in diff_lines(before, after):
        if hunk.start - shown > 2 * _CONTEXT or not shown:
            yield from _context(before[shown : min(shown + _CONTEXT, hunk.start)] if shown else [])
            shown = max(shown, hunk.start - _CONTEXT)
            yield f"@ line {hunk.new_start - (hunk.start - shown) + 1}"
        yield from _context(before[shown : hunk.start])
        yield from (f"-{line}" for line in before[hunk.start : hunk.end])
        yield from (f"+{line}" for line in after[hunk.new_start : hunk.new_end])
        shown = hunk.end
    yield from _context(before[shown : shown + _CONTEXT] if shown else [])


def _context(lines: list[str]) -> Iterator[str]:
    return (f" {line}" for line in lines)
