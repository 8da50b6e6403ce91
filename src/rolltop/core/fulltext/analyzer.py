"""How texts are cut for the index: into parts, and into words.

The one word splitter is the same for documents and queries, on both databases.

Words are in lower case without Latin diacritics. A name is found whole and by its parts:
`parseHTTPHeader2` gives `parsehttpheader2 parse http header 2`, and `parse_http_header2` the
same. Scripts written without spaces give overlapping pairs of characters. English endings are
taken off, so that `parsing` and `parses` find each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final

from rolltop.core.fulltext.stemmer import stem

CHUNK_CODE_POINTS: Final = 1000
"""Code points of a part; the model looks at about as many."""

OVERLAP_CODE_POINTS: Final = 150
MAX_CHUNKS: Final = 1000
"""A text has at most about so many parts: those of a very long one grow."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

MAX_WORD_LENGTH: Final = 40
"""Code points of a word that count; the rest of a longer one is not looked at."""

MAX_NAME_LENGTH: Final = 400
"""Code points of a name that count."""

MAX_SHORT_PARTS: Final = 8
"""A name of more parts that are short (a hash, encoded data) is found only whole."""

_MIN_MEAN_LENGTH: Final = 3
"""Code points for each part of a name of words, `_` counted; of hashes and Base64 it is two."""

MAX_BLOCK_LENGTH: Final = 1 << 16
"""Code points that are cut into names at once: meanwhile no other thread runs."""

_ASCII_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_ASCII_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DIACRITICS: Final = re.compile("[\u0300-\u036f]+")
_NON_ASCII: Final = re.compile("[^\x00-\x7f](?:[^\n]*[^\x00-\x7f])?")  # of a line, in one
_SEPARATOR: Final = re.compile("[^0-9A-Za-z_\x80-\U0010ffff]")
_MAX_CACHED_NAMES: Final = 1 << 14  # split names remembered: more make no difference that shows
_MAX_CACHED_LETTERS: Final = 1 << 16  # more than a text has that is written in languages
_MAX_CACHED_LENGTH: Final = 200  # code points; a longer name is data, and comes once
_MAX_MARKS: Final = 30
"""Marks on one letter that count, as in Unicode's stream-safe texts: they are sorted one by one."""
_MAX_NUMBER_LENGTH: Final = 5
_SEPARATORS: Final = {
    code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")
}
_LAST_COMBINING_MARK: Final = 0x20000  # code points above hold no marks but variation selectors


UNSPACED_SCRIPTS: Final = (
    # Thai, Lao, Tibetan, Burmese and Khmer; then Chinese, Japanese and Korean.
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00016fe0-\U0001b16f\U0001f200-\U0001f2ff\U00020000-\U000323af"
)
"""The inside of a character class: scripts indexed as pairs of characters."""
_STROKE_LETTERS: Final = str.maketrans("łŁøØđĐħĦŧŦı", "lLoOdDhHtTi")  # no marks of their own


class _SplitCache(dict[str, str]):
    """Names and the words they give, in one text; the most frequent thing done to a document."""

    def __init__(self, split: Callable[[str], str]) -> None:
        super().__init__()
        self._split: Final = split

    def __missing__(self, name: str) -> str:
        made = self._split(name)
        if len(name) > _MAX_CACHED_LENGTH:
            return made
        if len(self) >= _MAX_CACHED_NAMES:
            self.clear()  # what is frequent is soon there again
        self[name] = made
        return made


def tokenize(text: str) -> list[str]:
    """Return the text's words in order, repeated as they occur; `[]` for a text without any.

    Never raises: NUL, lone surrogates and unassigned characters stand between words.
    """
    return tokenize_joined(text).split()


def tokenize_joined(text: str) -> str:
    """Return the text's words with a space between two: what `words` returns, in one string."""
    if len(text) > MAX_BLOCK_LENGTH:
        return " ".join(filter(None, map(tokenize_joined, blocks(text))))
    return " ".join(filter(None, map(_splits.__getitem__, split_names(text))))


def blocks(text: str) -> Iterator[str]:
    """Yield a text in blocks, cut between two names unless one is longer than counts."""
    start = 0
    while start < len(text):
        end = start + MAX_BLOCK_LENGTH
        found = _SEPARATOR.search(text, end - MAX_NAME_LENGTH, end)
        end = found.end() if found else end
        yield text[start:end]
        start = end


