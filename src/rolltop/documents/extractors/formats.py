"""The formats whose text has to be extracted: how they show in a file's bytes and name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

ZIP_MARK: Final = b"PK\x03\x04"
DOCUMENT_EXTENSIONS: Final = (".pdf", ".docx", ".pptx", ".epub")
HEADER_BYTES: Final = 1_024
"""Bytes at the start of a file within which the format shows."""
_LIBRARIES: Final = ("pypdf", "docx", "pptx")
_PDF_MARK: Final = b"%PDF-"


def count_libraries() -> int:
    """Count the optional libraries that are there: other documents are read with more of them."""
    return sum(find_spec(name) is not None for name in _LIBRARIES)


def has_document_name(name: str) -> bool:
    """Whether a file is named as a document; what it holds may be something else."""
    return name.lower().endswith(DOCUMENT_EXTENSIONS)


def is_extracted(data: bytes, name: str) -> bool:
    """Whether a file is no text but a document, whose text has to be extracted."""
    return is_pdf(data, name) or data.startswith(ZIP_MARK)


def is_pdf(data: bytes, name: str) -> bool:
    """Whether a file is a PDF; in one that is named so, something may stand before the mark."""
    return _PDF_MARK in data[:HEADER_BYTES] and (
        data.startswith(_PDF_MARK) or name.lower().endswith(".pdf")
    )
