"""Bytes to text: UTF-8, UTF-16 and UTF-32 by mark or shape, else a detected legacy encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chardet import EncodingEra

Read = Callable[[int, int], bytes]

# Bytes at the start of a file that decide whether it is binary.
BINARY_PROBE_BYTES: Final = 1 << 13

# Bytes of lines beyond ASCII that the detector is given; its cost does not grow with the file.
SAMPLE_BYTES: Final = 1 << 15

# Share of NULs among the bytes at odd (or even) places above which text is taken as UTF-16.
NUL_SHARE: Final = 0.35

# Share of spaces and line ends, which in UTF-16 are NULs too, in texts of whatever script that has
# them; and of characters that are not usual in one without Chinese ones.
SPACE_SHARE: Final = 0.04
MAX_UNUSUAL_SHARE: Final = 0.05
_USUAL_WIDE: Final = re.compile("[\t\n\r -~\xa0-\xff\u0370-\u1fff\u2010-\u205e\uac00-\ud7a3]")

# Share of control characters above which a file without NULs still is binary.
CONTROL_SHARE: Final = 0.1

# Whole characters beyond ASCII for each damaged one that still speak for UTF-8.
MIN_GOOD_PER_FAULT: Final = 8

# UTF-32's little-endian mark starts with UTF-16's.
# Marks, the encoding that reads each, and the one of what comes after it.
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_WIDE_ENCODINGS: Final = ("utf-16", "utf-32")
_CHUNK: Final = 1 << 16
# Bytes that the encoding of a file is detected from; of a smaller file it is all.
_DETECTION_BYTES: Final = 1 << 22
# In UTF-8 these go on with a character.
_UTF8_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))
# As many as may be taken for the rest of a damaged character at the end of a file, with one.
_LINE_BREAKS: Final = b"\n\n"
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
# Bytes that are a character of their own in every encoding, where others end one of several.
_SINGLE_BYTE_CHARACTERS: Final = re.compile(rb"[\0-/]")
_LETTER: Final = r"[^\W\d_]"
# Letters that are frequent in Western Europe, whose bytes elsewhere mostly are rarer ones.
_WESTERN_LETTERS: Final = "àáâãäåçéêëíîïñóôöøùúûüßÀÁÂÃÄÅÇÉÊËÍÎÏÑÓÔÖØÙÚÛÜ"
# In ISO-8859-15 the ligatures have the bytes of fractions.
_LIGATURE: Final = "[œ½](?=[ui])|[Œ¼](?=[uid])"
_WESTERN_WORD: Final = re.compile(
    rf"µ?(?:[{_WESTERN_LETTERS}]|{_LIGATURE})*[A-Za-z](?:[A-Za-z{_WESTERN_LETTERS}]|{_LIGATURE})*"
    "|[àÀ¼½¾]"
)
_WESTERN_SIGN: Final = re.compile(
    rf"(?<!{_LETTER})(?:[§±©£€¢¤¥¦¬¶×÷•]|°[CF]?)(?!{_LETTER})|[®™](?!{_LETTER})"
    rf"|(?<!{_LETTER})[¡¿](?=[A-ZÁÉÍÓÚÑ])|(?<=\d)[ªº²³](?!{_LETTER})|\b[cdkm]?m[²³](?!{_LETTER})"
    r"|[\xa0·«»\u2013\u2014\u2018-\u201e\u2026]"
)
_EURO_OR_LIGATURE: Final = re.compile(r"¤|[A-Za-z]½[ui]|(?<!\w)[¼½](?:uv|il|uf)")
# More letters beyond ASCII tell encodings apart by themselves.
_MAX_WESTERN: Final = 4
# Hungarian has all its other letters where Western Europe has them.
_HUNGARIAN: Final = re.compile("[õûÕÛ]")
_C1_CONTROLS: Final = re.compile("[\x80-\x9f]")
_MULTIBYTE_ENCODINGS: Final = ("cp932", "euc_jp", "big5", "cp949", "gb18030")
# The one that reads nearly all bytes, those of the others too.
_PERMISSIVE_ENCODING: Final = "gb18030"
# What is nearly the same as one of these, and reads no more.
_SUPERSETS: Final = {
    "shift_jis": "cp932",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc_kr": "cp949",
}
_YEN_FOR_BACKSLASH: Final = frozenset({"shift_jis_2004", "shift_jisx0213"})
# Encodings in which not every byte of ASCII is its character: no text has been found to be so.
_NOT_ASCII_COMPATIBLE: Final = ("utf-16", "utf-32", "iso2022", "hz", "utf-7")
# Bytes of the line sampled around a non-ASCII byte: neighbouring letters identify encodings.
_CONTEXT_BYTES: Final = 120


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """An encoding by Python's name, and how many bytes of a mark stand before the text."""

    name: str
    bom_length: int = 0


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and the encoding it was read in; `exact` is false where bytes were replaced."""

    text: str
    encoding: str
    is_exact: bool = True


def is_binary(data: bytes) -> bool:
    """Report whether the bytes are not text: NULs, mostly control characters, a known format."""
    head = data[:BINARY_PROBE_BYTES]
    if _bom_encoding(head) is not None:
        return False
    if head.startswith(_MAGIC):
        return True
    if b"\0" in head:
        return _guess_utf16(head) is None
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > len(head) * CONTROL_SHARE


def decode(data: bytes) -> DecodedText:
    """Decode text of unknown encoding; return it with Python's name of the encoding; never raises.

    A byte order mark is no part of the text. Damaged places are replaced; other bytes that are no
    UTF-8 are read in the legacy encoding they fit best, though a few characters may be damaged.
    """
    name = _bom_encoding(data) or _guess_utf16(data[:BINARY_PROBE_BYTES]) or "utf-8"
    with suppress(UnicodeDecodeError):
        return DecodedText(data.decode(name), name)
    if name == "utf-8":
        name = detect_encoding(lambda start, size: data[start : start + size]).name
        with suppress(UnicodeDecodeError):
            return DecodedText(data.decode(name), name)
    return DecodedText(decode_as(data, name), name, is_exact=False)


def detect_encoding(read: Read) -> TextEncoding:
    """Detect the encoding of a file's text.

    `read(start, size)` returns bytes of the file, fewer at its end. It is UTF-8 unless the byte
    order mark, the shape of UTF-16, or the bytes around the first invalid ones say otherwise; only
    those are examined, which for a small file are all.
    """
    head = read(0, BINARY_PROBE_BYTES)
    found = detect_bom(head)
    if found is not None:
        return found
    wide = _guess_utf16(head)
    if wide is not None:
        return TextEncoding(wide)
    fault = _first_fault(read)
    if fault is None:
        return TextEncoding("utf-8")
    start = fault - SAMPLE_BYTES if fault > _DETECTION_BYTES - SAMPLE_BYTES else 0
    around = read(start, _DETECTION_BYTES)
    if start:
        whole = around.lstrip(_UTF8_CONTINUATION_BYTES)
        start, around = start + len(around) - len(whole), whole
    return TextEncoding("utf-8" if _mostly_utf8(around, fault - start) else _detect_legacy(around))


def is_multibyte(encoding: str) -> bool:
    """Return whether characters of a legacy encoding may take several bytes."""
    return encoding in _MULTIBYTE_ENCODINGS or encoding in _SUPERSETS


def decode_as(data: bytes, encoding: str) -> str:
    """Decode bytes that end with a whole character; `�` replaces damaged ones."""
    more = _end_padding(data, encoding)
    text = (data + more).decode(encoding, "replace")
    return text[: len(text) - len(more)]


def decode_prefix(data: bytes, encoding: str) -> str:
    """Return the text of bytes that may end inside a character, which is left out."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(data)


