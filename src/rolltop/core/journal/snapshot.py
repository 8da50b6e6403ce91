"""Things as they were: their rows of now, from which the journal's later changes are taken back.

Nothing is written. What a row was is told by the first change after the moment; of a text the
contents have what its hash stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from sqlalchemy import Boolean, Column, Table, TypeDecorator, select

from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.errors import NotFound
from rolltop.core.journal.history import (
    Entry,
    EntryFilter,
    digest_of,
    kept_since,
    read_entries,
    read_texts,
    stream_entries,
)
from rolltop.core.journal.tables import journaled_tables
from rolltop.core.pagination import JsonObject, format_timestamp
from rolltop.core.principal import ALL_PROJECTS

T = TypeVar("T")
Row = dict[str, Any]
_Key = tuple[Any, ...]


def version_not_kept(tx: Tx, what: str) -> NotFound:
    """Return the error for what was there at a time of which too little is kept."""
    since = max(filter(None, kept_since(tx)), default=None)
    shown = "no moment yet" if since is None else format_timestamp(since)
    return NotFound(
        f"{what} is no longer kept",
        code="VERSION_NOT_FOUND",
        hint=f"Versions are kept since {shown}; desk_history lists them.",
        data={} if since is None else {"kept_since": shown},
    )


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in the caller's journal: right after the entry `sequence`, which was made at `at`."""

    sequence: int
    at: datetime


def moment_at(tx: Tx, at: datetime) -> Moment:
    """Return the place that the journal had come to at a time. Raises NotFound."""
    first = max(filter(None, kept_since(tx)), default=None)
    if first is None or at < first:
        raise version_not_kept(tx, f"What was there at {format_timestamp(at)}")
    until = EntryFilter(until=at)
    last = read_entries(tx, until, limit=1, newest_first=True, heads_only=True)
    return Moment(last[0].sequence if last else 0, at)


def moment_of_version(tx: Tx, thing: tuple[str, str], version: int, now: int) -> Moment | None:
    """Return a place at which a thing was at a version; None if there is none that is kept.

    `now` is its version of now, 0 if it is gone. A version without an entry of its own changed
    nothing; but that of a pad may be that of its cells, and is not told by the pad's entries.
    """
    later, (kind, ref) = now, thing
    found: Moment | None = None
    wanted = EntryFilter(kind=kind, ref=ref)
    for entry in stream_entries(tx, wanted, newest_first=True, heads_only=True):
        before, after = entry.version_before, entry.version_after
        if before is None and after is None:
            later = 0  # nothing is known of the versions between
            continue
        last = after if kind == "pad" or after is None else max(later, after)
        if after is not None and last is not None and after <= version <= last:
            return Moment(_transaction_of(tx, entry)[1], entry.at)
        if found is not None:
            break
        if before == version:
            found = Moment(_transaction_of(tx, entry)[0] - 1, entry.at)
        later = before or 0
    return found


def _transaction_of(tx: Tx, entry: Entry) -> tuple[int, int]:
    """Return the numbers of the first and the last entry of a transaction."""
    call = stream_entries(tx, EntryFilter(operation=entry.operation), heads_only=True)
    numbers = [one.sequence for one in call if one.at == entry.at]
    return numbers[0], numbers[-1]


@dataclass(slots=True)
class _EarlierRow:
    """What a row was, as stored: all of it, or those columns that were changed since."""

    values: Mapping[str, Any]
    is_whole: bool


@dataclass(frozen=True)
class EarlierThing:
    """A thing as it was: what a reader is shown of it, and what a search goes by.

    A note or cell has its text, a task its description. `parts` are a pad's cells or a task's
    comments, if the thing was to be read whole. `project` is the only one it is seen from, `*` for
    all; where none is named, what `is_shared` is seen too.
    """

    version: int
    title: str
    text: str
    at: datetime
    tags: tuple[str, ...] = ()
    is_deleted: bool = False
    project: str | None = ALL_PROJECTS
    is_shared: bool = True
    fields: JsonObject = field(default_factory=dict[str, Any])
    parts: Sequence[JsonObject] = ()


