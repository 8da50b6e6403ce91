"""Bytes to text: UTF-8, UTF-16 and UTF-32 by mark or shape, else a detected legacy encoding."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[int, int], bytes]

LOOKED_AT: Final = 1 << 13
"""Bytes at the start of a file that decide whether it is binary."""

SAMPLE: Final = 1 << 15
"""Bytes of lines beyond ASCII that the detector is given; its cost does not grow with the file."""

NUL_SHARE: Final = 0.35
"""Share of NULs among the bytes at odd (or even) places above which text is taken as UTF-16."""

CONTROL_SHARE: Final = 0.1
"""Share of control characters above which a file without NULs still is binary."""

GOOD_FOR_EACH_FAULT: Final = 8
"""Whole characters beyond ASCII for each damaged one that still speak for UTF-8."""

# UTF-32's little-endian mark starts with UTF-16's.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
"""Marks, the encoding that reads each, and the one of what comes after it."""
_WIDE: Final = ("utf-16", "utf-32")
_CHUNK: Final = 1 << 16
_DECIDING: Final = 1 << 22
"""Bytes that the encoding of a file is detected from; of a smaller file it is all."""
_CONTINUING: Final = bytes(range(0x80, 0xC0))
"""In UTF-8 these go on with a character."""
_LINE_BREAKS: Final = b"\n\n"
"""As many as may be taken for the rest of a damaged character at the end of a file, with one."""
_MAGIC: Final = (
    b"%PDF-",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x7fELF",
)
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
_BEYOND_LATIN: Final = "\u0370-\u06ff"  # Greek, Cyrillic, Armenian, Hebrew, Arabic
_MIXED_WORD: Final = re.compile(rf"[A-Za-z][{_BEYOND_LATIN}]|[{_BEYOND_LATIN}][A-Za-z]")
_WORD_BEYOND_LATIN: Final = re.compile(rf"(?<!\w)[{_BEYOND_LATIN}]{{2,}}(?!\w)")
_SEPARATE: Final = re.compile(rb"[\0-/]")
"""Bytes that are a character of their own in every encoding, where others end one of several."""
_OF_SEVERAL_BYTES: Final = ("cp932", "euc_jp", "big5", "cp949", "gb18030")
_READS_MOST: Final = "gb18030"
"""The one that reads nearly all bytes, those of the others too."""
_PART_OF: Final = {
    "shift_jis": "cp932",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc_kr": "cp949",
}
"""What is nearly the same as one of these, and reads no more."""
_YEN_FOR_BACKSLASH: Final = frozenset({"shift_jis_2004", "shift_jisx0213"})
_OTHERS: Final = ("utf-16", "utf-32", "iso2022", "hz", "utf-7")
"""Encodings in which not every byte of ASCII is its character: no text has been found to be so."""
_CONTEXT: Final = 120
"""Bytes of the same line kept before and after a byte beyond ASCII: letters next to it speak."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding by Python's name, and how many bytes of a mark stand before the text."""

    name: str
    mark: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the encoding it was read in; `exact` is false where bytes were replaced."""

    text: str
    encoding: str
    exact: bool = True


def is_binary(data: bytes) -> bool:
    """Return whether the bytes are not text: NULs, mostly control characters, a known format."""
    head = data[:LOOKED_AT]
    if _mark(head) is not None:
        return False
    if head.startswith(_MAGIC):
        return True
    if b"\0" in head:
        return _wide(head) is None
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > len(head) * CONTROL_SHARE


def decode(data: bytes) -> Decoded:
    """Return the text of the bytes and the name of its encoding, by Python's names; never raises.

    A byte order mark is no part of the text. Damaged places are replaced; other bytes that are no
    UTF-8 are read in the legacy encoding they fit best, though a few characters may be damaged.
    """
    mark = _mark(data)
    if mark is not None:
        return _marked(data, mark)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        name = encoding_of(lambda start, size: data[start : start + size]).name
    try:
        return Decoded(data.decode(name), name)
    except UnicodeDecodeError:
        return Decoded(decoded(data, name), name, exact=False)


def encoding_of(read: Read) -> Encoding:
    """Return the encoding of the text of a file; what is damaged in it is to be replaced.

    `read(start, size)` gives bytes of the file, fewer at its end. It is UTF-8 unless a mark or
    its shape say otherwise, or the bytes around the first that are no UTF-8: those alone are
    looked at, but of a small file they are all.
    """
    head = read(0, LOOKED_AT)
    found = marked(head)
    if found is not None:
        return found
    wide = _wide(head)
    if wide is not None:
        return Encoding(wide)
    fault = _first_fault(read)
    if fault is None:
        return Encoding("utf-8")
    start = fault - SAMPLE if fault > _DECIDING - SAMPLE else 0
    around = read(start, _DECIDING)
    if start:
        whole = around.lstrip(_CONTINUING)
        start, around = start + len(around) - len(whole), whole
    return Encoding("utf-8" if _mostly_utf8(around, fault - start) else _legacy(around))


def decoded(data: bytes, encoding: str) -> str:
    """Return the text of bytes that end with a character, `\ufffd` for what is damaged."""
    more = padding(data, encoding)
    text = (data + more).decode(encoding, "replace")
    return text[: len(text) - len(more)]


def beginning(data: bytes, encoding: str) -> str:
    """Return the text of bytes that may end inside a character, which is left out."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(data)


def padding(data: bytes, encoding: str) -> bytes:
    """Return line breaks to put after bytes that are the last of a text.

    A line break that ends them would be taken for the rest of a character that is damaged before
    it, as no other is: there a line follows.
    """
    return _LINE_BREAKS if data.endswith(b"\n") and not encoding.startswith(_WIDE) else b""


