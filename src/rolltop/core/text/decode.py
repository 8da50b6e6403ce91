"""Bytes to text: UTF-8, UTF-16 and UTF-32 by mark or shape, else a detected legacy encoding."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

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
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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
_CONTEXT: Final = 120
"""Bytes of the same line kept before and after a byte beyond ASCII: letters next to it speak."""


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

    A byte order mark is no part of the text. Damaged UTF-16 or UTF-32 has the damaged places
    replaced; other bytes that are no UTF-8 are read in the legacy encoding they fit best, though
    the last character may be cut off.
    """
    marked = _mark(data) or _wide(data[:LOOKED_AT])
    if marked is not None:
        return _marked(data, marked)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        if _mostly_utf8(data, error.start):
            return Decoded(data.decode("utf-8", "replace"), "utf-8", exact=False)
    return _legacy(data)


def _mark(data: bytes) -> str | None:
    """Return the encoding that the byte order mark names."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


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
    """Return whether the text around the first fault is UTF-8 with a few damaged characters."""
    around = data[max(0, first_fault - SAMPLE) : first_fault + SAMPLE].decode("utf-8", "replace")
    faults = around.count("\ufffd")
    return _count_beyond_ascii(around) - faults > faults * GOOD_FOR_EACH_FAULT


def _count_beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _legacy(data: bytes) -> Decoded:
    for encoding in (_detected(data), "cp1252"):
        try:
            return Decoded(data.decode(encoding), encoding)
        except UnicodeDecodeError as error:
            if error.end == len(data):  # nothing but the last character is at fault
                text = data.decode(encoding, "replace")
                if _count_beyond_ascii(text) > GOOD_FOR_EACH_FAULT:
                    return Decoded(text, encoding, exact=False)
        except LookupError:
            continue
    return Decoded(data.decode("latin-1"), "latin-1")


def _detected(data: bytes) -> str:
    """Return the legacy encoding the detector finds in lines that are not ASCII."""
    from chardet import EncodingEra, detect  # noqa: PLC0415  # its models take 100 ms to load

    # Old web pages, mail and files; the rarer ones (Macintosh, DOS, mainframes) are guessed
    # wrongly far more often than they occur.
    era = EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO
    telling = _telling(data)
    name = codecs.lookup(detect(telling, encoding_era=era)["encoding"] or "cp1252").name
    return "cp1252" if _mixes_scripts(telling.decode(name, "replace")) else name


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
