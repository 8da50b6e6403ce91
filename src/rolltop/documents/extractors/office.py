"""Word by python-docx and PowerPoint by python-pptx: headings, paragraphs, lists and tables."""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

from rolltop.documents.extractors.extracted_text import (
    ParsedDocument,
    TextBuilder,
    damage_reported,
    document_too_large,
    missing_extra,
)

MAX_PARAGRAPHS: Final = 200_000
"""Of a Word document; each takes 50 µs. Long novels have 10,000."""
MAX_POINTS: Final = 1_000_000
"""Cells of the charts of a presentation; 64 bytes of the XML of a chart or diagram count as one."""
_HEADING_STYLE: Final = re.compile(r"heading ([1-9])", re.IGNORECASE)
_LIST_STYLE: Final = re.compile(r"list (?:bullet|number|paragraph)\s*(\d?)|compact$", re.IGNORECASE)
_OUTLINE_LEVEL: Final = "./w:pPr/w:outlineLvl/@w:val"
_MAX_BASES: Final = 16
"""Styles, each based on the next, that are asked what the first does not say."""
_MAX_NESTING: Final = 8
_RELATIONS: Final = ".rels"
WORD_BODY: Final = re.compile(r"word/document\d*\.xml")
"""The name of the part with a Word document's text; some programs number it."""
PRESENTATION: Final = re.compile(r"ppt/presentation\d*\.xml")
_WORD_TYPES: Final = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_CHART: Final = ".//c:chart/@r:id"
_CHART_TYPE: Final = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
_DIAGRAM: Final = ".//*[local-name()='relIds']/@r:dm"
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LINES: Final = (f"{_A}p", f"{_C}pt")
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


def render_docx(data: bytes) -> ParsedDocument:
    """Extract a Word document in order, with its text boxes and, at the end, its footnotes.

    Headings are told by their style or outline level. What changes that are tracked delete is left
    out, what they insert is read. Raises InvalidArgument: FORMAT_UNSUPPORTED without python-docx;
    FILE_UNREADABLE if damaged; FILE_TOO_LARGE if it has too many paragraphs.
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
        document: Any = package.open(_drop_dangling(data)).main_document_part.document
        find_style = _style_finder(document)
        body = document.element.body
        for block in () if body is None else _nearest(body, _PARAGRAPH, _TABLE):
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


def _drop_dangling(data: bytes) -> io.BytesIO:
    """Return the file without relations to parts that it lacks: Word ignores them."""
    library: Any = import_module("docx.opc.oxml")
    file = io.BytesIO(data)
    with ZipFile(file, "a") as archive:
        names = frozenset(archive.namelist())
        for name in sorted(name for name in names if name.endswith(_RELATIONS)):
            folder = f"/{name}".removesuffix(posixpath.basename(name))[: -len("_rels/")]
            relations = library.parse_xml(archive.read(name))
            dangling = [
                relation
                for relation in relations.Relationship_lst
                if relation.target_mode != "External"
                and posixpath.normpath(posixpath.join(folder, relation.target_ref))[1:] not in names
            ]
            for relation in dangling:
                relations.remove(relation)
            if dangling:
                del archive.NameToInfo[name]  # the last part of a name is the one that is read
                archive.writestr(name, library.serialize_part_xml(relations))
    return file


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
    """What a style makes of a paragraph: a heading of a level, 0 for none, or a list's item.

    `is_heading` by its name, whatever a paragraph says of itself. `depth` of an item, from 0.
    """

    level: int
    is_heading: bool
    depth: int | None = None


def _style_finder(document: Any) -> Callable[[str | None], _ParagraphStyle]:  # noqa: ANN401  # as above
    """Return a function that looks styles up by their ids, each once: the library takes 1 ms.

    What a style does not say, the one says that it is based on.
    """
    from docx.enum.style import WD_STYLE_TYPE  # noqa: PLC0415  # takes 0.3 s to load

    styles: dict[str | None, Any] = {}
    for element in document.styles.element.iterchildren(f"{_W}style"):
        if element.get(f"{_W}type") == "paragraph":
            styles.setdefault(element.get(f"{_W}styleId"), element)
    default = document.styles.element.default_for(WD_STYLE_TYPE.PARAGRAPH)

    @cache
    def find(style_id: str | None) -> _ParagraphStyle:
        style = styles.get(style_id, default)
        level: int | None = None
        depth: int | None = None
        is_heading = False
        for place in range(_MAX_BASES):
            if style is None:
                break
            name = _property(style, "name")
            if not place and name.lower() == "title":  # a level that no style inherits
                return _ParagraphStyle(1, is_heading=True)
            heading, item = _HEADING_STYLE.match(name), _LIST_STYLE.match(name)
            if level is None:
                level = int(heading[1]) if heading else _outline_level(style)
                is_heading = heading is not None and not place
            if depth is None and item:
                depth = int(item[1] or 1) - 1
            style = styles.get(_property(style, "basedOn"))
        return _ParagraphStyle(level or 0, is_heading, depth)

    return find


def _property(style: Any, name: str) -> str:  # noqa: ANN401  # as above
    """Return a style's own value of a property, "" if it has none."""
    return next(iter(style.xpath(f"./w:{name}/@w:val")), "")


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
    own = None if style.is_heading else _outline_level(block)
    level = style.level if own is None else own
    if level:
        builder.add_heading(text, level)
    elif style.depth is not None:
        builder.add_list_item(text, style.depth)
    else:
        builder.add_block(text)
    for box in _nearest(block, _TEXT_BOX):
        for inner in _nearest(box, _PARAGRAPH, _TABLE):
            _add_block(builder, find_style, inner)