def _end_padding(data: bytes, encoding: str) -> bytes:
    """Return line breaks to put after bytes that are the last of a text.

    A line break that ends them would be taken for the rest of a character that is damaged before
    it, as no other is: there a line follows.
    """
    return (
        _LINE_BREAKS if data.endswith(b"\n") and not encoding.startswith(_WIDE_ENCODINGS) else b""
    )


def detect_bom(head: bytes) -> TextEncoding | None:
    """Return the encoding that a byte order mark at the start of a file names."""
    found = ((mark, name) for mark, _, name in _BOMS if head.startswith(mark))
    return next((TextEncoding(name, len(mark)) for mark, name in found), None)


def _bom_encoding(data: bytes) -> str | None:
    return next((name for mark, name, _ in _BOMS if data.startswith(mark)), None)


def _guess_utf16(head: bytes) -> str | None:
    """Guess UTF-16 without a mark from the positions of NULs, and where they are few its text."""
    half = len(head) // 2
    if not half or b"\0" not in head:
        return None
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    name, most, least = ("utf-16-le", odd, even) if odd > even else ("utf-16-be", even, odd)
    if most > NUL_SHARE and least < NUL_SHARE / 10:
        return name
    return name if most > SPACE_SHARE and _is_usual_wide(decode_prefix(head, name)) else None


