"""Reading the journal: entries, the texts they name, and what each did in one line."""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, Final, cast

from sqlalchemy import Boolean, ColumnElement, delete, func, or_, select, update
from sqlalchemy.types import TypeEngine

from rolltop.core.addresses import is_id_start, short_id
from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.db.schema import metadata
from rolltop.core.db.types import (
    Identifier,
    JSONText,
    UTCDateTime,
    begins,
    canonical_id,
    id_range,
)
from rolltop.core.journal.tables import (
    Journaled,
    journal,
    journal_contents,
    journal_counters,
    journal_undone,
    journaled_tables,
)

MAX_PURGED: Final = 200
"""Entries or texts of a tenant that go in one transaction of a purge."""
_ENTRIES_AT_ONCE: Final = 200
_MAX_SHOWN: Final = 60  # code points of a value in a summary
_MAX_SUMMARY: Final = 160  # code points: room for both values of a change, and for their names
_MINUTE: Final = len("2026-01-31T12:00")
_TRASH: Final = ("deleted_at", "trash")
_UNKNOWN: Final = Journaled("", "")
"""Of a table whose toolset this process never called."""
_j: Final = journal.c
_IS_ENTRY: Final = _j.kind != ""
"""Not what a purge leaves of the newest entry it deletes: when that was made."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one operation did to one thing.

    Each of the `changes` is of one row: its `table`, its `key`, and its columns `before` and
    `after`: all of them if the row came or went (the other is None), else those that differ. Values
    are as the database stores them; a long text is `{"sha256": …}`.
    """

    sequence: int
    operation: str
    at: datetime
    client: str
    project: str
    tool: str
    kind: str
    ref: str
    version_before: int | None
    version_after: int | None
    changes: Sequence[Mapping[str, Any]]

    @property
    def thing(self) -> tuple[str, str]:
        """The kind and the id of what was changed."""
        return self.kind, self.ref


_FIELDS: Final = tuple(Entry.__dataclass_fields__)
_COLUMNS: Final = tuple(_j[name] for name in _FIELDS)
_HEADS: Final = _COLUMNS[:-1]


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries to read: those that fulfil all that is not None.

    `after` and `before` are sequence numbers and, like `since`, exclusive; `until` is inclusive.
    `client` is a client's name, in any session, or its `label`, with the session; or the address of
    a member of a workspace, by any client. `operation` and
    `ref` are ids or their first 8 digits or more, `operations` and `refs` are ids, `actor_id` is a
    user's id.
    """

    after: int | None = None
    before: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    client: str | None = None
    label: str | None = None
    project: str | None = None
    tool: str | None = None
    operation: str | None = None
    operations: Collection[str] | None = None
    kind: str | None = None
    kinds: Collection[str] | None = None
    ref: str | None = None
    refs: Collection[str] | None = None
    sequences: Sequence[int] | None = None
    actor_id: str | None = None

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions of a row."""
        for name, condition in _CONDITIONS.items():
            if (value := getattr(self, name)) is not None:
                yield condition(value)

    def things(self) -> EntryFilter | None:
        """Return the part of the filter that an index finds: what is asked of the things."""
        if self.ref is None and self.refs is None:
            return None
        return EntryFilter(kind=self.kind, kinds=self.kinds, ref=self.ref, refs=self.refs)


def _is_by(name: str) -> ColumnElement[bool]:
    """Return the condition of a client in any session, or of all of a member of a workspace.

    Case does not count, as it does not where SQLite compares beginnings.
    """
    is_member = "@" in name and "/" not in name
    started = (
        _j.client.istartswith(f"{name}{end}", autoescape=True)
        for end in (" (", "/")[: 1 + is_member]
    )
    return or_(func.lower(_j.client) == func.lower(name), *started)


_CONDITIONS: Final[Mapping[str, Callable[[Any], ColumnElement[bool]]]] = {
    "after": lambda number: _j.sequence > number,
    "before": lambda number: _j.sequence < number,
    "since": lambda moment: _j.at > moment,
    "until": lambda moment: _j.at <= moment,
    "client": _is_by,
    "label": lambda label: _j.client == label,
    "project": lambda name: _j.project.in_([name, ""]),
    "tool": lambda name: _j.tool == name,
    "operation": lambda digits: _j.operation.between(*id_range(digits)),
    "operations": _j.operation.in_,
    "kind": lambda kind: _j.kind == kind,
    "kinds": _j.kind.in_,
    "ref": lambda start: begins(_j.ref, start) if is_id_start(start) else _j.ref == start,
    "refs": _j.ref.in_,
    "sequences": _j.sequence.in_,
    "actor_id": lambda user: _j.actor_id == user,
}


