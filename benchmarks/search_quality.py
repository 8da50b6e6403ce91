"""How well the index finds one right document among a thousand: words, meaning, and both."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from math import log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from benchmarks import stores
from benchmarks.measure import Table
from benchmarks.search_pairs import DOCUMENTS, QUERIES, testing_sets, tuning_sets
from rolltop.core.db import SYSTEM
from rolltop.core.embedding import get_embedder
from rolltop.core.fulltext import hybrid_query, indexer, vector_store
from rolltop.core.fulltext.analyzer import chunks
from rolltop.core.fulltext.documents import IndexDocument, QueryMode

if TYPE_CHECKING:
    from benchmarks.search_pairs import PairSet
    from rolltop.core.db import Database
    from rolltop.core.embedding import Embedder

MODES: Final[tuple[QueryMode, ...]] = get_args(QueryMode)
DEEPEST: Final = 10
NEAR: Final = 5
_BATCH: Final = 64
_HOW: Final = (
    f"Up to {DOCUMENTS} documents a set, one right document a query, found through the product's "
    "own index on SQLite; mean ± standard error over the queries."
)


@dataclass(frozen=True)
class Quality:
    """Where each query's document was found, from 0 on; None where it was not."""

    ranks: tuple[int | None, ...]

    def gain(self) -> tuple[float, float]:
        """Return nDCG@10 with its standard error."""
        return _mean([0.0 if rank is None else 1 / log2(rank + 2) for rank in self.ranks])

    def recall(self) -> tuple[float, float]:
        """Return recall@5 with its standard error."""
        return _mean([float(rank is not None and rank < NEAR) for rank in self.ranks])


def tables() -> list[Table]:
    """Return the tables of the sets kept for testing and of those used for tuning."""
    model = get_embedder()
    assert model is not None, "the extra `semantic` is not installed"
    return [
        _table("search quality: sets kept for testing", testing_sets(), model),
        _table("search quality: sets the weights were chosen on", tuning_sets(), model),
    ]


def _table(title: str, sets: list[PairSet], model: Embedder) -> Table:
    measured = {one.name: _measured(one, model) for one in sets}
    rows = [
        (name, mode, _cell(quality.gain()), _cell(quality.recall()))
        for name, modes in measured.items()
        for mode, quality in modes.items()
    ]
    for mode in MODES:
        gains = [modes[mode].gain() for modes in measured.values()]
        recalls = [modes[mode].recall() for modes in measured.values()]
        rows.append(("mean of the sets", mode, _cell(_joined(gains)), _cell(_joined(recalls))))
    return Table(title, _HOW, ("set", "mode", "nDCG@10", "recall@5"), rows)


def _measured(pairs: PairSet, model: Embedder) -> dict[QueryMode, Quality]:
    with tempfile.TemporaryDirectory() as folder:
        database, scope = stores.opened(Path(folder))
        documents = [
            IndexDocument("document", str(number), part, text)
            for number, pair in enumerate(pairs.pairs)
            for part, text in enumerate(chunks(pair.document))
        ]
        database.write_sync(scope, indexer.put, documents)
        _embed(database, model)
        ranks: dict[QueryMode, list[int | None]] = {mode: [] for mode in MODES}
        for number, pair in enumerate(pairs.pairs[:QUERIES]):
            vector = model.embed([pair.query])[0]
            for mode in MODES:
                hits = database.read_sync(
                    scope,
                    hybrid_query.query,
                    pair.query,
                    kinds=["document"],
                    filters={},
                    limit=DEEPEST,
                    mode=mode,
                    vector=vector,
                    version=model.version,
                )
                found = [hit.id for hit in hits]
                ranks[mode].append(found.index(str(number)) if str(number) in found else None)
        database.close()
    return {mode: Quality(tuple(places)) for mode, places in ranks.items()}


def _embed(database: Database, model: Embedder) -> None:
    while texts := database.read_sync(SYSTEM, vector_store.pending_texts, model.version, _BATCH):
        made = model.embed([text.text for text in texts])
        database.write_sync(SYSTEM, vector_store.store_vectors, model.version, texts, made)


def _mean(values: list[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.pstdev(values) / sqrt(len(values))


def _joined(means: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of independent means with its error."""
    error = sqrt(sum(error * error for _, error in means)) / len(means)
    return statistics.fmean(mean for mean, _ in means), error


def _cell(value: tuple[float, float]) -> str:
    return f"{value[0]:.3f} ± {value[1]:.3f}"
