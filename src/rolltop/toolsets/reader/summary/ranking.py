"""The sentences of a document ranked: near the centre of its words, unlike those already chosen.

The centroid score is that of Radev, Jing, Styś and Tam (2004), "Centroid-based summarization of
multiple documents"; the choice among near sentences is maximal marginal relevance, after
Carbonell and Goldstein (1998). Cue phrases of the document's genre add a small bonus.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heapreplace
from itertools import chain, pairwise
from math import fsum, log, sqrt
from string import ascii_lowercase
from typing import Final, Literal

from rolltop.toolsets.reader.summary.prose import SOURCE_KINDS, Sentence

Genre = Literal["paper", "manual", "changelog", "log", "source", "transcript", "prose"]

_CUE_BONUS: Final = 1.15
_OPENING_BONUS: Final = 1.08
_SECTION_BONUS: Final = 1.1
_ALWAYS: Final = r"in (?:summary|conclusion|short)|most important|key |in general|overall|therefore"
_PHRASES: Final[dict[Genre, str]] = {
    "paper": r"we (?:show|find|found|propose|present|introduce|conclude|demonstrate|observe)|"
    r"results? (?:show|suggest|indicate)|this (?:paper|work|study|article)|significant|"
    r"our (?:results|method|approach|findings)|outperform|limitation|contribut",
    "manual": r"must|should|never|always|by default|required?|deprecat|important|note that|"
    r"recommend|ensure|provides|allows|you can|is used to",
    "changelog": r"breaking|remov|deprecat|security|no longer|renam|vulnerab|incompatib|CVE-|"
    r"added|fixed|now ",
    "log": r"error|fail|fatal|critical|warn|exception|panic|timeout|timed out|denied|refused|"
    r"crash|started|stopp",
    "source": r"returns?|raises?|must|never|invariant|thread|deprecat|provides|implements",
    "transcript": r"decid|agree|action item|next step|will |deadline|question|because|plan",
    "prose": r"important|because|conclud|result|must|decid|significant",
}
_CUES: Final = {
    genre: re.compile(f"(?i)(?<![a-z])(?:{_ALWAYS}|{phrases})")
    for genre, phrases in _PHRASES.items()
}
_RESULT_SECTION: Final = re.compile(
    r"(?i)\b(?:conclu|result|finding|discussion|summary|key |takeaway|recommendation|outcome|"
    r"decision|fazit|ergebnis)"
)
_TIME: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
_LOG_LINE: Final = re.compile(rf"[\[(<]?(?:{_TIME}|(?:DEBUG|INFO|WARN|ERROR|FATAL)\b)")
_SPEAKER: Final = re.compile(r"(?:[\[(]?\d?\d:\d\d(?::\d\d)?[\])]? *)?[A-Z][\w.' -]{0,30}: \S")
_VERSION: Final = re.compile(
    r"(?i)\W*(?:version |release |v)?\d+\.\d+(?:\.\d+)*\b|\W*(?:unreleased|\d{4}-\d\d-\d\d)"
)
_PAPER_TITLE: Final = re.compile(
    r"(?i)\W*(?:[\divx]+[.)]? +)?(?:abstract|references|bibliography|related work|methods?|"
    r"methodology|conclusions?|introduction|acknowledge?ments)\W*$"
)
_MIN_PAPER_TITLES: Final = 3
_GENRE_SHARE: Final = 0.4
"""Of lines or titles that look like those of a genre."""
_MAX_LINES_SCANNED: Final = 400
_MAX_TITLES_SCANNED: Final = 60

_RELEVANCE: Final = 0.7
"""Weight of nearness to the centre against likeness to what is already chosen."""
_MIN_FULL_SCORE_WORDS: Final = 8
_MAX_SIMILARITY: Final = 0.8

_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[^\W\d_{_CJK}]{{2,}}")
_LETTERS: Final = bytes(
    ord(chr(code).lower()) if chr(code).isascii() and chr(code).isalpha() else ord(" ")
    for code in range(256)
)
"""Maps ASCII to small letters and white space."""
_CJK_RUN: Final = re.compile(f"[{_CJK}]{{2,}}")
_CJK_FUNCTION: Final = re.compile(
    "[\u30fb的了是在和与與及等也就都而但并並或这這那个個为為被把将將于於其之它"
    "他她我你们們很每些吗嗎呢吧呀么麼]"
)
_HIRAGANA: Final = re.compile("[\u3040-\u309f]")  # mostly grammar
_MAX_CJK_TERM_LENGTH: Final = 6
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
_STOP_WORDS: Final = frozenset(ascii_lowercase) | frozenset(_FUNCTION_WORDS.split())


def detect_genre(kind: str, lines: Sequence[str], titles: Sequence[str]) -> Genre:
    """Tell the genre of a document from its format, first lines and titles."""
    if kind in SOURCE_KINDS:
        return "source"
    filled = [line.strip() for line in lines[:_MAX_LINES_SCANNED] if line.strip()]
    enough = max(5, _GENRE_SHARE * len(filled))
    first = titles[:_MAX_TITLES_SCANNED]
    if sum(bool(_LOG_LINE.match(line)) for line in filled) >= enough:
        return "log"
    if first and sum(bool(_VERSION.match(title)) for title in first) >= _GENRE_SHARE * len(first):
        return "changelog"
    if sum(bool(_PAPER_TITLE.match(title)) for title in titles) >= _MIN_PAPER_TITLES:
        return "paper"
    if sum(bool(_SPEAKER.match(line)) for line in filled) >= enough:
        return "transcript"
    return "manual" if len(titles) > 1 else "prose"


class SentenceRanking:
    """The sentences of a document with their words and scores."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        genre: Genre,
        titles: Sequence[str],
        title_lines: Sequence[int],
    ) -> None:
        """Score every sentence by its words; titles of sections tell where results stand."""
        self._sentences: Final = sentences
        self._genre: Final[Genre] = genre
        self._title_lines: Final = title_lines
        self._results: Final = {
            at for at, title in enumerate(titles) if _RESULT_SECTION.search(title)
        }
        self._words: Final = _content_words(sentence.text for sentence in sentences)
        distinct = [frozenset(words) for words in self._words]
        frequencies = Counter(chain.from_iterable(distinct))
        self._counts: Final = Counter(chain.from_iterable(self._words))
        self._idf: Final = {w: log((len(sentences) + 1) / n) for w, n in frequencies.items()}
        self._centre: Final = {w: n * self._idf[w] for w, n in self._counts.items() if n > 1}
        near = self._cosines_with_centre(distinct)
        scores = (
            cosine * min(1.0, len(words) / _MIN_FULL_SCORE_WORDS)
            for cosine, words in zip(near, self._words, strict=True)
        )
        self._order: Final = sorted(enumerate(scores), key=lambda pair: -pair[1])

    def _cosines_with_centre(self, sentences: Iterable[frozenset[str]]) -> Iterator[float]:
        """Yield the cosine of each sentence and the centre.

        Sums are exact: the order of a set's words differs from one process to the next.
        """
        scale = sqrt(fsum(weight * weight for weight in self._centre.values())) or 1.0
        square = {word: idf * idf for word, idf in self._idf.items()}
        pull = {word: idf * self._centre.get(word, 0.0) for word, idf in self._idf.items()}
        for words in sentences:
            length = sqrt(fsum(map(square.__getitem__, words)))
            yield fsum(map(pull.__getitem__, words)) / (length * scale) if length else 0.0

    def _bonus(self, sentence: Sentence) -> float:
        bonus = _OPENING_BONUS if sentence.opens else 1.0
        if _CUES[self._genre].search(sentence.text):
            bonus *= _CUE_BONUS
        if bisect_right(self._title_lines, sentence.line) - 1 in self._results:
            bonus *= _SECTION_BONUS
        return bonus

    def best(self, pool: int) -> Iterator[Sentence]:
        """Yield sentences, the best next one first, among the `pool` nearest to the centre.

        A sentence's value only falls as others are chosen. So a heap orders them, and one is
        compared with those chosen since it was last looked at only when it comes to the top.
        """
        scored = sorted(
            ((score * self._bonus(self._sentences[at]), at) for at, score in self._order[:pool]),
            key=lambda pair: (-pair[0], pair[1]),
        )
        scale = (scored[0][0] if scored else 1.0) or 1.0
        values = [_RELEVANCE * score / scale for score, _ in scored]
        heap = [(-value, place) for place, value in enumerate(values)]
        vectors: dict[int, dict[str, float]] = {}
        similarities = [0.0] * len(heap)
        compared = [0] * len(heap)
        chosen: list[dict[str, float]] = []
        while heap:
            place = heap[0][1]
            at = scored[place][1]
            vector = vectors[place] = vectors.get(place) or self._unit_vector(at)
            if compared[place] == len(chosen):
                heappop(heap)
                chosen.append(vector)
                yield self._sentences[at]
                continue
            recent = (_similarity(vector, other) for other in chosen[compared[place] :])
            similarities[place] = max(similarities[place], *recent)
            compared[place] = len(chosen)
            if similarities[place] >= _MAX_SIMILARITY:
                heappop(heap)
            else:
                value = (1 - _RELEVANCE) * similarities[place] - values[place]
                heapreplace(heap, (value, place))

    def _unit_vector(self, at: int) -> dict[str, float]:
        weights = {word: n * self._idf[word] for word, n in Counter(self._words[at]).items()}
        norm = sqrt(fsum(weight * weight for weight in weights.values())) or 1.0
        return {word: weight / norm for word, weight in weights.items()}

    def key_terms(self, count: int) -> list[str]:
        """Return what a document is about: its heaviest words, paired where they go together.

        Of Chinese and Japanese, runs of characters.
        """
        ranked = sorted(self._centre.items(), key=lambda pair: (-pair[1], pair[0]))
        heaviest = [word for word, _ in ranked if not _HIRAGANA.search(word)][: count * 3]
        chosen = {word for word in heaviest if not _CJK_RUN.match(word)}
        pairs = Counter(
            pair
            for words in self._words
            for pair in pairwise(words)
            if pair[0] != pair[1] and chosen.issuperset(pair)
        )
        text = self._cjk_text() if len(chosen) < len(heaviest) else ""
        terms: list[str] = []
        taken: set[str] = set()
        for word in heaviest:
            if word in taken:
                continue
            if word not in chosen:
                run = _grow(word, text)
                terms += [run] if taken.isdisjoint(_split_words(run)) else []
                taken.update(_split_words(run))
                continue
            free = (
                (n, pair) for pair, n in pairs.items() if word in pair and taken.isdisjoint(pair)
            )
            n, pair = max(free, default=(0, (word,)))
            term = pair if 2 * n >= self._counts[word] else (word,)
            taken.update(term)
            terms.append(" ".join(term))
        return terms[:count]

    def _cjk_text(self) -> str:
        """Return all sentences with a space for what is in no key term."""
        text = "\n".join(sentence.text for sentence in self._sentences)
        return _HIRAGANA.sub(" ", _CJK_FUNCTION.sub(" ", text))


