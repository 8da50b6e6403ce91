"""Documents are parsed in processes that end with their limits, and answer as the server would."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from docx import Document as WordDocument
from pypdf import PdfWriter

from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.documents.extractors.document_reader import (
    IN_SERVER_BYTES,
    ExtractionPool,
    ParserFault,
    read_document,
)
from rolltop.toolsets.reader.section_plan import MAX_EXPANDED, list_files
from tests.toolsets.reader.shelf import make_shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.toolsets.reader.shelf import Shelf

_LARGE = b"# Large\n\n" + b"A line of a large text.\n" * (IN_SERVER_BYTES // 20)


@pytest.fixture
def extraction() -> Iterator[ExtractionPool]:
    made = ExtractionPool()
    yield made
    made.close()


def word_document(paragraph: bytes, count: int) -> bytes:
    """Return a Word document that holds one paragraph many times."""
    plain = io.BytesIO()
    WordDocument().save(plain)
    made = io.BytesIO()
    with ZipFile(plain) as given, ZipFile(made, "w", ZIP_DEFLATED) as changed:
        for name in given.namelist():
            part = given.read(name)
            if name == "word/document.xml":
                part = part.replace(b"<w:body>", b"<w:body>" + paragraph * count)
            changed.writestr(name, part)
    return made.getvalue()


@pytest.mark.parametrize("paragraph", [b"<w:p/>", b"<w:p><w:r><w:t>x</w:t></w:r></w:p>"])
def test_a_word_document_of_a_million_paragraphs_is_refused(shelf: Shelf, paragraph: bytes) -> None:
    shelf.put("long.docx", word_document(paragraph, 1_200_000))
    error = shelf.fails("smart_read", file_path="long.docx")
    assert error["code"] == "FILE_TOO_LARGE"
    assert "200,000 paragraphs" in error["error"]


def test_a_document_that_takes_too_long_is_refused_and_the_next_one_read() -> None:
    impatient = ExtractionPool(seconds=1.0)
    endless = word_document(b"<w:p ></w:p >", 1_000_000)
    with pytest.raises(InvalidArgument) as refused:
        impatient.read(endless, Path("long.docx"))
    assert refused.value.code == "FILE_TOO_LARGE"
    patient = ExtractionPool()
    short = word_document(b"<w:p><w:r><w:t>Short.</w:t></w:r></w:p>", 1)
    assert patient.read(short, Path("short.docx")).text == "Short.\n"
    patient.close()


def test_a_large_text_is_the_same_as_the_server_would_read_it(extraction: ExtractionPool) -> None:
    for _ in range(2):  # by a new process, and by one that has waited
        read = extraction.read(_LARGE, Path("large.md"))
        assert read == read_document(_LARGE, Path("large.md"))


def test_the_error_of_a_document_is_told_as_it_is(extraction: ExtractionPool) -> None:
    with pytest.raises(InvalidArgument) as refused:
        extraction.read(b"%PDF-1.7 and no more", Path("broken.pdf"))
    assert refused.value.code == "FILE_UNREADABLE"
    assert refused.value.hint


def test_what_a_parser_should_not_raise_is_no_word_on_the_size(extraction: ExtractionPool) -> None:
    nameless: Any = None  # as nobody calls it
    with pytest.raises(RolltopError) as failed:
        extraction.read(_LARGE, nameless)
    assert failed.value.code == "INTERNAL_ERROR"
    assert "AttributeError at extractors/document_reader.py" in failed.value.log_reason
    assert extraction.read(_LARGE, Path("large.md")).kind == "markdown"


def test_documents_that_never_finish_do_not_cost_the_plan_of_their_folder(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path / "docs", settings={"call_timeout": 4})
    shelf.put("many/a.pdf", endless_pdf(b"a"))
    shelf.put("many/b.pdf", endless_pdf(b"b"))
    shelf.put("many/rivers.md", "# Rivers\n\nA river flows to the sea.\n")
    asked = {"file_paths": ["many"], "query": "river sea", "budget_tokens": 500}
    answer = shelf.ok("read_plan", **asked)
    assert [section["title"] for section in answer["sections"]] == ["Rivers"]
    assert answer["unread_files"] == 2
    river = word_document(b"<w:p><w:r><w:t>A river of words.</w:t></w:r></w:p>", 1)
    shelf.put("many/c.docx", river)
    for _ in range(20):  # each at most waits for one that is not known yet
        answer = shelf.ok("read_plan", **asked)
        if answer["unread_files"] == 2:
            break
    assert {Path(section["path"]).name for section in answer["sections"]} == {"rivers.md", "c.docx"}


def test_a_document_asked_for_by_name_has_all_of_the_calls_time(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path / "docs", settings={"call_timeout": 3})
    shelf.put("a.pdf", endless_pdf(b"a"))
    assert shelf.fails("smart_read", file_path="a.pdf")["code"] == "TIMEOUT"


@pytest.mark.parametrize("failure", [ParserFault("It fails"), InvalidArgument("It is slow")])
def test_a_plan_tries_what_failed_again_only_once_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: RolltopError
) -> None:
    shelf = make_shelf(tmp_path / "docs", settings={"reader.cache_bytes": 0})
    shelf.put("many/rivers.md", "# Rivers\n\nA river flows to the sea.\n")
    shelf.put("other.md", "# Other\n")
    asked = {"file_paths": ["many"], "query": "river sea", "budget_tokens": 500}

    def fail(*_: object) -> object:
        raise failure

    with monkeypatch.context() as broken:
        broken.setattr(ExtractionPool, "read", fail)
        assert shelf.ok("read_plan", **asked)["unread_files"] == 1
    assert shelf.ok("read_plan", **asked)["unread_files"] == 1
    assert shelf.ok("smart_read", file_path="many/rivers.md")["content"]
    shelf.ok("estimate_tokens", file_path="other.md")
    assert "unread_files" not in shelf.ok("read_plan", **asked)


def test_the_files_that_no_time_is_left_to_search_are_ranked_by_their_paths(shelf: Shelf) -> None:
    for number in range(MAX_EXPANDED):
        shelf.put(f"many/{number}.md", f"# River {number}\n\nA long river.\n")
    river = str(shelf.put("many/river.md", "# The sea\n"))
    listed = list_files(shelf.desk.roots, ["many"], "river", 1 << 20, 0.0)
    assert listed.expanded[0] == river
    assert listed.unread == 1
    listed = list_files(shelf.desk.roots, ["many"], "river", 1 << 20, 300_000_000.0)
    assert river not in listed.expanded


def test_a_plan_for_which_no_file_could_be_read_says_no_word_of_its_sections(shelf: Shelf) -> None:
    shelf.put("broken/a.pdf", b"%PDF-1.4\nno objects")
    asked = {"file_paths": ["broken"], "query": "river", "budget_tokens": 500}
    answer = shelf.ok("read_plan", **asked)
    assert answer["unread_files"] == 1
    assert answer["note"] == "None of the files could be read."


def endless_pdf(text: bytes) -> bytes:
    """Return a PDF of one page that draws a long form thousands of times."""
    form = b"BT /F 9 Tf " + b"(%b) Tj 1 0 0 1 0 0 Tm " % text * 20_000 + b"ET"
    page = b"/X Do " * 3_000
    return b"\n".join(
        (
            b"%PDF-1.4",
            b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
            b"2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj",
            b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R",
            b"/Resources<</Font<</F 6 0 R>>/XObject<</X 5 0 R>>>>>>endobj",
            b"4 0 obj<</Length %d>>stream\n%b\nendstream endobj" % (len(page), page),
            b"5 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 9 9]",
            b"/Resources<</Font<</F 6 0 R>>>>/Length %d>>stream" % len(form),
            form,
            b"endstream endobj",
            b"6 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
            b"trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF",
        )
    )


def test_what_a_document_lacks_is_said_by_every_tool(shelf: Shelf) -> None:
    scan = io.BytesIO()
    writer = PdfWriter()
    writer.add_blank_page(72, 72)
    writer.write(scan)
    path = str(shelf.put("scan.pdf", scan.getvalue()))
    read = {"file_path": "scan.pdf"}
    note = shelf.ok("smart_read", **read)["note"]
    assert "pictures" in note
    assert shelf.ok("estimate_tokens", **read)["note"] == note
    asked = {"file_paths": ["scan.pdf"], "query": "contract price", "budget_tokens": 500}
    assert shelf.ok("read_plan", **asked)["notes"] == {path: note}
    assert shelf.ok("read_plan", **asked, max_tokens=200)["type"] == "plan"
    section = shelf.ok("list_sections", **read)["outline"][0]["id"]
    assert shelf.ok("read_section", **read, section_heading=section)["note"] == note
