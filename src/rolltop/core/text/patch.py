"""Patches of single lines: applied as if at once, and moved to a text that changed since.

Lines are numbered from 1 as in `rolltop.core.text.lines`. Line breaks, a missing last one and a
byte order mark stay as they were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from rolltop.core.text.diff import Hunk, diff_lines
from rolltop.core.text.lines import line_count

Operation = Literal["add", "mod", "del"]
BOM: Final = "\ufeff"


@dataclass(frozen=True)
class LineChange:
    """One operation on line `line`.

    `add` puts the lines of `value` before it, `mod` puts them in its place, `del` takes it away.
    """

    operation: Operation
    line: int
    value: str = ""


@dataclass(frozen=True)
class RebasedPatch:
    """A patch for a later text; `lines` pairs each line it named with the one it is about now."""

    changes: tuple[LineChange, ...]
    lines: tuple[tuple[int, int], ...]


class PatchError(ValueError):
    """A patch does not fit its text: the message says which operation and why."""


def apply_patch(text: str, changes: Sequence[LineChange]) -> str:
    """Return the text with all changes made, each line number being that of the given text.

    Several `add` at one line go in the order given. Raises PatchError for a line that is not
    there and for two of mod and del on one line.
    """
    check_patch(text, changes)
    mark = BOM if text.startswith(BOM) else ""
    lines = _split_lines(text.removeprefix(BOM))
    ending = _usual_ending(lines)
    added: defaultdict[int, list[str]] = defaultdict(list)
    changed: dict[int, list[str]] = {}
    for change in changes:
        new = _split_lines(
            change.value.removeprefix(BOM) if mark and change.line == 1 else change.value
        )
        contents = [content for content, _ending in new] or [""]
        if change.operation == "add":
            added[change.line] += contents
        else:
            changed[change.line] = contents if change.operation == "mod" else []
    patched: list[tuple[str, str]] = []
    for number, (content, own) in enumerate(lines, start=1):
        patched += [(new, ending) for new in added.get(number, ())]
        kept = changed.get(number, [content])
        patched += [(new, own or ending) for new in kept]
    patched += [(new, ending) for new in added.get(len(lines) + 1, ())]
    return mark + _join_lines(patched, closed=text.endswith("\n"))


def check_patch(text: str, changes: Sequence[LineChange]) -> None:
    """Raise PatchError where a patch does not fit the text."""
    last = line_count(text.removeprefix(BOM))
    taken: set[int] = set()
    for at, change in enumerate(changes):
        most = last + (change.operation == "add")
        if not 1 <= change.line <= most:
            said = f"1 to {most}" if most else "none, the note is empty"
            raise PatchError(
                f"text_patch[{at}]: {change.operation} at line {change.line}; allowed: {said}"
            )
        if change.operation != "add":
            if change.line in taken:
                raise PatchError(
                    f"text_patch[{at}]: line {change.line} is changed or deleted twice"
                )
            taken.add(change.line)


def rebase_patch(before: str, now: str, changes: Sequence[LineChange]) -> RebasedPatch | None:
    """Return the patch of `before` as one of `now`; None if both touch the same lines.

    A line is touched that was replaced or deleted; a place between two lines is touched where
    both of them were replaced together. Lines that were added at the place of an `add` come
    before it.
    """
    differences = diff_lines(_line_contents(before), _line_contents(now))
    moved: list[LineChange] = []
    lines: dict[int, int] = {}
    for change in changes:
        if _find_conflict(change, differences):
            return None
        line = _shift_line(change, differences)
        moved.append(replace(change, line=line))
        if line != change.line:
            lines[change.line] = line
    return RebasedPatch(tuple(moved), tuple(sorted(lines.items())))


def affected_ranges(
    before: str, now: str, changes: Sequence[LineChange]
) -> tuple[tuple[int, int], ...]:
    """Return the stretches of `now` that a patch of `before` is about: first and last line of each.

    In order, those it clashes with or, where it clashes with none, those its lines are now. Of
    lines that were deleted the last is the one before the first.
    """
    differences = diff_lines(_line_contents(before), _line_contents(now))
    clashes = [
        hunk for change in changes if (hunk := _find_conflict(change, differences)) is not None
    ]
    if clashes:
        return tuple(sorted({(hunk.new_start + 1, hunk.new_end) for hunk in clashes}))
    lines = {_shift_line(change, differences) for change in changes}
    return tuple((line, line) for line in sorted(lines))


def _find_conflict(change: LineChange, differences: Sequence[Hunk]) -> Hunk | None:
    """Return the difference that touches what a change touches too, None if none does."""
    place = change.line - 1
    # Differences never meet: of those that begin up to a place only the last can reach it.
    at = bisect_right(differences, place, key=lambda hunk: hunk.start)
    if not at:
        return None
    hunk = differences[at - 1]
    is_inside = hunk.start < place < hunk.end
    is_first = change.operation != "add" and hunk.start == place < hunk.end
    return hunk if is_inside or is_first else None


def _shift_line(change: LineChange, differences: Sequence[Hunk]) -> int:
    """Return the line of a change that clashes with nothing."""
    at = bisect_right(differences, change.line - 1, key=lambda hunk: hunk.end)
    return change.line + (differences[at - 1].new_end - differences[at - 1].end if at else 0)


def _line_contents(text: str) -> list[str]:
    return [content for content, _ending in _split_lines(text.removeprefix(BOM))]


def _split_lines(text: str) -> list[tuple[str, str]]:
    """Return each line's content and its break; "" for a last one without."""
    parts = text.split("\n")
    last = parts.pop()
    lines = [(p[:-1], "\r\n") if p.endswith("\r") else (p, "\n") for p in parts]
    return [*lines, (last, "")] if last else lines


def _join_lines(lines: Sequence[tuple[str, str]], *, closed: bool) -> str:
    text = "".join(content + ending for content, ending in lines)
    if closed or not lines:
        return text
    return text.removesuffix(lines[-1][1])


def _usual_ending(lines: Sequence[tuple[str, str]]) -> str:
    endings = [ending for _content, ending in lines]
    return "\r\n" if endings.count("\r\n") > endings.count("\n") else "\n"
