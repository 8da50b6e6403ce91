"""What a text must say or must not say: words in a row, split as the indexed texts are."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from rolltop.core.fulltext.analyzer import (
    MAX_SHORT_PARTS,
    tokenize,
    tokenize_joined,
    tokenize_unstemmed,
)
from rolltop.core.fulltext.bm25 import is_function_word, is_prefix_term
from rolltop.core.fulltext.stemmer import completed_stems, stem

Phrase = tuple[str, ...]
"""Words that stand in a row; a last one that ends in `*` stands for all it begins."""

MAX_WORDS: Final = 60
"""Words of a phrase that count."""
MAX_PHRASES: Final = 32
"""Phrases of each kind that count."""

_NAME: Final = re.compile(r"\w+")


class _LongName(tuple[str, ...]):
    """The whole and the parts of a name of so many that earlier releases indexed only the whole."""

    __slots__ = ()


@dataclass(frozen=True)
class PhraseQuery:
    """What a text must hold: every wanted phrase, one of `any_of`, if there are, no unwanted one.

    `weights` say how much each of `any_of` tells. Texts that hold all of `every` rank first.
    """

    required: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    any_of: tuple[Phrase, ...] = ()
    weights: tuple[float, ...] = ()
    all_of: tuple[Phrase, ...] = ()

    def admits(self, text: str) -> bool:
        """Whether a text has every required phrase, one of `any_of` and none that is excluded."""
        if not self.filters:
            return True
        words = f" {tokenize_joined(text)} "

        def has(phrase: Phrase) -> bool:
            return _has_phrase(words, phrase)

        is_one = not self.any_of or any(map(has, self.any_of))
        return is_one and all(map(has, self.required)) and not any(map(has, self.excluded))

    @property
    def filters(self) -> bool:
        """Whether there may be a text that it does not admit."""
        return bool(self.required or self.excluded or self.any_of)


def split_phrase(text: str) -> Phrase:
    """Return the words of a text that has to stand as it is, () for a text without words."""
    return _drop_pair_tail(tuple(tokenize(text)[: MAX_WORDS + 1]))[:MAX_WORDS]


def split_name(text: str) -> Phrase:
    """Return the words of one name of a query: of its parts, so that prose is found as well.

    `parse_http` finds `parseHTTP` and “parse HTTP”. Several names in a row are a phrase.
    The last word of one that ends in `*` stands for all that begins with its letters.
    """
    name = text.rstrip("*")
    begins = text.endswith("*")
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    found = tokenize_unstemmed(name)[: MAX_WORDS + 1]
    if len(found) > 1 and _NAME.fullmatch(plain) and not any(map(_is_pair, found)):
        whole, *found = found
        if len(found) > MAX_SHORT_PARTS:
            return _LongName(
                (*_stem_words((whole,), begins=begins), *_stem_words(tuple(found), begins=begins))
            )
    return _stem_words(_drop_pair_tail(tuple(found))[:MAX_WORDS], begins=begins)


def expand_phrase(phrase: Phrase) -> tuple[Phrase, ...]:
    """Return phrases any of which will do for one.

    What begins with the last word may be indexed by a shorter stem, or be the beginning of a name
    that is indexed only whole: `9f 86 d*` is `9f86d*` too. Of a long name either is looked for.
    """
    if isinstance(phrase, _LongName):
        return (*expand_phrase(phrase[1:]), *expand_phrase(phrase[:1]))
    *before, last = phrase
    if not last.endswith("*"):
        return (phrase,)
    stems = ((*before, one) for one in completed_stems(last[:-1]))
    return (phrase, *stems, *([("".join(phrase),)] if before else []))


def is_prefix(word: str) -> bool:
    """Whether a word of a phrase stands for all it begins, as one character of a pair does."""
    return word.endswith("*") or is_prefix_term(word)


def is_significant(given: Phrase) -> bool:
    """Whether a phrase is more than one function word (“the”, “of”)."""
    return len(given) != 1 or not is_function_word(given[0])


def _has_phrase(words: str, phrase: Phrase) -> bool:
    return any(
        f" {' '.join(one).rstrip('*')}{'' if is_prefix(one[-1]) else ' '}" in words
        for one in expand_phrase(phrase)
    )


def _stem_words(words: Phrase, *, begins: bool) -> Phrase:
    stems = tuple(map(stem, words))
    return (*stems[:-1], f"{words[-1]}*") if words and begins else stems


def _is_pair(word: str) -> bool:
    return is_prefix_term(word[:1])


def _drop_pair_tail(found: Phrase) -> Phrase:
    """Return a phrase without a last character that is the end of the pair before it."""
    if len(found) > 1 and is_prefix_term(found[-1]) and found[-2][-1] == found[-1]:
        return found[:-1]
    return found
