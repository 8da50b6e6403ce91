"""PDF by pypdf: the text page by page, sections by the document's bookmarks, else by pages."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from rolltop.documents.extractors.extracted_text import (
    ParsedDocument,
    TextBuilder,
    damage_reported,
    encrypted_document,
    missing_extra,
)
from rolltop.documents.outline import Heading

if TYPE_CHECKING:
    from pypdf import PdfReader

T = TypeVar("T")

TIME_LIMIT_SECONDS: Final = 25.0
"""No further page is begun after this time."""
MAX_TEXT_CHARACTERS: Final = 64 << 20
"""No further page is begun after this much text."""
MAX_PAGE_BYTES: Final = 4 << 20
"""Bytes of drawing commands of one page, unpacked; a page of text has some thousands."""
MAX_BOOKMARKS: Final = 20_000
MAX_FIELDS: Final = 20_000
_MAX_TITLE_COMPARED: Final = 200
_MAX_LISTED: Final = 10
"""Pages that a note names."""
_PICTURE: Final = re.compile(rb"\b(?:Do|BI)\b")


def render(data: bytes) -> ParsedDocument:
    """Extract the text of the pages, each after a line `[page N]`, and what a form holds.

    Raises InvalidArgument: FORMAT_UNSUPPORTED without pypdf; FILE_UNREADABLE if damaged or
    encrypted.
    """
    try:
        from pypdf import PdfReader  # noqa: PLC0415  # takes 0.3 s to load
        from pypdf.errors import DependencyError  # noqa: PLC0415
    except ImportError as absent:
        raise missing_extra("PDF") from absent
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs what documents hold
    with damage_reported("PDF"):
        try:
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise encrypted_document("PDF")
            return _render_pages(reader)
        except DependencyError as fault:
            raise encrypted_document("PDF") from fault


def _render_pages(reader: PdfReader) -> ParsedDocument:
    builder = TextBuilder()
    count = len(reader.pages)
    begins = monotonic()
    starts: list[int] = []  # the line on which each page begins
    texts: list[str] = []
    unread: list[int] = []
    pictures: list[int] = []
    for number in range(count):
        if monotonic() - begins > TIME_LIMIT_SECONDS or builder.size > MAX_TEXT_CHARACTERS:
            break
        text = _attempt(partial(_page_text, reader, number))
        if text is None:
            unread.append(number + 1)
        elif not text.strip() and _shows_picture(reader, number):
            pictures.append(number + 1)
        starts.append(builder.next_line)
        texts.append(f"[page {number + 1}]\n{text or ''}")
        builder.add_block(texts[-1])
    builder.add_block("\n".join(_form_lines(reader)))
    bookmarks = _attempt(lambda: list(_bookmarks(reader, reader.outline, 1, [MAX_BOOKMARKS])))
    builder.headings = _headings(bookmarks or [], starts, texts) or [
        Heading(f"Page {index + 1}", 1, line) for index, line in enumerate(starts)
    ]
    note = _note(count, texts, unread, pictures)
    return replace(builder.build("pdf", note), is_cut=len(starts) < count)


def _attempt(read: Callable[[], T]) -> T | None:
    """Read by pypdf, which lets any error through; return None if it fails."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # as said
        return None


def _page_text(reader: PdfReader, number: int) -> str | None:
    """Return a page's text, or None if it is too large."""
    page = reader.pages[number]
    content = page.get_contents()
    if content is not None and len(content.get_data()) > MAX_PAGE_BYTES:
        return None
    return page.extract_text()


def _shows_picture(reader: PdfReader, number: int) -> bool:
    """Whether a page, which holds no text, is not blank but draws a picture."""
    content = reader.pages[number].get_contents()
    return content is not None and _PICTURE.search(content.get_data()) is not None


def _form_lines(reader: PdfReader) -> Iterator[str]:
    """Yield what is filled into a form, which is on no page: a title, and each field's values."""
    values = _attempt(lambda: list(islice(_field_values(reader.get_fields() or {}), MAX_FIELDS)))
    filled = [(name, value) for name, value in values or () if value.strip()]
    if filled:
        yield "[form]"
    size = 0
    for name, value in filled:
        size += len(name) + len(value)  # fields may share a value
        if size > MAX_TEXT_CHARACTERS:
            return
        yield f"{name}: {' '.join(value.split())}"


def _field_values(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each field and its value, "" where that is no text; of several each."""
    from pypdf.generic import NameObject, PdfObject  # noqa: PLC0415  # as above

    for name, field in fields.items():
        value = field.get("/V")
        for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
            text: Any = one.get_object() if isinstance(one, PdfObject) else one
            if isinstance(text, NameObject):
                text = "" if text == "/Off" else text.removeprefix("/")
            yield name, text if isinstance(text, str) else ""


def _bookmarks(
    reader: PdfReader, items: list[Any], level: int, left: list[int]
) -> Iterator[tuple[str, int, int]]:
    """Yield title, level and 0-based page of each bookmark; a list holds those one level below."""
    for item in items:
        left[0] -= 1
        if left[0] < 0:
            return
        if isinstance(item, list):
            yield from _bookmarks(reader, cast("list[Any]", item), level + 1, left)
            continue
        page, title = _attempt(partial(_page_and_title, reader, item)) or (None, "")
        if page is not None and page >= 0:
            yield title, level, page


def _page_and_title(reader: PdfReader, item: Any) -> tuple[int | None, str]:  # noqa: ANN401  # of pypdf
    return reader.get_destination_page_number(item), str(item.title or "")


def _headings(
    bookmarks: list[tuple[str, int, int]], starts: list[int], texts: list[str]
) -> list[Heading]:
    """Return bookmarks as headings, each on the line of its page that spells its title.

    They come page by page: lists of figures, and contents that end a book, lead back.
    """
    found: list[Heading] = []
    for title, level, page in sorted(bookmarks, key=itemgetter(2)):
        if page < len(starts) and title.strip():
            line = starts[page] + _line_of_title(texts[page], title)
            found.append(Heading(title, level, max(line, found[-1].line if found else 1)))
    return found


def _line_of_title(text: str, title: str) -> int:
    """Return the 0-based line of a page on which a title begins; the page's first if none does."""
    title = "".join(title.split()).casefold()[:_MAX_TITLE_COMPARED]
    for index, line in enumerate(text.splitlines()):
        words = "".join(line.split()).casefold()
        if words and (words.endswith(title) or (title.startswith(words) and index)):
            return index
    return 0


def _note(count: int, texts: list[str], unread: list[int], pictures: list[int]) -> str:
    notes: list[str] = []
    if len(texts) < count:
        notes.append(f"Pages {len(texts) + 1} to {count} were not read: too large.")
    if unread:
        notes.append(f"Pages that could not be read: {_list_pages(unread)}.")
    if texts and not any(text.partition("\n")[2].strip() for text in texts):
        notes.append("No page holds text; they may be pictures of text.")
    elif pictures:
        notes.append(f"Pages without text, maybe pictures of it: {_list_pages(pictures)}.")
    return " ".join(notes)


def _list_pages(numbers: list[int]) -> str:
    more = "…" if len(numbers) > _MAX_LISTED else ""
    return ", ".join(map(str, numbers[:_MAX_LISTED])) + more
