"""Headings of reStructuredText: section titles by their adornment, levels by order of appearance.

A title stands at the left margin where a block begins. Paragraph lines, list items, field lists,
tables, explicit markup and everything indented are skipped as docutils skips them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import east_asian_width

from rolltop.documents.outline.sections import Heading

MIN_TRUSTED_UNDERLINE: Final = 4
"""A longer underline may be shorter than its title."""

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1*+[ \t\r]*+$")
_NOT_TEXT: Final = re.compile(
    r"""[-+*\u2022\u2023\u2043](?:[ ]|\s*$)        # a bullet
      | (?:\.\.|__)(?:[ ]|\s*$)     # explicit markup, an anonymous target
      | \|(?:[ ]|\s*$)              # a line of a line block
      | :(?![: ])(?:[^:\\\n]|\\.|:(?!(?:[ `]|\s*$)))*(?<![ ]):(?:[ ]|\s*$)  # a field
      | \+-[-+]+-\+\s*$             # the top of a grid table
    """,
    re.VERBOSE,
)
_DOCTEST: Final = re.compile(r">>>(?: |\s*$)")
_TABLE_EDGE: Final = re.compile(r"=+(?: +=+)+\s*$")
_ENUMERATOR: Final = re.compile(r"\(?(?:[0-9]+|[a-zA-Z]|[ivxlcdmIVXLCDM]+|#)[.)](?: |\s*$)")
_ESCAPED: Final = re.compile(r"\\(.)")
_ROLE: Final = re.compile(r"(?<![\w.+-])(?::[\w.+-]++)+:`([^`<]++)(?:<[^`<>]*+>)?`")
_LITERAL: Final = re.compile(r"``(.+?)``")
_LINK: Final = re.compile(r"`([^`<]++)(?:<[^`<>]*+>)?`_{0,2}")
_STRONG: Final = re.compile(r"(\*{1,2})(\S(?:[^*]*\S)?)\1")
_MAX_MARKUP_LENGTH: Final = 1_000


def headings(text: str) -> Iterator[Heading]:
    """Yield the section titles of the document in order."""
    styles: dict[tuple[str, bool], int] = {}
    for title, line, style in find_titles(text.split("\n")):
        level = styles.setdefault(style, len(styles) + 1)
        yield Heading(strip_markup(title), level, line)


def strip_markup(title: str) -> str:
    """Remove inline markup from a title, but from very long ones."""
    if len(title) > _MAX_MARKUP_LENGTH or not any(mark in title for mark in "`*\\"):
        return title.strip()
    title = _ROLE.sub(_marked_words, title)
    title = _LITERAL.sub(r"\1", title)
    title = _LINK.sub(_marked_words, title)
    title = _STRONG.sub(r"\2", title)
    return _ESCAPED.sub(r"\1", title).strip()


def _marked_words(found: re.Match[str]) -> str:
    """Return the words of a role or link without its target."""
    return found[1].rstrip()


def find_titles(lines: list[str]) -> Iterator[tuple[str, int, tuple[str, bool]]]:
    """Yield each section title, its 1-based first line, and its adornment: character, overlined."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line.isspace() or line[0] in " \t":
            at += 1
            continue
        found = _title_at(lines, at)
        if found is not None:
            title, style, after = found
            yield title, at + 1, style
            at = after
        else:
            at = _after_block(lines, at)


def _title_at(lines: list[str], at: int) -> tuple[str, tuple[str, bool], int] | None:
    """Return the title that begins at a line, its style and the line after it."""
    line = lines[at]
    below = lines[at + 1] if at + 1 < len(lines) else ""
    adornment = _ADORNMENT.match(line)
    if adornment is not None:
        last = lines[at + 2] if at + 2 < len(lines) else ""
        if below.strip() and _same_adornment(line, last) and _fits(below.strip(), line):
            return below.strip(), (adornment.group(1), True), at + 3
        if len(line.rstrip()) >= MIN_TRUSTED_UNDERLINE or not _ADORNMENT.match(below):
            return None
    underline = _ADORNMENT.match(below)
    if underline is None or _NOT_TEXT.match(line) or not _fits(line.rstrip(), below):
        return None
    return line.rstrip(), (underline.group(1), False), at + 2


def _same_adornment(over: str, under: str) -> bool:
    return bool(_ADORNMENT.match(under)) and over.rstrip() == under.rstrip()


def _fits(title: str, adornment: str) -> bool:
    """Whether an adornment is long enough for its title."""
    length = len(adornment.rstrip())
    return length >= MIN_TRUSTED_UNDERLINE or length >= _columns(title)


def _columns(title: str) -> int:
    """Return how many columns a title takes; wide characters take two."""
    if title.isascii():
        return len(title)
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in title)


def _after_block(lines: list[str], at: int) -> int:
    """Return the line after the block that begins at a line and is no title."""
    line = lines[at]
    if _TABLE_EDGE.match(line):
        return _after_simple_table(lines, at)
    if _NOT_TEXT.match(line) or _ADORNMENT.match(line) or _is_list_item(lines, at):
        return at + 1  # what follows is indented, or a block of its own
    # A paragraph or a doctest goes on to a blank line; an indented line ends a paragraph.
    doctest = bool(_DOCTEST.match(line))
    at += 1
    while at < len(lines) and lines[at].strip() and (doctest or lines[at][0] not in " \t"):
        at += 1
    return at


def _is_list_item(lines: list[str], at: int) -> bool:
    """Whether a line is an enumerated item: the next is blank, indented or another."""
    if not _ENUMERATOR.match(lines[at]):
        return False
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return not below.strip() or below[0] in " \t" or bool(_ENUMERATOR.match(below))


def _after_simple_table(lines: list[str], at: int) -> int:
    """Return the line after a simple table: its third edge, or an edge before a blank line."""
    edges = 1
    for below in range(at + 1, len(lines)):
        if _TABLE_EDGE.match(lines[below]):
            edges += 1
            blank_follows = below + 1 >= len(lines) or not lines[below + 1].strip()
            if edges > 2 or blank_follows:  # noqa: PLR2004  # top, head, bottom
                return below + 1
    return at + 1