def tokenize_unstemmed(text: str) -> list[str]:
    """Return the text's words as `tokenize` does, with their endings."""
    return [word for name in split_names(text) for word in _name_words(name)]


def split_names(text: str) -> list[str]:
    """Return the names of a text in order: its words are those of each by itself."""
    if text.isascii():
        return _ASCII_NAME.findall(text)
    found: list[str] = []
    for is_ascii, lines in groupby(text.split("\n"), str.isascii):  # ASCII is five times faster
        pattern = _ASCII_NAME if is_ascii else _name_pattern()
        found += pattern.findall("\n".join(lines))
    return found


def find_names(text: str) -> Iterator[re.Match[str]]:
    """Yield the names of a text as `split_names` lists them, with their offsets."""
    return (_ASCII_NAME if text.isascii() else _name_pattern()).finditer(text)


def fold(text: str) -> str:
    """Return a text in the letters of its words: without Latin diacritics or capitals."""
    if not text.isascii():
        text = _NON_ASCII.sub(lambda found: _without_diacritics(found[0]), text)
    return text.casefold()


def tokenize_lines(text: str) -> str:
    """Return the text's words as `tokenize_joined` does, with a line break between two lines."""
    return "\n".join(filter(None, map(tokenize_joined, text.split("\n"))))


def tokenize_parts(text: str) -> str:
    """Return the text's words, each at least once, with a space between two: names by their parts.

    Three times as fast as `tokenize_joined`, and names take half the room: the whole of a name of
    several parts is left out, and so are numbers of more than five characters. For an index that
    only proposes; lines beyond ASCII keep all their words.
    """
    if text.isascii():
        names = set(text.translate(_SEPARATORS).split())
        return " ".join(filter(None, map(_ascii_parts.__getitem__, names)))
    found: list[str] = []
    for is_ascii, lines in groupby(text.split("\n"), str.isascii):
        joined = "\n".join(lines)
        found.append(tokenize_parts(joined) if is_ascii else tokenize_joined(joined))
    return " ".join(filter(None, found))


def uses_pairs(text: str) -> bool:
    """Whether the text is of a script that is indexed as pairs of characters."""
    return _pair_pattern().fullmatch(text) is not None


def _ascii_words(name: str) -> list[str]:
    """Return the words of an ASCII name: itself and, where there are several, its parts."""
    name = name[:MAX_NAME_LENGTH]
    return _name_and_parts(name, _ASCII_PART.findall(name))


def _name_words(name: str) -> list[str]:
    """Return the words of one name in any script, with their endings."""
    if name.isascii():
        return _ascii_words(name)
    if len(name) > _MAX_MARKS:
        name = _excess_marks().sub("", name)
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:  # it may hold separators now
        return tokenize_unstemmed(plain)
    found: list[str] = []
    for piece in _pair_pattern().split(name):
        if piece and _pair_pattern().fullmatch(piece):
            found += [piece[at : at + 2] for at in range(len(piece))]
        elif piece:
            found += _cased_words(piece)
    return found


def _parts_of_name(name: str) -> str:
    """Return the words of an ASCII name that has parts without the whole."""
    if name[0].isdigit() and "_" not in name:
        return _stems[name] if len(name) <= _MAX_NUMBER_LENGTH else ""
    parts = [name] if name.islower() and name.isalpha() else _ASCII_PART.findall(name)
    if _is_data(name, parts):
        return _stems["".join(parts)]
    return " ".join(map(_stems.__getitem__, parts))


def _stemmed_words(name: str) -> str:
    """Return the words of one name in any script, with a space between two."""
    if name.isascii() and len(name) <= MAX_WORD_LENGTH:
        if name.isdecimal():  # of data there may be as many as there are numbers
            return name
        if name.islower() and name.isalpha():
            return stem(name)
    return " ".join(map(stem, _name_words(name)))


_stems: Final = _SplitCache(lambda part: stem(part.lower()[:MAX_WORD_LENGTH]))
_ascii_parts: Final = _SplitCache(_parts_of_name)
_splits: Final = _SplitCache(_stemmed_words)


