"""What sections cost in tokens, and outlines as the store keeps them."""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, cast

from rolltop.core import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rolltop.core.text.outline import Section

_LAYOUT: Final = b"1"
"""Part of every key: outlines kept by a program that made them otherwise are not found."""


def key(path: Path) -> bytes:
    """Return what, besides its bytes, decides how a file is read: its name."""
    name = path.name.encode("utf-8", "surrogateescape")
    return blake2b(name, digest_size=32, person=_LAYOUT).digest()


def offsets(text: str, starts: Sequence[int], section: Section) -> tuple[int, int]:
    """Return where a section's first line starts and its last line ends in the text."""
    end = starts[section.end_line] if section.end_line < len(starts) else len(text)
    return starts[section.start_line - 1], end


def counted(
    text: str, starts: Sequence[int], sections: Sequence[Section]
) -> tuple[int, tuple[int, ...]]:
    """Return a text's tokens, and those of each section with its children.

    The text is counted once, in the stretches between sections: a word of the encoding never
    reaches over the start of a line that is not blank, so that the stretches add up.
    """
    spans = [offsets(text, starts, section) for section in sections]
    places = {place for span in spans for place in span if _is_cut(text, place)}
    cuts = sorted(places | {0, len(text)})
    costs = [tokens.count(text[start:end]) for start, end in pairwise(cuts)]
    before = dict(zip(cuts, [0, *accumulate(costs)], strict=True))
    return before[len(text)], tuple(
        before[end] - before[start]
        if start in before and end in before
        else tokens.count(text[start:end])
        for start, end in spans
    )


def _is_cut(text: str, place: int) -> bool:
    """Whether a line starts at the place that is not blank."""
    if place in {0, len(text)}:
        return True
    end = text.find("\n", place, place + 200)
    line = text[place : end if end >= 0 else place + 200]
    indent = line[: len(line) - len(line.lstrip())]
    return text[place - 1] == "\n" and len(indent) < len(line) and "\r" not in indent


def dumps(total: int, costs: Sequence[int]) -> str:
    """Return a document's tokens and those of its sections as JSON text."""
    return json.dumps([total, list(costs)], separators=(",", ":"))


def loads(text: str) -> tuple[int, tuple[int, ...]]:
    """Return the tokens that `dumps` wrote."""
    total, costs = json.loads(text)
    return cast("int", total), tuple(cast("list[int]", costs))
