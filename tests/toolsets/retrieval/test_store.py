"""Work that processes share: all of it, each in an order of its own."""

from __future__ import annotations

import pytest

from rolltop.toolsets.retrieval.store import scattered


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 299, 5_000])
def test_scattered_work_is_all_the_work(count: int) -> None:
    assert sorted(scattered(range(count))) == list(range(count))


@pytest.mark.parametrize("count", [40, 5_000])
def test_two_that_share_work_do_not_begin_alike_for_ever(count: int) -> None:
    orders = {tuple(scattered(range(count))) for _ in range(20)}
    assert len(orders) > 1
