"""What goes into the index and what comes out, and how texts and lists are cut for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

CHUNK_CODE_POINTS: Final = 1000
"""Code points of a part; the model looks at about as many."""

OVERLAP_CODE_POINTS: Final = 150
MAX_CHUNKS: Final = 1000
"""A text has at most about so many parts: those of a very long one grow."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

QueryMode = Literal["hybrid", "words", "meaning"]
Filters = Mapping[str, str | Sequence[str]]
NO_EMBEDDING = "none"
"""The embedding version where no vector took part."""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """One part of something that can be found: `part` 0, 1, … of the thing `kind`, `id`.

    `filters` belong to the thing, not to the part: what they name may be asked for in a query.
    The tenant is the transaction's.
    """

    kind: str
    id: str
    part: int
    text: str
    filters: Filters = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class IndexHit:
    """One thing that was found, by its best part.

    `score` is between 0 and about 1, higher is better, comparable within one answer. `words` and
    `meaning` say what found it; `embedding_version` is "none" where no vector took part.
    """

    kind: str
    id: str
    part: int
    score: float
    snippet: str
    words: bool
    meaning: bool
    embedding_version: str


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that has no vector of the present model yet."""

    part_id: int
    user_id: str
    text: str


def replace_unstorable(text: str) -> str:
    """Return the text with what a database cannot hold (NUL, lone surrogates) replaced."""
    return _UNSTORABLE.sub("\ufffd", text)


def chunks(text: str) -> list[str]:
    """Return the parts of a text in order, cut at line ends where possible; `[""]` for `""`.

    Neighbours overlap, so that what stands at a cut is whole in one of them. Every part is at
    most `SIZE` code points, or a thousandth of a text of over a million.
    """
    size = max(CHUNK_CODE_POINTS, len(text) // MAX_CHUNKS + OVERLAP_CODE_POINTS)
    parts: list[str] = []
    start = 0
    while start + size < len(text):
        end = _chunk_end(text, start, size)
        parts.append(text[start:end])
        start = _chunk_start(text, end)
    parts.append(text[start:])
    return parts


def _chunk_end(text: str, start: int, size: int) -> int:
    """Return where the part from `start` on ends: after a paragraph, a line, a word."""
    for boundary in ("\n\n", "\n", " "):
        found = text.rfind(boundary, start + size // 2, start + size)
        if found >= 0:
            return found + len(boundary)
    return start + size


def _chunk_start(text: str, end: int) -> int:
    """Return where the part after `end` starts: at a line or a word within the overlap."""
    for boundary in ("\n", " "):
        found = text.find(boundary, end - OVERLAP_CODE_POINTS, end - 1)
        if found >= 0:
            return found + 1
    return end - OVERLAP_CODE_POINTS
