"""How well ranked search finds the right place, and what it takes to have it in view."""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from math import inf, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from benchmarks.measure import Table
from benchmarks.retrieval_rivals import SPLITTERS, Grep, PlainRanking, files_of, lines_of
from benchmarks.retrieval_trees import Span, testing_trees, tuning_trees
from rolltop.core import embedding, token_counter
from rolltop.core.pagination import compact_json
from rolltop.toolsets.retrieval.index.chunk_indexes import ChunkIndexes
from rolltop.toolsets.retrieval.index.vectors import Vectors, key_of, pack_vectors
from rolltop.toolsets.retrieval.models import TermFiles
from rolltop.toolsets.retrieval.ranked import Meaning, RankedTree, search
from rolltop.workspace import Roots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.retrieval_trees import Question, QuestionTree
    from rolltop.core.embedding import Embedder
    from rolltop.toolsets.retrieval.models import RankedResult
    from rolltop.workspace import FileStat

_T = TypeVar("_T")
DEEPEST: Final = 10
NEAR: Final = 5
LIMIT: Final = 20
OURS: Final = "ranked search"
MEANING: Final = "ranked search with meaning"
_SETTLES: Final = 60.0
_HOW: Final = (
    "One right place a question (a commit: any file it changed). Place: a result, or lines of its "
    "file that it lists, at most half of which lie outside the function or section; file: the "
    "right file. nDCG@10 and recall@5 as mean ± standard error over the questions. BM25 over files "
    "can only name files; lines are "
    "right inside the place."
)
_TOKENS: Final = (
    "Tokens until the right place has been read: the answer's entries down to it and its text, "
    "against grep for the question's rarest word and reading the files that have it in order. "
    "Where ranked search does not find it in 20 results, grep is paid on top."
)


@dataclass(frozen=True)
class Measured:
    """Where one way of searching found each question's place, and its file; None: not."""

    places: tuple[int | None, ...]
    files: tuple[int | None, ...]


class Ours:
    """The product's ranked search over a tree of files on disk."""

    def __init__(self, tree: QuestionTree, folder: Path) -> None:
        """Write the tree, and index all of it."""
        top = folder / "tree"
        for path, text in tree.files.items():
            file = top / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="replace", newline="")
        self._roots: Final = Roots.open({"tree": top}, base=folder)
        self._root: Final = self._roots.named[0]
        self._indexes: Final = ChunkIndexes(self._roots, folder / "kept")
        self._vectors: Final = Vectors(folder / "kept", "vectors")
        self._entries: Final[list[FileStat]] = list(self._roots.walk(self._root))
        self._texts: Final = {path: text.lower() for path, text in tree.files.items()}
        self._build()

    def close(self) -> None:
        """Let go of the index."""
        self._indexes.close()
        self._vectors.close()

    def mean(self, texts: Sequence[str]) -> None:
        """Make the vectors that searches for these texts lack."""
        embedder = embedding.get_embedder()
        assert embedder is not None, "the extra semantic is not installed"
        for text in texts:
            meaning = self._meaning(embedder, text)
            self.search(text, meaning=meaning)
            lacking = meaning.lacking.get(self._root.name, [])
            keys = [key_of(embedder.version, one) for one in lacking]
            made = (
                dict(zip(keys, pack_vectors(embedder.embed(lacking)), strict=True))
                if lacking
                else {}
            )
            self._vectors.put(made, (), sys.maxsize, ahead=False)

    def search_meaning(self, text: str) -> list[RankedResult]:
        """Return the best places by words and meaning, with the vectors there are."""
        embedder = embedding.get_embedder()
        assert embedder is not None
        return self.search(text, meaning=self._meaning(embedder, text))

    def _meaning(self, embedder: Embedder, text: str) -> Meaning:
        vectors = {self._root.name: self._vectors}
        return Meaning(embedder.version, lambda: embedder.embed([text])[0], vectors)

    def search(self, text: str, meaning: Meaning | None = None) -> list[RankedResult]:
        """Return the best places."""
        tree = RankedTree(
            self._roots,
            self._indexes.state(self._root),
            self._indexes.file(self._root),
            self._entries,
            lambda _path: True,
            lambda text, entries: [one for one in entries if text in self._texts[one.relative]],
            lambda texts, _entries, _: TermFiles(
                {t: set() for t in texts}, dict.fromkeys(texts, 0.0), 0
            ),
        )
        return search([tree], text, limit=LIMIT, deadline=inf, meaning=meaning).places

    def _build(self) -> None:
        """Index every file: each has to be stable first."""
        units = self._indexes.state(self._root)
        end = time.monotonic() + _SETTLES
        while units.stale(self._entries, self._indexes.file(self._root, begin=True)):
            assert time.monotonic() < end, "the index did not take all files"
            self._indexes.update(self._root, lambda: self._entries, lambda: False)
            threading.Event().wait(0.05)


