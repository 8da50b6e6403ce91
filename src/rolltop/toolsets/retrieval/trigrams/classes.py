"""Which characters an escape or a bracket expression may match, as Rust's regex reads it.

Never fewer than it matches: what is not known here may be any.
"""

from __future__ import annotations

import re
import string
from typing import Final

from rolltop.toolsets.retrieval.trigrams.stretches import (
    ANY,
    BEYOND,
    BLANK,
    DIGITS,
    HEX,
    LETTERS,
    WORD,
    Characters,
    of,
)

_SMALL: Final = of(string.ascii_lowercase)
_CAPITAL: Final = of(string.ascii_uppercase)
_APART: Final = ord("a") - ord("A")
_PERL: Final[dict[str, Characters]] = {
    "d": DIGITS | BEYOND,
    "D": ANY & ~DIGITS,
    "s": BLANK | BEYOND,
    "S": ANY & ~BLANK,
    "w": WORD | BEYOND,
    "W": ANY & ~WORD,
}
_POSIX: Final[dict[str, Characters]] = {
    "alnum": LETTERS | DIGITS,
    "alpha": LETTERS,
    "ascii": ANY & ~BEYOND,
    "blank": of(" \t"),
    "digit": DIGITS,
    "lower": _SMALL,
    "punct": of(string.punctuation),
    "space": BLANK,
    "upper": _CAPITAL,
    "word": WORD,
    "xdigit": HEX,
}
_CONTROLS: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CODED: Final = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[xuU]\{[0-9A-Fa-f]+\})"
_ONE: Final = rf"{_CODED}|\\[aftnrv]|\\[^0-9A-Za-z<>]|[^\\\[]"
_ITEM: Final = re.compile(
    rf"\[:(?P<posix>[a-z]+):\]|\\(?P<perl>[dDsSwW])|(?P<first>{_ONE})(?:-(?P<last>{_ONE}))?",
    re.DOTALL,
)
_SINGLE: Final = re.compile(_CODED)
_SET_SIGNS: Final = ("&&", "--", "~~")
_HIGHEST: Final = 128
_TWO_CASED: Final = of("sSkK")
"""ASCII letters that characters beyond ASCII are the other case of."""


def folded(characters: Characters) -> Characters:
    """Return the characters with all that differ from them in case only."""
    found = characters | (characters & _CAPITAL) << _APART | (characters & _SMALL) >> _APART
    if found & BEYOND:
        return found | _TWO_CASED
    return found | BEYOND if found & _TWO_CASED else found


def of_escape(escape: str, *, folds: bool) -> Characters:
    """Return what a whole escape may match that stands for one character.

    Where it `folds`, letters match whatever their case.
    """
    if not (_SINGLE.fullmatch(escape) or escape[1:] in _CONTROLS):
        return _PERL.get(escape[1:], ANY)
    found = 1 << min(_code(escape), _HIGHEST)
    return folded(found) if folds else found


def of_class(written: str, *, folds: bool) -> Characters:
    """Return what a bracket expression may match, by what is written inside its brackets.

    Where it `folds`, letters match whatever their case.
    """
    inside = written.removeprefix("^")
    if any(sign in inside for sign in _SET_SIGNS):
        return ANY
    negates = inside != written
    letters = folds and not negates
    at = int(inside.startswith("]"))  # there it stands for itself, and begins no range
    found = of(inside[:at])
    while at < len(inside):
        item = _ITEM.match(inside, at)
        if item is None or (item["posix"] and item["posix"] not in _POSIX):
            return ANY
        at = item.end()
        found |= _of_item(item, folds=letters)
    return ANY & ~found | BEYOND if negates else found


def _of_item(item: re.Match[str], *, folds: bool) -> Characters:
    if item["perl"]:
        return _PERL[item["perl"]]
    if item["posix"]:
        found = _POSIX[item["posix"]]
    else:
        first, last = _code(item["first"]), _code(item["last"] or item["first"])
        if last < first:
            return ANY
        found = of(map(chr, range(min(first, _HIGHEST), min(last, _HIGHEST) + 1)))
    return folded(found) if folds else found


def _code(written: str) -> int:
    """Return the number of a character, written as itself or as an escape."""
    if _SINGLE.fullmatch(written):
        return int(written[2:].strip("{}"), 16)
    sign = written[-1]
    return ord(_CONTROLS[sign] if len(written) > 1 and sign in _CONTROLS else sign)
