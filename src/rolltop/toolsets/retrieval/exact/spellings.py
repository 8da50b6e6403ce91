"""Texts that are much like another: how they are looked for, and told from those that are not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_BETWEEN: Final = r"[\s_.:-]{0,2}"
_SIGNS: Final = "0-9A-Za-z_"
"""For a letter that is missing or wrong: every letter there is takes ripgrep 0.1 s to compile."""
_LONG: Final = 9
"""Letters of a text of which a part tells where the rest may be, whichever letter is off."""
_LEAST_WIDTH: Final = 4
_WIDTHS: Final = 6
"""The letters of which one is off: so many, or a part of a long text."""
_MOST_LINES: Final = 200
_SWAPPED: Final = 2


@dataclass(frozen=True)
class Likeness:
    """One way of being like a text: an expression for lines that may hold one that is.

    `narrowing` is an expression that an index answers quickly, for files with such lines;
    `named` returns what a line has that is like the text, None where it has nothing; where the
    expression alone does not tell, several `lines` have to be asked.
    """

    asked: str
    narrowing: str
    named: Callable[[str], str | None]
    lines: int = 1


class _Gap(NamedTuple):
    """A few letters of a text, of which one may be off, between those that are as they are."""

    before: str
    width: int
    after: str
    signs: str

    def expression(self, least: int, most: int) -> str:
        """Return an expression for the text with so many letters in the gap."""
        return f"{re.escape(self.before)}{self.signs}{{{least},{most}}}{re.escape(self.after)}"


def likenesses(text: str) -> Iterator[Likeness]:
    """Yield the ways of being like a text of a few letters or more, the likest first.

    Other case, other signs between the words, one letter off.
    """
    yield _exactly(re.escape(text))
    words = _WORD.findall(text)
    if len(words) > 1:
        yield _exactly(_BETWEEN.join(map(re.escape, words)))
    if len(text) < _LONG:
        yield _exactly(_one_letter_off(text))
        return
    # To write every such text out takes ripgrep up to 50 ms to compile.
    gaps = list(_gaps(text))
    yield Likeness(
        "|".join(gap.expression(gap.width - 1, gap.width + 1) for gap in gaps),
        "|".join(f"{re.escape(gap.before)}.*{re.escape(gap.after)}" for gap in gaps),
        partial(_one_off_in, text, gaps),
        _MOST_LINES,
    )


def _exactly(expression: str) -> Likeness:
    return Likeness(expression, expression, partial(_matched, expression))


def _matched(expression: str, line: str) -> str | None:
    match = re.search(expression, line, re.IGNORECASE)
    return match and match[0]


def _gaps(text: str) -> Iterator[_Gap]:
    """Yield a text's gaps: any letter, and any two next to each other, are inside one of them."""
    width = max(_LEAST_WIDTH, len(text) // _WIDTHS)
    for start in range(0, len(text) - 1, width - 1):
        inside = text[start : start + width]
        signs = f"[{_SIGNS}{''.join(map(re.escape, sorted(set(inside))))}]"
        yield _Gap(text[:start], len(inside), text[start + width :], signs)


def _one_off_in(text: str, gaps: list[_Gap], line: str) -> str | None:
    """Return what a line has that is one letter off the text."""
    for gap in gaps:
        for width in (gap.width + 1, gap.width, gap.width - 1):
            for match in re.finditer(gap.expression(width, width), line, re.IGNORECASE):
                if _is_one_letter_off(text.lower(), match[0].lower()):
                    return match[0]
    return None


def _is_one_letter_off(one: str, other: str) -> bool:
    """Return whether one letter is missing, wrong or too many, or two are swapped."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    swapped = len(one) == _SWAPPED and one == other[::-1]
    return swapped or max(len(one), len(other)) == 1


def _one_letter_off(text: str) -> str:
    """Return an expression for the text with one letter missing, swapped, wrong or too many."""
    places = range(len(text))
    around = [(re.escape(text[:at]), text[at], re.escape(text[at + 1 :])) for at in places]
    missing = [f"{before}[{_SIGNS}]{re.escape(letter)}{after}" for before, letter, after in around]
    swapped = [
        re.escape(text[:at] + text[at + 1] + text[at] + text[at + 2 :]) for at in places[:-1]
    ]
    wrong = [f"{before}[{_SIGNS}]{after}" for before, _, after in around]
    too_many = [before + after for before, _, after in around]
    return "|".join([*missing, *swapped, *wrong, *too_many])