def read_entries(
    tx: Tx,
    wanted: EntryFilter | None = None,
    *,
    limit: int,
    newest_first: bool = False,
    heads_only: bool = False,
) -> list[Entry]:
    """Return the first of the caller's entries that are wanted; heads are without `changes`."""
    return list(
        stream_entries(tx, wanted, limit=limit, newest_first=newest_first, heads_only=heads_only)
    )


def stream_entries(
    tx: Tx,
    wanted: EntryFilter | None = None,
    *,
    limit: int | None = None,
    newest_first: bool = False,
    heads_only: bool = False,
) -> Iterator[Entry]:
    """Yield entries as `read_entries` returns them, reading no more than are asked for."""
    order = _j.sequence.desc() if newest_first else _j.sequence
    mine = select(*(_HEADS if heads_only else _COLUMNS)).where(
        _j.user_id == tx.scope.user_id, _IS_ENTRY, *(wanted or EntryFilter()).conditions()
    )
    if wanted is not None and (things := wanted.things()) is not None:
        # Asked for entries in order, SQLite would read the whole journal for those of a thing.
        numbers = select(_j.sequence).where(_j.user_id == tx.scope.user_id, *things.conditions())
        mine = mine.where(_j.sequence.in_(numbers.correlate(None)))
    with tx.execute(mine.order_by(order).limit(limit)) as rows:
        yield from map(_entry_of, rows.yield_per(_ENTRIES_AT_ONCE))


def _entry_of(row: Sequence[Any]) -> Entry:
    head, changes = row[: len(_HEADS)], row[len(_HEADS) :]
    return Entry(*head, changes=json.loads(changes[0]) if changes else ())


def find_refs(tx: Tx, wanted: EntryFilter) -> list[str]:
    """Return the ids of the things that the caller's wanted entries are of, each once, in order."""
    found = select(_j.ref).where(_j.user_id == tx.scope.user_id, *wanted.conditions())
    return list(tx.execute(found.distinct().order_by(_j.ref)).scalars())


def latest_entries(
    tx: Tx, things: Iterable[tuple[str, str]], last: int | None = None
) -> dict[tuple[str, str], Entry]:
    """Map those of the things (kinds with ids) that the journal knows to their newest entries.

    With `last` those that came after that number do not count.
    """
    wanted = list(things)
    mine = _j.user_id == tx.scope.user_id
    until = () if last is None else (_j.sequence <= last,)
    found: list[int] = []
    for kind in {kind for kind, _ref in wanted}:
        for some in batches([ref for of, ref in wanted if of == kind]):
            newest = select(func.max(_j.sequence)).where(
                mine, *until, _j.kind == kind, _j.ref.in_(some)
            )
            found += tx.execute(newest.group_by(_j.ref)).scalars()
    entries: dict[tuple[str, str], Entry] = {}
    for some in batches(found):
        rows = tx.execute(select(*_COLUMNS).where(mine, _j.sequence.in_(some)))
        entries |= {entry.thing: entry for entry in map(_entry_of, rows)}
    return entries


def latest_sessions(tx: Tx, wanted: EntryFilter, limit: int) -> list[Entry]:
    """Return the newest wanted entry of each client's session in a project, the newest first."""
    mine = (_j.user_id == tx.scope.user_id, _IS_ENTRY, *wanted.conditions())
    newest = select(func.max(_j.sequence)).where(*mine).group_by(_j.client, _j.project)
    numbers = tx.execute(newest.order_by(func.max(_j.sequence).desc()).limit(limit)).scalars().all()
    last = EntryFilter(sequences=numbers)
    return read_entries(tx, last, limit=limit, newest_first=True, heads_only=True)


