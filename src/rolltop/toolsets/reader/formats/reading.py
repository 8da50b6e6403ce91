"""The one door: bytes and a path to a document with its outline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from rolltop.core.lazy import lazy
from rolltop.core.text.decode import decode, is_binary
from rolltop.core.text.outline import Outline, kind_of, outline
from rolltop.toolsets.reader.formats.archive import open_archive
from rolltop.toolsets.reader.formats.failures import binary, encrypted, unsupported

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.toolsets.reader.formats import epub, notebook, office, pdf
    from rolltop.toolsets.reader.formats.rendering import Rendered
else:
    epub = lazy("rolltop.toolsets.reader.formats.epub")
    notebook = lazy("rolltop.toolsets.reader.formats.notebook")
    office = lazy("rolltop.toolsets.reader.formats.office")
    pdf = lazy("rolltop.toolsets.reader.formats.pdf")

_ZIP: Final = b"PK\x03\x04"
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_WITHIN: Final = 1_024
"""Bytes within which a PDF's own mark may stand."""

_LIBRARIES: Final = ("pypdf", "python-docx", "python-pptx")

_OLD_NAMES: Final = {
    ".doc": ("Old Word", ".docx"),
    ".ppt": ("Old PowerPoint", ".pptx"),
    ".xls": ("Old Excel", ".csv"),
}
_ZIPPED_NAMES: Final = {
    ".xlsx": ("Excel", ".csv"),
    ".odt": ("OpenDocument", ".docx or .md"),
    ".odp": ("OpenDocument", ".pptx or .pdf"),
    ".ods": ("OpenDocument", ".csv"),
    ".pages": ("Pages", ".docx or .pdf"),
    ".key": ("Keynote", ".pptx or .pdf"),
}


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file, how it was read, and its sections.

    `encoding` is Python's name of the encoding, or the format's name where the text is
    `rendered` from a format that is no text. `note` says what the text leaves out, if anything.
    """

    text: str
    encoding: str
    kind: str
    outline: Outline
    rendered: bool = False
    note: str = ""


def read_document(data: bytes, path: Path) -> Document:
    """Return the document that a file's bytes hold; the path's ending helps to tell the format.

    Raises:
        Invalid: FILE_BINARY; FORMAT_UNSUPPORTED (the hint names the extra or another format);
            FILE_UNREADABLE if damaged or encrypted; FILE_TOO_LARGE if it unpacks beyond bounds.

    """
    if _is_pdf(data, path):
        return _rendered(pdf.render(data), "pdf")
    if data.startswith(_ZIP):
        return _zipped(data, path.suffix.lower())
    if data.startswith(_OLD_OFFICE):
        raise _old_office(path.suffix.lower())
    if is_binary(data):
        raise binary()
    return _text(data, path)


def is_extracted(data: bytes, path: Path) -> bool:
    """Whether the bytes are those of a format whose text is extracted, which takes its time."""
    return _is_pdf(data, path) or data.startswith(_ZIP)


@cache
def library_versions() -> str:
    """Return the releases of the optional libraries, on which extracted texts depend."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # takes 30 ms

    def of(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"no {name}"

    return ", ".join(map(of, _LIBRARIES))


def _is_pdf(data: bytes, path: Path) -> bool:
    mark = b"%PDF-"
    return mark in data[:_PDF_WITHIN] and (data.startswith(mark) or path.suffix == ".pdf")


def _text(data: bytes, path: Path) -> Document:
    decoded = decode(data)
    note = "" if decoded.exact else f"Bytes that are not {decoded.encoding} were replaced."
    kind = kind_of(path.name, decoded.text)
    if kind == "notebook":
        rendered = notebook.render(decoded.text)
        if rendered is not None:
            return _rendered(rendered, kind, decoded.encoding)
        kind = "json"
    return Document(decoded.text, decoded.encoding, kind, outline(decoded.text, kind), note=note)


def _rendered(rendered: Rendered, kind: str, encoding: str | None = None) -> Document:
    return Document(
        rendered.text, encoding or kind, kind, rendered.outline, rendered=True, note=rendered.note
    )


def _zipped(data: bytes, suffix: str) -> Document:
    """Return the document in a zip file, by the parts it has."""
    with open_archive(data, suffix.lstrip(".") or "zip") as archive:
        names = set(archive.namelist())
        if "word/document.xml" in names:
            return _rendered(office.render_docx(data), "docx")
        if "ppt/presentation.xml" in names:
            return _rendered(office.render_pptx(data), "pptx")
        if "META-INF/container.xml" in names:
            return _rendered(epub.render(archive), "epub")
    if suffix in _ZIPPED_NAMES:
        raise unsupported(*_ZIPPED_NAMES[suffix])
    raise binary()


def _old_office(suffix: str) -> Exception:
    """Return the error for the container of old Office files and of encrypted new ones."""
    if suffix in _OLD_NAMES:
        return unsupported(*_OLD_NAMES[suffix])
    if suffix in (".docx", ".pptx", ".xlsx"):
        return encrypted(suffix.lstrip("."))
    return binary()
