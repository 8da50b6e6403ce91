"""A file's text cut into the units that are ranked: functions, classes, sections, paragraphs.

Declarations and headings are found by the outline of the file's format; what stands outside of
them, and text without any, is cut at blank lines. The cut is a function of name and text alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.text.lines import Lines
from rolltop.core.text.outline import kind_of, outline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rolltop.core.text.outline import Kind, Section

LARGEST_OUTLINED: Final = 1_000_000
"""Code points of the longest text that is cut by its outline: a longer one is generated."""

BLOCK: Final = 1_200
"""Code points after which a run of paragraphs ends at the next blank line."""

LONGEST_BLOCK: Final = 3_000
"""Code points after which it ends at any line."""

_DATA: Final = frozenset({"json", "yaml", "toml", "ini"})
_DOCUMENTS: Final = frozenset(
    {"markdown", "restructuredtext", "asciidoc", "org", "html", "latex", "notebook", "text"}
)
_TELLING: Final = re.compile(r"(?!(?:end|fi|done|esac)\b)\b\w")
"""Where a word begins that does more than close what was opened before."""

_LEFT_OUT: Final = "…\n"
_COMMENT: Final = ("#", "//", "/*", "*", "--", "@")
_MOST_COMMENT_LINES: Final = 60


class Unit(NamedTuple):
    """A part of a file that is ranked and shown as one.

    `start` to `end`, and each of `rest`, are the code points that are its own, without the units
    inside it; `line` to `end_line` the whole of it. `scope` names what it lies in.
    """

    name: str
    scope: str
    line: int
    end_line: int
    start: int
    end: int
    rest: tuple[tuple[int, int], ...] = ()

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """All code points that are its own, in order."""
        return (self.start, self.end), *self.rest

    def own(self, text: str) -> str:
        """Return its own text, with `…` where units inside it stand."""
        parts = [text[self.start : self.end]]
        at = self.end
        for start, end in self.rest:
            parts += (_LEFT_OUT if text[at:start].strip() else "", text[start:end])
            at = end
        return "".join(parts)


class _Run(NamedTuple):
    """Lines that belong to one section, or to none; `begins` where the section does."""

    section: Section | None
    first: int
    last: int
    begins: bool


def units_of(path: str, text: str) -> list[Unit]:
    """Return the units of a file in the order of their lines; none for a text of white space."""
    lines = Lines(text)
    kind = kind_of(path.rpartition("/")[2], text)
    if kind in _DATA or len(text) > LARGEST_OUTLINED:
        return list(_blocks(lines, None, 1, len(lines)))
    runs = _runs(lines, kind)
    if kind not in _DOCUMENTS:
        return _declared(lines, runs, kind)
    return [unit for run in runs for unit in _units(lines, run, kind)]


def _declared(lines: Lines, runs: list[_Run], kind: Kind) -> list[Unit]:
    """Return the units of runs; what is left of a short declaration belongs to its own unit.

    So does what only closes something: it is no unit, and belongs to what it closes, as far as
    that is known, else to what ends last before it, which then ends with it.
    """
    short = _short(lines, runs)
    found: list[Unit] = []
    begun: dict[str, int] = {}
    rests: dict[int, list[tuple[int, int]]] = {}
    last = -1
    for run in runs:
        start, end = lines.span(run.first, run.last)
        name = "" if run.section is None else run.section.id
        if run.begins:
            begun[name] = len(found)
        elif not lines.text[start:end].strip():
            continue
        else:
            closing = not _TELLING.search(lines.text, start, end)
            owner = begun.get(name, last if closing else -1)
            if owner >= 0 and (closing or name in short):
                rests.setdefault(owner, []).append((start, end))
                filled = lines.line_at(start + len(lines.text[start:end].rstrip()) - 1)
                whole = max(found[owner].end_line, filled)
                found[owner] = found[owner]._replace(end_line=whole)
                continue
        for unit in _units(lines, run, kind):
            if last < 0 or unit.end_line > found[last].end_line:
                last = len(found)
            found.append(unit)
    for at, rest in rests.items():
        found[at] = found[at]._replace(rest=tuple(rest))
    return found


def _short(lines: Lines, runs: Sequence[_Run]) -> set[str]:
    """Return the sections, by their ids, that have few lines outside of those inside them."""
    lengths: dict[str, int] = {}
    for run in runs:
        if run.section is not None:
            start, end = lines.span(run.first, run.last)
            lengths[run.section.id] = lengths.get(run.section.id, 0) + end - start
    return {name for name, length in lengths.items() if length <= LONGEST_BLOCK}


def _runs(lines: Lines, kind: Kind) -> list[_Run]:
    """Return who each line belongs to: the innermost section, or none."""
    outlined = outline(lines.text, kind)
    runs: list[_Run] = []
    opened: list[Section] = []
    at = 1

    def close(before: int) -> None:
        """Give the lines up to the next section to the sections that end there."""
        nonlocal at
        while opened and opened[-1].end_line < before:
            last = opened.pop()
            at = _give(runs, last, at, last.end_line)
        at = _give(runs, opened[-1] if opened else None, at, before - 1)

    for section in () if outlined.parts else outlined.sections:
        close(section.start_line)
        opened.append(section)
    close(len(lines) + 1)
    return runs if kind in _DOCUMENTS else _with_comments(lines, runs)


def _give(runs: list[_Run], section: Section | None, first: int, last: int) -> int:
    """Give lines to a section; return the first line that nobody has yet."""
    if first > last:
        return first
    begins = section is not None and first == section.start_line
    runs.append(_Run(section, first, last, begins))
    return last + 1


def _with_comments(lines: Lines, runs: list[_Run]) -> list[_Run]:
    """Give a declaration the comment right before it."""
    for at in range(1, len(runs)):
        before, run = runs[at - 1], runs[at]
        if not run.begins:
            continue
        lowest = max(before.first + before.begins, run.first - _MOST_COMMENT_LINES)
        first = run.first
        while first > lowest and _is_comment(lines, first - 1):
            first -= 1
        if first < run.first:
            runs[at - 1] = before._replace(last=first - 1)
            runs[at] = run._replace(first=first)
    return [run for run in runs if run.first <= run.last]


def _is_comment(lines: Lines, line: int) -> bool:
    start, end = lines.span(line, line)
    return lines.text[start : min(end, start + 200)].lstrip().startswith(_COMMENT)


def _units(lines: Lines, run: _Run, kind: Kind) -> Iterator[Unit]:
    """Yield the units of a run: one for a declaration, paragraphs for what is long or loose."""
    section = run.section
    start, end = lines.span(run.first, run.last)
    short = end - start <= LONGEST_BLOCK
    if section is None or not run.begins or (kind in _DOCUMENTS and not short):
        yield from _blocks(lines, section, run.first, run.last)
        return
    last = run.last if kind in _DOCUMENTS else max(run.last, section.end_line)
    while last > run.first and not lines.between(last, last).strip():
        last -= 1
    yield Unit(section.title, _scope(section), run.first, last, start, end)


def _blocks(lines: Lines, section: Section | None, first: int, last: int) -> Iterator[Unit]:
    """Yield the lines in runs of whole paragraphs, without the blank lines around them."""
    name = "" if section is None else section.title
    scope = "" if section is None else _scope(section)
    for begun, filled in _paragraphs(lines, first, last):
        yield Unit(name, scope, begun, filled, *lines.span(begun, filled))


def _paragraphs(lines: Lines, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each run of whole paragraphs."""
    text = lines.between(first, last)
    if len(text) < BLOCK:  # most are: they are one run, or none
        code = text.strip()
        if code:
            begun = first + text.count("\n", 0, text.find(code[0]))
            yield begun, begun + code.count("\n")
        return
    begun = filled = size = 0
    for number, line in enumerate(text.split("\n"), first):
        blank = not line or line.isspace()
        if begun and (size >= LONGEST_BLOCK or (blank and size >= BLOCK)):
            yield begun, filled
            begun = size = 0
        if not blank:
            begun, filled = begun or number, number
        if begun:
            size += len(line) + 1
    if begun:
        yield begun, filled


def _scope(section: Section) -> str:
    return " ".join(section.title_path[:-1])
