"""Headings of AsciiDoc and Org: marks at the start of a line, outside delimited blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.sections import Heading

_ASCIIDOC_TITLE: Final = re.compile(r"(={1,6}|#{1,6})[ \t]++(?P<title>\S[^\n]*)")
_DELIMITER: Final = re.compile(
    r"(-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|/{4,}|--|[|,:!]={3,}|`{3}[\w+-]*)[ \t\r]*$"
)
_UNDERLINE: Final = re.compile(r"(=+|-+|~+|\^+|\++)[ \t\r]*$")
_UNDERLINE_LEVELS: Final = "=-~^+"
_MIN_UNDERLINE: Final = 2
_CLOSING_MARKS: Final = re.compile(r"[ \t]+(={1,6}|#{1,6})[ \t\r]*$")

_ORG_HEADLINE: Final = re.compile(r"^(?P<stars>\*++)[ \t]++(?P<title>[^\n]*)$", re.MULTILINE)
_ORG_KEYWORD: Final = re.compile(r"(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+(?=\S)")
_ORG_PRIORITY: Final = re.compile(r"\[#[A-Z0-9]\][ \t]*")
_ORG_TAGS: Final = re.compile(r"[ \t]:(?:[\w@#%]+:)+[ \t\r]*$")
_ORG_LINK: Final = re.compile(r"\[\[[^\[\]\n]+\](?:\[([^\[\]\n]+)\])?\]")


def asciidoc(text: str) -> Iterator[Heading]:
    """Yield the section titles of an AsciiDoc text; the document's own title is at level 1."""
    lines = text.split("\n")
    fence = ""
    in_paragraph = False
    rows = iter(range(len(lines)))
    for at in rows:
        line = lines[at]
        delimiter = _DELIMITER.match(line)
        title = _ASCIIDOC_TITLE.match(line)
        below = lines[at + 1] if at + 1 < len(lines) else ""
        level = 0 if fence or in_paragraph else _underline_level(line, below)
        if fence:
            fence = (
                "" if delimiter is not None and _closing_delimiter(delimiter) == fence else fence
            )
        elif title is not None:
            yield Heading(_without_marks(title), len(title.group(1)), at + 1)
            in_paragraph = False
        elif level:
            yield Heading(line.strip(), level, at + 1)
            next(rows)  # the underline
        elif delimiter is not None:
            fence, in_paragraph = _closing_delimiter(delimiter), False
        else:
            in_paragraph = bool(line.strip()) and not line.startswith(("[", ".", ":", "//"))


def _closing_delimiter(delimiter: re.Match[str]) -> str:
    """Return the line that closes a delimited block: a fence's language is not part of it."""
    mark = delimiter.group(1)
    return "```" if mark.startswith("```") else mark


def _without_marks(title: re.Match[str]) -> str:
    """Return an AsciiDoc title without the marks that may be repeated at its end."""
    words = title.group("title")
    closing = _CLOSING_MARKS.search(words[-20:])
    if closing is not None and closing.group(1) == title.group(1):
        return words[: len(words) - len(closing.group())]
    return words


def _underline_level(line: str, below: str) -> int:
    """Return the level of a title with an underline of its length, give or take one; else 0."""
    found = _UNDERLINE.match(below)
    length = len(line.rstrip())
    if found is None or not line[:1].isalnum() or len(found.group(1)) < _MIN_UNDERLINE:
        return 0
    if abs(len(found.group(1)) - length) > 1:
        return 0
    return _UNDERLINE_LEVELS.index(below[0]) + 1


def org(text: str) -> Iterator[Heading]:
    """Yield the headlines of an Org text, without keyword, priority and tags."""
    lines = TextLines(text)
    for found in _ORG_HEADLINE.finditer(text):
        title = _ORG_TAGS.sub("", " " + found.group("title")[-500:])[1:]
        title = found.group("title")[:-500] + title
        title = _ORG_PRIORITY.sub("", _ORG_KEYWORD.sub("", title, count=1), count=1)
        title = _ORG_LINK.sub(lambda link: link.group(1) or link.group(), title)
        yield Heading(title, len(found.group("stars")), lines.line_at(found.start()))
