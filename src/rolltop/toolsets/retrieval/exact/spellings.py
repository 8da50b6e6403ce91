"""Texts that are much like another: which files may hold one, and where one stands in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_BETWEEN: Final = r"(?:[^\S\r\n]|[_.:-]){0,2}"
_SIGNS: Final = "0-9A-Za-z_"
"""For a letter that is missing or wrong."""
_TELLING: Final = 3
"""Letters of a word that is looked for by itself."""
_LONG: Final = 9
"""Letters of a text of which a part tells where the rest may be, whichever letter is off."""
_LEAST_WIDTH: Final = 4
_WIDTHS: Final = 6
"""The letters of which one is off: so many, or a part of a long text."""
_MOST_PLACES: Final = 10_000
"""Of one part in one file: each takes about a microsecond."""
_ALIKE: Final = tuple(
    zip(
        "\u0130\u017f\u00b5\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u1e9b\u1fbe",
        "is\u03bc\u03c3\u03b2\u03b8\u03c6\u03c0\u03ba\u03c1\u03b5\u1e61\u03b9",
        strict=True,
    )
)
"""Letters whose case is ignored like that of others; the first, of Turkish, as its small form
takes two characters."""


@dataclass(frozen=True)
class Likeness:
    """One way of being like a text.

    `narrowing` is an expression that an index answers quickly, for lines that may hold a text that
    is, whatever its case; `places` yields where such texts begin and end, in a text of small
    letters.
    """

    narrowing: str
    places: Callable[[str], Iterator[tuple[int, int]]]

    def named(self, text: str) -> tuple[str, bool] | None:
        """Return what is like it in a text, and whether it stands there as a whole word.

        The first that does, else the first of all; None for none.
        """
        part: str | None = None
        for start, end in self.places(_in_small(text)):
            if _is_whole(text, start, end):
                return text[start:end], True
            part = part or text[start:end]
        return None if part is None else (part, False)


def _in_small(text: str) -> str:
    """Return a text in small letters, each in the place it had."""
    if text.isascii():
        return text.lower()
    small = text.replace(*_ALIKE[0]).lower()
    for letter, other in _ALIKE:
        small = small.replace(letter, other)
    return small


def likenesses(text: str) -> Iterator[Likeness]:
    """Yield the ways of being like a text of a few letters or more, the likest first.

    Other case, other signs between the words, one letter off.
    """
    yield Likeness(re.escape(text), _Same(_in_small(text)))
    words = _WORD.findall(text)
    if len(words) > 1 and max(map(len, words)) >= _TELLING:
        yield Likeness(_BETWEEN.join(map(re.escape, words)), _Joined([*map(_in_small, words)]))
    yield Likeness(
        "|".join(_gapped(text) if len(text) >= _LONG else _one_letter_off(text)),
        _OneLetterOff(_in_small(text)),
    )


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether no word begins before a part of a text and goes on in it, or ends behind."""
    before, after = text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]
    return not (re.fullmatch(r"\w\w", before) or re.fullmatch(r"\w\w", after))


def _places_of(part: str, text: str) -> Iterator[int]:
    """Yield where a part stands in a text, the first so many places."""
    at = -1
    for _ in range(_MOST_PLACES):
        at = text.find(part, at + 1)
        if at < 0:
            return
        yield at


class _Same(NamedTuple):
    """The text itself."""

    text: str

    def __call__(self, small: str) -> Iterator[tuple[int, int]]:
        return ((at, at + len(self.text)) for at in _places_of(self.text, small))


class _Joined:
    """The words of a text with other signs between them."""

    def __init__(self, words: list[str]) -> None:
        longest = max(range(len(words)), key=lambda number: len(words[number]))
        self._longest: Final = words[longest]
        self._after: Final = _joined(words[longest + 1 :])
        self._before: Final = _joined([word[::-1] for word in reversed(words[:longest])])

    def __call__(self, small: str) -> Iterator[tuple[int, int]]:
        backwards = small[::-1]
        for at in _places_of(self._longest, small):
            after = self._after.match(small, at + len(self._longest))
            before = self._before.match(backwards, len(small) - at)
            if after and before:
                yield len(small) - before.end(), after.end()


def _joined(words: list[str]) -> re.Pattern[str]:
    """Return an expression for words and what may stand before each."""
    return re.compile("".join(_BETWEEN + re.escape(word) for word in words))


class _OneLetterOff:
    """The text with one letter missing, wrong or too many, or two that are swapped.

    Whichever it is, one half is as it was, or the two in the middle are swapped.
    """

    def __init__(self, text: str) -> None:
        half = len(text) // 2
        self._first: Final = text[:half]
        self._second: Final = text[half:][::-1]
        self._middle: Final = text[: half - 1] + text[half] + text[half - 1] + text[half + 1 :]
        self._after: Final = re.compile("|".join(_one_letter_off(text[half:])))
        self._before: Final = re.compile("|".join(_one_letter_off(text[:half][::-1])))

    def __call__(self, small: str) -> Iterator[tuple[int, int]]:
        size = len(small)
        after = _halves(self._first, self._after, small)
        before = _halves(self._second, self._before, small[::-1])
        swapped = _Same(self._middle)(small)
        return chain(after, ((size - end, size - start) for start, end in before), swapped)


def _halves(half: str, other: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where a half stands with what may follow it."""
    for at in _places_of(half, text):
        match = other.match(text, at + len(half))
        if match:
            yield at, match.end()


def _gapped(text: str) -> Iterator[str]:
    """Yield expressions with gaps: any letter, and any two next to each other, are in one."""
    width = max(_LEAST_WIDTH, len(text) // _WIDTHS)
    for start in range(0, len(text) - 1, width - 1):
        yield f"{re.escape(text[:start])}.*{re.escape(text[start + width :])}"


def _one_letter_off(text: str) -> list[str]:
    """Return expressions for the text with one letter missing, swapped, wrong or too many."""
    places = range(len(text))
    around = [(re.escape(text[:at]), text[at], re.escape(text[at + 1 :])) for at in places]
    missing = [f"{before}[{_SIGNS}]{re.escape(letter)}{after}" for before, letter, after in around]
    swapped = [
        re.escape(text[:at] + text[at + 1] + text[at] + text[at + 2 :]) for at in places[:-1]
    ]
    wrong = [f"{before}[{_SIGNS}]{after}" for before, _, after in around]
    too_many = [before + after for before, _, after in around]
    return [*missing, *swapped, *wrong, *too_many]
