"""The terms of a query, and where the words of a text begin with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple
from unicodedata import normalize

from rolltop.core.fulltext.analyzer import uses_pairs
from rolltop.core.fulltext.bm25 import is_function_word
from rolltop.core.fulltext.stemmer import stem

_WORD: Final = re.compile(r"\w+")
_MIN_WORD_LENGTH: Final = 3
_MAX_TERMS: Final = 32
MAX_HITS: Final = 200_000
"""Of one term in a document; further ones are not found."""


def query_terms(query: str) -> list[str]:
    """Return the distinct terms of a query: no function words if there are others, no plural s.

    Of scripts written without spaces the terms are pairs of characters.
    """
    words = [
        word
        for in_pairs, run in groupby(fold(normalize("NFC", query)), uses_pairs)
        for word in (_pairs("".join(run)) if in_pairs else _WORD.findall("".join(run)))
    ]
    content = [word for word in words if not is_function_word(word)] or words
    stems = (w[:-1] if len(w) > _MIN_WORD_LENGTH and w.endswith("s") else w for w in content)
    return list(dict.fromkeys(stems))[:_MAX_TERMS]


def base_form(term: str) -> str:
    """Return how words begin that differ from a term by their endings alone."""
    found = stem(term)
    if len(found) < _MIN_WORD_LENGTH:
        return term
    return f"{found[:-1]}y" if found.endswith("i") else found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def fold(text: str) -> str:
    """Return a text of the same length in which letters that differ by case alone are the same."""
    return text.replace("İ", "I").lower().replace("\u03c2", "\u03c3")  # sigmas


class FoundTerm(NamedTuple):
    """The form in which a document has a term, and the offsets at which it does."""

    form: str
    offsets: Sequence[int]


def word_starts(lowered: str, term: str) -> list[int]:
    """List the offsets at which a word starts with the term, or a pair of characters occurs.

    A word also starts behind a character of a script written without spaces.
    """
    found: list[int] = []
    anywhere = uses_pairs(term)
    at = lowered.find(term)
    while at >= 0 and len(found) < MAX_HITS:
        before = lowered[at - 1 : at]
        if anywhere or not before.isalnum() or uses_pairs(before):
            found.append(at)
        at = lowered.find(term, at + len(term))
    return found


def is_in_title(term: str, title: str) -> bool:
    """Whether a word of a title starts with the term."""
    return term in title and bool(word_starts(title, term))
