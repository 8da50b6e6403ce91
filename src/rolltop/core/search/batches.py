"""Many values in parts that one statement can bind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

MOST: Final = 400
"""Values bound in one statement."""


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in their order, at most 400 at a time."""
    for start in range(0, len(values), MOST):
        yield values[start : start + MOST]
