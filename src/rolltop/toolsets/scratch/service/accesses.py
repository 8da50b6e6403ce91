"""When pads were read: kept in memory, written down in batches, apart from the pads.

Losing the last seconds of it costs nothing but a little of the order in which pads are evicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.core.scope import Scope
from rolltop.toolsets.scratch.store import pads

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rolltop.core.desk import Desk

Moments = dict[str, "datetime"]
_unwritten: Final[WeakKeyDictionary[Desk, dict[str, Moments]]] = WeakKeyDictionary()


def note(desk: Desk, user_id: str, scratch_id: str, moment: datetime) -> None:
    """Remember that a user's pad was read."""
    _unwritten.setdefault(desk, {}).setdefault(user_id, {})[scratch_id] = moment


def unwritten(desk: Desk, user_id: str) -> Moments:
    """Return a user's reads that are not in the store yet, by pad."""
    return {**_unwritten.get(desk, {}).get(user_id, {})}


async def write_down(desk: Desk) -> None:
    """Put what is remembered into the store; what fails to be written is dropped."""
    for user_id, moments in _taken(desk):
        await desk.database.write(Scope.of(user_id), pads.note_accesses, moments)


def write_down_now(desk: Desk) -> None:
    """Do what `write_down` does, in the thread that asks: the process ends."""
    for user_id, moments in _taken(desk):
        desk.database.write_now(Scope.of(user_id), pads.note_accesses, moments)


def _taken(desk: Desk) -> Iterable[tuple[str, Moments]]:
    return (_unwritten.pop(desk) if desk in _unwritten else {}).items()