def tables() -> list[Table]:
    """Return quality and tokens, on the trees kept for testing and on those used for tuning."""
    return [
        *_tables("looked at while the weights were chosen", testing_trees()),
        *_tables("the weights were chosen on", tuning_trees()),
    ]


def _tables(which: str, trees: Sequence[QuestionTree]) -> list[Table]:
    quality: list[tuple[str, ...]] = []
    spent: list[tuple[str, ...]] = []
    gains: dict[str, list[float]] = {}
    changed: list[tuple[str, ...]] = []
    for tree in trees:
        with tempfile.TemporaryDirectory() as folder:
            ours = Ours(tree, Path(folder))
            texts = [question.text for question in tree.questions]
            places = [ours.search(text) for text in texts]
            ours.mean(texts)
            by_meaning = [ours.search_meaning(text) for text in texts]
            ours.close()
        ways = {OURS: _ranks(tree, [list(map(_spans, found)) for found in places])}
        ways[MEANING] = _ranks(tree, [list(map(_spans, found)) for found in by_meaning])
        changed.append(_changed(tree, ways[OURS], ways[MEANING]))
        for name, answers in _rivals(tree):
            ways[name] = _ranks(tree, [[[span] for span in found] for found in answers])
        for name, way in ways.items():
            quality.append((f"{tree.name} ({len(tree.questions)})", name, *_cells(tree, way)))
            gains.setdefault(name, []).append(statistics.fmean(_gains(way.files)))
        spent.append((tree.name, *_token_cells(tree, places, ways[OURS])))
    rows = [(name, _spread(values), *_leads(gains[OURS], values)) for name, values in gains.items()]
    return [
        Table(f"ranked search: trees {which}", _HOW, _QUALITY_HEADERS, quality),
        Table(f"ranked search by tree: trees {which}", _BY_TREE, _TREE_HEADERS, rows),
        Table(f"what meaning changes: trees {which}", _CHANGED, _CHANGED_HEADERS, changed),
        Table(f"tokens to the right place: trees {which}", _TOKENS, _TOKEN_HEADERS, spent),
    ]


_QUALITY_HEADERS: Final = (
    "tree (questions)", "way", "place nDCG@10", "place recall@5", "file nDCG@10", "file recall@5",
)  # fmt: skip
_BY_TREE: Final = "nDCG@10 of the right file, a mean a tree: the mean of those and their spread."
_TREE_HEADERS: Final = ("way", "mean (least to greatest)", "trees where ranked search leads")
_CHANGED: Final = (
    "nDCG@10 with meaning less that by words, question by question: mean ± standard error."
)
_CHANGED_HEADERS: Final = ("tree (questions)", "place", "file")
_TOKEN_HEADERS: Final = (
    "tree", "ranked search: median (quarters)", "grep, then read: median (quarters)",
    "ratio of medians", "questions cheaper",
)  # fmt: skip


def _rivals(tree: QuestionTree) -> list[tuple[str, list[list[Span]]]]:
    """Return what plain rankings find."""
    found: list[tuple[str, list[list[Span]]]] = []
    for words, split in SPLITTERS.items():
        for what, parts in (("lines", lines_of), ("files", files_of)):
            ranking = PlainRanking(parts(tree), split)
            answers = [ranking.search(question.text) for question in tree.questions]
            found.append((f"BM25 over {what}, {words}", answers))
    return found


def _span(place: RankedResult) -> Span:
    return Span(place.path, place.line, place.end_line)


def _spans(place: RankedResult) -> list[Span]:
    """Return where a result is, and then the lines that it lists."""
    listed = (tuple(map(int, lines.split("-"))) for lines in place.also)
    return [_span(place), *(Span(place.path, start, end) for start, end in listed)]


