"""Headings to sections: what each heading's section spans, and its id."""

from __future__ import annotations

from base64 import b32encode
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LEVEL: Final = 6

TITLE_LENGTH: Final = 300
"""Code points of a title; a longer one ends in `…`, the mark counted."""

ID_LETTERS: Final = 7


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a format's scanner finds it: 1-based line, level from 1.

    `end_line` is given where the format says where the section ends (source code).
    """

    title: str
    level: int
    line: int
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and all up to the next heading of the same or a higher level, children included.

    Lines are 1-based and inclusive. `title_path` are the titles from the outermost section that
    holds this one to this one. The id is `s` and seven letters or digits, unique in its document.
    """

    id: str
    title: str
    level: int
    start_line: int
    end_line: int
    title_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a document in order; `kind` is the format it was read as.

    `parts` is true where the document has no headings and was divided into equal parts.
    """

    kind: str
    sections: tuple[Section, ...]
    line_count: int
    parts: bool = False

    @property
    def preamble(self) -> tuple[int, int] | None:
        """The first and last line of what stands before the first section."""
        last = self.sections[0].start_line - 1 if self.sections else self.line_count
        return (1, last) if last else None


def sections(headings: Iterable[Heading], line_count: int) -> tuple[Section, ...]:
    """Return the sections of headings that are given in the order of their lines.

    Levels are kept, but none is below 1 or above 6.
    """
    numbering = _Numbering()
    open_ones: list[tuple[int, int]] = []  # level and index of the sections not yet ended
    found: list[tuple[Heading, int, str, tuple[str, ...]]] = []
    ends: list[int] = []
    for heading in headings:
        level = min(max(heading.level, 1), MAX_LEVEL)
        while open_ones and open_ones[-1][0] >= level:
            index = open_ones.pop()[1]
            ends[index] = max(found[index][0].line, min(ends[index], heading.line - 1))
        parent = found[open_ones[-1][1]] if open_ones else None
        title = shortened(heading.title)
        own_id = numbering.id_of(title, parent[2] if parent else "")
        found.append((heading, level, own_id, (*(parent[3] if parent else ()), title)))
        ends.append(min(heading.end_line or line_count, line_count))
        open_ones.append((level, len(found) - 1))
    return tuple(
        Section(own_id, path[-1], level, heading.line, end, path)
        for (heading, level, own_id, path), end in zip(found, ends, strict=True)
    )


def shortened(title: str) -> str:
    """Return the title on one line, single-spaced, of at most 300 code points."""
    title = " ".join(title[: 4 * TITLE_LENGTH].split())
    return title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…"


class _Numbering:
    """Ids from a section's title, the id of the section around it, and which such one it is."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}
        self._taken: set[str] = set()

    def id_of(self, title: str, parent_id: str) -> str:
        occurrence = self._seen.get((parent_id, title), 0)
        while True:
            seed = f"{parent_id}\n{title}\n{occurrence}".encode("utf-8", "surrogatepass")
            digest = b32encode(blake2b(seed, digest_size=5).digest()).decode()
            own_id = "s" + digest[:ID_LETTERS].lower()
            occurrence += 1
            if own_id not in self._taken:
                break
        self._seen[parent_id, title] = occurrence
        self._taken.add(own_id)
        return own_id
