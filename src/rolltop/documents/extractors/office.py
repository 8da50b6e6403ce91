"""Word by python-docx and PowerPoint by python-pptx: headings, paragraphs, lists and tables."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from rolltop.documents.extractors.extracted_text import (
    ExtractedText,
    TextBuilder,
    damage_reported,
    document_too_large,
    missing_extra,
)

MAX_PARAGRAPHS: Final = 200_000
"""Of a Word document; each takes 50 µs. Long novels have 10,000."""
_HEADING_STYLE: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST_STYLE: Final = re.compile(r"list (?:bullet|number|paragraph)\s*(\d?)|compact$", re.IGNORECASE)
_OUTLINE_LEVEL: Final = "./w:pPr/w:outlineLvl/@w:val"
_MAX_NESTING: Final = 8
WORD_BODY: Final = re.compile(r"word/document\d*\.xml")
"""The name of the part with a Word document's text; some programs number it."""
PRESENTATION: Final = re.compile(r"ppt/presentation\d*\.xml")
_WORD_TYPES: Final = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_DIAGRAM: Final = ".//*[local-name()='relIds']/@r:dm"
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH: Final = f"{_W}p"
_TABLE: Final = f"{_W}tbl"
_TEXT_BOX: Final = f"{_W}txbxContent"
_BREAK: Final = f"{_W}br"
_TEXTS: Final = frozenset(
    {f"{_W}t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"}
)
_NOTE_MARKS: Final = frozenset({f"{_W}footnoteReference", f"{_W}endnoteReference"})
_SIGNS: Final = {
    f"{_W}{name}": sign
    for name, sign in {
        "tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-",
    }.items()
}  # fmt: skip
# Properties, what a tracked change deletes or moves away, how a character is pronounced, and what
# is written once more for older programs.
_LEFT_OUT: Final = frozenset(
    {
        *(
            f"{_W}{name}"
            for name in (
                "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sectPr", "del",
                "moveFrom", "rt",
            )
        ),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)  # fmt: skip


def render_docx(data: bytes) -> ExtractedText:
    """Extract a Word document in order, with its text boxes and, at the end, its footnotes.

    Headings are told by their style or outline level. What changes that are tracked delete is left
    out, what they insert is read.

    Raises:
        InvalidArgument: FORMAT_UNSUPPORTED without python-docx; FILE_UNREADABLE if damaged;
            FILE_TOO_LARGE if it has too many paragraphs.

    """
    try:
        import_module("docx")  # takes 0.3 s to load
    except ImportError as absent:
        raise missing_extra("Word") from absent
    builder = TextBuilder()
    with damage_reported("Word"):
        _check_paragraphs(data)
        # The library's own way takes no templates, and no documents with macros.
        main = import_module("docx.parts.document").DocumentPart
        import_module("docx.opc.part").PartFactory.part_type_for |= dict.fromkeys(_WORD_TYPES, main)
        package = import_module("docx.package").Package
        document: Any = package.open(io.BytesIO(data)).main_document_part.document
        find_style = _style_finder(document)
        for block in _nearest(document.element.body, _PARAGRAPH, _TABLE):
            _add_block(builder, find_style, block)
        for mark, text in _notes(document.part):
            builder.add_block(f"{mark}: {text}")
    return builder.build("docx")


def _check_paragraphs(data: bytes) -> None:
    """Refuse a document of too many paragraphs before any is parsed."""
    with ZipFile(io.BytesIO(data)) as archive:
        bodies = [archive.read(name) for name in archive.namelist() if WORD_BODY.fullmatch(name)]
    if sum(body.count(b"</w:p>") + body.count(b"<w:p/>") for body in bodies) > MAX_PARAGRAPHS:
        raise document_too_large(
            f"The Word file unpacks to more than {MAX_PARAGRAPHS:,} paragraphs"
        )


def _walk(parent: Any, *events: str) -> Any:  # noqa: ANN401  # of an optional library
    """Go through an element without recursion: it may be deep."""
    return import_module("docx.oxml.parser").etree.iterwalk(parent, events=events)


def _nearest(parent: Any, *tags: str) -> Iterator[Any]:  # noqa: ANN401  # as above
    """Yield the elements of some tags in an element, whatever is around them, in order.

    Not those inside one another: fields, tracked changes and the like wrap paragraphs, tables,
    rows and cells, as tables and text boxes do.
    """
    walk = _walk(parent, "start")
    for _, element in walk:
        if element is parent:
            continue
        if element.tag in tags:
            walk.skip_subtree()
            yield element
        elif element.tag in _LEFT_OUT:
            walk.skip_subtree()


def _text(parent: Any, *left_out: str) -> str:  # noqa: ANN401  # as above
    """Return the text inside an element, each of several paragraphs on a line of its own."""
    parts: list[str] = []
    walk = _walk(parent, "start", "end")
    for event, element in walk:
        tag = element.tag
        if event == "end":
            parts.append("\n" if tag == _PARAGRAPH and element is not parent else "")
        elif tag in _LEFT_OUT or tag in left_out:
            walk.skip_subtree()
        elif tag in _TEXTS:
            parts.append(element.text or "")
        elif tag in _NOTE_MARKS:
            parts.append(_mark(element))
        elif tag != _BREAK or element.get(f"{_W}type") in (None, "textWrapping"):
            parts.append(_SIGNS.get(tag, ""))
    return "".join(parts)


class _ParagraphStyle(NamedTuple):
    """A paragraph style: its name, and the level of a heading that it makes, 0 for none.

    `is_heading` by its name, whatever a paragraph says of itself.
    """

    name: str
    level: int
    is_heading: bool


def _style_finder(document: Any) -> Callable[[str | None], _ParagraphStyle]:  # noqa: ANN401  # as above
    """Return a function that looks styles up by their ids, each once: the library takes 1 ms."""
    from docx.enum.style import WD_STYLE_TYPE  # noqa: PLC0415  # takes 0.3 s to load

    @cache
    def find(style_id: str | None) -> _ParagraphStyle:
        style = document.part.get_style(style_id, WD_STYLE_TYPE.PARAGRAPH)
        name = str(style.name or "")
        found = _HEADING_STYLE.match(name)
        named = int(found.group(1)) if found else int(name.lower() == "title")
        return _ParagraphStyle(name, named or _outline_level(style.element), bool(named))

    return find


def _add_block(
    builder: TextBuilder,
    find_style: Callable[[str | None], _ParagraphStyle],
    block: Any,  # noqa: ANN401  # as above
) -> None:
    if block.tag == _TABLE:
        builder.add_table(_rows(block))
        return
    style = find_style(block.style)
    text = _text(block, _TEXT_BOX)
    level = style.level if style.is_heading else _outline_level(block) or style.level
    item = _LIST_STYLE.match(style.name)
    if level:
        builder.add_heading(text, level)
    elif item is not None:
        builder.add_list_item(text, int(item.group(1) or 1) - 1)
    else:
        builder.add_block(text)
    for box in _nearest(block, _TEXT_BOX):
        for inner in _nearest(box, _PARAGRAPH, _TABLE):
            _add_block(builder, find_style, inner)


def _outline_level(element: Any) -> int:  # noqa: ANN401  # as above
    """Return the level, 1 to 9, that a paragraph or a style says; 0 for none."""
    levels: list[Any] = element.xpath(_OUTLINE_LEVEL)
    is_level = levels and str(levels[0]).isdigit() and int(levels[0]) < 9  # noqa: PLR2004  # body text
    return int(levels[0]) + 1 if is_level else 0


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401  # as above
    """Yield the cells' text of each row; of a cell that spans rows in each of them.

    One that spans columns counts once.
    """
    above: dict[int, str] = {}
    for row in _nearest(table, f"{_W}tr"):
        column, texts = 0, list[str]()
        for cell in _nearest(row, f"{_W}tc"):
            goes_on = cell.vMerge == "continue" and column in above
            texts.append(above[column] if goes_on else _text(cell))
            above[column] = texts[-1]
            column += cell.grid_span
        yield texts


def _notes(part: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # as above
    """Yield the footnotes and endnotes of a document, each with its mark."""
    from docx.oxml.parser import parse_xml  # noqa: PLC0415  # takes 0.3 s to load

    for relation in part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in ("footnotes", "endnotes") and not relation.is_external:
            for note in _nearest(parse_xml(relation.target_part.blob), f"{_W}{kind[:-1]}"):
                if text := " ".join(_text(note).split()):
                    yield _mark(note), text


def _mark(note: Any) -> str:  # noqa: ANN401  # as above
    """Return the mark of a note, or of the reference to one: `[^2]`, of an endnote `[^e2]`."""
    kind = "e" if note.tag.startswith(f"{_W}endnote") else ""
    return f"[^{kind}{note.get(f'{_W}id')}]"


def render_pptx(data: bytes) -> ExtractedText:
    """Extract the slides in order, each a section by its title, with tables and speaker notes.

    Of charts the numbers are read, of diagrams (SmartArt) the words.

    Raises:
        InvalidArgument: FORMAT_UNSUPPORTED without python-pptx; FILE_UNREADABLE if damaged.

    """
    try:
        import_module("pptx")  # takes 0.3 s to load
    except ImportError as absent:
        raise missing_extra("PowerPoint") from absent
    builder = TextBuilder()
    with damage_reported("PowerPoint"):
        # Not by the library's own way, which takes no shows and templates.
        part: Any = import_module("pptx.package").Package.open(io.BytesIO(data)).main_document_part
        for number, slide in enumerate(part.presentation.slides, 1):
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
        elif getattr(shape, "has_chart", False):
            builder.add_table(_chart_rows(shape.chart))
        else:
            for words in _diagram_texts(shape):
                builder.add_list_item(words)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        if notes.strip():
            builder.add_block(f"Notes: {notes}")


def _chart_rows(chart: Any) -> Iterator[list[str]]:  # noqa: ANN401  # as above
    """Yield a chart's title, and rows of its categories and of the values of each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield [chart.chart_title.text_frame.text]
    for plot in chart.plots:
        yield ["", *map(str, plot.categories)]
        for series in plot.series:
            values = ("" if value is None else f"{value:.15g}" for value in series.values)
            yield [series.name, *values]


def _diagram_texts(shape: Any) -> Iterator[str]:  # noqa: ANN401  # as above
    """Yield the texts of the boxes of a diagram, which stand in a part of its own."""
    parse: Any = import_module("pptx.oxml").parse_xml
    for key in shape.element.xpath(_DIAGRAM):
        for words in parse(shape.part.related_part(key).blob).iter(f"{_A}p"):
            yield "".join(part.text or "" for part in words.iter(f"{_A}t"))


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:  # noqa: ANN401  # as above
    """Yield the shapes of a slide, those of groups included."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _MAX_NESTING:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape
