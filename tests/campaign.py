"""How large the random campaigns are: one setting for every property test.

TEST_CAMPAIGN is `small` (the test command), `full` (the nightly run) or a factor of one's own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

T = TypeVar("T")

VARIABLE: Final = "TEST_CAMPAIGN"
NAMED_FACTORS: Final = {"small": 0.1, "full": 10.0}


def factor() -> float:
    """How many times its own number of examples a campaign is asked for, from TEST_CAMPAIGN.

    Raises ValueError when the setting is neither a name nor a positive number.
    """
    given = os.environ.get(VARIABLE, "small").strip().lower()
    if given in NAMED_FACTORS:
        return NAMED_FACTORS[given]
    try:
        number = float(given)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise ValueError(
            f"{VARIABLE} is {given!r}; allowed are {', '.join(NAMED_FACTORS)} or a positive number"
        )
    return number


def examples(number: int) -> int:
    """The number of examples to run of a campaign of that many; at least 1."""
    return max(1, round(number * factor()))


def some_of(known: Sequence[T]) -> Sequence[T]:
    """All known cases in a run of full size, every other one in a smaller run."""
    return known if is_full() else known[::2]


def is_full() -> bool:
    """Whether the run is at least as large as the nightly one."""
    return factor() >= NAMED_FACTORS["full"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only modules with a random campaign in a full run: it makes no others larger."""
    if not is_full():
        return
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (kept if _has_campaign(item) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def _has_campaign(item: pytest.Item) -> bool:
    module: object = getattr(item, "module", None)
    sized = (examples, some_of, factor)
    return any(value is one for value in vars(module).values() for one in sized)
