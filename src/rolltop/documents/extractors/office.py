"""Word by python-docx and PowerPoint by python-pptx: headings, paragraphs, lists and tables."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Final
from zipfile import ZipFile

from rolltop.documents.extractors.extracted_text import (
    ExtractedText,
    TextBuilder,
    damage_reported,
    document_too_large,
    missing_extra,
)

MAX_PARAGRAPHS: Final = 200_000
"""Of a Word document; python-docx takes 50 µs for each. Long novels have 10,000."""
_HEADING_STYLE: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST_STYLE: Final = re.compile(r"list (?:bullet|number|paragraph)\s*(\d?)|compact$", re.IGNORECASE)
_OUTLINE_LEVEL: Final = "./w:pPr/w:outlineLvl/@w:val"
_MAX_NESTING: Final = 8


def render_docx(data: bytes) -> ExtractedText:
    """Extract the body of a Word document in order; headings by their style or outline level.

    Raises:
        InvalidArgument: FORMAT_UNSUPPORTED without python-docx; FILE_UNREADABLE if damaged;
            FILE_TOO_LARGE if it has too many paragraphs.

    """
    try:
        from docx import Document  # noqa: PLC0415  # takes 0.3 s to load
    except ImportError as absent:
        raise missing_extra("Word") from absent
    builder = TextBuilder()
    with damage_reported("Word"):
        _check_paragraphs(data)
        for block in Document(io.BytesIO(data)).iter_inner_content():
            _add_block(builder, block)
    return builder.build("docx")


def _check_paragraphs(data: bytes) -> None:
    """Refuse a document of too many paragraphs before any is parsed."""
    with ZipFile(io.BytesIO(data)) as archive:
        body = archive.read("word/document.xml")
    if body.count(b"</w:p>") + body.count(b"<w:p/>") > MAX_PARAGRAPHS:
        raise document_too_large(
            f"The Word file unpacks to more than {MAX_PARAGRAPHS:,} paragraphs"
        )


def _add_block(builder: TextBuilder, block: Any) -> None:  # noqa: ANN401  # of an optional library
    if hasattr(block, "rows"):
        builder.add_table(_rows(block))
        return
    style = str(getattr(block.style, "name", "") or "")
    level = _heading_level(block, style)
    item = _LIST_STYLE.match(style)
    if level:
        builder.add_heading(block.text, level)
    elif item is not None:
        builder.add_list_item(block.text, int(item.group(1) or 1) - 1)
    else:
        builder.add_block(block.text)


def _heading_level(paragraph: Any, style: str) -> int:  # noqa: ANN401  # as above
    """Return 1 to 9 for a heading, 0 for other paragraphs."""
    found = _HEADING_STYLE.match(style)
    if found is not None:
        return int(found.group(1))
    if style.lower() == "title":
        return 1
    elements: list[Any] = [paragraph._p, getattr(paragraph.style, "element", None)]  # noqa: SLF001
    for element in elements:
        levels: list[Any] = [] if element is None else element.xpath(_OUTLINE_LEVEL)
        if levels and str(levels[0]).isdigit() and int(levels[0]) < 9:  # noqa: PLR2004  # body text
            return int(levels[0]) + 1
    return 0


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401  # as above
    """Yield the cells' text of each row; a cell that spans columns counts once."""
    for row in table.rows:
        cells: list[Any] = []
        for cell in row.cells:
            if not cells or cell._tc is not cells[-1]._tc:  # noqa: SLF001  # the only identity a cell has
                cells.append(cell)
        yield [cell.text for cell in cells]


def render_pptx(data: bytes) -> ExtractedText:
    """Extract the slides in order, each a section by its title, with tables and speaker notes.

    Raises:
        InvalidArgument: FORMAT_UNSUPPORTED without python-pptx; FILE_UNREADABLE if damaged.

    """
    try:
        from pptx import Presentation  # noqa: PLC0415  # takes 0.3 s to load
    except ImportError as absent:
        raise missing_extra("PowerPoint") from absent
    builder = TextBuilder()
    with damage_reported("PowerPoint"):
        for number, slide in enumerate(Presentation(io.BytesIO(data)).slides, 1):
            _add_slide(builder, number, slide)
    return builder.build("pptx")


def _add_slide(builder: TextBuilder, number: int, slide: Any) -> None:  # noqa: ANN401  # as above
    title = slide.shapes.title
    words = " ".join(title.text_frame.text.split()) if title is not None else ""
    builder.add_heading(words or f"Slide {number}", 1)
    for shape in _shapes(slide.shapes, 0):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False):
            builder.add_table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                builder.add_list_item(paragraph.text, paragraph.level)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        if notes.strip():
            builder.add_block(f"Notes: {notes}")


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:  # noqa: ANN401  # as above
    """Yield the shapes of a slide, those of groups included."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _MAX_NESTING:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape
