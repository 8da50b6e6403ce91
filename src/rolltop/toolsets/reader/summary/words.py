"""Words of sentences as the measure of what a document is about."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Vector = dict[str, float]
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_ASCII_WORD: Final = re.compile(r"[a-z]{2,}")
_WIDE_RUN: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_ADDRESS: Final = re.compile(r"\w+://\S+|\]\(\S+")
_FUNCTION_WORDS: Final = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can cannot could did do does doing done down during each either else
even every few for from further get gets given had has have having he her here hers him his how
however i if in into is isn it its itself just let like made make makes many may me might more
most much must my need needs neither new no nor not now of off on once one only onto or other
others our ours out over own per rather same see set she should since so some such than that the
their them then there these they this those through thus to too two under until up upon us use
used uses using very via was we well were what when where whether which while who whom whose why
will with within without would you your yours www http https com org html der die das und ist
ein eine nicht mit von den dem des auch sich auf als oder wird werden le la les des un une et
est dans pour que qui sur par el los las una por con para del se
"""
_STOP: Final = frozenset(_FUNCTION_WORDS.split())


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """Return each text's telling words in lower case, plurals as their singular if that occurs."""
    found = [_telling(text) for text in texts]
    known = {word for words in found for word in words}
    singular = {word: word[:-1] for word in known if word[-1] == "s" and word[:-1] in known}
    return [[singular.get(word, word) for word in words] for words in found]


def _telling(text: str) -> list[str]:
    """Return the words of a text that are no function words nor parts of addresses."""
    if "://" in text or "](" in text:
        text = _ADDRESS.sub(" ", text)
    if text.isascii():
        return [word for word in _ASCII_WORD.findall(text.lower()) if word not in _STOP]
    words = [word for word in _WORD.findall(text.lower()) if word not in _STOP]
    if not _WIDE_RUN.search(text):
        return words
    pairs = [a + b for run in _WIDE_RUN.findall(text) for a, b in pairwise(run)]
    return [word for word in words if not _WIDE_RUN.search(word)] + pairs


class Weights:
    """What each word of a set of sentences weighs: its frequency by its rarity.

    The rarity is the inverse sentence frequency, the within-document counterpart of the
    inverse document frequency.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        """Count the words of the sentences."""
        self._occurring = Counter(word for words in sentences for word in words)
        holding = Counter(word for words in sentences for word in set(words))
        total = len(sentences) + 1
        self.rarity: Vector = {word: log(total / n) for word, n in holding.items()}
        self.centre: Vector = {
            word: n * self.rarity[word] for word, n in self._occurring.items() if n > 1
        }
        self._scale = sqrt(sum(weight * weight for weight in self.centre.values())) or 1.0

    def vector(self, words: Iterable[str]) -> Vector:
        """Return the words' unit vector."""
        weights = {word: n * self.rarity[word] for word, n in Counter(words).items()}
        norm = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {word: weight / norm for word, weight in weights.items()}

    def nearness(self, words: Sequence[str]) -> float:
        """Return how near a sentence is to the centre of all: their cosine, 0 to 1."""
        centre, rarity = self.centre, self.rarity
        dot = square = 0.0
        for word in set(words):
            weight = rarity[word]
            square += weight * weight
            if word in centre:
                dot += weight * centre[word]
        return dot / (sqrt(square) * self._scale) if square else 0.0

    def leading(self, count: int) -> list[str]:
        """Return the heaviest words, heaviest first."""
        ranked = sorted(self.centre.items(), key=lambda pair: (-pair[1], pair[0]))
        return [word for word, _ in ranked[:count]]


def similarity(one: Vector, other: Vector) -> float:
    """Return the cosine of two unit vectors."""
    return sum(one[word] * other[word] for word in one.keys() & other.keys())


def key_terms(sentences: Sequence[Sequence[str]], weights: Weights, count: int) -> list[str]:
    """Return the terms a document is about: its heaviest words, joined where they go together."""
    leading = weights.leading(count * 3)
    chosen = set(leading)
    together = Counter(
        pair
        for words in sentences
        for pair in pairwise(words)
        if pair[0] in chosen and pair[1] in chosen and pair[0] != pair[1]
    )
    alone = Counter(word for words in sentences for word in words if word in chosen)
    terms: list[str] = []
    taken: set[str] = set()
    for word in leading:
        if word in taken:
            continue
        pairs = [(n, p) for p, n in together.items() if word in p and not taken & set(p)]
        best = max(pairs, key=lambda entry: (entry[0], entry[1]), default=None)
        joined = best is not None and best[0] * 2 >= alone[word]
        term = best[1] if best is not None and joined else (word,)
        taken.update(term)
        terms.append(" ".join(term))
    return terms[:count]