def _outline_level(element: Any) -> int | None:  # noqa: ANN401  # as above
    """Return the level, 1 to 9, that a paragraph or a style says; 0 for body text."""
    levels: list[Any] = element.xpath(_OUTLINE_LEVEL)
    is_level = levels and re.fullmatch("[0-9]", levels[0])
    return (int(levels[0]) + 1) % 10 if is_level else None  # 9 is body text


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401  # as above
    """Yield the cells' text of each row; of a cell that spans rows in each of them.

    One that spans columns counts once.
    """
    above: dict[int, str] = {}
    for row in _nearest(table, f"{_W}tr"):
        column, texts = row.grid_before, list[str]()
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


def render_pptx(data: bytes) -> ParsedDocument:
    """Extract the slides in order, each a section by its title, with tables and speaker notes.

    Of charts the numbers are read, of diagrams (SmartArt) the words; a note says if some are
    damaged, or too large. Raises InvalidArgument: FORMAT_UNSUPPORTED without python-pptx;
    FILE_UNREADABLE if damaged.
    """
    try:
        import_module("pptx")  # takes 0.3 s to load
    except ImportError as absent:
        raise missing_extra("PowerPoint") from absent
    builder = TextBuilder()
    with damage_reported("PowerPoint"):
        # Not by the library's own way, which takes no shows and templates, and parses charts.
        module = import_module("pptx.opc.package")
        module.PartFactory.part_type_for.pop(_CHART_TYPE, None)
        package: Any = import_module("pptx.package").Package.open(io.BytesIO(data))
        drawings = _Drawings()
        for number, slide in enumerate(package.main_document_part.presentation.slides, 1):
            _add_slide(builder, number, slide, drawings)
    unread = ", ".join(map(str, list(drawings.unread)[:10]))
    more = "…" if len(drawings.unread) > 10 else ""  # noqa: PLR2004
    note = f"Slides with charts or diagrams that could not be read: {unread}{more}."
    return builder.build("pptx", note if unread else "")


def _add_slide(builder: TextBuilder, number: int, slide: Any, drawings: _Drawings) -> None:  # noqa: ANN401  # as above
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
        elif not drawings.add(builder, shape):
            drawings.unread[number] = None
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        if notes.strip():
            builder.add_block(f"Notes: {notes}")


