"""What slides draw of words and numbers is read too."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml

from rolltop.documents.extractors import read_document

_DRAWING: Final = "http://schemas.openxmlformats.org/drawingml/2006"
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SLIDES: Final = "http://schemas.openxmlformats.org/presentationml/2006/main"


def text_of(deck: Any) -> str:
    made = io.BytesIO()
    deck.save(made)
    return read_document(made.getvalue(), Path("a.pptx")).text


def test_the_numbers_of_a_chart_are_read() -> None:
    deck: Any = Presentation()
    data: Any = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Oil", (1234567.25, None))
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 99, 99, data).chart
    chart.chart_title.text_frame.text = "Litres burnt"
    rows = ["| Litres burnt |", "|  | May | June |", "| Oil | 1234567.25 |  |"]
    assert text_of(deck) == "# Slide 1\n\n" + "\n".join(rows) + "\n"


def test_the_words_of_a_diagram_are_read() -> None:
    deck: Any = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    words = "".join(
        f"<a:p><a:r><a:t>{some}</a:t></a:r></a:p>" for some in ("Fill the tank", "Trim", "")
    )
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
    assert text_of(deck) == "# Slide 1\n\n- Fill the tank\n\n- Trim\n"


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
