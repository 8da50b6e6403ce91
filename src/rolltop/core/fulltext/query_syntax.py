"""The query language of notes and of the desk: words, phrases, what is excluded, and filters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from rolltop.core.fulltext.bm25 import drop_version_signs
from rolltop.core.fulltext.phrase_query import (
    MAX_PHRASES,
    Phrase,
    PhraseQuery,
    split_name,
    split_phrase,
)

_MAX_EXCLUDED: Final = 1000
# Behind a digit it is a sign of inches.
_QUOTED: Final = r'(?<![0-9])["“”„]([^"“”„]*)(?:["“”]|$)'
_TOKEN: Final = re.compile(
    # A second dash makes it a word: an option of a command (`git push --force`).
    rf"(?P<minus>(?:-(?!-))?)(?:(?P<key>tag|before|after):(?:{_QUOTED}|(?P<value>\S+))"
    rf'|{_QUOTED}|(?P<word>[^\s"“”„]+))',
    re.IGNORECASE,
)
_KEY_QUOTED, _QUOTED_TEXT = 3, 5
_NOT, _OR = "NOT", "OR"
# What is left out of no search of prose: `git commit -m`, `rm -rf`, `error -32601`.
_OPTION_OR_NUMBER: Final = re.compile(r"-(?:[A-Za-z]{1,2}|[0-9].*)")
# NOT that is a word: `IF NOT EXISTS`, `IS NOT NULL`, `MUST NOT`.
_CAPITAL_NOT: Final = re.compile(r"\b(?!(?:AND|OR)\b)[A-Z]{2,}\s+NOT\b|\bNOT(?=\s+[A-Z]{2,})")


class QueryPart(NamedTuple):
    """A part of a query, as it was `typed`, and its text without the signs that say what it is.

    That is the value of a filter, where there is a `key` (tag, before, after).
    """

    typed: str
    text: str
    key: str = ""
    is_quoted: bool = False
    is_excluded: bool = False
    is_alternative: bool = False
    """Whether it stands beside an OR; what is quoted is then not asked of every text."""

    @property
    def as_word(self) -> QueryPart:
        """The part where nothing has what its key filters by: `tag:x` is a word."""
        return QueryPart(self.typed, self.typed, is_excluded=self.is_excluded)

    @property
    def phrase(self) -> Phrase:
        """The words that have to stand in a row; () for a text without words."""
        if self.is_quoted:
            return split_phrase(self.text)
        return split_name(self.text if self.is_excluded else drop_version_signs(self.text))


def split_query(query: str) -> list[QueryPart]:
    """Split a query into its parts, in order. Nothing a person can type makes it fail."""
    parts: list[QueryPart] = []
    storable = query.replace("\x00", " ").encode("utf-8", "replace").decode()
    tokens = list(_TOKEN.finditer(storable))
    negates = False
    for at, found in enumerate(tokens):
        if found[0] == _NOT and at + 1 < len(tokens):
            negates = True
        else:
            parts.append(_part_of(found, is_excluded=negates or bool(found["minus"])))
            negates = False
    plain = [at for at, part in enumerate(parts) if not (part.key or part.is_excluded)]
    for before, at, behind in zip(plain, plain[1:], plain[2:], strict=False):
        if parts[at].typed == _OR:
            for one in (before, behind):
                parts[one] = parts[one]._replace(is_quoted=False, is_alternative=True)
    return parts


def split_prose(query: str) -> tuple[str, list[QueryPart]]:
    """Split a query as `split_query`, but leave options, numbers and a NOT among capitals words.

    Returns the query too, in which only an operator is NOT in capitals.
    """
    words = _CAPITAL_NOT.sub(lambda found: f"{found[0][:-3]}not", query)
    return words, [
        QueryPart(part.typed, part.typed)
        if part.is_excluded and _OPTION_OR_NUMBER.fullmatch(part.typed)
        else part
        for part in split_query(words)
    ]


def _part_of(found: re.Match[str], *, is_excluded: bool) -> QueryPart:
    key, quoted = (found["key"] or "").lower(), found[_QUOTED_TEXT]
    value = found[_KEY_QUOTED] if found["value"] is None else found["value"]
    if (key == "tag" and value) or (key in {"before", "after"} and not is_excluded):
        return QueryPart(found[0], value, key, is_excluded=is_excluded)
    text = (found["word"] or found[0].lstrip("-")) if quoted is None else quoted
    return QueryPart(found[0], text, "", quoted is not None, is_excluded)


def find_phrases(parts: Iterable[QueryPart]) -> PhraseQuery:
    """Collect what is quoted, which any text must have, and what is excluded.

    Of what is quoted beside OR, and the words beside the same OR, a text must have one.
    """
    found = [part for part in parts if not part.key]
    required = (part.phrase for part in found if part.is_quoted and not part.is_excluded)
    excluded = (part.phrase for part in found if part.is_excluded)
    either = [part for part in found if part.is_alternative]
    any_of = [
        split_phrase(part.text) if part.text != part.typed else part.phrase for part in either
    ]
    if all(part.text == part.typed for part in either):
        any_of = []  # nothing is quoted: words only rank
    return PhraseQuery(
        _first(required, MAX_PHRASES), _first(excluded, _MAX_EXCLUDED), _first(any_of, MAX_PHRASES)
    )


def _first(phrases: Iterable[Phrase], most: int) -> tuple[Phrase, ...]:
    return tuple(islice(dict.fromkeys(filter(None, phrases)), most))
