"""The bytes of a file as numbered lines of text."""

from __future__ import annotations

from rolltop.toolsets.retrieval.formats.encodings import encoding_at
from rolltop.toolsets.retrieval.formats.surveying import Binary, Survey, survey
from rolltop.toolsets.retrieval.formats.windows import Changed, Windows

__all__ = ["Binary", "Changed", "Survey", "Windows", "encoding_at", "survey"]
