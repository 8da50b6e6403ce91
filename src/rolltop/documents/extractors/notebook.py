"""Jupyter notebooks, formats 3 and 4: their Markdown and code cells, one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from rolltop.documents.extractors.extracted_text import ParsedDocument
from rolltop.documents.outline import Heading, markdown, parse_outline
from rolltop.documents.outline.sections import MAX_LEVEL

_CELL_KEYS: Final = ("cells", "worksheets")
_MARKDOWN: Final = ("markdown", "heading")
_FENCES: Final = re.compile(r"^[ ]{0,3}(`{3,})", re.MULTILINE)


def render(text: str) -> ParsedDocument | None:
    """Render the cells as Markdown, code in fences, without outputs; None if it is no notebook."""
    try:
        notebook: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(notebook, dict):
        return None
    notebook = cast("dict[str, Any]", notebook)
    language = _language(notebook)
    cells = [
        (block, cell.get("cell_type"))
        for cell in _cells(notebook)
        if (block := _block(cell, language))
    ]
    blocks = [block for block, _ in cells]
    if not blocks and not any(isinstance(notebook.get(key), list) for key in _CELL_KEYS):
        return None
    rendered = "\n\n".join(blocks) + ("\n" if blocks else "")
    return ParsedDocument(
        rendered,
        parse_outline(rendered, "notebook", _headings(cells)),
        "Outputs of cells are left out.",
    )


def _headings(cells: Iterable[tuple[str, Any]]) -> Iterator[Heading]:
    """Yield the headings of cells with their kinds: a cell ends what it leaves open."""
    line = 1
    for text, kind in cells:
        if kind in _MARKDOWN:
            above = "\n" if line > 1 else ""  # only a notebook's beginning is front matter
            for heading in markdown.headings(above + text):
                yield Heading(heading.title, heading.level, line - len(above) + heading.line - 1)
        line += text.count("\n") + 2


def _cells(notebook: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the cells; before format 4 they stood in worksheets."""
    holders: list[Any] = [notebook, *_list(notebook.get("worksheets"))]
    for holder in holders:
        if isinstance(holder, dict):
            for cell in _list(cast("dict[str, Any]", holder).get("cells")):
                if isinstance(cell, dict):
                    yield cast("dict[str, Any]", cell)


def _list(value: Any) -> list[Any]:  # noqa: ANN401  # whatever the file holds
    return cast("list[Any]", value) if isinstance(value, list) else []


def _block(cell: Mapping[str, Any], language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, _list(source))) if isinstance(source, list) else str(source)
    # JSON may hold half a character, which no parser takes; two halves that meet are one.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip("\n")
    kind = cell.get("cell_type")
    if kind == "heading":
        level = cell.get("level", 1)
        level = min(max(level, 1), MAX_LEVEL) if isinstance(level, int) else 1
        return f"{'#' * level} {' '.join(text.split())}"
    if not text.strip() or kind == "markdown":
        return text.strip("\n")
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language if kind == 'code' else ''}\n{text}\n{fence}"


def _language(notebook: Mapping[str, Any]) -> str:
    """Return the language of the code cells if it is a plain word, else an empty string."""
    metadata: Any = notebook.get("metadata")
    found: Any = ""
    for key in ("language_info", "kernelspec"):
        part: Any = cast("dict[str, Any]", metadata).get(key) if isinstance(metadata, dict) else {}
        if isinstance(part, dict) and not found:
            part = cast("dict[str, Any]", part)
            found = part.get("language", "") or (part.get("name", "") if "_info" in key else "")
    return found if isinstance(found, str) and re.fullmatch(r"[\w+#.-]{1,30}", found) else ""
