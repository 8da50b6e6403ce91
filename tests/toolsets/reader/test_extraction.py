"""Documents are parsed in processes that end with their limits, and answer as the server would."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from docx import Document as WordDocument

from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.documents.extractors.document_reader import (
    IN_SERVER_BYTES,
    ExtractionPool,
    read_document,
)

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
