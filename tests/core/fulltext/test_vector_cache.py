"""The nearest of many vectors are found as by comparing all of them, or as good as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rolltop.core.fulltext.vector_cache import MIN_TWO_STEP_VECTORS, STORED_DTYPE, VectorSet


def some_vectors(count: int, dims: int = 192, seed: int = 7) -> np.ndarray[Any, np.dtype[Any]]:
    """Unit vectors in clusters, most of whose differences lie along a part of the axes."""
    random = np.random.default_rng(seed)
    scale = 1 / np.arange(1, dims + 1) ** 0.6
    centres = random.standard_normal((40, dims)) * scale
    made = centres[random.integers(0, 40, count)] + random.standard_normal((count, dims)) * scale
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(STORED_DTYPE)


def filled(vectors: np.ndarray[Any, np.dtype[Any]], steps: int = 3) -> VectorSet:
    kept = VectorSet()
    for rows in np.array_split(np.arange(len(vectors)), steps):
        kept.add(rows * 2, vectors[rows], int(rows[-1]))
    return kept


@pytest.mark.parametrize("count", [1, 500, MIN_TWO_STEP_VECTORS + 5000])
def test_the_nearest_are_found(count: int) -> None:
    vectors = some_vectors(count)
    kept = filled(vectors, min(3, count))
    assert (kept.projections is not None) is (count >= MIN_TWO_STEP_VECTORS)
    hits = 0
    queries = some_vectors(20, seed=8).astype(np.float32)
    for query in queries:
        true = np.argsort(-(vectors.astype(np.float32) @ query))[:10] * 2
        nearness = kept.compare(query, None)
        hits += len(set(nearness.best(10)) & set(true.tolist()))
        exact = nearness.cosines_of([int(true[0]), 1, 10**9])
        assert exact == {int(true[0]): pytest.approx(vectors[true[0] // 2] @ query, abs=1e-2)}
    assert hits >= 0.98 * len(queries) * min(10, count)


def test_a_few_parts_are_compared_whole() -> None:
    vectors = some_vectors(MIN_TWO_STEP_VECTORS)
    query = some_vectors(1, seed=9)[0].astype(np.float32)
    nearness = filled(vectors).compare(query, [8, 4, 6, 7])
    assert sorted(nearness.best(10)) == [4, 6, 8]
    assert nearness.scan is None


def test_vectors_that_come_later_are_found_by_the_axes_of_the_first() -> None:
    kept = filled(some_vectors(MIN_TWO_STEP_VECTORS))
    later = some_vectors(50, seed=11)
    assert kept.projections is not None
    kept.add(np.arange(50) + 10 * MIN_TWO_STEP_VECTORS, later, 1)
    assert kept.compare(later[7].astype(np.float32), None).best(1) == [
        10 * MIN_TWO_STEP_VECTORS + 7
    ]


def test_parts_in_any_order_are_found() -> None:
    vectors = some_vectors(30)
    kept = VectorSet()
    kept.add(np.arange(30)[::-1].copy(), vectors, 1)
    query = vectors[3].astype(np.float32)
    assert kept.compare(query, None).best(1) == [26]
    assert set(kept.compare(query, [26, 2]).best(5)) == {26, 2}
    kept.clear()
    assert kept.compare(query, None).best(5) == []
