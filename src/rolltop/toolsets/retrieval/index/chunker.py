"""Splits a file's text into the chunks that are ranked: functions, classes, sections, paragraphs.

The outline of the file's format gives declarations and headings; other text is split at blank
lines. The result depends on the name and the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline import FileType, Outline, Section, detect_file_type, parse_outline

# Longer texts (code points) are taken for generated and not outlined.
MAX_OUTLINED: Final = 1_000_000

# Code points after which a run of paragraphs ends at the next blank line.
BLOCK: Final = 1_200

# Code points after which a run of paragraphs ends at any line.
MAX_BLOCK: Final = 3_000

# Code points of a chunk. Words beyond were not found: a line, or a function, may be a whole book.
MAX_CHUNK: Final = 20_000
# Code points before the end of a part in which a word may end.
_MAX_WORD: Final = 200

_DATA: Final = frozenset({"json", "yaml", "toml", "ini"})
DOCUMENTS: Final = frozenset(
    {"markdown", "restructuredtext", "asciidoc", "org", "html", "latex", "notebook", "text"}
)
# The start of a word that does more than close a block.
_MEANINGFUL: Final = re.compile(r"(?!(?:end|fi|done|esac)\b)\b\w")

SCOPE_SEPARATOR: Final = " > "

# Code points of the titles around a chunk.
MAX_SCOPE: Final = 400

_LEFT_OUT: Final = "…\n"
_COMMENT: Final = ("#", "//", "/*", "*", "--", "@")
_MAX_COMMENT_LINES: Final = 60


class Chunk(NamedTuple):
    """A part of a file that is ranked and displayed as one.

    `start` to `end`, and each span of `rest`, are the code points of the chunk itself, without
    nested chunks; `line` to `end_line` includes these. `scope` are the titles of the enclosing
    declarations or sections.
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
        """All code points of the chunk itself, in order."""
        return (self.start, self.end), *self.rest

    @property
    def titles(self) -> str:
        """The titles around the chunk and its own."""
        return SCOPE_SEPARATOR.join(filter(None, (self.scope, self.name)))

    def own(self, text: str) -> str:
        """Join the chunk's own text, with `…` in place of nested chunks."""
        parts = [text[self.start : self.end]]
        at = self.end
        for start, end in self.rest:
            parts += (_LEFT_OUT if text[at:start].strip() else "", text[start:end])
            at = end
        return "".join(parts)


class _Run(NamedTuple):
    """Lines of one section, or of none; `begins` if they include the section's start."""

    section: Section | None
    first: int
    last: int
    begins: bool


def split_chunks(path: str, text: str, outline: Outline | None = None) -> list[Chunk]:
    """Split a file into chunks in line order; none for blank text.

    `outline` is that of a text which was extracted from a document.
    """
    lines = TextLines(text)
    kind = "text" if outline else detect_file_type(path.rpartition("/")[2], text)
    if kind in _DATA or (len(text) > MAX_OUTLINED and not outline):
        found = list(_blocks(lines, None, 1, len(lines)))
    elif kind in DOCUMENTS:
        found = [
            chunk for run in _runs(lines, kind, outline) for chunk in _run_chunks(lines, run, kind)
        ]
    else:
        found = _code_chunks(lines, _runs(lines, kind), kind)
    return [part for chunk in found for part in _divide(lines, chunk)]


def _divide(lines: TextLines, chunk: Chunk) -> Iterator[Chunk]:
    """Yield a chunk, or the parts of a long one, of which the first keeps its name and lines."""
    if sum(end - start for start, end in chunk.spans) <= MAX_CHUNK:
        yield chunk
        return
    room, spans = MAX_CHUNK, list[tuple[int, int]]()
    for start, end in chunk.spans:
        while end - start > room:
            cut = _word_end(lines.text, start, start + room)
            spans.append((start, cut))
            yield from _part(lines, chunk, spans)
            start, room, spans = cut, MAX_CHUNK, []  # noqa: PLW2901  # what is left of it
        spans.append((start, end))
        room -= end - start
    yield from _part(lines, chunk, spans)


def _part(lines: TextLines, chunk: Chunk, spans: Sequence[tuple[int, int]]) -> Iterator[Chunk]:
    """Yield the part of a chunk with these spans, unless it is blank."""
    kept = [span for span in spans if lines.text[slice(*span)].strip()]
    if not kept:
        return
    (start, end), *rest = kept
    part = chunk._replace(start=start, end=end, rest=tuple(rest))
    if start > chunk.start:
        first, last = lines.line_at(start), lines.line_at(kept[-1][1] - 1)
        titles = chunk.titles[-MAX_SCOPE:]
        part = part._replace(name="", scope=titles, line=first, end_line=last)
    yield part


def _word_end(text: str, start: int, most: int) -> int:
    """Return the last place behind `start` that is inside no word, if one is near `most`."""
    for at in range(most, max(start, most - _MAX_WORD), -1):
        if not (text[at - 1].isalnum() and text[at].isalnum()):
            return at
    return most