class _Drawings:
    """Reads the charts and diagrams of a presentation, which stand in parts of their own.

    `unread` holds the numbers of the slides of which some were left out, in order.
    """

    def __init__(self) -> None:
        self.unread: dict[int, None] = {}
        self._left = MAX_POINTS

    def add(self, builder: TextBuilder, shape: Any) -> bool:  # noqa: ANN401  # as above
        """Add the text of a shape that draws a chart or a diagram; return False if it is damaged.

        Or if it is too large: what the library raises on either is no error of the presentation.
        """
        try:
            for key in shape.element.xpath(_CHART):
                builder.add_table(list(self._rows(self._root(shape, key))))
            for key in shape.element.xpath(_DIAGRAM):
                for words in _lines(self._root(shape, key)):
                    builder.add_list_item(words)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # as of any damaged document
            return False
        return True

    def _spend(self, points: int) -> None:
        """Raise ValueError if there are more points than are left."""
        if points > self._left:
            raise ValueError
        self._left -= points

    def _root(self, shape: Any, key: str) -> Any:  # noqa: ANN401  # as above
        """Return the parsed part of a chart or a diagram."""
        parse: Any = import_module("pptx.oxml").parse_xml
        xml = shape.part.related_part(key).blob
        self._spend(len(xml) // 64 + 1)
        return parse(xml)

    def _rows(self, chart: Any) -> Iterator[list[str]]:  # noqa: ANN401  # as above
        """Yield a chart's title, and rows of its categories and of the values of each series.

        Series that share their categories stand in one table. The XML is read as it is: the
        library knows few kinds of charts, takes no errors for values, and believes any count.
        """
        if title := _join_words(chart.find(f"{_C}chart/{_C}title")):
            yield [title]
        above: list[list[str]] = []
        for series in chart.iterfind(f"{_C}chart/{_C}plotArea/*/{_C}ser"):
            parts = {part.tag.removeprefix(_C): part for part in series.iterchildren(f"{_C}*")}
            categories = parts.get("cat", parts.get("xVal"))
            levels: Any = [] if categories is None else categories.findall(f"*/*/{_C}lvl")
            heads = [self._cells(level) for level in reversed(levels or [categories])]
            if heads != above and any(heads):
                yield from (["", *cells] for cells in heads)
            above = heads
            values = self._cells(parts.get("val", parts.get("yVal")), len(heads[-1]))
            yield [_join_words(parts.get("tx")), *map(_value, values)]

    def _cells(self, values: Any, least: int = 0) -> list[str]:  # noqa: ANN401  # as above
        """Return values of a chart, each in its place, of which there are at least so many."""
        points: Any = [] if values is None else values.iter(f"{_C}pt")
        texts = {int(point.get("idx")): point.findtext(f"{_C}v") for point in points}
        width = max(least, max(texts, default=-1) + 1)
        self._spend(width)
        return [texts.get(place) or "" for place in range(width)]


def _value(text: str) -> str:
    """Return a value without the noise of binary fractions; text, as errors are, as it is."""
    try:
        return f"{float(text):.15g}"
    except ValueError:
        return text


def _join_words(parent: Any) -> str:  # noqa: ANN401  # as above
    """Return the words in an element that may be absent, on one line."""
    return "" if parent is None else " ".join(" ".join(_lines(parent)).split())


def _lines(parent: Any) -> list[str]:  # noqa: ANN401  # as above
    """Return the paragraphs in an element of a drawing, and its values."""
    lines: list[list[str]] = [[]]
    for element in parent.iter(*_LINES, f"{_A}t", f"{_A}br", f"{_C}v"):
        if element.tag in _LINES:
            lines.append([])
        else:
            lines[-1].append(element.text or " ")
    return ["".join(line) for line in lines]


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:  # noqa: ANN401  # as above
    """Yield the shapes of a slide, those of groups included."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _MAX_NESTING:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape
