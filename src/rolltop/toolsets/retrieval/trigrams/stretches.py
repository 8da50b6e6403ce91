"""The longest stretches of characters of a kind: what is kept of a file besides its runs.

An expression may hold no text at all and yet need much: forty letters in a row, a line of 200
characters. A file's stretches are kept as trigrams too, of characters that are hardly ever written,
so they are asked for along with texts.
"""

from __future__ import annotations

import string
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Characters = int
"""A set of characters: a bit for each of ASCII, and one for all the others together."""

BEYOND: Final[Characters] = 1 << 128
"""All characters beyond ASCII."""
ANY: Final[Characters] = (BEYOND << 1) - 1

_FIRST: Final = 0xE000
"""The first character of private use."""
_ROOM: Final = 32
_GRAM: Final = 3
_ASCII: Final = 128
_IN: Final = b"x"
_OUT: Final = b" "


def of(characters: Iterable[str]) -> Characters:
    """Return the set of some characters."""
    found = 0
    for character in characters:
        found |= 1 << min(ord(character), _ASCII)
    return found


class Kind(NamedTuple):
    """A kind of characters, and from which lengths on stretches of it are told apart.

    Lengths are bytes of UTF-8, so a stretch has no more characters than that. Whatever is beyond
    ASCII belongs to every kind: which of it are digits, say, only ripgrep knows.
    """

    characters: Characters
    lengths: tuple[int, ...]


DIGITS: Final = of(string.digits)
HEX: Final = of(string.hexdigits)
LETTERS: Final = of(string.ascii_letters)
WORD: Final = of(string.ascii_letters + string.digits + "_")
BLANK: Final = of(" \t\v\f\r\n")

KINDS: Final = (
    Kind(BEYOND, (1,)),
    Kind(DIGITS | BEYOND, (4, 5, 6, 8, 10, 12, 16, 20, 32, 64)),
    Kind(HEX | BEYOND, (8, 12, 16, 24, 32, 40, 56, 64, 96, 128, 256)),
    Kind(LETTERS | BEYOND, (14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 128, 512)),
    Kind(WORD | BEYOND, (20, 24, 28, 32, 36, 40, 48, 56, 64, 96, 128, 256, 1024)),
    Kind(ANY & ~BLANK, (40, 50, 60, 70, 80, 100, 120, 160, 200, 400, 1000, 4000)),
    Kind(ANY, (100, 110, 120, 140, 160, 200, 250, 300, 400, 500, 1000, 2000, 10_000)),
)
"""Each in one line: the last is the line itself."""


def _table(kind: Kind) -> bytes:
    """Return what tells the bytes of a kind from others; line feeds are of none."""
    inside = kind.characters & ~of("\n")
    return b"".join(_IN if inside >> min(code, _ASCII) & 1 else _OUT for code in range(256))


_TABLES: Final = tuple(map(_table, KINDS))
_OF_WORDS: Final = tuple(not kind.characters & ~(WORD | BEYOND) for kind in KINDS)
"""Whether stretches of a kind lie within words."""


def stretches(data: bytes, words: bytes) -> str:
    """Return what is kept of the stretches of a text in UTF-8; `words` are its distinct ones."""
    found: list[str] = []
    for number, (kind, table) in enumerate(zip(KINDS, _TABLES, strict=True)):
        reached = _reached(kind.lengths, (words if _OF_WORDS[number] else data).translate(table))
        if reached:
            found.append(_written(number, 0, reached + _GRAM - 1))
    return "".join(found)


def marks(lengths: Sequence[int]) -> Iterator[str]:
    """Yield texts that are all kept of a file with a stretch of each kind of at least its length.

    None where all files may have such, nor where a stretch of a narrower kind is as long.
    """
    levels = [bisect_right(kind.lengths, one) for kind, one in zip(KINDS, lengths, strict=True)]
    steps = [
        kind.lengths[level - 1] if level else 0 for kind, level in zip(KINDS, levels, strict=True)
    ]
    for number, (kind, level, step) in enumerate(zip(KINDS, levels, steps, strict=True)):
        narrower = (
            other >= step and not one.characters & ~kind.characters
            for one, other in zip(KINDS, steps, strict=True)
            if one is not kind
        )
        if level and not any(narrower):
            yield _written(number, level - 1, level - 1 + _GRAM)


def is_mark(text: str) -> bool:
    """Return whether a text may be one of `marks`."""
    return _FIRST <= ord(text[0]) < _FIRST + _ROOM * len(KINDS)


def _reached(lengths: tuple[int, ...], inside: bytes) -> int:
    """Return how many of the lengths, from the first on, the longest stretch reaches."""
    return next((at for at, one in enumerate(lengths) if _IN * one not in inside), len(lengths))


def _written(number: int, start: int, end: int) -> str:
    """Return characters of a kind's own, whose trigrams stand for its lengths one by one."""
    first = _FIRST + _ROOM * number
    return "".join(map(chr, range(first + start, first + end)))
