"""Long texts as overlapping parts, each about what an embedding model sees at once."""

from __future__ import annotations

from typing import Final

SIZE: Final = 1000
"""Code points of a part; the model looks at about as many."""

OVERLAP: Final = 150
MOST_PARTS: Final = 1000
"""A text has at most about so many parts: those of a very long one grow."""


def chunks(text: str) -> list[str]:
    """Return the parts of a text in order, cut at line ends where possible; `[""]` for `""`.

    Neighbours overlap, so that what stands at a cut is whole in one of them. Every part is at
    most `SIZE` code points, or a thousandth of a text of over a million.
    """
    size = max(SIZE, len(text) // MOST_PARTS + OVERLAP)
    parts: list[str] = []
    start = 0
    while start + size < len(text):
        end = _end(text, start, size)
        parts.append(text[start:end])
        start = _start(text, end)
    parts.append(text[start:])
    return parts


def _end(text: str, start: int, size: int) -> int:
    """Return where the part from `start` on ends: after a paragraph, a line, a word."""
    for boundary in ("\n\n", "\n", " "):
        found = text.rfind(boundary, start + size // 2, start + size)
        if found >= 0:
            return found + len(boundary)
    return start + size


def _start(text: str, end: int) -> int:
    """Return where the part after `end` starts: at a line or a word within the overlap."""
    for boundary in ("\n", " "):
        found = text.find(boundary, end - OVERLAP, end - 1)
        if found >= 0:
            return found + 1
    return end - OVERLAP
