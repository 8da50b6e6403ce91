"""EPUB: the chapters in reading order, their HTML as text, sections by their headings."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from typing import Final
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from zipfile import ZipFile

from rolltop.documents.extractors.extracted_text import (
    ParsedDocument,
    TextBuilder,
    damage_reported,
    encrypted_document,
)
from rolltop.workspace.encoding import decode

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_FONT_SCRAMBLING: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_CHAPTER_TYPES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_BLOCKS: Final = frozenset(
    (
        "p", "div", "li", "tr", "dt", "dd", "blockquote", "section", "article", "header", "footer",
        "figcaption", "br", "hr", "table", "ul", "ol", "dl", "aside", "main", "nav", "figure",
        "caption", "address", "body",
    )
)  # fmt: skip
_INVISIBLE: Final = frozenset(("script", "style", "title"))
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}


def render(archive: ZipFile) -> ParsedDocument:
    """Extract the text of an EPUB.

    Raises InvalidArgument: FILE_UNREADABLE if damaged or protected.
    """
    builder = TextBuilder()
    with damage_reported("EPUB"):
        if _is_protected(archive):
            raise encrypted_document("EPUB")
        for chapter in _chapters(archive):
            _ChapterParser(builder).read(decode(archive.read(chapter)).text)
    return builder.build("epub")


def _is_protected(archive: ZipFile) -> bool:
    """Whether more than fonts is encrypted."""
    if _ENCRYPTION not in archive.namelist():
        return False
    methods = _xml(archive, _ENCRYPTION).iter("{http://www.w3.org/2001/04/xmlenc#}EncryptionMethod")
    return any(method.get("Algorithm") not in _FONT_SCRAMBLING for method in methods)


def _chapters(archive: ZipFile) -> list[str]:
    """List the parts that the book's spine names, in order."""
    rootfile = _xml(archive, _CONTAINER).find(".//{*}rootfile")
    package = rootfile.get("full-path", "") if rootfile is not None else ""
    book = _xml(archive, package)
    folder = posixpath.dirname(package)
    parts = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        for item in book.iterfind(".//{*}manifest/{*}item")
        if item.get("media-type") in _CHAPTER_TYPES
    }
    listed = [parts.get(ref.get("idref")) for ref in book.iterfind(".//{*}spine/{*}itemref")]
    present = set(archive.namelist())
    return [name for name in dict.fromkeys(listed) if name is not None and name in present]


def _xml(archive: ZipFile, name: str) -> ET.Element:
    """Parse a part; refuse one that defines entities."""
    data = archive.read(name)
    if b"<!ENTITY" in data or b"<\0!\0E" in data:
        message = "the part defines entities"
        raise ValueError(message)
    return ET.fromstring(data)  # noqa: S314  # bounded size, entities refused


class _ChapterParser(HTMLParser):
    """Turns a chapter's HTML into blocks and headings."""

    def __init__(self, builder: TextBuilder) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = builder
        self._words: list[str] = []
        self._level = 0
        self._hidden = 0
        self._verbatim = 0

    def read(self, text: str) -> None:
        """Read one chapter whole."""
        self.feed(text)
        self.close()
        self._end_block()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in _INVISIBLE:
            self._hidden += 1
        elif tag in _HEADINGS:
            self._end_block()
            self._level = _HEADINGS[tag]
        elif tag == "pre":
            self._end_block()
            self._verbatim += 1
        elif tag in _BLOCKS and self._level:
            self._words.append(" ")  # a heading is one line
        elif tag in _BLOCKS:
            self._begin_block(tag)
        elif tag in ("td", "th") and self._words:
            self._words.append(" | ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INVISIBLE:  # XHTML may write an empty <title/>
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _INVISIBLE:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS and self._level:
            self._words.append(" ")
        elif tag in _HEADINGS or tag == "pre" or tag in _BLOCKS:
            self._end_block()
            if tag == "pre":
                self._verbatim = max(0, self._verbatim - 1)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(data)

    def _begin_block(self, tag: str) -> None:
        """Begin a paragraph, which stands behind the mark of the list item that it begins."""
        begins_item = not self._verbatim and "".join(self._words).strip() == "-"
        self._end_block()
        if begins_item or tag == "li":
            self._words.append("- ")

    def _end_block(self) -> None:
        text = "".join(self._words)
        self._words = []
        level, self._level = self._level, 0
        if level:
            self._builder.add_heading(text, level)
        elif self._verbatim:
            self._builder.add_block(text)
        elif text.strip() not in ("", "-"):
            self._builder.add_block(" ".join(text.split()))
