"""What sections cost in tokens, and outlines as the store keeps them."""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import tokens
from rolltop.core.text.decode import decode
from rolltop.core.text.outline import VERSION, Outline, Section
from rolltop.toolsets.reader.formats import Document, library_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LAYOUT: Final = 1
"""Of how an outline is written down."""


def key(path: Path, *, extracted: bool) -> bytes:
    """Return what, besides its bytes, decides how a file is read: its name, and libraries."""
    name = path.name.encode("utf-8", "surrogateescape")
    if extracted:
        name += b"\0" + library_versions().encode()
    # Outlines kept by a program that made or wrote them otherwise are not found.
    made = f"{_LAYOUT}.{VERSION}".encode()
    return blake2b(name, digest_size=32, person=made).digest()


def offsets(text: str, starts: Sequence[int], section: Section) -> tuple[int, int]:
    """Return where a section's first line starts and its last line ends in the text."""
    end = starts[section.end_line] if section.end_line < len(starts) else len(text)
    return starts[section.start_line - 1], end


def counted(
    text: str, starts: Sequence[int], sections: Sequence[Section]
) -> tuple[int, tuple[int, ...]]:
    """Return a text's tokens, and those of each section with its children.

    The text is counted once, in the stretches between sections: a word of the encoding never
    reaches over the start of a line that is not blank, so that the stretches add up.
    """
    spans = [offsets(text, starts, section) for section in sections]
    places = {place for span in spans for place in span if _is_cut(text, place)}
    cuts = sorted(places | {0, len(text)})
    costs = [tokens.count(text[start:end]) for start, end in pairwise(cuts)]
    before = dict(zip(cuts, [0, *accumulate(costs)], strict=True))
    return before[len(text)], tuple(
        before[end] - before[start]
        if start in before and end in before
        else tokens.count(text[start:end])
        for start, end in spans
    )


def _is_cut(text: str, place: int) -> bool:
    """Whether a line starts at the place that is not blank."""
    if place in {0, len(text)}:
        return True
    end = text.find("\n", place, place + 200)
    line = text[place : end if end >= 0 else place + 200]
    indent = line[: len(line) - len(line.lstrip())]
    return text[place - 1] == "\n" and len(indent) < len(line) and "\r" not in indent


def dumps(document: Document, total: int, costs: Sequence[int]) -> str:
    """Return a document's outline with what it costs as JSON text of ASCII characters."""
    rows = [
        [section.id, section.title, section.level, section.start_line, section.end_line, cost]
        for section, cost in zip(document.outline.sections, costs, strict=True)
    ]
    outline = document.outline
    return json.dumps(
        [document.kind, document.note, outline.line_count, outline.parts, total, rows],
        separators=(",", ":"),
    )


def loads(text: str, data: bytes | None) -> tuple[Document, int, tuple[int, ...]]:
    """Return the document in the bytes, its tokens and those of its sections, from `dumps`.

    Where no bytes are given, it is a rendered document without its text.
    """
    kind, note, lines, parts, total, rows = json.loads(text)
    outline = Outline(kind, tuple(_sections(rows)), lines, parts=parts)
    if data is None:
        document = Document("", kind, kind, outline, rendered=True, note=note)
    else:
        decoded = decode(data)
        document = Document(decoded.text, decoded.encoding, kind, outline, note=note)
    return document, total, tuple(row[-1] for row in rows)


def _sections(rows: Sequence[Any]) -> Iterator[Section]:
    """Yield the sections of the rows, each with the titles around it."""
    around: list[tuple[int, str]] = []
    for own_id, title, level, start, end, _ in rows:
        while around and around[-1][0] >= level:
            around.pop()
        around.append((level, title))
        yield Section(own_id, title, level, start, end, tuple(t for _, t in around))
