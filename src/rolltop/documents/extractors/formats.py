"""Recognises the formats whose text has to be extracted, by the first bytes of a file."""

from __future__ import annotations

from typing import Final

ZIP_MARK: Final = b"PK\x03\x04"
HEADER_BYTES: Final = 1_024
"""Bytes at the start of a file within which the format shows."""
_PDF_MARK: Final = b"%PDF-"


def is_extracted(data: bytes, name: str) -> bool:
    """Whether a file is no text but a document, whose text has to be extracted."""
    return is_pdf(data, name) or data.startswith(ZIP_MARK)


def is_pdf(data: bytes, name: str) -> bool:
    """Whether a file is a PDF; in one that is named so, something may stand before the mark."""
    return _PDF_MARK in data[:HEADER_BYTES] and (
        data.startswith(_PDF_MARK) or name.lower().endswith(".pdf")
    )