def latest_times(
    tx: Tx, kind: str, refs: Iterable[str], last: int | None = None
) -> dict[str, datetime]:
    """Map the ids of things to when they were changed at the latest, not counting after `last`.

    For those that the journal no longer knows it is when the journal begins. {} if it is empty.
    """
    wanted = list(refs)
    since, _texts_since = kept_since(tx) if wanted else (None, None)
    entries = latest_entries(tx, [(kind, ref) for ref in wanted], last)
    found = {} if since is None else dict.fromkeys(wanted, since)
    return found | {ref: entry.at for (_kind, ref), entry in entries.items()}


def last_sequence(tx: Tx) -> int:
    """Return the number of the caller's newest entry; 0 if nothing was ever changed."""
    counters = journal_counters.c
    mine = select(counters.sequence).where(counters.user_id == tx.scope.user_id)
    return tx.execute(mine).scalar() or 0


def read_texts(tx: Tx, digests: Iterable[str]) -> dict[str, str]:
    """Map the hashes of texts that are still kept to the texts."""
    c, found = journal_contents.c, dict[str, str]()
    for batch in batches(sorted(set(digests))):
        some = select(c.sha256, c.size, c.data).where(
            c.user_id == tx.scope.user_id, c.sha256.in_(batch)
        )
        for row in tx.execute(some):
            data: bytes = row.data
            found[row.sha256] = (data if len(data) == row.size else zlib.decompress(data)).decode()
    return found


def text_digests(entries: Iterable[Entry]) -> set[str]:
    """Return the hashes of all texts that the entries name."""
    return {
        digest
        for entry in entries
        for change in entry.changes
        for row in (change["before"], change["after"])
        for digest in map(digest_of, dict[str, Any](row or ()).values())
        if digest is not None
    }


def digest_of(value: Any) -> str | None:  # noqa: ANN401  # as an entry has it
    """Return the hash that stands for a long text in an entry, if one does."""
    return cast("dict[str, str]", value)["sha256"] if isinstance(value, dict) else None


def undone_by(tx: Tx, operations: Iterable[str]) -> dict[str, str]:
    """Map those operations that are taken back now to the operation that did it."""
    c, found = journal_undone.c, defaultdict[str, list[str]](list)
    for batch in batches(sorted(set(operations))):
        some = select(c.operation, c.undone_by).where(
            c.user_id == tx.scope.user_id, c.operation.in_(batch)
        )
        for row in tx.execute(some):
            found[row.operation].append(row.undone_by)
    if not found:
        return {}
    undoers = {by for some in found.values() for by in some}
    again = undone_by(tx, undoers)  # an undo may be undone itself
    standing = {one: [by for by in some if by not in again] for one, some in found.items()}
    return {one: some[-1] for one, some in standing.items() if some}


def mark_undone(tx: Tx, operations: Iterable[str]) -> None:
    """Note that the running operation takes these back."""
    owner, by = tx.scope.user_id, tx.scope.operation
    rows = [{"user_id": owner, "operation": one, "undone_by": by} for one in operations]
    if rows:
        tx.execute(journal_undone.insert(), rows)


def summarize(entry: Entry, texts: Mapping[str, str]) -> str:
    """Return in one line what an entry says was changed, such as `status pending → completed`."""
    known = journaled_tables()
    parts: list[str] = []
    members = defaultdict[str, list[str]](list)
    lines = Counter[str]()
    is_whole = False
    for change in entry.changes:
        before, after = change["before"], change["after"]
        journaled = known[change["table"]][1] if change["table"] in known else _UNKNOWN
        if before is None or after is None:
            if journaled.version:
                is_whole = True
                parts.append(
                    "created" if before is None else f"deleted (restore: {journaled.restore})"
                )
            elif journaled.member:
                name, column = journaled.member
                members[name] += _show_member(change, column)
        elif before.keys() <= journaled.order:
            parts.append(f"{journaled.kind}s moved")  # all that stood behind, each in a change
        else:
            parts += filter(None, _column_changes(change, journaled, texts, lines))
    if not is_whole:
        parts += (" ".join([name, *sorted(some)]) for name, some in members.items())
    if lines:
        parts.append(f"+{lines['+']} −{lines['-']} lines")
    return _shorten(", ".join(dict.fromkeys(parts)) or "changed", _MAX_SUMMARY)


