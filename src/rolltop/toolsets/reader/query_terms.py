"""The terms of a query, and where a text has words that are one of them."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from itertools import accumulate
from typing import Final

from rolltop.core.fulltext.analyzer import (
    MAX_NAME_LENGTH,
    blocks,
    find_names,
    fold,
    tokenize,
    uses_pairs,
)
from rolltop.core.fulltext.bm25 import is_prefix_term, joined_numbers, query_terms

MAX_HITS: Final = 200_000
"""Of one term in a document; hardly any further ones are found."""
_MAX_CACHED_NAMES: Final = 1 << 14
_MIN_STEMMED: Final = 3


class TermFinder:
    """Finds the terms of a query in texts, by the words that the analyzer makes of their names."""

    def __init__(self, query: str, *, by_prefix: bool = False) -> None:
        """Take the query's terms; `by_prefix`: a word that begins with one counts as it."""
        self.terms: Final = query_terms(query)
        self._prefixes: Final = [t for t in self.terms if by_prefix or is_prefix_term(t)]
        short = ((t, n) for t, n in joined_numbers(query).items() if len(n) <= MAX_NAME_LENGTH)
        numbers = {term: number for term, number in short if term in self.terms}
        self._numbers: Final = {term: _whole_number(number) for term, number in numbers.items()}
        spelled = {term: _fold_name(number) for term, number in numbers.items()}
        self._literals: Final = {term: _literal(spelled.get(term, term)) for term in self.terms}
        self.find_in_name: Final = lru_cache(_MAX_CACHED_NAMES)(self._find_in_name)

    def find(self, text: str) -> dict[str, list[int]]:
        """Find the offsets of each term that a text has; of most words those of their names."""
        found = defaultdict[str, list[int]](list)
        start = 0
        for block in blocks(text) if self.terms else ():
            letters = _fold_name(block)
            missing = (self._literals[t] for t in self.terms if len(found[t]) < MAX_HITS)
            literals = [literal for literal in missing if literal in letters]
            folded = letters.split("\n") if literals else []
            having = {n for one in literals for n, line in enumerate(folded) if one in line}
            if having:
                lines = block.split("\n")
                starts = list(accumulate((len(line) + 1 for line in lines), initial=start))
                for number in sorted(having):
                    self._find_in_line(lines[number], starts[number], found)
            start += len(block)
        return {term: offsets for term, offsets in found.items() if offsets}

    def find_in_title(self, title: str) -> set[str]:
        """Select the terms that a title has."""
        words = {t for name in find_names(title) for t, _ in self.find_in_name(name.group())}
        return words | {t for t, number in self._numbers.items() if number.search(title)}

    def _find_in_line(self, line: str, start: int, found: dict[str, list[int]]) -> None:
        for term, number in self._numbers.items():
            found[term] += (start + match.start() for match in number.finditer(line))
        for match in find_names(line):
            for term, offset in self.find_in_name(match.group()):
                if len(found[term]) < MAX_HITS:
                    found[term].append(start + match.start() + offset)

    def _find_in_name(self, name: str) -> list[tuple[str, int]]:
        """Find the terms that a name has, with their offsets in it; that of most words is 0."""
        letters = _fold_name(name)
        if not any(literal in letters for literal in self._literals.values()):
            return []
        words = set(tokenize(name))
        found = words.intersection(self.terms)
        found |= {t for t in self._prefixes for word in words if word.startswith(t)}
        return [(term, at) for term in found for at in _offsets_in_name(name, term)]


def _fold_name(text: str) -> str:
    """Return a text as a word has its letters: a name that is one word may have `_` between."""
    return fold(text.replace("_", ""))


def _whole_number(number: str) -> re.Pattern[str]:
    """Return a pattern of a number of several parts that is no part of a longer one."""
    return re.compile(rf"(?<![0-9])(?<![0-9]\.){re.escape(number)}(?![0-9])", re.IGNORECASE)


def _literal(term: str) -> str:
    """Return letters that every name with a term has: stemming changes the last one at most."""
    return term[:-1] if term.isascii() and len(term) >= _MIN_STEMMED else term


def _offsets_in_name(name: str, term: str) -> list[int]:
    """List the offsets of a pair of characters in a name, which may be a whole sentence."""
    pattern = re.escape(term) if uses_pairs(term) else "^"
    return [match.start() for match in re.finditer(pattern, name)] or [0]