def _is_usual_wide(text: str) -> bool:
    """Report whether a text is spaced and of letters, Chinese ones left out: any bytes are such."""
    unusual = len(_USUAL_WIDE.sub("", text))
    spaces = text.count(" ") + text.count("\n")
    return unusual <= len(text) * MAX_UNUSUAL_SHARE and spaces >= len(text) * SPACE_SHARE


def _mostly_utf8(data: bytes, first_fault: int) -> bool:
    """Report whether the text is UTF-8 with a few damaged characters.

    The text around the first fault decides, or the rest if that is ASCII.
    """
    around = data[max(0, first_fault - SAMPLE_BYTES) : first_fault + SAMPLE_BYTES]
    return any(
        _is_plausible(part.decode("utf-8", "replace")) for part in (around, _sample_lines(data))
    )


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


def _detect_legacy(data: bytes) -> str:
    """Return the encoding of bytes that are no UTF-8."""
    name = _run_detector(data)
    if _can_decode(data, name) or _is_plausible(data.decode(name, "replace")):
        return name
    return "cp1252" if _can_decode(data, "cp1252") else "latin-1"


def _can_decode(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_plausible(text: str) -> bool:
    """Report whether a text with damaged characters is plausible in its encoding."""
    faults = text.count("\ufffd")
    return _count_beyond_ascii(text) - faults > faults * MIN_GOOD_PER_FAULT


def _run_detector(data: bytes) -> str:
    """Return the legacy encoding the detector finds in lines that are not ASCII.

    One damaged character hides from it that all others are of several bytes, so for each such
    encoding that fits but for a few it is asked again without these. A few accents tell it nothing:
    what may be Western European then is.
    """
    telling = _sample_lines(data)
    name = _guess(telling)
    if not is_multibyte(name) and _is_western(telling, name):
        is_newer = _EURO_OR_LIGATURE.search(telling.decode("cp1252"))
        return "iso8859-15" if is_newer and not _has_controls(telling, "iso8859-15") else "cp1252"
    like = _SUPERSETS.get(name, name)
    if like == _PERMISSIVE_ENCODING or like not in _MULTIBYTE_ENCODINGS:
        for encoding in _MULTIBYTE_ENCODINGS:
            undamaged = _without_damage(telling, encoding)
            again = _guess(undamaged) if undamaged else ""
            if encoding in {again, _SUPERSETS.get(again)}:
                return again
    return "cp1252" if _mixes_scripts(telling.decode(name, "replace")) else name


def _is_western(data: bytes, guess: str) -> bool:
    """Report whether all beyond ASCII is usual where it stands, and few letters are for the guess.

    Those that both read alike speak for neither, and a word says no more where it is repeated.
    """
    if not _can_decode(data, "cp1252"):
        return False
    text = _WESTERN_SIGN.sub(" ", data.decode("cp1252"))
    words = {word for word in re.findall(f"{_LETTER}+", text) if not word.isascii()}
    if not (re.sub(_LETTER, "_", text).isascii() and all(map(_WESTERN_WORD.fullmatch, words))):
        return False
    letters = [one for word in words for one in word if not one.isascii()]
    if len(letters) > _MAX_WESTERN and not _HUNGARIAN.search("".join(letters)):
        letters = [one for one in letters if one.encode("cp1252").decode(guess, "replace") != one]
    return len(letters) <= _MAX_WESTERN


def _has_controls(data: bytes, encoding: str) -> bool:
    """Report whether an encoding reads controls where cp1252, which has none there, has signs."""
    found = _C1_CONTROLS.search(data.decode(encoding, "replace"))
    return found is not None and _can_decode(data, "cp1252")


def _guess(data: bytes) -> str:
    """Return the encoding that the detector finds, or the one of Windows that texts have instead.

    Old web pages, mail and files have others too; the rarer ones (Macintosh, DOS, mainframes) are
    guessed wrongly far more often than they occur.
    """
    from chardet import EncodingEra  # noqa: PLC0415  # its models take 100 ms to load

    name = _detect(data, EncodingEra.MODERN_WEB | EncodingEra.LEGACY_ISO)
    if not is_multibyte(name) and _has_controls(data, name):
        name = _detect(data, EncodingEra.MODERN_WEB)
        return "cp1252" if _has_controls(data, name) else name
    return "cp1252" if name == "iso8859-1" and _can_decode(data, "cp1252") else name


def _detect(data: bytes, era: EncodingEra) -> str:
    from chardet import detect  # noqa: PLC0415  # its models take 100 ms to load

    try:
        name = codecs.lookup(detect(data, encoding_era=era)["encoding"] or "cp1252").name
    except LookupError:
        return "cp1252"
    if name.startswith(_NOT_ASCII_COMPATIBLE):
        return "cp1252"
    return "cp932" if name in _YEN_FOR_BACKSLASH else name


def _without_damage(data: bytes, encoding: str) -> bytes | None:
    """Remove damaged characters and their neighbours; None if there are none or too many."""
    text = data.decode(encoding, "replace")
    if "\ufffd" not in text or not _is_plausible(text):
        return None
    kept: list[bytes] = []
    while data:
        try:
            data.decode(encoding)
        except UnicodeDecodeError as error:
            nearest = max(0, error.start - _CONTEXT_BYTES)
            before = [
                found.end()
                for found in _SINGLE_BYTE_CHARACTERS.finditer(data, nearest, error.start)
            ]
            after = _SINGLE_BYTE_CHARACTERS.search(data, error.end, error.end + _CONTEXT_BYTES)
            kept.append(data[: max(before, default=nearest)])
            data = data[after.start() if after else error.end :]
        else:
            kept.append(data)
            break
    return b"\n".join(kept)


def _mixes_scripts(text: str) -> bool:
    """Report whether more words mix scripts than keep to one that is not Latin.

    Short texts with few accents look like that when decoded as Cyrillic or Greek.
    """
    return len(_MIXED_WORD.findall(text)) > len(_WORD_BEYOND_LATIN.findall(text))


def _sample_lines(data: bytes) -> bytes:
    """Return the first stretches of lines that are not ASCII: all that tells encodings apart.

    None ends inside a character but where the sample is full: no encoding fits one that does.
    """
    parts: list[bytes] = []
    size = at = 0
    while size < SAMPLE_BYTES and (found := _BEYOND_ASCII.search(data, at)) is not None:
        nearest = max(at, found.start() - _CONTEXT_BYTES)
        begin = max(nearest, data.rfind(b"\n", nearest, found.start()) + 1)
        farthest = found.end() + _CONTEXT_BYTES
        at = data.find(b"\n", found.end(), farthest)
        if at < 0:
            full = begin + SAMPLE_BYTES - size
            separate = _SINGLE_BYTE_CHARACTERS.search(data, farthest, full)
            at = separate.start() if separate else max(farthest, full)
        parts.append(data[begin:at])
        size += at - begin
    return b"\n".join(parts)
