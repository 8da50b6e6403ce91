"""What a text must say or must not say: words in a row, split as the indexed texts are."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from rolltop.core.search.terms import is_beginning, is_function_word
from rolltop.core.search.words import words

Phrase = tuple[str, ...]
"""Words that stand in a row; one that is a beginning stands for all it begins."""

LONGEST: Final = 60
"""Words of a phrase that count."""
MOST: Final = 32
"""Phrases of each kind that count."""

_NAME: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Asked:
    """Every wanted phrase has to be in a text, and no unwanted one."""

    wanted: tuple[Phrase, ...] = ()
    unwanted: tuple[Phrase, ...] = ()


def phrase(text: str) -> Phrase:
    """Return the words of a text that has to stand as it is, () for a text without words."""
    return _ended(tuple(words(text)[: LONGEST + 1]))[:LONGEST]


def name(text: str) -> Phrase:
    """Return the words of one name of a query: of its parts, so that prose is found as well.

    `parse_http` finds `parseHTTP` and “parse HTTP”. Several names in a row are a phrase.
    """
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    found = words(text)[: LONGEST + 1]
    if len(found) > 1 and _NAME.fullmatch(plain) and not any(map(_is_pair, found)):
        found = found[1:]
    return _ended(tuple(found))[:LONGEST]


def is_telling(given: Phrase) -> bool:
    """Whether a phrase is more than one function word (“the”, “of”)."""
    return len(given) != 1 or not is_function_word(given[0])


def _is_pair(word: str) -> bool:
    return is_beginning(word[:1])


def _ended(found: Phrase) -> Phrase:
    """Return a phrase without a last character that is the end of the pair before it."""
    if len(found) > 1 and is_beginning(found[-1]) and found[-2][-1] == found[-1]:
        return found[:-1]
    return found
