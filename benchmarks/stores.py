"""Large stores for other benchmarks, made quickly by the services themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.accounts import ensure_default
from rolltop.core.db import SYSTEM, Database
from rolltop.core.scope import Scope
from rolltop.core.settings.core import STORE_NAME
from rolltop.toolsets.scratch.models import Limits
from rolltop.toolsets.scratch.service import drafts, pads

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.db import Tx

_AT_ONCE: Final = 50  # pads in one transaction
_LIMITS: Final = Limits(pads=0, cells=0, cell_bytes=0, policy="discard", namespace="default")


def text(number: int) -> str:
    """Return the content of one cell: three lines that no other cell has alike."""
    sentence = f"Note {number}: harbour {number % 97} kept its light in the storm of"
    return f"{sentence} {1700 + number % 300}.\n" * 3


def cells(first: int, count: int) -> list[dict[str, str]]:
    """Return cells as a caller sends them."""
    return [{"language": "txt", "content": text(number)} for number in range(first, first + count)]


def opened(data: Path) -> tuple[Database, Scope]:
    """Return the store of a data directory and its default user's scope."""
    database = Database(f"sqlite:///{data / STORE_NAME}")
    return database, Scope.of(database.write_now(SYSTEM, ensure_default).id)


def fill(data: Path, first: int, count: int, each: int) -> None:
    """Add `count` pads of `each` cells to the store of a data directory."""
    database, scope = opened(data)
    for start in range(first, first + count, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, first + count))
        database.write_now(scope, _create, numbers, each)
    database.close()


def _create(tx: Tx, numbers: range, each: int) -> None:
    for number in numbers:
        given = drafts.pad_fields({"title": f"pad {number}"}, None, None, "default")
        made = drafts.drafts(cells(number * each, each), _LIMITS)
        pads.create(tx, None, given, made, _LIMITS, {})
