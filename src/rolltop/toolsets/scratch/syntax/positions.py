"""Positions of the values of JSON and YAML documents, from a parser's events.

An event is its kind (`document`, `mapping`, `sequence`, `end` or `scalar`), its offset, and what
a key's text is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .results import LineColumn, Path, position_at

Event = tuple[str, int, Any]


class DataValue(NamedTuple):
    """A value that is not within a key; `at` and `key_at` are offsets.

    `repeats` says whether its mapping had the key before.
    """

    document: int
    path: tuple[str, ...]
    at: int
    key_at: int | None = None
    repeats: bool = False


@dataclass(slots=True)
class _OpenCollection:
    """A mapping or sequence that has begun; a mapping's `key` is None before each key."""

    path: tuple[str, ...]
    index: int | None
    within_key: bool
    key: str | None = None
    key_at: int = 0
    keys: set[str] = field(default_factory=set[str])

    def complete(self, key: str) -> None:
        """Move on to what follows a key or a value."""
        if self.index is not None:
            self.index += 1
        else:
            self.key = key if self.key is None else None


def walk(events: Iterable[Event], key_of: Callable[[Any], str]) -> Iterator[DataValue]:
    """Yield the values in order; `key_of` renders what an event holds as a key."""
    document = -1
    pending: list[_OpenCollection] = []
    for kind, at, held in events:
        parent = pending[-1] if pending else None
        if kind == "document":
            document += 1
        elif kind == "end":
            pending.pop()
            if pending:
                pending[-1].complete("")
        else:
            is_key = parent is not None and parent.index is None and parent.key is None
            path: tuple[str, ...] = ()
            if parent is not None and not is_key:
                step = parent.key or "" if parent.index is None else str(parent.index)
                path = (*parent.path, step)
            if not is_key and not (parent and parent.within_key):
                yield _value(document, path, at, parent)
            if is_key and parent is not None:
                parent.key_at = at
            if kind != "scalar":
                within_key = is_key or (parent is not None and parent.within_key)
                index = 0 if kind == "sequence" else None
                pending.append(_OpenCollection(path, index, within_key))
            elif parent is not None:
                parent.complete(key_of(held) if is_key else "")


def _value(
    document: int, path: tuple[str, ...], at: int, parent: _OpenCollection | None
) -> DataValue:
    if parent is None or parent.index is not None:
        return DataValue(document, path, at)
    repeats = path[-1] in parent.keys
    parent.keys.add(path[-1])
    return DataValue(document, path, at, parent.key_at, repeats)


def find_positions(
    content: str,
    values: Callable[[str], Iterable[DataValue]],
    number: int,
    paths: Sequence[Path],
    *,
    paths_are_unique: bool,
) -> Mapping[Path, LineColumn]:
    """Find the positions of values in document `number` (0-based) of a text.

    A value without one has that of the innermost around it; what an alias or a merge key brings in
    is such a value. If a key repeats, its last value counts.
    """
    wanted = {tuple(map(str, path)): path for path in paths}
    enclosing = {steps[:end] for steps in wanted for end in range(len(steps) + 1)}
    offsets: dict[tuple[str, ...], int] = {}
    missing = set(wanted)
    for found in values(content):
        if found.document > number or (paths_are_unique and not missing):
            break
        if found.document == number and found.path in enclosing:
            offsets[found.path] = found.at
            missing.discard(found.path)
    return {
        path: position_at(content, _innermost(steps, offsets)) for steps, path in wanted.items()
    }


def _innermost(steps: tuple[str, ...], offsets: Mapping[tuple[str, ...], int]) -> int:
    """Find the offset of the value, or of the innermost around it that has one."""
    known = (offsets[steps[:end]] for end in range(len(steps), -1, -1) if steps[:end] in offsets)
    return next(known, 0)