def _grow(term: str, text: str) -> str:
    """Return the run of characters that a pair mostly stands in."""
    half = text.count(term) / 2
    while len(term) < _MAX_CJK_TERM_LENGTH:
        longer = Counter(re.findall(f"[{_CJK}]{term}", text) + re.findall(f"{term}[{_CJK}]", text))
        times, run = max(((n, run) for run, n in longer.items()), default=(0, term))
        if times <= half:
            break
        term = run
    return term


def _similarity(one: dict[str, float], other: dict[str, float]) -> float:
    return fsum(one[word] * other[word] for word in one.keys() & other.keys())


def _content_words(texts: Iterable[str]) -> list[list[str]]:
    """Return the lower-case words of each text without stop words; plurals as known singulars."""
    split = list(map(_split_words, texts))
    known = set(chain.from_iterable(split)) - _STOP_WORDS
    forms = {word: word for word in known}
    forms |= {word: word[:-1] for word in known if word[-1] == "s" and word[:-1] in known}
    return [[forms[word] for word in words if word in forms] for words in split]


def _split_words(text: str) -> list[str]:
    """Split a text into words, without addresses; Chinese and Japanese into pairs of characters."""
    if "://" in text or "](" in text:
        text = _ADDRESS.sub(" ", text)
    if text.isascii():
        return text.encode("ascii").translate(_LETTERS).decode("ascii").split()
    runs = _CJK_RUN.findall(_CJK_FUNCTION.sub(" ", text))
    return _WORD.findall(text.lower()) + [a + b for run in runs for a, b in pairwise(run)]