def marked(head: bytes) -> Encoding | None:
    """Return the encoding that a byte order mark at the start of a file names."""
    found = ((mark, name) for mark, _, name in _MARKS if head.startswith(mark))
    return next((Encoding(name, len(mark)) for mark, name in found), None)


def _mark(data: bytes) -> str | None:
    """Return the encoding that the byte order mark names."""
    return next((name for mark, name, _ in _MARKS if data.startswith(mark)), None)


def _wide(head: bytes) -> str | None:
    """Return the UTF-16 without a mark that the places of NULs speak for."""
    half = len(head) // 2
    if not half:
        return None
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    if odd > NUL_SHARE and even < NUL_SHARE / 10:
        return "utf-16-le"
    if even > NUL_SHARE and odd < NUL_SHARE / 10:
        return "utf-16-be"
    return None


def _marked(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        return Decoded(data.decode(encoding, "replace"), encoding, exact=False)


def _mostly_utf8(data: bytes, first_fault: int) -> bool:
    """Return whether the text is UTF-8 with a few damaged characters.

    What stands around the first fault tells, or where that is ASCII the rest.
    """
    around = data[max(0, first_fault - SAMPLE) : first_fault + SAMPLE]
    return any(_is_good(part.decode("utf-8", "replace")) for part in (around, _telling(data)))


def _count_beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _first_fault(read: Read) -> int | None:
    """Return where the first bytes are that are no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    at = held = 0
    while chunk := read(at, _CHUNK):
        if held or not chunk.isascii():
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return at - held + error.start
            held = len(decoder.getstate()[0])
        at += len(chunk)
    return at - held if held else None


def _legacy(data: bytes) -> str:
    """Return the encoding of bytes that are no UTF-8."""
    name = _detected(data)
    if _reads(data, name) or _is_good(data.decode(name, "replace")):
        return name
    return "cp1252" if _reads(data, "cp1252") else "latin-1"


def _reads(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_good(text: str) -> bool:
    """Return whether a text with damaged characters still speaks for its encoding."""
    faults = text.count("\ufffd")
    return _count_beyond_ascii(text) - faults > faults * GOOD_FOR_EACH_FAULT


def _detected(data: bytes) -> str:
    """Return the legacy encoding the detector finds in lines that are not ASCII.

    One damaged character hides from it that all others are of several bytes, so for each such
    encoding that fits but for a few it is asked again without these.
    """
    telling = _telling(data)
    name = _guess(telling)
    like = _PART_OF.get(name, name)
    if like == _READS_MOST or like not in _OF_SEVERAL_BYTES:
        for encoding in _OF_SEVERAL_BYTES:
            undamaged = _undamaged(telling, encoding)
            again = _guess(undamaged) if undamaged else ""
            if encoding in {again, _PART_OF.get(again)}:
                return again
    return "cp1252" if _mixes_scripts(telling.decode(name, "replace")) else name


def _guess(data: bytes) -> str:
    """Return what the detector takes the bytes for."""
    from chardet import EncodingEra, detect  # noqa: PLC0415  # its models take 100 ms to load

    # Old web pages, mail and files; the rarer ones (Macintosh, DOS, mainframes) are guessed
    # wrongly far more often than they occur.
    era = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    try:
        name = codecs.lookup(detect(data, encoding_era=era)["encoding"] or "cp1252").name
    except LookupError:
        return "cp1252"
    if name.startswith(_OTHERS):
        return "cp1252"
    return "cp932" if name in _YEN_FOR_BACKSLASH else name


def _undamaged(data: bytes, encoding: str) -> bytes | None:
    """Return the bytes without what is damaged in an encoding, and without what is next to it.

    None where nothing is, or too much.
    """
    text = data.decode(encoding, "replace")
    if "\ufffd" not in text or not _is_good(text):
        return None
    kept: list[bytes] = []
    while data:
        try:
            data.decode(encoding)
        except UnicodeDecodeError as error:
            nearest = max(0, error.start - _CONTEXT)
            before = [found.end() for found in _SEPARATE.finditer(data, nearest, error.start)]
            after = _SEPARATE.search(data, error.end, error.end + _CONTEXT)
            kept.append(data[: max(before, default=nearest)])
            data = data[after.start() if after else error.end :]
        else:
            kept.append(data)
            break
    return b"\n".join(kept)


def _mixes_scripts(text: str) -> bool:
    """Return whether more words change their script than keep to one that is not Latin.

    Short texts with few accents look so where they are taken for Cyrillic or Greek.
    """
    return len(_MIXED_WORD.findall(text)) > len(_WORD_BEYOND_LATIN.findall(text))


def _telling(data: bytes) -> bytes:
    """Return the first stretches of lines that are not ASCII: all that tells encodings apart.

    None ends inside a character but where the sample is full: no encoding fits one that does.
    """
    parts: list[bytes] = []
    size = at = 0
    while size < SAMPLE and (found := _BEYOND_ASCII.search(data, at)) is not None:
        nearest = max(at, found.start() - _CONTEXT)
        begin = max(nearest, data.rfind(b"\n", nearest, found.start()) + 1)
        farthest = found.end() + _CONTEXT
        at = data.find(b"\n", found.end(), farthest)
        if at < 0:
            full = begin + SAMPLE - size
            separate = _SEPARATE.search(data, farthest, full)
            at = separate.start() if separate else max(farthest, full)
        parts.append(data[begin:at])
        size += at - begin
    return b"\n".join(parts)
