"""Headings to sections: what each heading's section spans, and its id."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

MAX_LEVEL: Final = 6

MAX_TITLE_LENGTH: Final = 300
"""Code points of a title, the ellipsis of a longer one included."""
ID_LENGTH: Final = 7


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading found by a format's scanner: 1-based line, level from 1.

    `end_line` is known if the format says where the section ends (source code).
    """

    title: str
    level: int
    line: int
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and all up to the next heading of the same or a higher level, children included.

    Lines are 1-based and inclusive. `title_path` has the titles of the sections around it, the
    outermost first, and its own. The id is `s` and seven letters or digits, unique in its document.
    """

    id: str
    title: str
    level: int
    start_line: int
    end_line: int
    title_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a document in order; `kind` is its format.

    `is_divided`: the document has no headings and was divided into equal parts.
    """

    kind: str
    sections: tuple[Section, ...]
    line_count: int
    is_divided: bool = False


def build_sections(headings: Iterable[Heading], line_count: int) -> tuple[Section, ...]:
    """Make sections of headings in the order of their lines; levels are clamped to 1 to 6."""
    ids = _SectionIds()
    open_sections: list[tuple[int, int]] = []  # level and index of the sections not yet ended
    found: list[tuple[Heading, int, str, tuple[str, ...]]] = []
    ends: list[int] = []
    for heading in headings:
        level = min(max(heading.level, 1), MAX_LEVEL)
        while open_sections and open_sections[-1][0] >= level:
            index = open_sections.pop()[1]
            ends[index] = max(found[index][0].line, min(ends[index], heading.line - 1))
        parent = found[open_sections[-1][1]] if open_sections else None
        title = truncate_title(heading.title)
        own_id = ids.id_of(title, parent[2] if parent else "")
        found.append((heading, level, own_id, (*(parent[3] if parent else ()), title)))
        ends.append(min(heading.end_line or line_count, line_count))
        open_sections.append((level, len(found) - 1))
    return tuple(
        Section(own_id, path[-1], level, heading.line, end, path)
        for (heading, level, own_id, path), end in zip(found, ends, strict=True)
    )


def with_gaps(outline: Outline) -> list[Section]:
    """List the sections, and between them, without id or title, the lines that no section holds."""
    found: list[Section] = []
    end = 0
    for section in outline.sections:
        if section.start_line > end + 1:
            found.append(_gap(end + 1, section.start_line - 1))
        found.append(section)
        end = max(end, section.end_line)
    if end < outline.line_count:
        found.append(_gap(end + 1, outline.line_count))
    return found


def _gap(start_line: int, end_line: int) -> Section:
    return Section("", "", 1, start_line, end_line, ())


def truncate_title(title: str) -> str:
    """Return the title on one line with single spaces, of at most 300 code points."""
    title = " ".join(title[: 4 * MAX_TITLE_LENGTH].split())
    return title if len(title) <= MAX_TITLE_LENGTH else title[: MAX_TITLE_LENGTH - 1] + "…"


class _SectionIds:
    """Ids made of a section's title, its parent's id, and how often both occurred before."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}
        self._taken: set[str] = set()

    def id_of(self, title: str, parent_id: str) -> str:
        occurrence = self._seen.get((parent_id, title), 0)
        while True:
            seed = f"{parent_id}\n{title}\n{occurrence}".encode("utf-8", "surrogatepass")
            digest = b32encode(blake2b(seed, digest_size=5).digest()).decode()
            own_id = "s" + digest[:ID_LENGTH].lower()
            occurrence += 1
            if own_id not in self._taken:
                break
        self._seen[parent_id, title] = occurrence
        self._taken.add(own_id)
        return own_id
