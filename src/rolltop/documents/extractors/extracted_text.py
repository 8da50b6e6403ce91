"""A parsed document, the text that is extracted of one, and why extraction fails."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.core.text.lines import line_count
from rolltop.documents.outline import Heading, Outline, build_sections, parse_outline
from rolltop.documents.outline.sections import MAX_LEVEL


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a file and its sections.

    `rendered`: from a format that is not text. `note` says what the text leaves out, if anything;
    where it `is_cut`, it took too long, so that another time there may be more.
    """

    text: str
    outline: Outline
    note: str = ""
    rendered: bool = True
    is_cut: bool = False

    @property
    def kind(self) -> str:
        """The format."""
        return self.outline.kind


class TextBuilder:
    """Joins blocks by blank lines and records the lines of headings."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.next_line = 1
        self.headings: list[Heading] = []
        self.size = 0

    def add_block(self, text: str) -> None:
        """Append a paragraph of any number of lines; blank ones are ignored."""
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
        if text:
            self._blocks.append(text)
            self.next_line += text.count("\n") + 2
            self.size += len(text)

    def add_heading(self, title: str, level: int) -> None:
        """Append a heading on its own line, as Markdown writes it."""
        title = " ".join(title.split())
        if title:
            level = min(max(level, 1), MAX_LEVEL)
            self.headings.append(Heading(title, level, self.next_line))
            self.add_block(f"{'#' * level} {title}")

    def add_list_item(self, text: str, depth: int = 0) -> None:
        """Append a list item."""
        if text.strip():
            self.add_block("  " * depth + "- " + " ".join(text.split()))

    def add_table(self, rows: Iterable[Sequence[str]]) -> None:
        """Append a table: a line for each row, bars between cells."""
        lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in rows]
        self.add_block("\n".join(f"| {line} |" for line in lines))

    def build(self, kind: str, note: str = "") -> ParsedDocument:
        """Return the text with its outline: that of plain text, where it has no headings."""
        text = "\n\n".join(self._blocks) + ("\n" if self._blocks else "")
        lines = line_count(text)
        outline = Outline(kind, build_sections(self.headings, lines), lines)
        if not self.headings:
            outline = replace(parse_outline(text, "text"), kind=kind)
        return ParsedDocument(text, outline, note)


def missing_extra(name: str) -> InvalidArgument:
    """Return FORMAT_UNSUPPORTED: the library for this format is not installed."""
    return InvalidArgument(
        f"{name} files are read by an optional library that is not installed",
        code="FORMAT_UNSUPPORTED",
        hint="Install the extra rolltop[documents] and start the server again.",
    )


def encrypted_document(name: str) -> InvalidArgument:
    """Return FILE_UNREADABLE: the document needs a password."""
    return InvalidArgument(
        f"The {name} file is encrypted and needs a password",
        code="FILE_UNREADABLE",
        hint="Save a copy without a password and read that.",
    )


@contextmanager
def damage_reported(name: str) -> Generator[None]:
    """Raise FILE_UNREADABLE for what libraries raise on structures they do not expect.

    That is any error: of the format's library, of zlib, or of Python where a value is no number.
    """
    try:
        yield
    except (RolltopError, MemoryError):
        raise
    except Exception as fault:
        raise damaged_document(name) from fault


def damaged_document(name: str) -> InvalidArgument:
    """Return FILE_UNREADABLE: the document's structure is broken."""
    return InvalidArgument(
        f"The {name} file is damaged",
        code="FILE_UNREADABLE",
        hint="Open it in its own program and save it again.",
    )


def document_too_large(problem: str) -> InvalidArgument:
    """Return FILE_TOO_LARGE: parsing the document would take too much."""
    return InvalidArgument(
        problem,
        code="FILE_TOO_LARGE",
        hint="Split the document, or save its text as a text file and read that.",
    )
