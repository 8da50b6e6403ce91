"""Words of sentences as the measure of what a document is about."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, pairwise
from math import fsum, log, sqrt
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Vector = dict[str, float]
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LETTERS: Final = bytes(
    ord(chr(code).lower()) if chr(code).isascii() and chr(code).isalpha() else ord(" ")
    for code in range(256)
)
"""What each byte of an ASCII text is for its words: a small letter, or white space."""
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
_STOP: Final = frozenset(_FUNCTION_WORDS.split()) | frozenset(ascii_lowercase)
"""Words that tell nothing; a single letter is none."""


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """Return each text's telling words in lower case, plurals as their singular if that occurs."""
    split = list(map(_words, texts))
    known = set(chain.from_iterable(split)) - _STOP
    meant = {word: word for word in known}
    meant |= {word: word[:-1] for word in known if word[-1] == "s" and word[:-1] in known}
    return [list(filter(None, map(meant.get, words))) for words in split]


def _words(text: str) -> list[str]:
    """Return the words of a text, but not those of addresses, in lower case.

    Of Chinese and Japanese, pairs of letters.
    """
    if "://" in text or "](" in text:
        text = _ADDRESS.sub(" ", text)
    if text.isascii():
        return text.encode("ascii").translate(_LETTERS).decode("ascii").split()
    words = _WORD.findall(text.lower())
    if not _WIDE_RUN.search(text):
        return words
    pairs = [a + b for run in _WIDE_RUN.findall(text) for a, b in pairwise(run)]
    return [word for word in words if not _WIDE_RUN.search(word)] + pairs


class Weights:
    """What each word of a set of sentences weighs: its frequency by its rarity.

    The rarity is the inverse sentence frequency, the within-document counterpart of the
    inverse document frequency. Sums are exact (`fsum`), so that no order of words, which differs
    from one process to the next, can make one of two equal sentences the better one.
    """

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        """Count the words of the sentences."""
        distinct = [frozenset(words) for words in sentences]
        holding = Counter(chain.from_iterable(distinct))
        total = len(sentences) + 1
        self.occurring = Counter(chain.from_iterable(sentences))
        self.rarity: Vector = {word: log(total / holding[word]) for word in self.occurring}
        self.centre: Vector = {
            word: n * self.rarity[word] for word, n in self.occurring.items() if n > 1
        }
        self.nearness = self._nearness(distinct)
        """How near each sentence is to the centre of all: their cosine, 0 to 1."""

    def _nearness(self, sentences: Iterable[Collection[str]]) -> list[float]:
        """Return the cosine of the centre and of each sentence, its words counted once."""
        scale = sqrt(fsum(weight * weight for weight in self.centre.values())) or 1.0
        square = {word: rarity * rarity for word, rarity in self.rarity.items()}
        pull = {word: rarity * self.centre.get(word, 0.0) for word, rarity in self.rarity.items()}
        found: list[float] = []
        for words in sentences:
            length = sqrt(fsum(map(square.__getitem__, words)))
            found.append(fsum(map(pull.__getitem__, words)) / (length * scale) if length else 0.0)
        return found

    def vector(self, words: Iterable[str]) -> Vector:
        """Return the words' unit vector."""
        weights = {word: n * self.rarity[word] for word, n in Counter(words).items()}
        norm = sqrt(fsum(weight * weight for weight in weights.values())) or 1.0
        return {word: weight / norm for word, weight in weights.items()}

    def leading(self, count: int) -> list[str]:
        """Return the heaviest words, heaviest first."""
        ranked = sorted(self.centre.items(), key=lambda pair: (-pair[1], pair[0]))
        return [word for word, _ in ranked[:count]]


def similarity(one: Vector, other: Vector) -> float:
    """Return the cosine of two unit vectors."""
    return fsum(one[word] * other[word] for word in one.keys() & other.keys())


def key_terms(sentences: Sequence[Sequence[str]], weights: Weights, count: int) -> list[str]:
    """Return the terms a document is about: its heaviest words, joined where they go together."""
    leading = weights.leading(count * 3)
    chosen = set(leading)
    together = Counter(
        (one, other)
        for words in sentences
        for one, other in pairwise(words)
        if one in chosen and other in chosen and one != other
    )
    terms: list[str] = []
    taken: set[str] = set()
    for word in leading:
        if word in taken:
            continue
        pairs = [(n, p) for p, n in together.items() if word in p and not taken & set(p)]
        best = max(pairs, key=lambda entry: (entry[0], entry[1]), default=None)
        joined = best is not None and best[0] * 2 >= weights.occurring[word]
        term = best[1] if best is not None and joined else (word,)
        taken.update(term)
        terms.append(" ".join(term))
    return terms[:count]
