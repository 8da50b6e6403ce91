"""Files and parts of them as answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.budget import Text, Whole
from rolltop.core.errors import Invalid
from rolltop.toolsets.retrieval.service.files import read_file
from rolltop.toolsets.retrieval.service.places import locate, looked_in, name_of

if TYPE_CHECKING:
    from rolltop.core.desk import Desk
    from rolltop.core.roots import Located
    from rolltop.toolsets.retrieval.formats import Survey, Windows
    from rolltop.toolsets.retrieval.models import JsonObject
    from rolltop.toolsets.retrieval.service.answers import Clock

_WINDOW: Final = 8
"""Characters read for each token of the budget: ordinary text has half of that."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a file; without lines it is the whole. `numbered` wants lines of their own.

    `char_start` counts from the first character of the first line asked for.
    """

    repo: str | None
    path: str
    first: int | None = None
    last: int | None = None
    char_start: int | None = None
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a file's text: from column `column` of line `line` on."""

    text: str
    line: int
    column: int
    more: bool
    known: Survey


def file_text(desk: Desk, clock: Clock, wanted: Wanted, budget: int) -> Text:
    """Return the lines asked for, or as many as the budget may hold.

    Raises:
        RolltopError: of the path (`places.locate`), of the file (`files.read_file`), or
            RANGE_INVALID.

    """
    _check_range(wanted)
    located = locate(desk.roots, wanted.repo, wanted.path)
    part = read_file(desk, located, lambda found, text: _part(found, text, wanted, budget))
    missing = looked_in(desk.roots, wanted.repo, wanted.path).missing
    meta = clock.meta(name_of(located), missing=missing)
    return Text(
        part.text,
        lambda shown: _envelope(located, part, shown, meta, numbered=wanted.numbered),
        lambda taken: _resume(wanted, part, taken),
        part.more,
    )


def _check_range(wanted: Wanted) -> None:
    """Raise RANGE_INVALID for a range that no file has."""
    first, last = wanted.first, wanted.last
    if any(line is not None and line < 1 for line in (first, last)):
        message, hint = "Lines are counted from 1", "Call again with start_line 1 or more."
    elif first is not None and last is not None and first > last:
        message = f"start_line {first} is after end_line {last}"
        hint = "Call again with start_line at or before end_line."
    else:
        return
    raise _out_of_range(message, hint, wanted)


def _part(found: Survey, windows: Windows, wanted: Wanted, budget: int) -> _Part:
    """Return the part of the text that is asked for and that the budget may hold."""
    if wanted.first is not None and wanted.first > found.lines:
        raise _out_of_range(
            f"start_line {wanted.first} is beyond the last line, {found.lines}",
            f"Call again with start_line from 1 to {found.lines}."
            if found.lines
            else "The file is empty: there is nothing to read.",
            wanted,
            total_lines=found.lines,
        )
    first = windows.start_of(wanted.first or 1)
    stop = found.length if wanted.last is None else windows.start_of(wanted.last + 1)
    start = first + (wanted.char_start or 0)
    if wanted.char_start and start >= stop:
        raise _out_of_range(
            f"char_start {wanted.char_start} is beyond the text, of {stop - first} characters",
            f"Call again with char_start from 0 to {max(0, stop - first - 1)}.",
            wanted,
        )
    end = min(stop, start + budget * _WINDOW) if budget else stop
    text = windows.text(start, end)
    if end < stop:
        text = text[: text.rfind("\n") + 1] or text.removesuffix("\r")
    line = windows.line_of(start) if found.length else 0
    column = start - windows.start_of(line)
    return _Part(text, line, column, start + len(text) < stop, found)


def _envelope(
    located: Located, part: _Part, shown: str, meta: JsonObject, *, numbered: bool
) -> JsonObject:
    """Return the answer with that much of the part."""
    last = part.line + shown.count("\n") - (shown.endswith("\n") or not shown)
    result: JsonObject = {
        "repo": name_of(located),
        "path": located.relative,
        "start_line": part.line,
        "end_line": max(part.line, last),
        **({"lines": _numbered(part, shown)} if numbered else {"text": shown}),
        "total_lines": part.known.lines,
        "sha256": part.known.sha256,
    }
    if part.known.encoding != "utf-8":
        result["encoding"] = part.known.encoding
    return {"result": result, "meta": meta}


def _numbered(part: _Part, shown: str) -> list[JsonObject]:
    """Return that much of the part as lines with their numbers, without their line ends."""
    is_cut_in_end = shown.endswith("\r") and part.text.startswith("\n", len(shown))
    lines = (shown[:-1] if is_cut_in_end else shown).split("\n")
    ended = [line.removesuffix("\r") for line in lines[:-1]]
    rest = lines[-1:] if lines[-1] else []
    return [{"line": part.line + n, "text": Whole(line)} for n, line in enumerate([*ended, *rest])]


def _resume(wanted: Wanted, part: _Part, taken: int) -> dict[str, object]:
    """Return the arguments of the call that goes on after `taken` characters of the part."""
    if wanted.first is None:
        return {"char_start": (wanted.char_start or 0) + taken}
    shown = part.text[:taken]
    breaks = shown.count("\n")
    column = taken - shown.rfind("\n") - 1 if breaks else part.column + taken
    changed: dict[str, object] = {"start_line": part.line + breaks}
    if column or wanted.char_start is not None:
        changed["char_start"] = column
    return changed


def _out_of_range(message: str, hint: str, wanted: Wanted, **details: object) -> Invalid:
    given = {"start_line": wanted.first, "end_line": wanted.last, "char_start": wanted.char_start}
    known = {name: value for name, value in given.items() if value is not None}
    return Invalid(message, code="RANGE_INVALID", hint=hint, data={**known, **details})
