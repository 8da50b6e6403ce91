"""One door to all formats: a text and its kind to an outline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.lazy import lazy
from rolltop.core.text.lines import line_count
from rolltop.core.text.outline import (
    data,
    html,
    indented,
    latex,
    lightweight,
    markdown,
    plain,
    python,
    restructured,
)
from rolltop.core.text.outline.sections import Outline, sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rolltop.core.text.outline import source
    from rolltop.core.text.outline.kinds import Kind
    from rolltop.core.text.outline.sections import Heading
else:
    source = lazy("rolltop.core.text.outline.source")

_SCANNERS: Final[dict[str, Callable[[str], Iterator[Heading]]]] = {
    "markdown": markdown.headings,
    "notebook": markdown.headings,  # of the rendered cells
    "restructuredtext": restructured.headings,
    "asciidoc": lightweight.asciidoc,
    "org": lightweight.org,
    "html": html.headings,
    "latex": latex.headings,
    "python": python.headings,
    "ruby": indented.ruby,
    "shell": indented.shell,
    "json": data.json_keys,
    "yaml": data.yaml_keys,
    "toml": data.toml_tables,
    "ini": data.ini_sections,
    "text": plain.headings,
}

_IN_PARTS: Final = frozenset({"text", "json", "yaml", "ini", "toml"})
"""Kinds that are divided into equal parts where they have no headings."""


def outline(text: str, kind: Kind) -> Outline:
    """Return the sections of a text of a kind; any text has an outline, maybe an empty one.

    Lines are those of `lines`: LF or CRLF ends one.
    """
    lines = line_count(text)
    scanner = _SCANNERS.get(kind)
    found = scanner(text) if scanner is not None else source.headings(text, kind)
    headed = sections(found, lines)
    if headed or kind not in _IN_PARTS:
        return Outline(kind, headed, lines)
    parts = sections(plain.parts(text), lines)
    return Outline(kind, parts, lines, parts=bool(parts))
