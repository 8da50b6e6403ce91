"""Outlines: the sections of a text in any format.

`detect_file_type(name, text)` tells the format of a file; `parse_outline(text, kind)` finds its
sections. Every text has an outline, maybe an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from rolltop.core.lazy_imports import lazy
from rolltop.core.text.lines import line_count
from rolltop.documents.outline.file_types import FILE_TYPES, FileType, detect_file_type
from rolltop.documents.outline.sections import (
    Heading,
    Outline,
    Section,
    build_sections,
    with_gaps,
)

if TYPE_CHECKING:
    from rolltop.documents.outline import plain, source
else:
    plain = lazy("rolltop.documents.outline.plain")
    source = lazy("rolltop.documents.outline.source")

__all__ = [
    "FILE_TYPES",
    "VERSION",
    "FileType",
    "Heading",
    "Outline",
    "Section",
    "build_sections",
    "detect_file_type",
    "parse_outline",
    "with_gaps",
]

VERSION: Final = 17
"""Version of how texts are decoded and divided; stored outlines and chunks of others are not used.

Raise it with every change that gives some file another text or outline.
"""

MAX_SECTIONS: Final = 50_000
"""Of a text with more, the deepest are left out; one that is left with too many is divided."""

_SCANNERS: Final[dict[FileType, str]] = {
    "markdown": "markdown.headings",
    "notebook": "markdown.headings",  # of the rendered cells
    "restructuredtext": "rst.headings",
    "asciidoc": "asciidoc_org.asciidoc",
    "org": "asciidoc_org.org",
    "html": "html.headings",
    "latex": "latex.headings",
    "python": "python.headings",
    "ruby": "ruby_shell.ruby",
    "shell": "ruby_shell.shell",
    "json": "data_files.json_keys",
    "yaml": "data_files.yaml_keys",
    "toml": "data_files.toml_tables",
    "ini": "data_files.ini_sections",
    "text": "plain.headings",
}
"""Modules here and their functions: a server rarely needs all, and their expressions take long."""

_DIVIDED_TYPES: Final = frozenset({"text", "json", "yaml", "ini", "toml"})
"""Divided into equal parts if they have no headings."""


def parse_outline(text: str, kind: FileType, headings: Iterable[Heading] | None = None) -> Outline:
    """Find the sections of a text of a format. LF or CRLF ends a line.

    `headings` are those of the text, in order, where its parts are known better than by the text.
    """
    lines = line_count(text)
    if headings is None:
        is_program = kind not in _SCANNERS
        headings = source.headings(text, kind) if is_program else _find_scanner(kind)(text)
    sections = _without_deepest(build_sections(headings, lines))
    if 0 < len(sections) <= MAX_SECTIONS or (not sections and kind not in _DIVIDED_TYPES):
        return Outline(kind, sections, lines)
    parts = build_sections(plain.equal_parts(text), lines)
    return Outline(kind, parts, lines, is_divided=bool(parts))


@cache
def _find_scanner(kind: FileType) -> Callable[[str], Iterator[Heading]]:
    module, _, name = _SCANNERS[kind].partition(".")
    scanner: Callable[[str], Iterator[Heading]] = getattr(lazy(f"{__name__}.{module}"), name)
    return scanner


def _without_deepest(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Leave out the deepest sections, level by level, while there are too many."""
    while len(sections) > MAX_SECTIONS:
        deepest = max(section.level for section in sections)
        rest = tuple(section for section in sections if section.level < deepest)
        if not rest:
            break
        sections = rest
    return sections
