"""Bytes to documents: `read_document` is the one door, whatever the format.

Sections' lines are lines of `Document.text`. For text formats that is the file's own text; for
notebooks, PDF, Word, PowerPoint and EPUB it is rendered, and `Document.rendered` says so.
"""

from __future__ import annotations

from rolltop.toolsets.reader.formats.reading import (
    Document,
    is_extracted,
    library_versions,
    read_document,
)

__all__ = ["Document", "is_extracted", "library_versions", "read_document"]
