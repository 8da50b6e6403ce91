"""A text that is put together from paragraphs and headings, with the lines of the headings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolltop.core.text.lines import line_count
from rolltop.core.text.outline import Heading, Outline, sections
from rolltop.core.text.outline.sections import MAX_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a document that is no text file, and its outline.

    `note` says what was left out, if anything was.
    """

    text: str
    outline: Outline
    note: str = ""


class Rendering:
    """Collects blocks, a blank line between each two, and remembers where headings stand."""

    def __init__(self) -> None:
        """Begin an empty text."""
        self._blocks: list[str] = []
        self._next_line = 1
        self.headings: list[Heading] = []
        self.size = 0

    @property
    def next_line(self) -> int:
        """The 1-based line on which the next block begins."""
        return self._next_line

    def block(self, text: str) -> None:
        """Append a paragraph, which may have several lines; blank ones are passed over."""
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
        if text:
            self._blocks.append(text)
            self._next_line += text.count("\n") + 2
            self.size += len(text)

    def heading(self, title: str, level: int) -> None:
        """Append a heading on a line of its own, as Markdown writes it."""
        title = " ".join(title.split())
        if title:
            level = min(max(level, 1), MAX_LEVEL)
            self.headings.append(Heading(title, level, self._next_line))
            self.block(f"{'#' * level} {title}")

    def list_item(self, text: str, depth: int = 0) -> None:
        """Append an item of a list."""
        if text.strip():
            self.block("  " * depth + "- " + " ".join(text.split()))

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """Append a table, each row on a line, cells between bars."""
        lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in rows]
        self.block("\n".join(f"| {line} |" for line in lines))

    def finish(self, kind: str, note: str = "") -> Rendered:
        """Return the text with its outline."""
        text = "\n\n".join(self._blocks) + ("\n" if self._blocks else "")
        lines = line_count(text)
        return Rendered(text, Outline(kind, sections(self.headings, lines), lines), note)