class JournalSnapshot:
    """The caller's things of some kinds as they were at a moment, or only one thing."""

    def __init__(
        self, tx: Tx, moment: Moment, kinds: Collection[str], ref: str | None = None
    ) -> None:
        """Read what the journal says of the time since."""
        self.moment: Final = moment
        self._versions: Final[dict[tuple[str, str], int | None]] = {}
        self._tx: Final = tx
        self._tables: Final = journaled_tables()
        self._earlier: Final[dict[str, dict[_Key, _EarlierRow | None]]] = {}
        self._decoders: Final[dict[str, Callable[[Any], Any]]] = {}
        wanted = EntryFilter(after=moment.sequence, kinds=kinds, ref=ref)
        for entry in stream_entries(tx, wanted, newest_first=True):
            self._take_back(entry)

    def changed_ids(self, kind: str) -> set[str]:
        """Return the ids of the things that were changed since."""
        return {ref for of, ref in self._versions if of == kind}

    def version(self, kind: str, ref: str, now: int) -> int:
        """Return the version that a thing had, given that of its row."""
        return self._versions.get((kind, ref)) or now

    def rows(self, column: Column[T], values: Iterable[T]) -> list[Row]:
        """Return the rows of then with one of the values in a column that never changes.

        Raises NotFound where a text of them is no longer kept.
        """
        table, wanted, found = column.table, set(values), dict[_Key, Row]()
        mine = select(table).where(table.c.user_id == self._tx.scope.user_id)
        for some in batches(list(wanted)):
            for row in self._tx.execute(mine.where(column.in_(some))).mappings():
                key = tuple(row[part.name] for part in table.primary_key)
                found[key] = dict(row)
        for key, earlier in self._earlier.get(table.name, {}).items():
            if earlier is None:
                found.pop(key, None)
            elif key in found:
                found[key] |= earlier.values
            elif earlier.is_whole and self._decode(column, earlier.values[column.name]) in wanted:
                empty = dict.fromkeys((one.name for one in table.columns), _Stored(None))
                found[key] = {**empty, **earlier.values}
        return self._with_texts(table, list(found.values()))

    def _take_back(self, entry: Entry) -> None:
        if entry.version_before or entry.version_after:
            self._versions[entry.thing] = entry.version_before
        else:
            self._versions.setdefault(entry.thing, None)
        for change in reversed(entry.changes):
            if change["table"] not in self._tables:
                continue
            table, _journaled = self._tables[change["table"]]
            columns = table.primary_key
            key = tuple(self._decode(column, change["key"][column.name]) for column in columns)
            rows = self._earlier.setdefault(table.name, {})
            if change["before"] is None:
                rows[key] = None
                continue
            before = {name: _Stored(value) for name, value in change["before"].items()}
            later = rows.get(key)
            if change["after"] is not None and later is not None:
                rows[key] = _EarlierRow({**later.values, **before}, later.is_whole)
            else:
                rows[key] = _EarlierRow(before, is_whole=change["after"] is None)

    def _with_texts(self, table: Table, rows: list[Row]) -> list[Row]:
        """Return rows with what was stored as Python has it."""
        digests = {
            digest
            for row in rows
            for value in row.values()
            if isinstance(value, _Stored) and (digest := digest_of(value.value))
        }
        texts = read_texts(self._tx, digests)
        if digests - texts.keys():
            raise version_not_kept(self._tx, "A text of then")
        for row in rows:
            for name, value in row.items():
                if isinstance(value, _Stored):
                    digest = digest_of(value.value)
                    stored = value.value if digest is None else texts[digest]
                    row[name] = self._decode(table.c[name], stored) if name in table.c else stored
        return rows

    def _decode(self, column: Column[Any], stored: Any) -> Any:  # noqa: ANN401  # a column's value
        stored = stored.value if isinstance(stored, _Stored) else stored
        name = f"{column.table.name}.{column.name}"
        if name not in self._decoders:
            dialect, kind = self._tx.connection.dialect, column.type
            processor = None  # a number is one in JSON too
            if isinstance(kind, TypeDecorator | Boolean):
                processor = kind.dialect_impl(dialect).result_processor(dialect, None)
            self._decoders[name] = processor or (lambda value: value)
        return self._decoders[name](stored)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A value of a column as the database stores it, of a long text its hash."""

    value: Any = field(repr=False)
