"""What the reader answers and keeps: shapes and literals."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from rolltop.core.pagination import NextCall

ReadMode = Literal["auto", "summary", "full"]
SummaryStyle = Literal["structured", "extractive", "abstract"]
TokenEncoding = Literal["cl100k_base", "o200k_base"]
JsonObject = dict[str, Any]

DEFAULT_SUMMARY_TOKENS: Final = 800
MIN_SUMMARY: Final = 100
MAX_SUMMARY: Final = 5000
MAX_FILES: Final = 20
MAX_HEADING_LENGTH: Final = 200
"""Characters of a heading that an answer repeats, the mark of a cut counted."""


class OutlineEntry(TypedDict):
    """A section of an outline; its lines and tokens include its children."""

    id: str
    title: str
    level: int
    start_line: int
    end_line: int
    tokens: int


class OutlineAnswer(TypedDict):
    """A document's sections in order."""

    sections: NotRequired[list[str]]
    count: int
    type: Literal["toc"]
    uri: NotRequired[str]
    path: str
    note: str
    outline: list[OutlineEntry]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]
