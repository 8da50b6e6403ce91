"""A spelling that does occur, for a text that doesn't."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid, TimedOut
from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval.exact.search import search
from rolltop.toolsets.retrieval.models import Totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.trees import Tree
    from rolltop.toolsets.retrieval.models import Query

_SHORTEST: Final = 4
_LONGEST: Final = 60
_SMALL: Final = 16 << 20
"""Bytes of trees that are searched again without a second thought."""
_FEW: Final = 500
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_SIGN: Final = "[0-9A-Za-z_]"
"""For a letter that is missing or wrong: every letter there is takes ripgrep 0.1 s to compile."""
_BETWEEN: Final = r"[\s_.:-]{0,2}"


def nearest(trees: Sequence[Tree], query: Query, deadline: float) -> str | None:
    """Return a text of the files that is much like the query, None where none is found.

    Tried in turn: other case, other signs between the words (`fooBar`, `foo_bar`, `foo-bar`),
    one letter too many, too few or wrong. Large trees are only asked through an index, so that
    this costs no more than the search that found nothing.
    """
    text = query.text.strip()
    if query.regex or not _SHORTEST <= len(text) <= _LONGEST:
        return None
    small = _are_small(trees)
    for pattern in _patterns(text):
        tried = replace(query, text=pattern, regex=True, case="ignore", context=0)
        asked = trees if small else [_narrowed(tree, text, tried) for tree in trees]
        some = [tree for tree in asked if tree is not None and not _is_empty(tree)]
        if None in asked or not some:
            continue
        try:
            hits = search(some, tried, limit=1, deadline=deadline).hits
        except (TimedOut, Invalid):
            return None
        if hits:
            match = re.search(pattern, hits[0].preview, re.IGNORECASE)
            return match[0] if match else None
    return None


def _are_small(trees: Sequence[Tree]) -> bool:
    total = 0
    for tree in trees:
        for entry in tree.files(Skipped()):
            total += entry.size
            if total > _SMALL:
                return False
    return True


def _narrowed(tree: Tree, text: str, tried: Query) -> Tree | None:
    """Return the tree with few files that may hold what is tried; None where there are many.

    One letter off leaves the first or the second half of the text whole.
    """
    if tree.index is None:
        return None
    half = len(text) // 2
    halves = f"{re.escape(text[:half])}|{re.escape(text[half:])}"
    for query in (tried, replace(tried, text=halves)):
        candidates = tree.index.candidates(query)
        if candidates is not None and len(candidates) <= _FEW:
            return replace(tree, index=_Chosen(candidates))
    return None


@dataclass(frozen=True)
class _Chosen:
    """An index that proposes some files whatever is asked."""

    entries: Sequence[Entry]

    def candidates(self, query: Query) -> Sequence[Entry]:  # noqa: ARG002  # always the same
        return self.entries

    def is_text(self, entry: Entry) -> None:
        """Know nothing of any file."""

    def marks(self, most_bytes: int) -> None:  # as above
        """Know nothing of what is still to be read: nobody goes on."""

    def totals(self, skipped: Skipped, most_bytes: int) -> Totals:  # noqa: ARG002  # nobody asks
        return Totals(0, 0, 0, 0, 0)


def _is_empty(tree: Tree) -> bool:
    """Return whether no file of the tree may hold what is tried."""
    return isinstance(tree.index, _Chosen) and not tree.index.entries


def _patterns(text: str) -> Iterator[str]:
    """Yield expressions for what is much like the text, the likest first."""
    yield re.escape(text)
    words = _WORD.findall(text)
    if len(words) > 1:
        yield _BETWEEN.join(map(re.escape, words))
    yield _one_letter_off(text)


def _one_letter_off(text: str) -> str:
    """Return an expression for the text with one letter missing, swapped, wrong or too many."""
    places = range(len(text))
    around = [(re.escape(text[:at]), text[at], re.escape(text[at + 1 :])) for at in places]
    missing = [f"{before}{_SIGN}{re.escape(letter)}{after}" for before, letter, after in around]
    swapped = [
        re.escape(text[:at] + text[at + 1] + text[at] + text[at + 2 :]) for at in places[:-1]
    ]
    wrong = [f"{before}{_SIGN}{after}" for before, _, after in around]
    too_many = [before + after for before, _, after in around]
    return "|".join([*missing, *swapped, *wrong, *too_many])
