"""How large the random campaigns are: one setting for every property test.

TEST_CAMPAIGN is `small` (the test command), `full` (the nightly run) or a factor of one's own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

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
