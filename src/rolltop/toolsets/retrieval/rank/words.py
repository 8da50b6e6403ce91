"""The words of a unit by the fields they stand in, and those of a query."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.search.terms import terms_of
from rolltop.core.search.words import joined_words, words
from rolltop.toolsets.retrieval.rank.pieces import path_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.retrieval.rank.units import Unit

MOST_READ: Final = 50_000
"""Code points of a unit whose words count."""

LONGEST_QUERY: Final = 2_000
"""Code points of a query that are looked at."""

_LEAST_LITERAL: Final = 2
_NOT_NAME: Final = re.compile(r"[\W_]+")
_WORD: Final = re.compile(r"\w+")
_FILE_NAME: Final = re.compile(r"[\w./-]*\w\.\w{1,10}(?!\w)|[\w.-]+(?:/[\w.-]+)+")


class Fields(NamedTuple):
    """The words of a unit, each field's with a space between two."""

    name: str
    path: str
    body: str


@dataclass(frozen=True)
class Sought:
    """What a query looks for: its words, its text, and the names and files it may mean.

    `length` counts the characters of its words without those of files, `count` these words;
    `literals` says for a word what is in any text that has it, in small letters; `wholes` has the
    parts of each word that is a name of several.
    """

    text: str
    terms: Sequence[str]
    phrase: str
    names: frozenset[str]
    files: tuple[str, ...]
    length: int = 1
    count: int = 0
    literals: dict[str, str] = field(default_factory=dict[str, str])
    wholes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @classmethod
    def of(cls, text: str) -> Sought:
        """Return what any text looks for; no text makes it fail."""
        text = text[:LONGEST_QUERY].strip()
        terms = terms_of(text)
        lowered = text.lower()
        raw = _WORD.findall(_FILE_NAME.sub(" ", lowered))
        pairs = [a + b for a, b in pairwise(raw)]
        triples = [a + b for a, b in zip(pairs, raw[2:], strict=False)]
        names = {plain(name) for name in (*raw, *pairs, *triples)}
        files = tuple(dict.fromkeys(found.strip("./") for found in _FILE_NAME.findall(lowered)))
        length = max(1, len("".join(raw)))
        literals, wholes = _literals(terms, lowered), _wholes(terms, text)
        known = frozenset(names - {""})
        return cls(text, terms, lowered, known, files, length, len(raw), literals, wholes)


def plain(name: str) -> str:
    """Return a name as names are compared: small letters and digits, nothing between them."""
    return _NOT_NAME.sub("", name.lower())


def fields_of(path: str, unit: Unit, own: str) -> Fields:
    """Return the words of a unit of a file; `own` is its own text."""
    place = f"{path_words(path)} {joined_words(unit.scope)}"
    return Fields(joined_words(unit.name), place, joined_words(own[:MOST_READ]))


def _literals(terms: Sequence[str], lowered: str) -> dict[str, str]:
    """Return for each word what a file that has it surely holds in some case, where that is known.

    Taking endings off changes the last letter at most.
    """
    found: dict[str, str] = {}
    for term in terms:
        literal = term if term in lowered else term[:-1]
        if len(literal) >= min(_LEAST_LITERAL, len(term)) and literal in lowered:
            found[term] = literal
    return found


def _wholes(terms: Sequence[str], text: str) -> dict[str, tuple[str, ...]]:
    """Return for words that are names of several parts those parts."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _WORD.findall(text):
        whole, *parts = words(name) or [""]
        if parts and whole in terms and name.isascii():
            found[whole] = tuple(parts)
    return found