def _cased_words(name: str) -> list[str]:
    """Return the words of a name whose script has spaces: itself and its parts."""
    plain = _without_diacritics(name[:MAX_NAME_LENGTH])
    if plain.isascii():
        return _ascii_words(plain)
    return _name_and_parts(plain, [part for part in _parts(plain) if part])


def _name_and_parts(name: str, parts: list[str]) -> list[str]:
    """Return the words of a name of these parts: one part is the name."""
    whole = "".join(parts).casefold()[:MAX_WORD_LENGTH]
    found = [whole] if whole else []
    if len(parts) > 1 and not _is_data(name, parts):
        found += [part.casefold()[:MAX_WORD_LENGTH] for part in parts]
    return found


def _is_data(name: str, parts: list[str]) -> bool:
    return len(parts) > MAX_SHORT_PARTS and len(name) < _MIN_MEAN_LENGTH * len(parts)


def _parts(name: str) -> list[str]:
    """Return the name cut at `_`, between letters and digits, and where small meets capital."""
    found = [""]
    before = ""
    for character in name:
        if character == "_":
            found.append("")
        elif (before and before.isdecimal() != character.isdecimal()) or (
            character.isupper() and before.islower()
        ):
            found.append(character)
        else:
            found[-1] += character
        before = character
    return found


def _without_diacritics(name: str) -> str:
    return unicodedata.normalize("NFC", name.translate(_plain_letters))


class _PlainLetters(dict[int, str]):
    """Letters without their diacritics, by code point: a whole text is translated at once."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _MAX_CACHED_LETTERS:
            self.clear()
        decomposed = unicodedata.normalize("NFKD", chr(code)).translate(_STROKE_LETTERS)
        plain = self[code] = _DIACRITICS.sub("", decomposed)
        return plain


_plain_letters: Final = _PlainLetters()


@lru_cache(1)
def _pair_pattern() -> re.Pattern[str]:
    """Match runs of scripts written without spaces (Korean by its compounds)."""
    return re.compile(f"([{UNSPACED_SCRIPTS}]+)")


@lru_cache(1)
def _name_pattern() -> re.Pattern[str]:
    """Match names in any script: letters, digits, `_` and the marks on letters."""
    return re.compile(f"[A-Za-z0-9_]++(?![^\\x00-\\x7f])|[\\w{_marks()}]+")


@lru_cache(1)
def _excess_marks() -> re.Pattern[str]:
    """Match the marks that do not count, behind those that do."""
    return re.compile(f"(?<=[{_marks()}]{{{_MAX_MARKS}}})[{_marks()}]+")


@lru_cache(1)
def _marks() -> str:
    """Return the marks on letters as the inside of a character class."""
    marks = [c for c in range(_LAST_COMBINING_MARK) if unicodedata.category(chr(c)) in {"Mn", "Mc"}]
    return _class_of(marks)


def _class_of(codes: list[int]) -> str:
    """Return ascending code points as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def replace_unstorable(text: str) -> str:
    """Return the text with what a database cannot hold (NUL, lone surrogates) replaced."""
    return _UNSTORABLE.sub("\ufffd", text)


def chunks(text: str) -> list[str]:
    """Return the parts of a text in order, cut at line ends where possible; `[""]` for `""`.

    Neighbours overlap, so that what stands at a cut is whole in one of them. Every part is at
    most `SIZE` code points, or a thousandth of a text of over a million.
    """
    size = max(CHUNK_CODE_POINTS, len(text) // MAX_CHUNKS + OVERLAP_CODE_POINTS)
    parts: list[str] = []
    start = 0
    while start + size < len(text):
        end = _chunk_end(text, start, size)
        parts.append(text[start:end])
        start = _chunk_start(text, end)
    parts.append(text[start:])
    return parts


def _chunk_end(text: str, start: int, size: int) -> int:
    """Return where the part from `start` on ends: after a paragraph, a line, a word."""
    for boundary in ("\n\n", "\n", " "):
        found = text.rfind(boundary, start + size // 2, start + size)
        if found >= 0:
            return found + len(boundary)
    return start + size


def _chunk_start(text: str, end: int) -> int:
    """Return where the part after `end` starts: at a line or a word within the overlap."""
    for boundary in ("\n", " "):
        found = text.find(boundary, end - OVERLAP_CODE_POINTS, end - 1)
        if found >= 0:
            return found + 1
    return end - OVERLAP_CODE_POINTS
