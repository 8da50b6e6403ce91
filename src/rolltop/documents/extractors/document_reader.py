"""Bytes to a document with its outline: here, or in a worker process that can be killed."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import ZipFile

from rolltop.core import logging
from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.core.lazy_imports import lazy
from rolltop.core.worker_process import MAX_MEMORY_BYTES, Worker, WorkerDied, WorkerPool
from rolltop.documents.extractors.extracted_text import (
    ParsedDocument,
    damage_reported,
    document_too_large,
    encrypted_document,
)
from rolltop.documents.extractors.formats import ZIP_MARK, is_extracted, is_pdf
from rolltop.documents.outline import detect_file_type, parse_outline
from rolltop.workspace.encoding import decode, is_binary

if TYPE_CHECKING:
    from rolltop.documents.extractors import epub, notebook, office, pdf
else:
    epub = lazy("rolltop.documents.extractors.epub")
    notebook = lazy("rolltop.documents.extractors.notebook")
    office = lazy("rolltop.documents.extractors.office")
    pdf = lazy("rolltop.documents.extractors.pdf")

IN_SERVER_BYTES: Final = 256 << 10
"""Text files up to this size are parsed in the server: faster than starting a process."""
MAX_SECONDS: Final = 30.0
_MAX_WORKERS: Final = 16
_MAX_IDLE_SECONDS: Final = 60.0

MAX_UNPACKED_BYTES: Final = 512 << 20
"""Of all parts of a zip file together."""
MAX_MARKUP_BYTES: Final = 96 << 20
"""Of one part that is parsed as markup; pictures are not."""
MAX_PARTS: Final = 20_000
_MARKUP_EXTENSIONS: Final = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_ENCRYPTED_FLAG: Final = 1

_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RELATIONS: Final = "_rels/.rels"
_STRICT: Final = b"//purl.oclc.org/ooxml/"
"""What begins the names of Strict Open XML, which Word and PowerPoint write on request."""
_LIBRARIES: Final = ("pypdf", "python-docx", "python-pptx")
_LEGACY_FORMATS: Final = {
    ".doc": ("Old Word", ".docx"),
    ".ppt": ("Old PowerPoint", ".pptx"),
    ".xls": ("Old Excel", ".csv"),
}
_UNSUPPORTED_ZIP_FORMATS: Final = {
    ".xlsx": ("Excel", ".csv"),
    ".odt": ("OpenDocument", ".docx or .md"),
    ".odp": ("OpenDocument", ".pptx or .pdf"),
    ".ods": ("OpenDocument", ".csv"),
    ".pages": ("Pages", ".docx or .pdf"),
    ".key": ("Keynote", ".pptx or .pdf"),
}


class ParserFault(RolltopError):
    """A parser raised what it should not, in a worker process, which has no log."""

    is_loggable = True


class ExtractionPool:
    """Worker processes that parse documents: started when needed, one kept for the next."""

    def __init__(self, seconds: float = MAX_SECONDS) -> None:
        """Start nothing yet; `seconds` bounds the parsing of one document."""
        self._seconds: Final = seconds
        self._pool: Final = WorkerPool(
            Worker(f"{__name__}:parser"),
            max_workers=_MAX_WORKERS,
            idle_seconds=_MAX_IDLE_SECONDS,
        )

    def read(self, data: bytes, path: Path) -> ParsedDocument:
        """Parse a file as `read_document` does, in a worker if it is large or no text; blocks.

        Raises:
            InvalidArgument: as `read_document`; FILE_TOO_LARGE if time or memory ran out.
            ParserFault: a worker failed to parse the file.
            Unavailable: no process can be started.

        """
        if len(data) <= IN_SERVER_BYTES and not is_extracted(data, path.name):
            return read_document(data, path)
        try:
            answer: ParsedDocument | RolltopError = self._pool.call(
                (data, path), self._seconds, self._seconds
            )
        except WorkerDied:
            raise document_too_large(
                f"The file takes more than {self._seconds:g} s or"
                f" {MAX_MEMORY_BYTES >> 30} GiB of memory to parse"
            ) from None
        if isinstance(answer, RolltopError):
            raise answer
        return answer

    def close(self) -> None:
        """End all processes."""
        self._pool.close()


def parser() -> Callable[[tuple[bytes, Path]], ParsedDocument | RolltopError]:
    """Return the function that a worker process runs."""

    def parse(request: tuple[bytes, Path]) -> ParsedDocument | RolltopError:
        try:
            return read_document(*request)
        except RolltopError as problem:
            problem.__cause__ = problem.__context__ = None  # what they hold may not be picklable
            return problem
        except MemoryError:
            raise  # the process ends, as one does that the system has no memory for
        except Exception as fault:  # noqa: BLE001  # the server tells it, and works on
            return ParserFault(
                "The server failed to parse the file",
                hint="Read another file, and tell whoever runs this server: its log says where.",
                detail=logging.describe_exception(fault),
            )

    return parse


def read_document(data: bytes, path: Path) -> ParsedDocument:
    """Parse a file's bytes; the path's extension helps to tell the format.

    Raises InvalidArgument: FILE_BINARY; FORMAT_UNSUPPORTED (the hint names the extra or another
    format); FILE_UNREADABLE if damaged or encrypted; FILE_TOO_LARGE if it unpacks beyond bounds.
    """
    suffix = path.suffix.lower()
    if is_pdf(data, path.name):
        return pdf.render(data)
    if data.startswith(ZIP_MARK):
        return _read_zip(data, suffix)
    if data.startswith(_OLD_OFFICE):
        if suffix in (".docx", ".pptx", ".xlsx"):  # the container of encrypted new files
            raise encrypted_document(suffix.lstrip("."))
        raise _unsupported_format(suffix, _LEGACY_FORMATS)
    if is_binary(data):
        raise _binary_file()
    return _read_text(data, path)


@cache
def library_versions() -> str:
    """Return the releases of the optional libraries: extracted texts depend on them."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # takes 30 ms

    def describe(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"no {name}"

    return ", ".join(map(describe, _LIBRARIES))


def _read_text(data: bytes, path: Path) -> ParsedDocument:
    decoded = decode(data)
    note = "" if decoded.is_exact else f"Bytes that are not {decoded.encoding} were replaced."
    kind = detect_file_type(path.name, decoded.text)
    if kind == "notebook":
        extracted = notebook.render(decoded.text)
        if extracted is not None:
            return extracted
        kind = "json"
    outline = parse_outline(decoded.text, kind)
    return ParsedDocument(decoded.text, outline, note, rendered=False)


def _read_zip(data: bytes, suffix: str) -> ParsedDocument:
    with _open_archive(data, suffix.lstrip(".") or "zip") as archive:
        names = set(archive.namelist())
        if any(map(office.WORD_BODY.fullmatch, names)):
            _check_not_strict(archive, "docx")
            return office.render_docx(data)
        if any(map(office.PRESENTATION.fullmatch, names)):
            _check_not_strict(archive, "pptx")
            return office.render_pptx(data)
        if "META-INF/container.xml" in names:
            return epub.render(archive)
    raise _unsupported_format(suffix, _UNSUPPORTED_ZIP_FORMATS)


def _open_archive(data: bytes, name: str) -> ZipFile:
    """Open a zip file whose directory states sizes within bounds.

    `zipfile` never unpacks a part beyond its stated size, so those bound the cost of the whole.
    """
    with damage_reported(name):
        archive = ZipFile(io.BytesIO(data))
    parts = archive.infolist()
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise encrypted_document(name)
    if len(parts) > MAX_PARTS:
        raise document_too_large(f"The {name} file unpacks to more than {MAX_PARTS} parts")
    markup = (part for part in parts if part.filename.lower().endswith(_MARKUP_EXTENSIONS))
    for size, limit, where in (
        (sum(part.file_size for part in parts), MAX_UNPACKED_BYTES, ""),
        (max((part.file_size for part in markup), default=0), MAX_MARKUP_BYTES, " in one part"),
    ):
        if size > limit:
            raise document_too_large(
                f"The {name} file unpacks to more than {limit >> 20} MiB{where}"
            )
    return archive


def _unsupported_format(suffix: str, formats: dict[str, tuple[str, str]]) -> InvalidArgument:
    if suffix not in formats:
        return _binary_file()
    name, instead = formats[suffix]
    return InvalidArgument(
        f"{name} files are not read",
        code="FORMAT_UNSUPPORTED",
        hint=f"Save the document as {instead} and read that.",
    )


def _check_not_strict(archive: ZipFile, kind: str) -> None:
    """Raise FORMAT_UNSUPPORTED for Strict Open XML, whose names no library knows."""
    with damage_reported(kind):
        if _RELATIONS in archive.namelist() and _STRICT in archive.read(_RELATIONS):
            raise InvalidArgument(
                "Strict Open XML files are not read",
                code="FORMAT_UNSUPPORTED",
                hint=f"Save the document as an ordinary .{kind}, not as Strict Open XML, and read"
                " that.",
            )


def _binary_file() -> InvalidArgument:
    return InvalidArgument(
        "The file is binary, not text",
        code="FILE_BINARY",
        hint="Only text and documents are read; name another file.",
    )