def _show_member(change: Mapping[str, Any], column: str) -> Iterator[str]:
    """Yield what names a row that came or went beside its thing, if a column does."""
    if column:
        sign, row = ("−", change["before"]) if change["after"] is None else ("+", change["after"])
        is_identifier = isinstance(metadata.tables[change["table"]].c[column].type, Identifier)
        value = short_id(canonical_id(row[column])) if is_identifier else _preview(row[column])
        yield f"{sign}{value}"


def _column_changes(
    change: Mapping[str, Any], journaled: Journaled, texts: Mapping[str, str], lines: Counter[str]
) -> Iterator[str]:
    """Yield what was changed in the columns of a row; count the lines of long texts instead."""
    table = metadata.tables.get(change["table"])
    for name in change["before"]:
        if name in journaled.moving | journaled.computed:
            continue
        column = None if table is None else table.columns.get(name)
        kind = None if column is None else column.type
        old, new = (_value_of(change[side][name], texts) for side in ("before", "after"))
        if name in _TRASH:
            yield "deleted" if new else "restored"
        elif name in journaled.words:
            yield journaled.words[name][new is None].format(_show(kind, new))
        elif isinstance(kind, JSONText) and (came_and_went := _list_changes(old, new)):
            yield f"{name} {came_and_went}"
        elif "\n" in f"{old}{new}":
            lines.update(_count_changed_lines(str(old or ""), str(new or "")))
        else:
            yield f"{name} {_show(kind, old)} → {_show(kind, new)}"


def _list_changes(*values: Any) -> str:  # noqa: ANN401  # a column's
    """Say what came and went of a list; nothing if it is none."""
    if not all(value is None or str(value).startswith("[") for value in values):
        return ""
    before, after = map(_parse_list, values)
    came = (f"+{_preview(one)}" for one in after if one not in before)
    went = (f"−{_preview(one)}" for one in before if one not in after)
    return " ".join([*came, *went]) or "changed"


def _parse_list(value: str | None) -> list[str]:
    """Return the texts of a list; of lists in it what they begin with, as evidence its address."""
    some: list[Any] = json.loads(value or "[]")
    return [str([*cast("list[Any]", one), ""][0] if isinstance(one, list) else one) for one in some]


def _value_of(value: object, texts: Mapping[str, str]) -> object:
    digest = digest_of(value)
    return value if digest is None else texts.get(digest, "…")


def _count_changed_lines(old: str, new: str) -> Counter[str]:
    """Count the lines that came (+) and went (-), wherever they stand."""
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return Counter({"+": (after - before).total(), "-": (before - after).total()})


def _show(kind: TypeEngine[Any] | None, value: object) -> str:
    """Show a column's value, alike for both databases."""
    if value is not None and isinstance(kind, Boolean):
        return "true" if value else "false"  # SQLite keeps numbers
    if value is not None and isinstance(kind, UTCDateTime):
        return f"{str(value)[:_MINUTE]}Z"
    return _preview(value)


def _preview(value: object) -> str:
    text = "none" if value is None else " ".join(str(value).splitlines())
    return _shorten(text, _MAX_SHOWN)


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def purge_journal(tx: Tx, before: datetime) -> int:
    """Delete some of the entries that are older, of all tenants, with texts no later one names.

    Of the newest its time stays, and a tenant's only entry whole.
    Returns how many entries went.
    """
    n = journal_counters.c
    # Most tenants have nothing to delete, and each look at entries holds up all who write.
    second = select(_j.at).where(_j.user_id == n.user_id).order_by(_j.sequence).limit(1).offset(1)
    owners = tx.execute(select(n.user_id).where(second.scalar_subquery() < before)).scalars().all()
    return sum(_purge_tenant(tx, owner, before) for owner in owners)


def purge_texts(tx: Tx, max_bytes: int) -> int:
    """Delete some of the texts of tenants that keep more than `max_bytes` of them, oldest first.

    What nothing but the journal has stays: the texts of rows that were deleted. Returns how many
    texts went.
    """
    c = journal_contents.c
    size = func.sum(func.length(c.data))
    larger = select(c.user_id, size).group_by(c.user_id).having(size > max_bytes)
    found = cast("list[tuple[str, int]]", tx.execute(larger).all())
    return sum(_purge_texts_of(tx, owner, int(total) - max_bytes) for owner, total in found)