def _ranks(tree: QuestionTree, answers: Sequence[Sequence[Sequence[Span]]]) -> Measured:
    """Return the ranks of results, each given by the places that it names."""
    pairs = list(zip(tree.questions, answers, strict=True))
    return Measured(
        tuple(_rank(found, partial(_names_place, question)) for question, found in pairs),
        tuple(_rank(_once(found), partial(_is_file, question)) for question, found in pairs),
    )


def _rank(found: Sequence[_T], right: Callable[[_T], bool]) -> int | None:
    return next((at for at, one in enumerate(found) if right(one)), None)


def _once(found: Sequence[Sequence[Span]]) -> list[Span]:
    """Return the files of results, each once."""
    return [Span(path) for path in dict.fromkeys(one[0].path for one in found)]


def _is_file(question: Question, span: Span) -> bool:
    return any(span.path == answer.path for answer in question.answers)


def _names_place(question: Question, spans: Sequence[Span]) -> bool:
    return any(_is_place(question, span) for span in spans)


def _is_place(question: Question, span: Span) -> bool:
    """Return whether most of what was found lies inside the right place."""
    if not span.end:
        return False
    for answer in question.answers:
        shared = min(span.end, answer.end) - max(span.start, answer.start) + 1
        if span.path == answer.path and 2 * shared >= span.end - span.start + 1:
            return True
    return False


def _gains(ranks: Sequence[int | None]) -> list[float]:
    return [0.0 if at is None or at >= DEEPEST else 1 / log2(at + 2) for at in ranks]


def _cells(tree: QuestionTree, way: Measured) -> tuple[str, ...]:
    near = [
        [float(at is not None and at < NEAR) for at in ranks] for ranks in (way.places, way.files)
    ]
    of_files = _mean(_gains(way.files)), _mean(near[1])
    if not tree.places or not any(at is not None for at in way.places):
        return "-", "-", *of_files
    return _mean(_gains(way.places)), _mean(near[0]), *of_files


def _changed(tree: QuestionTree, words: Measured, meaning: Measured) -> tuple[str, ...]:
    """Return what meaning adds to the right place and to the right file."""
    pairs = ((meaning.places, words.places), (meaning.files, words.files))
    place, file = (
        _mean([one - other for one, other in zip(_gains(new), _gains(old), strict=True)])
        for new, old in pairs
    )
    return f"{tree.name} ({len(tree.questions)})", place if tree.places else "-", file


def _mean(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.3f} ± {error:.3f}"


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def _leads(ours: Sequence[float], theirs: Sequence[float]) -> tuple[str, ...]:
    ahead = sum(one > other for one, other in zip(ours, theirs, strict=True))
    return (f"{ahead} of {len(ours)}" if ours is not theirs else "",)


def _token_cells(
    tree: QuestionTree, places: Sequence[Sequence[RankedResult]], ranks: Measured
) -> tuple[str, ...]:
    grep = Grep(tree)
    theirs = [grep.tokens(question) for question in tree.questions]
    found = ranks.places if tree.places else ranks.files
    ours = [
        _cost(tree, question, list(one), at) + (other if at is None else 0)
        for question, one, at, other in zip(tree.questions, places, found, theirs, strict=True)
    ]
    cheaper = sum(one < other for one, other in zip(ours, theirs, strict=True))
    ratio = statistics.median(theirs) / statistics.median(ours)
    return _quarters(ours), _quarters(theirs), f"{ratio:.1f}", f"{cheaper} of {len(ours)}"


def _cost(tree: QuestionTree, question: Question, found: list[RankedResult], at: int | None) -> int:
    """Return the tokens of the entries down to the right place and of its text."""
    if not tree.places and at is not None:  # the first entry of the right file
        at = next(n for n, one in enumerate(found) if _is_file(question, _span(one)))
    entries = found if at is None else found[: at + 1]
    spent = sum(token_counter.count(compact_json(_entry(place))) for place in entries)
    if at is None:
        return spent
    spans = _spans(found[at])
    read = next((span for span in spans if _is_place(question, span)), spans[0])
    lines = tree.files[read.path].split("\n")[read.start - 1 : read.end]
    return spent + token_counter.count("\n".join(lines))


def _entry(place: RankedResult) -> dict[str, object]:
    return {"repo": place.repo, **vars(place), "why": list(place.why)}


def _quarters(values: Sequence[int]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


if __name__ == "__main__":
    chosen = tuning_trees() if "tune" in sys.argv[1:] else testing_trees()
    for table in _tables("named", chosen):
        print(table.markdown())
