"""The words of a unit by the fields they stand in, and those of a query."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.search.terms import terms_of
from rolltop.core.search.words import distinct_parts, joined_words, words
from rolltop.toolsets.retrieval.rank.pieces import path_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.toolsets.retrieval.rank.units import Unit

MOST_READ: Final = 50_000
"""Code points of a unit whose words count."""

LONGEST_QUERY: Final = 2_000
"""Code points of a query that are looked at."""

_MOST_FILES: Final = 32
"""Names of files in a query that are looked for."""

_LEAST_LITERAL: Final = 2
_NOT_NAME: Final = re.compile(r"[\W_]+")
_WORD: Final = re.compile(r"\w+")
_FILE_NAME: Final = re.compile(
    r"(?<![\w./-])"  # tried at each character of a long run, it would take time by the square
    r"(?:/*[\w.-]+(?:/+[\w.-]+)+|/*[\w.-]*\w\.\w{1,10}(?!\w))"
)


class Fields(NamedTuple):
    """The words of a unit, each field's with a space between two."""

    name: str
    path: str
    body: str


@dataclass(frozen=True)
class Sought:
    """What a query looks for: its words, its text, and the names and files it may mean.

    A dotted name may be a file's or a declaration's. `length` counts the characters of its words
    without those of files, `count` these words; `literals` says for a word what is in any text
    that has it, in small letters; `wholes` has the parts of each word that is a name of several;
    `unkept` are those of `literals` that the index knows nothing of.
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
    unkept: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> Sought:
        """Return what any text looks for; no text makes it fail."""
        text = text[:LONGEST_QUERY].strip()
        terms = terms_of(text)
        lowered = text.lower()
        raw = _WORD.findall(_FILE_NAME.sub(" ", lowered))
        pairs = [a + b for a, b in pairwise(raw)]
        triples = [a + b for a, b in zip(pairs, raw[2:], strict=False)]
        paths: list[str] = [one[0].strip("./") for one in _FILE_NAME.finditer(lowered)]
        dotted = [one.split(".")[-2:] for one in paths if "." in one and "/" not in one]
        lasts = [(within + name, name) for within, name in dotted]
        names = {plain(name) for name in (*raw, *pairs, *triples, *chain.from_iterable(lasts))}
        length = max(1, len("".join([*raw, *(whole for whole, _ in lasts)])))
        if paths or "/" in lowered:  # the whole of it may be one, with signs of any kind
            paths.append(lowered.strip("./"))
        files = tuple(path for path in dict.fromkeys(paths) if path)[:_MOST_FILES]
        literals, wholes = _literals(terms, text, lowered), _wholes(terms, text)
        known, unkept = frozenset(names - {""}), _unkept(text, literals)
        return cls(text, terms, lowered, known, files, length, len(raw), literals, wholes, unkept)


def plain(name: str) -> str:
    """Return a name as names are compared: small letters and digits, nothing between them."""
    return _NOT_NAME.sub("", name.lower())


def fields_of(path: str, unit: Unit, own: str) -> Fields:
    """Return the words of a unit of a file; `own` is its own text."""
    place = f"{path_words(path)} {joined_words(unit.scope)}"
    return Fields(joined_words(unit.name), place, joined_words(own[:MOST_READ]))


def _literals(terms: Sequence[str], text: str, lowered: str) -> dict[str, str]:
    """Return for each word what a file that has it surely holds in some case, where that is known.

    Taking endings off changes the last letter at most. A name of too many parts to be found by
    them is looked for as it is written.
    """
    found: dict[str, str] = {}
    for term in terms:
        literal = term if term in lowered else term[:-1]
        if len(literal) >= min(_LEAST_LITERAL, len(term)) and literal in lowered:
            found[term] = literal
    for name in _WORD.findall(text):
        whole, *parts = words(name) or [""]
        if not parts and whole in terms and name.isascii():
            found.setdefault(whole, name.lower())
    return found


def _wholes(terms: Sequence[str], text: str) -> dict[str, tuple[str, ...]]:
    """Return for words that are names of several parts those parts."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _WORD.findall(text):
        whole, *parts = words(name) or [""]
        if parts and whole in terms and name.isascii():
            found[whole] = tuple(parts)
    return found


def _unkept(text: str, literals: Mapping[str, str]) -> frozenset[str]:
    """Return the words that are kept of no text: long numbers, and names that begin with one."""
    names = [name for name in _WORD.findall(text) if not distinct_parts(name)]
    return frozenset(whole for name in names for whole in words(name)[:1] if whole in literals)
