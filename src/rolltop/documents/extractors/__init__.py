"""Bytes to documents, whatever their format: text, notebook, PDF, Word, PowerPoint or EPUB.

Lines of sections are lines of `ParsedDocument.text`, which for formats other than text is rendered.
"""

from __future__ import annotations

from rolltop.documents.extractors.document_reader import (
    ExtractionPool,
    ParsedDocument,
    is_extracted,
    library_versions,
    read_document,
)

__all__ = [
    "ExtractionPool",
    "ParsedDocument",
    "is_extracted",
    "library_versions",
    "read_document",
]
