"""Large stores for other benchmarks, made quickly by the services themselves."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.fulltext import vector_store
from rolltop.core.principal import Principal
from rolltop.core.settings.core import STORE_NAME
from rolltop.toolsets.scratch.models.records import PadLimits
from rolltop.toolsets.scratch.service import cell_input, pads

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.inputs import CellInput

WORDS: Final = 30
"""Words of one cell."""
_VOCABULARY: Final = 20_000
_SYLLABLES: Final = (
    *("ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "ne"),
    *("pa", "ri", "so", "tu", "va", "we", "xi", "yo", "ze", "bra"),
)
_AT_ONCE: Final = 50  # pads in one transaction
_TEXTS_AT_ONCE: Final = 4000
_LIMITS: Final = PadLimits(pads=0, cells=0, cell_bytes=0, policy="discard", namespace="default")


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Return words, and how often each and those before it are used: as in a language, by Zipf."""
    numbers = Random(1).sample(range(20**4), _VOCABULARY)  # noqa: S311  # the same each time
    made = [
        "".join(_SYLLABLES[digit] for digit in (n // 8000, n // 400 % 20, n // 20 % 20, n % 20))
        for n in numbers
    ]
    return made, list(accumulate(1 / (rank + 3) for rank in range(_VOCABULARY)))


def some_words(seed: int, count: int) -> list[str]:
    """Return words as a text of that number has them."""
    known, weights = _vocabulary()
    return Random(seed).choices(known, cum_weights=weights, k=count)  # noqa: S311  # as above


def text(number: int) -> str:
    """Return the content of one cell: three lines of words."""
    chosen = some_words(number, WORDS)
    return "".join(f"{' '.join(chosen[at : at + 10])}.\n" for at in range(0, WORDS, 10))


def cells(first: int, count: int) -> list[CellInput]:
    """Return cells as a caller sends them."""
    return [{"language": "txt", "content": text(number)} for number in range(first, first + count)]


def opened(data: Path) -> tuple[Database, Principal]:
    """Return the store of a data directory and its default user's scope."""
    database = Database(f"sqlite:///{data / STORE_NAME}")
    return database, Principal.for_user(database.write_sync(SYSTEM, ensure_default_user).id)


def fill(data: Path, count: int, each: int) -> None:
    """Add `count` pads of `each` cells to the store of a data directory."""
    database, scope = opened(data)
    for start in range(0, count, _AT_ONCE):
        database.write_sync(scope, _create, range(start, min(start + _AT_ONCE, count)), each)
    database.close()


def give_vectors(data: Path, version: str, dims: int) -> None:
    """Give each text of the store a vector as if made by the model `version`."""
    database, _scope = opened(data)
    random = np.random.default_rng(7)
    scale = (1 / np.arange(1, dims + 1) ** 0.6).astype(np.float32)
    centres = random.standard_normal((200, dims), dtype=np.float32) * scale
    while texts := database.read_sync(SYSTEM, vector_store.pending_texts, version, _TEXTS_AT_ONCE):
        made = centres[random.integers(0, 200, len(texts))]
        made += random.standard_normal(made.shape, dtype=np.float32) * scale
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        database.write_sync(SYSTEM, vector_store.store_vectors, version, texts, made)
    database.close()


def _create(tx: Tx, numbers: range, each: int) -> None:
    for number in numbers:
        given = cell_input.parse_pad_fields({"title": f"pad {number}"}, None, None, "default")
        made = cell_input.parse_cells(cells(number * each, each), _LIMITS)
        pads.create_pad(tx, None, given, (), made, _LIMITS, {})
