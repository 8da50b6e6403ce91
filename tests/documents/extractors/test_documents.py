"""Documents written by other programs are read as text with sections; broken ones say so."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    TextStringObject,
)

from rolltop.core.errors import InvalidArgument
from rolltop.documents.extractors import document_reader as archives
from rolltop.documents.extractors import pdf
from rolltop.documents.extractors.document_reader import read_document
from rolltop.documents.extractors.extracted_text import ParsedDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pypdf.generic import PdfObject

DATA: Final = Path(__file__).parents[2] / "data" / "documents"

HANDBOOK: Final = [
    ("Keeping the lamp", 1),
    ("Oil", 2),
    ("Wick", 2),
    ("Keeping the log", 1),
    ("What never goes into the log", 2),
    ("Except", 3),
]


def read(name: str) -> ParsedDocument:
    return read_document((DATA / name).read_bytes(), Path(name))


def titles(document: ParsedDocument) -> list[tuple[str, int]]:
    return [(section.title, section.level) for section in document.outline.sections]


def section_text(document: ParsedDocument, title: str) -> str:
    found = next(s for s in document.outline.sections if s.title == title)
    return "\n".join(document.text.split("\n")[found.start_line - 1 : found.end_line])


def refused(data: bytes, name: str) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        read_document(data, Path(name))
    assert caught.value.hint
    return caught.value


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "title"),
    [("handbook.md", []), ("handbook.docx", [("The lighthouse handbook", 1)]),
     ("handbook.epub", []), ("handbook.ipynb", [])],
)  # fmt: skip
def test_a_handbook_has_the_same_sections_in_every_format(
    name: str, title: list[tuple[str, int]]
) -> None:
    document = read(name)
    assert titles(document) == [*title, *HANDBOOK]
    assert document.rendered == (not name.endswith(".md"))
    assert "größer als 5 €" in document.text
    assert "Trim the wick" in section_text(document, "Wick")
    assert "Wipe the spout." not in section_text(document, "Wick")
    assert "December" in section_text(document, "Wick")


def test_the_kind_and_encoding_of_a_document_are_told() -> None:
    assert read("handbook.md").kind == "markdown"
    assert read("handbook.docx").kind == "docx"
    assert read("handbook.ipynb").kind == "notebook"


def test_slides_are_sections_with_their_tables_and_notes() -> None:
    document = read("handbook.pptx")
    assert [title for title, _ in titles(document)][:2] == [
        "The lighthouse handbook",
        "Keeping the lamp",
    ]
    assert "| June | 7 |" in section_text(document, "Wick")
    assert "- Wipe the spout." in section_text(document, "Oil")


def test_pdf_sections_are_its_bookmarks() -> None:
    document = read("handbook.pdf")
    assert titles(document) == [*HANDBOOK[:4]]
    assert section_text(document, "Oil").startswith("Oil\nFill the tank")
    assert section_text(document, "Keeping the log").startswith("Keeping the log\nWrite down")


def test_pdf_without_bookmarks_has_its_pages_as_sections() -> None:
    document = read("nomarks.pdf")
    assert titles(document) == [("Page 1", 1), ("Page 2", 1)]
    assert section_text(document, "Page 2").startswith("[page 2]\nWick")


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        (b"/Dest [ (x) /Fit ]", HANDBOOK[1:4]),  # one that leads to no page
        (b"/A 5", [("Page 1", 1), ("Page 2", 1)]),  # which pypdf takes for the end of them all
    ],
)
def test_a_pdf_is_read_though_a_bookmark_cannot_be(
    broken: bytes, left: list[tuple[str, int]]
) -> None:
    data = (DATA / "handbook.pdf").read_bytes()
    whole = b"/Dest [ 4 0 R /Fit ]"
    assert whole in data
    changed = data.replace(whole, broken.ljust(len(whole)), 1)
    document = read_document(changed, Path("handbook.pdf"))
    assert document.text == read("handbook.pdf").text
    assert titles(document) == left


def test_bookmarks_that_lead_back_are_sections_of_their_own_pages() -> None:
    writer = PdfWriter(clone_from=DATA / "nomarks.pdf")
    for title, page in (("Preface", 0), ("Index", 1), ("Lamps", 0), ("Wick", 1)):
        writer.add_outline_item(title=title, page_number=page)
    buffer = io.BytesIO()
    writer.write(buffer)
    document = read_document(buffer.getvalue(), Path("book.pdf"))
    assert [title for title, _ in titles(document)] == ["Preface", "Lamps", "Index", "Wick"]
    assert section_text(document, "Lamps").startswith("[page 1]\n")
    assert "[page 2]" not in section_text(document, "Lamps")
    assert section_text(document, "Wick").startswith("Wick\n")


def test_pages_that_are_pictures_are_named_where_others_hold_text() -> None:
    writer = PdfWriter(clone_from=DATA / "nomarks.pdf")
    for drawn in (b"q /Scan Do Q", b"", b"q 9 0 0 9 0 0 cm\nBI /W 1 ID x EI Q"):
        content = DecodedStreamObject()
        content.set_data(drawn)
        writer.add_blank_page(99, 99)[NameObject("/Contents")] = content
    writer.add_blank_page(99, 99)
    buffer = io.BytesIO()
    writer.write(buffer)
    document = read_document(buffer.getvalue(), Path("scan.pdf"))
    assert document.note == "Pages without text, maybe pictures of it: 3, 5."
    assert not document.is_cut


def test_what_is_filled_into_a_form_is_read() -> None:
    writer: Any = PdfWriter()
    writer.add_blank_page(99, 99)
    filled: dict[str, PdfObject | None] = {
        "name": TextStringObject("Ada\nLovelace"),
        "folder": TextStringObject("/srv/logs"),
        "agreed": NameObject("/Yes"),
        "printed": NameObject("/Off"),
        "colours": ArrayObject([TextStringObject("red"), TextStringObject("blue")]),
        "empty": TextStringObject(" "),
        "signed": DictionaryObject(),
        "left out": None,
    }
    fields = ArrayObject()
    for name, value in filled.items():
        field = DictionaryObject({NameObject("/T"): TextStringObject(name)})
        field[NameObject("/FT")] = NameObject("/Tx")
        if value is not None:
            field[NameObject("/V")] = value
        fields.append(writer._add_object(field))  # noqa: SLF001  # the library makes none
    form = DictionaryObject({NameObject("/Fields"): fields})
    writer.root_object[NameObject("/AcroForm")] = form
    made = io.BytesIO()
    writer.write(made)
    document = read_document(made.getvalue(), Path("form.pdf"))
    assert document.text == (
        "[page 1]\n\n[form]\nname: Ada Lovelace\nfolder: /srv/logs\nagreed: Yes\n"
        "colours: red\ncolours: blue\n"
    )


def test_pdf_that_only_its_owner_locked_is_read() -> None:
    assert read("ownerlocked.pdf").text == read("handbook.pdf").text


def test_pages_past_the_time_bound_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TIME_LIMIT_SECONDS", -1.0)
    document = read("handbook.pdf")
    assert document.text == ""
    assert document.note.startswith("Pages 1 to 2 were not read")


def test_a_page_too_large_to_be_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGE_BYTES", 10)
    document = read("nomarks.pdf")
    assert "Pages that could not be read: 1, 2." in document.note
    assert titles(document) == [("Page 1", 1), ("Page 2", 1)]


def test_encrypted_documents_say_so() -> None:
    assert "encrypted" in refused((DATA / "locked.pdf").read_bytes(), "locked.pdf").message
    # An encrypted Word file is a container of the old kind.
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    error = refused(container, "secret.docx")
    assert (error.code, "encrypted" in error.message) == ("FILE_UNREADABLE", True)


@pytest.mark.parametrize("name", ["handbook.odt", "old.doc", "sheet.xlsx"])
def test_formats_that_are_not_read_name_one_that_is(name: str) -> None:
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    data = {
        "handbook.odt": (DATA / "handbook.odt").read_bytes(),
        "old.doc": container,
        "sheet.xlsx": zipped({"xl/workbook.xml": "<x/>"}),
    }[name]
    error = refused(data, name)
    assert error.code == "FORMAT_UNSUPPORTED"
    assert "Save the document as" in error.hint


@pytest.mark.parametrize("name", ["handbook.docx", "handbook.pptx"])
def test_strict_open_xml_says_what_to_save_instead(name: str) -> None:
    with ZipFile(DATA / name) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    strict = {
        part: data.replace(b"http://schemas.openxmlformats.org/", b"http://purl.oclc.org/ooxml/")
        for part, data in parts.items()
    }
    error = refused(zipped(strict), name)
    assert error.code == "FORMAT_UNSUPPORTED"
    assert "not as Strict Open XML" in error.hint


@pytest.mark.parametrize(
    ("library", "name"),
    [("pypdf", "handbook.pdf"), ("docx", "handbook.docx"), ("pptx", "handbook.pptx")],
)
def test_without_the_extra_an_error_names_it(
    library: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    error = refused((DATA / name).read_bytes(), name)
    assert error.code == "FORMAT_UNSUPPORTED"
    assert "rolltop[documents]" in error.hint


@pytest.mark.parametrize(
    "name", ["handbook.pdf", "handbook.docx", "handbook.pptx", "handbook.epub"]
)
def test_damaged_documents_are_refused_or_read_in_part(name: str) -> None:
    whole = (DATA / name).read_bytes()
    for share in range(1, 10):
        cut = whole[: len(whole) * share // 10]
        changed = bytearray(whole)
        changed[len(whole) * share // 10 :: 97] = b"\xff" * len(
            changed[len(whole) * share // 10 :: 97]
        )
        for data in (cut, bytes(changed)):
            try:
                document = read_document(data, Path(name))
            except InvalidArgument as error:
                assert error.code in {"FILE_UNREADABLE", "FILE_BINARY"}  # noqa: PT017
            else:
                assert document.kind == name.rpartition(".")[2]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("handbook.docx", "word/document.xml"),
        ("handbook.pptx", "ppt/presentation.xml"),
        ("handbook.epub", "META-INF/container.xml"),
    ],
)
@pytest.mark.parametrize("at", [0, 10])
def test_packed_data_that_is_damaged_is_said_to_be(name: str, part: str, at: int) -> None:
    with ZipFile(DATA / name) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    data = bytearray(zipped(parts))
    with ZipFile(io.BytesIO(data)) as archive:
        place = archive.getinfo(part).header_offset + 30 + len(part) + at
    data[place : place + 8] = b"\xff" * 8
    assert refused(bytes(data), name).code == "FILE_UNREADABLE"


def test_a_chapter_whose_markup_is_none_is_read_or_refused() -> None:
    with ZipFile(DATA / "handbook.epub") as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    for markup in (
        b"<![unknown[x]]>",
        b"<!DOCTYPE [<!x",
        b"&#" + b"1" * 5_000 + b";",
        b"<![CDATA[",
    ):
        hostile = {
            name: data.replace(b"</body>", markup + b"</body>") for name, data in parts.items()
        }
        assert hostile != parts
        try:
            read_document(zipped(hostile), Path("a.epub"))
        except InvalidArgument as error:
            assert error.code == "FILE_UNREADABLE"  # noqa: PT017  # or it is read


def test_an_archive_that_unpacks_without_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"word/document.xml": b"<w/>" + bytes(3 << 20), "a.bin": bytes(3 << 20)})
    assert len(bomb) < 20_000
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 4 << 20)
    assert refused(bomb, "bomb.docx").code == "FILE_TOO_LARGE"
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100 << 20)
    monkeypatch.setattr(archives, "MAX_MARKUP_BYTES", 2 << 20)
    assert refused(bomb, "bomb.docx").code == "FILE_TOO_LARGE"


CONTAINER: Final = '<container><rootfiles><rootfile full-path="b/p.opf"/></rootfiles></container>'
PACKAGE: Final = (
    '<package><manifest><item id="c" href="my%20c.html" media-type="text/html"/>'
    '<item id="d" href="../d.html" media-type="text/html"/></manifest>'
    '<spine><itemref idref="c"/><itemref idref="gone"/><itemref idref="d"/></spine></package>'
)


def test_epub_chapters_come_in_the_order_of_the_spine() -> None:
    book = {
        "META-INF/container.xml": CONTAINER,
        "b/p.opf": PACKAGE,
        "d.html": "<title>no</title><h2>Second</h2><pre>a\n  b</pre><script>no</script>",
        "b/my c.html": "<html><title/><body><h1>First <i>one</i></h1><p>x<br/>y &amp; z</p></body>",
    }
    document = read_document(zipped(book), Path("book.epub"))
    assert document.text == "# First one\n\nx\n\ny & z\n\n## Second\n\na\n  b\n"
    assert titles(document) == [("First one", 1), ("Second", 2)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<h1>Chapter 1<br/>The Storm</h1>", "# Chapter 1 The Storm\n"),
        ("<h2><div>One</div>Two<p>Three</p></h2>", "## One Two Three\n"),
        ("<ul><li><p>oil</p><p>and wick</p></li><li>log</li></ul>", "- oil\n\nand wick\n\n- log\n"),
        ("<ul><li>\n <div>\n<p>oil</p></div></li><li></li></ul><p>end</p>", "- oil\n\nend\n"),
        ("<ul><li><ul><li>oil</li></ul></li></ul>", "- oil\n"),
        ("<pre>-<br/>oil</pre>", "-\n\noil\n"),
    ],
)
def test_blocks_in_headings_and_list_items(markup: str, text: str) -> None:
    book = {"META-INF/container.xml": CONTAINER, "b/p.opf": PACKAGE, "d.html": markup}
    assert read_document(zipped(book), Path("book.epub")).text == text


def test_epub_that_defines_entities_is_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + CONTAINER
    error = refused(zipped({"META-INF/container.xml": bomb}), "book.epub")
    assert error.code == "FILE_UNREADABLE"


def test_protected_epub_says_so() -> None:
    protection = (
        '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        '<e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/></encryption>'
    )
    parts = {"META-INF/container.xml": CONTAINER, "META-INF/encryption.xml": protection}
    assert "encrypted" in refused(zipped(parts), "book.epub").message


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x01" + bytes(100), b"\x89PNG\r\n\x1a\n", zipped({"a.txt": "x"})]
)
def test_binary_files_are_refused(data: bytes) -> None:
    assert refused(data, "file.txt").code == "FILE_BINARY"


def test_replaced_bytes_are_noted() -> None:
    document = read_document("größer ".encode() * 20 + b"\xff", Path("a.txt"))
    assert "replaced" in document.note
    assert read_document(b"plain", Path("a.txt")).note == ""


def test_reading_text_loads_no_document_library() -> None:
    program = (
        "import sys, pathlib\n"
        "from rolltop.documents.extractors.document_reader import read_document\n"
        "read_document(b'# A', pathlib.Path('a.txt'))\n"
        "sys.exit(any(name in sys.modules for name in ('pypdf', 'docx', 'pptx', 'lxml')))"
    )
    import subprocess  # noqa: PLC0415

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
