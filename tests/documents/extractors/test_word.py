"""What a Word document wraps, boxes or notes is part of its text; what it deletes is not."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from docx import Document

from rolltop.documents.extractors.document_reader import read_document

_W: Final = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BODY: Final = "word/document.xml"


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def paragraph(*inside: str) -> str:
    return f"<w:p>{''.join(inside)}</w:p>"


def control(inside: str) -> str:
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{inside}</w:sdtContent></w:sdt>"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(cells)}</w:tr>"


def cell(inside: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inside}</w:tc>"


def packed(body: str, *, notes: str = "", name: str = _BODY) -> bytes:
    """Return a Word document of that body, and of those footnotes."""
    plain, made = io.BytesIO(), io.BytesIO()
    Document().save(plain)
    with ZipFile(plain) as given, ZipFile(made, "w", ZIP_DEFLATED) as changed:
        for part in given.namelist():
            text = given.read(part).decode("utf-8", "surrogateescape")
            if part == _BODY:
                part, text = name, text.replace("<w:body>", f"<w:body>{body}")  # noqa: PLW2901
            elif part == "word/_rels/document.xml.rels" and notes:
                note = f'<Relationship Id="n" Type="{_RELATIONS}/footnotes" Target="notes.xml"/>'
                text = text.replace("</Relationships>", f"{note}</Relationships>")
            text = text.replace(_BODY, name)
            renamed = part.replace("document.xml.rels", f"{Path(name).name}.rels")
            changed.writestr(renamed, text.encode("utf-8", "surrogateescape"))
        if notes:
            changed.writestr("word/notes.xml", f"<w:footnotes {_W}>{notes}</w:footnotes>")
    return made.getvalue()


def edited(name: str, pattern: str, text: str, body: str = "") -> str:
    """Return the text of a Word document in one part of which something is replaced."""
    made, body = io.BytesIO(), body + paragraph(run("Kept."))
    with ZipFile(io.BytesIO(packed(body))) as given, ZipFile(made, "w") as changed:
        for part in given.namelist():
            content = given.read(part)
            if part == name:
                content, count = re.subn(pattern.encode(), text.encode(), content)
                assert count
            changed.writestr(part, content)
    return read_document(made.getvalue(), Path("a.docx")).text


def text_of(body: str, *, notes: str = "", name: str = _BODY) -> str:
    return read_document(packed(body, notes=notes, name=name), Path("a.docx")).text


@pytest.mark.parametrize(
    "body",
    [
        control(paragraph(run("Kept."))),
        control(control(paragraph(control(run("Kept."))))),
        paragraph(f'<w:ins w:id="1" w:author="A">{run("Kept.")}</w:ins>'),
        paragraph(f'<w:moveTo w:id="1" w:author="A">{run("Kept.")}</w:moveTo>'),
        paragraph(f'<w:fldSimple w:instr="AUTHOR">{run("Kept.")}</w:fldSimple>'),
        paragraph(f'<w:smartTag w:element="x">{run("Kept.")}</w:smartTag>'),
        f'<w:customXml w:element="x">{paragraph(run("Kept."))}</w:customXml>',
        paragraph(
            f"<w:r><w:ruby><w:rt>{run('aloud')}</w:rt><w:rubyBase>{run('Kept.')}</w:rubyBase>"
            "</w:ruby></w:r>"
        ),
    ],
)
def test_what_is_around_a_text_does_not_hide_it(body: str) -> None:
    assert text_of(body) == "Kept.\n"


def test_what_tracked_changes_delete_is_left_out() -> None:
    deleted = '<w:del w:id="1" w:author="A"><w:r><w:delText>gone </w:delText></w:r></w:del>'
    moved = f'<w:moveFrom w:id="2" w:author="A">{run("moved ")}</w:moveFrom>'
    assert text_of(paragraph(run("The "), deleted, moved, run("rest."))) == "The rest.\n"


def test_cells_in_controls_and_tables_in_cells_are_read() -> None:
    inner = f"<w:tbl>{row(cell(paragraph(run('deep'))))}</w:tbl>{paragraph()}"
    table = (
        f"<w:tbl>{control(row(cell(paragraph(run('a'))), control(cell(paragraph(run('b'))))))}"
        f"{row(cell(inner), cell(paragraph(run('c'))))}</w:tbl>"
    )
    assert text_of(table) == "| a | b |\n| deep | c |\n"


def test_a_cell_that_spans_rows_stands_in_each_and_one_that_spans_columns_once() -> None:
    table = (
        "<w:tbl>"
        + row(
            cell(paragraph(run("year")), '<w:vMerge w:val="restart"/>'),
            cell(paragraph(run("wide")), '<w:gridSpan w:val="2"/>'),
        )
        + row(
            cell(paragraph(), "<w:vMerge/>"), cell(paragraph(run("x"))), cell(paragraph(run("y")))
        )
        + "</w:tbl>"
    )
    assert text_of(table) == "| year | wide |\n| year | x | y |\n"


def test_a_row_that_begins_further_right_goes_on_with_the_cell_above_it() -> None:
    further = '<w:trPr><w:gridBefore w:val="1"/></w:trPr>'
    table = (
        "<w:tbl>"
        + row(
            cell(paragraph(run("a"))),
            cell(paragraph(run("year")), '<w:vMerge w:val="restart"/>'),
        )
        + row(further, cell(paragraph(), "<w:vMerge/>"), cell(paragraph(run("x"))))
        + "</w:tbl>"
    )
    assert text_of(table) == "| a | year |\n| year | x |\n"


def test_text_boxes_follow_their_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph(run('In a box.'))}</w:txbxContent>"
    older = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    drawing = (
        f'<w:r><mc:AlternateContent xmlns:mc="{older}"><mc:Choice Requires="wps">{box}</mc:Choice>'
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert text_of(paragraph(run("Around."), drawing)) == "Around.\n\nIn a box.\n"


def test_footnotes_stand_at_the_end_with_their_marks() -> None:
    body = paragraph(run("A claim"), '<w:r><w:footnoteReference w:id="2"/></w:r>', run("."))
    notes = (
        f'<w:footnote w:type="separator" w:id="0">{paragraph()}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph(run("Its"), run(" proof."))}</w:footnote>'
    )
    assert text_of(body, notes=notes) == "A claim[^2].\n\n[^2]: Its proof.\n"


def test_breaks_and_tabs_are_text_and_tab_stops_are_not() -> None:
    stops = '<w:pPr><w:tabs><w:tab w:val="left" w:pos="1"/></w:tabs></w:pPr>'
    signs = (
        '<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:br w:type="page"/>'
        "<w:noBreakHyphen/><w:t>d</w:t></w:r>"
    )
    assert text_of(paragraph(stops, signs)) == "a\tb\nc-d\n"


def styled(style: str, name: str, base: str, level: str = "") -> str:
    """Return a style based on another, of an outline level."""
    level = f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>' if level else ""
    return (
        f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{name}"/>'
        f'<w:basedOn w:val="{base}"/>{level}</w:style>'
    )


def test_what_a_style_does_not_say_of_itself_those_say_that_it_is_based_on() -> None:
    styles = (
        styled("Chapter", "Chapter Title", "Heading1")
        + styled("Numbered", "Chapter &quot;1&quot;", "Chapter")
        + styled("Part", "Part", "Numbered", "2")
        + styled("Note", "Note", "Chapter", "9")
        + styled("Point", "Point", "ListBullet2")
        + styled("Round", "Round", "Trip")
        + styled("Trip", "Trip", "Round")
        + styled("Under", "Under the title", "Title")
        + styled("Lost", "Lost", "&quot;")
    )
    names = ["Chapter", "Numbered", "Part", "Note", "Point", "Round", "Under", "Lost", "&quot;"]
    plain = '<w:outlineLvl w:val="9"/>'
    body = "".join(
        paragraph(f'<w:pPr><w:pStyle w:val="{name}"/>{more}</w:pPr>', run(name))
        for name, more in (*((name, "") for name in names), ("Chapter", plain))
    )
    assert edited("word/styles.xml", "</w:styles>", f"{styles}</w:styles>", body) == (
        "# Chapter\n\n# Numbered\n\n### Part\n\nNote\n\n  - Point\n\nRound\n\nUnder\n\nLost\n\n"
        '"\n\nChapter\n\nKept.\n'
    )


def test_outline_levels_make_headings_of_paragraphs_and_of_styles() -> None:
    level = '<w:pPr><w:outlineLvl w:val="2"/></w:pPr>'
    none = '<w:pPr><w:outlineLvl w:val="9"/></w:pPr>'
    title = '<w:pPr><w:pStyle w:val="Title"/><w:outlineLvl w:val="4"/></w:pPr>'
    body = "".join(paragraph(one, run("x")) for one in (level, none, title))
    assert text_of(body) == "### x\n\nx\n\n# x\n"


def test_a_document_whose_body_is_numbered_is_one() -> None:
    body = paragraph(run("Of another program."))
    assert text_of(body, name="word/document2.xml") == "Of another program.\n"


def test_a_pdf_may_be_named_in_capitals() -> None:
    data = Path(__file__).parents[2] / "data" / "documents" / "handbook.pdf"
    read = read_document(b"\n" + data.read_bytes(), Path("HANDBOOK.PDF"))
    assert read.kind == "pdf"


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    ],
)
def test_templates_and_documents_with_macros_are_read(kind: str) -> None:
    made = io.BytesIO()
    with (
        ZipFile(io.BytesIO(packed(paragraph(run("Kept."))))) as given,
        ZipFile(made, "w") as changed,
    ):
        for part in given.namelist():
            usual = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            changed.writestr(part, given.read(part).replace(usual + b".main+xml", kind.encode()))
    assert read_document(made.getvalue(), Path("a.docm")).text == "Kept.\n"


@pytest.mark.parametrize("styles", [' w:default="1"', r"(?s)<w:style .*</w:style>"])
def test_a_document_without_a_default_style_is_read(styles: str) -> None:
    assert edited("word/styles.xml", styles, "") == "Kept.\n"


def test_a_document_without_a_body_is_empty() -> None:
    assert edited(_BODY, r"(?s)<w:body>.*</w:body>", "") == ""


@pytest.mark.parametrize(
    ("name", "end"),
    [("word/_rels/document.xml.rels", ""), ("_rels/.rels", ""),
     ("word/_rels/document.xml.rels", "#_Toc1"), ("word/_rels/document.xml.rels", "../NULL")],
)  # fmt: skip
def test_a_relation_to_a_part_that_is_not_there_hides_no_text(name: str, end: str) -> None:
    relation = f'<Relationship Id="n" Type="{_RELATIONS}/image" Target="{end or "/media/a.png"}"/>'
    assert edited(name, "</Relationships>", f"{relation}</Relationships>") == "Kept.\n"


def test_a_document_of_one_part_is_read() -> None:
    assert edited("word/_rels/document.xml.rels", "<Relationship .*/>", "") == "Kept.\n"


def test_without_headings_titles_are_those_of_plain_text() -> None:
    titles = ["1. Definitions", "2. The lamps", "2.1 Who lights them"]
    body = "".join(paragraph(run(one)) + paragraph(run("It is so agreed.")) for one in titles)
    outline = read_document(packed(body), Path("contract.docx")).outline
    assert [(section.title, section.level) for section in outline.sections] == [
        ("1. Definitions", 1), ("2. The lamps", 1), ("2.1 Who lights them", 2),
    ]  # fmt: skip
    assert (outline.kind, outline.is_divided) == ("docx", False)


def test_a_long_document_without_titles_is_divided() -> None:
    body = paragraph(run("The harbour lies in the north. " * 20)) * 60
    outline = read_document(packed(body), Path("story.docx")).outline
    assert (outline.kind, outline.is_divided) == ("docx", True)
    assert len(outline.sections) > 3