def _purge_texts_of(tx: Tx, owner: str, excess: int) -> int:
    c, n = journal_contents.c, journal_counters.c
    needed, chosen = _only_copies(tx, owner), list[str]()
    sizes = select(c.sha256, c.used_at, func.length(c.data)).where(c.user_id == owner)
    since: datetime | None = None
    for row in tx.execute(sizes.order_by(c.used_at, c.sha256)):
        digest, used_at, size = cast("tuple[str, datetime, int]", row)
        if excess <= 0 or len(chosen) == MAX_PURGED:
            break
        if digest not in needed:
            chosen.append(digest)
            excess, since = excess - size, used_at
    for batch in batches(chosen):
        tx.execute(delete(journal_contents).where(c.user_id == owner, c.sha256.in_(batch)))
    if since is not None:
        later = or_(n.texts_since.is_(None), n.texts_since < since)
        counter = update(journal_counters).where(n.user_id == owner, later)
        tx.execute(counter.values(texts_since=since))
    return len(chosen)


def _only_copies(tx: Tx, owner: str) -> set[str]:
    """Return the hashes of the texts of a tenant's rows that were deleted."""
    gone = _j.changes.contains('"after":null', autoescape=True)
    rows = tx.execute(select(*_COLUMNS).where(_j.user_id == owner, gone))
    return {
        digest
        for row in rows
        for change in _entry_of(row).changes
        if change["after"] is None
        for digest in map(digest_of, change["before"].values())
        if digest is not None
    }


def kept_since(tx: Tx) -> tuple[datetime | None, datetime | None]:
    """Return since when the caller's entries are kept, and their long texts if those are fewer."""
    oldest = select(func.min(_j.sequence)).where(_j.user_id == tx.scope.user_id).scalar_subquery()
    first = select(_j.at).where(_j.user_id == tx.scope.user_id, _j.sequence == oldest)
    n = journal_counters.c
    texts = select(n.texts_since).where(n.user_id == tx.scope.user_id)
    since, texts_since = tx.execute(first).scalar(), tx.execute(texts).scalar()
    return since, texts_since if since and texts_since and texts_since > since else None


def count_entries(tx: Tx) -> dict[str, float]:
    """Count the entries of all tenants, and the seconds since the oldest, for `/metrics`.

    Numbers have no gap, so nothing but each tenant's first entry is looked up.
    """
    n = journal_counters.c
    mine = (_j.user_id == n.user_id, _IS_ENTRY)
    oldest = select(_j.sequence, _j.at).where(*mine).order_by(_j.sequence)
    first, at = (
        oldest.with_only_columns(column).limit(1).scalar_subquery()
        for column in (_j.sequence, _j.at)
    )
    kept = select(n.sequence - first + 1, at).where(first.is_not(None))
    rows = cast("list[tuple[int, datetime]]", tx.execute(kept).all())
    counts: dict[str, float] = {"journal_entries": sum(count for count, _ in rows)}
    if rows:
        counts["journal_age_seconds"] = (tx.now - min(at for _, at in rows)).total_seconds()
    return counts


def _purge_tenant(tx: Tx, owner: str, before: datetime) -> int:
    mine = select(*_COLUMNS).where(_j.user_id == owner).order_by(_j.sequence)
    oldest = [_entry_of(row) for row in tx.execute(mine.limit(MAX_PURGED)).all()]
    old = list(takewhile(lambda entry: entry.at < before, oldest))
    if not old:
        return 0
    c, u = journal_contents.c, journal_undone.c
    for batch in batches(sorted(text_digests(old))):
        unused = (c.user_id == owner, c.used_at < before, c.sha256.in_(batch))
        tx.execute(delete(journal_contents).where(*unused))
    last = old[-1].sequence
    tx.execute(delete(journal).where(_j.user_id == owner, _j.sequence < last))
    # Its time tells since when nothing is missing, though nothing was written for long.
    empty = {"kind": "", "ref": "", "changes": "[]", "version_before": None, "version_after": None}
    newest = update(journal).where(_j.user_id == owner, _j.sequence == last)
    tx.execute(newest.values(empty))
    for batch in batches(sorted({entry.operation for entry in old})):
        tx.execute(delete(journal_undone).where(u.user_id == owner, u.operation.in_(batch)))
    return len(old)
