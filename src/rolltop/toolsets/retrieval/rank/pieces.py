"""A file's text in pieces of a few thousand characters, and the words that propose each.

Pieces are what the index holds, since cutting a text into its units takes far longer than taking
down its words. Where a piece begins is a function of the text alone.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rolltop.core.search.words import distinct_parts, joined_words
from rolltop.core.text.outline import kind_of
from rolltop.toolsets.retrieval.rank.declared import declared

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE: Final = 2_000
"""Code points after which a piece ends with its line."""

LONGEST: Final = 4 * SIZE
"""Code points after which it ends within a line."""

NAME: Final = "="
"""What stands before a word of a name that a piece declares."""

PATH: Final = "/"
"""What stands before a word of the file's path, in the first piece."""


def ends_of(text: str) -> list[int]:
    """Return where each piece of a text ends, in code points."""
    ends: list[int] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at + SIZE - 1, at + LONGEST) + 1
        at = end or min(at + LONGEST, len(text))
        ends.append(at)
    return ends


def span_of(ends: Sequence[int], number: int) -> tuple[int, int]:
    """Return the first code point of a piece, and the one after its last; numbers are from 0."""
    return (ends[number - 1] if number else 0), ends[number]


def words_of(path: str, text: str) -> list[str]:
    """Return each piece's words: those of its text, of the names it declares, of the path."""
    ends = ends_of(text)
    kind = kind_of(path.rpartition("/")[2], text)
    named: list[list[str]] = [[] for _ in ends]
    for offset, name in declared(text, kind):
        named[bisect_right(ends, offset)].append(name)
    found: list[str] = []
    start = 0
    for end, names in zip(ends, named, strict=True):
        words = distinct_parts(text[start:end])
        found.append(f"{words} {_marked(NAME, joined_words(' '.join(names)))}")
        start = end
    if found:
        found[0] += f" {_marked(PATH, path_words(path))}"
    return found


@lru_cache(1 << 12)
def path_words(path: str) -> str:
    """Return the words of a path, without its ending."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return joined_words(f"{folder} {stem if dot and stem else ending}")


def _marked(mark: str, words: str) -> str:
    return " ".join([f"{mark}{word}" for word in set(words.split())])
