"""What slides draw of words and numbers is read too."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml

from rolltop.documents.extractors.document_reader import read_document

_DRAWING: Final = "http://schemas.openxmlformats.org/drawingml/2006"
_CHARTS: Final = "ppt/charts/chart"
_LEVELS: Final = (
    '<c:lvl><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June</c:v></c:pt></c:lvl>'
    '<c:lvl><c:pt idx="0"><c:v>2024</c:v></c:pt></c:lvl>'
)
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SLIDES: Final = "http://schemas.openxmlformats.org/presentationml/2006/main"


def saved(deck: Any) -> bytes:
    made = io.BytesIO()
    deck.save(made)
    return made.getvalue()


def text_of(deck: Any) -> str:
    return read_document(saved(deck), Path("a.pptx")).text


def charted(kind: XL_CHART_TYPE = XL_CHART_TYPE.COLUMN_CLUSTERED) -> Any:
    """Return a deck of one slide with a chart."""
    deck: Any = Presentation()
    data: Any = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Oil", (1234567.25, None))
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_chart(kind, 0, 0, 99, 99, data)
    return deck


def replaced(data: bytes, name: str, old: str, new: str) -> bytes:
    """Return a presentation with every match of an expression replaced in one of its parts."""
    changed, pattern = io.BytesIO(), re.compile(old, re.DOTALL)
    with ZipFile(io.BytesIO(data)) as given, ZipFile(changed, "w", ZIP_DEFLATED) as made:
        for part in given.namelist():
            text = given.read(part)
            if part.startswith(name):
                text, count = pattern.subn(new, text.decode())
                assert count
            made.writestr(part, text)
    return changed.getvalue()


def test_the_numbers_of_a_chart_are_read() -> None:
    deck = charted()
    chart = deck.slides[0].shapes[0].chart
    chart.chart_title.text_frame.text = "Litres burnt"
    rows = ["| Litres burnt |", "|  | May | June |", "| Oil | 1234567.25 |  |"]
    assert text_of(deck) == "# Slide 1\n\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("c:barChart", "c:bar3DChart", "|  | May | June |\n| Oil | 1234567.25 |  |"),
        ("c:barChart", "c:stockChart", "|  | May | June |\n| Oil | 1234567.25 |  |"),
        ("c:barChart", "c:unknownChart", "|  | May | June |\n| Oil | 1234567.25 |  |"),
        (r"1234567\.25", "#N/A", "|  | May | June |\n| Oil | #N/A |  |"),
        (r"1234567\.25", "0.28999999999999998", "|  | May | June |\n| Oil | 0.29 |  |"),
        (">May<", ">007<", "|  | 007 | June |\n| Oil | 1234567.25 |  |"),
        (
            r'ptCount val="\d+"',
            'ptCount val="2000000000"',
            "|  | May | June |\n| Oil | 1234567.25 |  |",
        ),
        ("<c:cat>.*</c:cat>", "", "| Oil | 1234567.25 |"),
        (
            "(<c:ser>.*</c:ser>)",
            r"\1\1",
            "|  | May | June |\n| Oil | 1234567.25 |  |\n| Oil | 1234567.25 |  |",
        ),
        (
            "<c:cat>.*</c:cat>",
            f"<c:cat><c:multiLvlStrRef><c:cache>{_LEVELS}</c:cache></c:multiLvlStrRef></c:cat>",
            "|  | 2024 |\n|  | May | June |\n| Oil | 1234567.25 |  |",
        ),
    ],
)
def test_a_chart_of_any_kind_is_read_as_it_is(old: str, new: str, rows: str) -> None:
    document = read_document(replaced(saved(charted()), _CHARTS, old, new), Path("a.pptx"))
    assert (document.text, document.note) == (f"# Slide 1\n\n{rows}\n", "")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (_CHARTS, 'idx="0"', 'idx="2000000000"'),
        (_CHARTS, 'idx="0"', 'idx="x"'),
        (_CHARTS, "</c:chart>", ""),
        ("ppt/slides/slide1.xml", 'r:id="[^"]*"', 'r:id="none"'),
        (
            "ppt/slides/_rels/slide1",
            'Target="../charts/[^"]*"',
            'Target="http://localhost/" TargetMode="External"',
        ),
    ],
)
def test_a_chart_that_cannot_be_read_is_left_out_alone(name: str, old: str, new: str) -> None:
    deck = charted()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Oil"
    document = read_document(replaced(saved(deck), name, old, new), Path("a.pptx"))
    assert document.text == "# Slide 1\n\n# Oil\n"
    assert document.note == "Slides with charts or diagrams that could not be read: 1."


def drawn(words: str) -> Any:
    """Return a deck of one slide with a diagram of those paragraphs."""
    deck: Any = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    model = f'<m xmlns:a="{_DRAWING}/main">{words}</m>'.encode()
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, model)
    key = slide.part.relate_to(part, f"{_RELATIONS}/diagramData")
    frame = (
        f'<p:graphicFrame xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}/main" xmlns:r="{_RELATIONS}">'
        '<p:nvGraphicFramePr><p:cNvPr id="9" name="d"/><p:cNvGraphicFramePr/><p:nvPr/>'
        "</p:nvGraphicFramePr><p:xfrm/><a:graphic>"
        f'<a:graphicData uri="{_DRAWING}/diagram">'
        f'<d:relIds xmlns:d="{_DRAWING}/diagram" r:dm="{key}"/>'
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )
    slide.shapes._spTree.append(parse_xml(frame))  # noqa: SLF001  # the library makes none
    return deck


def test_the_words_of_a_diagram_are_read() -> None:
    words = "".join(
        f"<a:p><a:r><a:t>{some}</a:t></a:r></a:p>"
        for some in ("Fill</a:t></a:r><a:br/><a:r><a:t>the tank", "Trim", "")
    )
    assert text_of(drawn(words)) == "# Slide 1\n\n- Fill the tank\n\n- Trim\n"


@pytest.mark.parametrize("words", ["<a:p>", "&none;"])
def test_a_diagram_that_cannot_be_read_is_left_out_alone(words: str) -> None:
    document = read_document(saved(drawn(words)), Path("a.pptx"))
    assert document.text == "# Slide 1\n"
    assert document.note == "Slides with charts or diagrams that could not be read: 1."


def test_a_show_is_read() -> None:
    deck: Any = Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Oil"
    made, shown = io.BytesIO(), io.BytesIO()
    deck.save(made)
    with ZipFile(made) as given, ZipFile(shown, "w") as changed:
        for part in given.namelist():
            text = given.read(part).replace(b"presentation.main+xml", b"slideshow.main+xml")
            changed.writestr(part, text)
    assert read_document(shown.getvalue(), Path("a.ppsx")).text == "# Oil\n"
