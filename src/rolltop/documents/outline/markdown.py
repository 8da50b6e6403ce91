"""Headings of Markdown: CommonMark with GFM tables and front matter, parsed by pulldown-cmark.

A heading inside a block quote or a list item is a heading, but not a section of the document:
the lines up to the next heading would leave the quote or list it is in. It is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from rolltop.documents.outline.sections import Heading

_FRONT_MATTER: Final = re.compile(r"\ufeff?(-{3}|\+{3})[ \t]*\r?\n(?=[^\r\n])")
_LONE_CR: Final = re.compile(r"\r(?!\n)")
_DELIMITER_ROW: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
# What opens a block quote or a list item; each line is checked against every block that is open, so
# that thousands of them in a row take time by the square of the text.
_OPENING: Final = r"(?:>[ \t]*|(?:[-+*]|[0-9]{1,9}[.)])[ \t]+)"
_DEEP_NESTING: Final = re.compile(rf"^([ \t]*{_OPENING}{{64}})({_OPENING}+)", re.MULTILINE)
_CELL_SEPARATOR: Final = re.compile(r"(?<!\\)\|")


def headings(text: str) -> Iterator[Heading]:
    """Yield the headings of the document; titles are plain text, without emphasis or links."""
    source, skipped_lines = _normalize(text)
    source_bytes = source.encode("utf-8", "replace")
    line, counted_to = 1 + skipped_lines, 0
    for start, level, title, depth in parse_headings(source):
        line += source_bytes.count(b"\n", counted_to, start)
        counted_to = start
        if depth == 0:
            yield Heading(title, level, line)


def parse_headings(source: str) -> Iterator[tuple[int, int, str, int]]:
    """Yield each heading's offset (UTF-8 bytes), level, title and how many blocks are around it."""
    from pyromark import Options, events_with_range  # noqa: PLC0415  # a 3 MB library

    source_bytes = source.encode("utf-8", "replace")
    depth = 0
    level = start = around = 0
    words: list[str] = []
    for event, place in events_with_range(source, options=Options.ENABLE_TABLES):
        if isinstance(event, str):
            if level:
                words.append(" ")
        elif "Start" in event:
            if heading_level := _heading_level(event["Start"]):
                level, start, around, words = heading_level, place["start"], depth, []
            depth += 1
        elif "End" in event:
            depth -= 1
            if level and depth == around:
                if not _is_table(source_bytes[place["start"] : place["end"]].decode()):
                    yield start, level, "".join(words), around
                level = 0
        elif level:
            words.append(_inline_text(event))


def _is_table(heading: str) -> bool:
    """Return whether a heading of several lines is a table's head to the other parsers.

    pulldown-cmark takes no line without a pipe for a table's head.
    """
    lines = [line.strip() for line in heading.splitlines()]
    return any(
        "|" in row and _DELIMITER_ROW.fullmatch(row) and _count_cells(row) == _count_cells(head)
        for head, row in pairwise(lines[:-1])
    )


def _count_cells(row: str) -> int:
    return len(_CELL_SEPARATOR.findall(row.removeprefix("|").removesuffix("|"))) + 1


def _heading_level(tag: Any) -> int:  # noqa: ANN401  # one of two dozen shapes
    """Return 1 to 6 for a heading's tag, 0 for any other."""
    if isinstance(tag, str) or "Heading" not in tag:
        return 0
    return int(tag["Heading"]["level"][1])


def _inline_text(event: Any) -> str:  # noqa: ANN401  # one of a dozen shapes
    """Return the text of an inline event; raw HTML has none."""
    return event.get("Text") or event.get("Code") or ""


def _normalize(text: str) -> tuple[str, int]:
    """Return the text for CommonMark, and the number of lines of front matter cut from it.

    A lone CR ends a line in CommonMark but not in outlines, so it becomes a space, and so do the
    openings of blocks more than 64 deep.
    """
    skipped = 0
    opening = _FRONT_MATTER.match(text)
    if opening is not None:
        fence = re.escape(opening.group(1))
        end = "|\\.{3}" if opening.group(1) == "---" else ""
        closing = re.compile(rf"^(?:{fence}{end})[ \t]*\r?$\n?", re.MULTILINE)
        found = closing.search(text, opening.end())
        if found is not None:
            skipped = text.count("\n", 0, found.end())
            text = text[found.end() :]
    text = _DEEP_NESTING.sub(lambda match: match[1] + " " * len(match[2]), text)
    return (_LONE_CR.sub(" ", text) if "\r" in text else text), skipped