def _code_chunks(lines: TextLines, runs: list[_Run], kind: FileType) -> list[Chunk]:
    """Turn runs into chunks; append the remaining lines of a short declaration to its chunk.

    Closing lines (`}`, `end`) form no chunk: they extend the declaration they close if that is
    known, else the chunk that ends last before them.
    """
    short = _short(lines, runs)
    found: list[Chunk] = []
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
            closing = not _MEANINGFUL.search(lines.text, start, end)
            owner = begun.get(name, last if closing else -1)
            if owner >= 0 and (closing or name in short):
                rests.setdefault(owner, []).append((start, end))
                filled = lines.line_at(start + len(lines.text[start:end].rstrip()) - 1)
                whole = max(found[owner].end_line, filled)
                found[owner] = found[owner]._replace(end_line=whole)
                continue
        for chunk in _run_chunks(lines, run, kind):
            if last < 0 or chunk.end_line > found[last].end_line:
                last = len(found)
            found.append(chunk)
    for at, rest in rests.items():
        found[at] = found[at]._replace(rest=tuple(rest))
    return found


def _short(lines: TextLines, runs: Sequence[_Run]) -> set[str]:
    """Find the ids of sections with few lines outside of nested sections."""
    lengths: dict[str, int] = {}
    for run in runs:
        if run.section is not None:
            start, end = lines.span(run.first, run.last)
            lengths[run.section.id] = lengths.get(run.section.id, 0) + end - start
    return {name for name, length in lengths.items() if length <= MAX_BLOCK}


def _runs(lines: TextLines, kind: FileType, outline: Outline | None = None) -> list[_Run]:
    """Assign each line to its innermost section, or to none."""
    outlined = outline or parse_outline(lines.text, kind)
    runs: list[_Run] = []
    opened: list[Section] = []
    at = 1

    def close(before: int) -> None:
        """Assign the lines before the next section to the sections that end there."""
        nonlocal at
        while opened and opened[-1].end_line < before:
            last = opened.pop()
            at = _give(runs, last, at, last.end_line)
        at = _give(runs, opened[-1] if opened else None, at, before - 1)

    for section in () if outlined.is_divided else outlined.sections:
        close(section.start_line)
        opened.append(section)
    close(len(lines) + 1)
    return runs if kind in DOCUMENTS else _with_comments(lines, runs)


def _give(runs: list[_Run], section: Section | None, first: int, last: int) -> int:
    """Assign lines to a section; return the first unassigned line."""
    if first > last:
        return first
    begins = section is not None and first == section.start_line
    runs.append(_Run(section, first, last, begins))
    return last + 1


def _with_comments(lines: TextLines, runs: list[_Run]) -> list[_Run]:
    """Move the comment right before a declaration into it."""
    for at in range(1, len(runs)):
        before, run = runs[at - 1], runs[at]
        if not run.begins:
            continue
        lowest = max(before.first + before.begins, run.first - _MAX_COMMENT_LINES)
        first = run.first
        while first > lowest and _is_comment(lines, first - 1):
            first -= 1
        if first < run.first:
            runs[at - 1] = before._replace(last=first - 1)
            runs[at] = run._replace(first=first)
    return [run for run in runs if run.first <= run.last]


def _is_comment(lines: TextLines, line: int) -> bool:
    start, end = lines.span(line, line)
    return lines.text[start : min(end, start + 200)].lstrip().startswith(_COMMENT)


def _run_chunks(lines: TextLines, run: _Run, kind: FileType) -> Iterator[Chunk]:
    """Yield the chunks of a run: a declaration as one, long or loose text in paragraphs."""
    section = run.section
    start, end = lines.span(run.first, run.last)
    short = end - start <= MAX_BLOCK
    if section is None or not run.begins or (kind in DOCUMENTS and not short):
        yield from _blocks(lines, section, run.first, run.last)
        return
    last = run.last if kind in DOCUMENTS else max(run.last, section.end_line)
    while last > run.first and not lines.between(last, last).strip():
        last -= 1
    yield Chunk(section.title, _scope(section), run.first, last, start, end)


def _blocks(lines: TextLines, section: Section | None, first: int, last: int) -> Iterator[Chunk]:
    """Yield chunks of whole paragraphs, without surrounding blank lines."""
    name = "" if section is None else section.title
    scope = "" if section is None else _scope(section)
    for begun, filled in _paragraphs(lines, first, last):
        yield Chunk(name, scope, begun, filled, *lines.span(begun, filled))


def _paragraphs(lines: TextLines, first: int, last: int) -> Iterator[tuple[int, int]]:
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
        if begun and (size >= MAX_BLOCK or (blank and size >= BLOCK)):
            yield begun, filled
            begun = size = 0
        if not blank:
            begun, filled = begun or number, number
        if begun:
            size += len(line) + 1
    if begun:
        yield begun, filled


def _scope(section: Section) -> str:
    """Join the titles around a section, of long ones the nearest: each chunk repeats them."""
    return SCOPE_SEPARATOR.join(section.title_path[:-1])[-MAX_SCOPE:]
