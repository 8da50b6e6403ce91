"""Undo: whole operations, newest first, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from rolltop.core.context import AppContext, import_object
from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.errors import Conflict, InvalidArgument, NotFound
from rolltop.core.journal import history
from rolltop.core.journal.history import Entry, EntryFilter
from rolltop.core.journal.tables import journaled_tables
from rolltop.core.journal.undo import BLOCKED, Columns, Thing, UndoConflict, key_text
from rolltop.core.journal.writer import append_entries
from rolltop.core.principal import OWNER
from rolltop.toolsets.desk.history import name_thing, short_operation, uri_of
from rolltop.toolsets.desk.opened import format_minute
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS

TakeBack = Callable[..., None]

_OWNERS: Final = (NOTES, SCRATCH, TASKS)
"""The toolsets whose things the journal tells of; a server may have been set to leave some out."""
MAX_ENTRIES: Final = 10_000
"""Entries that one call takes back where it names no operation: none is taken back by halves."""
_MAX_SESSIONS: Final = 5
"""Sessions that an error names."""
_BEGAN_BEFORE: Final = "it began before since: name it as operation to take it back"
_NOTHING_TO_DO: Final = "all that it changed is as it was before it already"


@dataclass(frozen=True)
class Undone:
    """What an undo did: the entries it took back, newest first, and what it left as it is."""

    entries: Sequence[Entry]
    skipped: Mapping[str, str]
    """Operations with the reason why they were not taken back."""


class Tried(Exception):  # nothing is wrong: it takes a result out of a transaction
    """What an undo would do; the transaction that raises it keeps nothing."""

    def __init__(self, undone: Undone) -> None:
        """Take what would be done."""
        super().__init__()
        self.undone = undone


def undo(tx: Tx, app: AppContext, wanted: EntryFilter, *, dry_run: bool) -> Undone:
    """Take back all wanted operations that still stand, newest first: all of them or none.

    Who is no owner of the workspace takes back only what was the own doing.

    Raises:
        NotFound: there is none.
        InvalidArgument: the id's beginning is that of several, or there are too many.
        Conflict: it names what later work depends on.
        Tried: it was to be tried only, or nothing is left to take back.

    """
    if tx.scope.role != OWNER:
        wanted = replace(wanted, actor_id=tx.scope.actor_id)
    entries = _select(tx, wanted)
    begun = _begun_before(tx, wanted, {entry.operation for entry in entries})
    entries = [entry for entry in entries if entry.operation not in begun]
    texts = history.read_texts(tx, history.text_digests(entries))
    operations = dict.fromkeys(entry.operation for entry in entries)
    undone = history.undone_by(tx, operations)
    # What another operation has undone stands as little as if it had never been.
    passed_over = {one: by for one, by in undone.items() if by not in operations}
    taken = [one for one in operations if one not in passed_over]
    by_operation: dict[str, list[Entry]] = {operation: [] for operation in taken}
    for entry in entries:
        if entry.operation in by_operation:
            by_operation[entry.operation].append(entry)
    standing = [entry for some in by_operation.values() for entry in some]
    history.mark_undone(tx, taken)  # so that none of them is named as in the way of another
    with _guard(tx, app, standing):
        takers = _by_kind(app, "undo")
        for some in by_operation.values():
            _take_back(tx, app, takers, some, texts)
    skipped = {one: f"undone by {short_operation(by)}" for one, by in passed_over.items()}
    skipped |= dict.fromkeys(begun, _BEGAN_BEFORE)
    if taken and not _has_changed(tx):
        # An undo that leaves no entry could not be undone, and later ones would miss its mark.
        raise Tried(Undone([], {**skipped, **dict.fromkeys(taken, _NOTHING_TO_DO)}))
    result = Undone(standing, skipped)
    if dry_run:
        raise Tried(result)
    return result


def _has_changed(tx: Tx) -> bool:
    """Write the journal's entries of the running operation by now; say whether there are any."""
    append_entries(tx)
    mine = EntryFilter(operation=tx.scope.operation)
    return bool(history.read_entries(tx, mine, limit=1, heads_only=True))


def _begun_before(tx: Tx, wanted: EntryFilter, operations: Collection[str]) -> set[str]:
    """Return those operations of which a part was done before what is wanted: none is halved."""
    if wanted.after is None and wanted.since is None:
        return set()
    before = None if wanted.after is None else wanted.after + 1
    earlier = EntryFilter(before=before, until=wanted.since)
    found = set[str]()
    for some in batches(sorted(operations)):
        parts = history.stream_entries(tx, replace(earlier, operations=some), heads_only=True)
        found.update(entry.operation for entry in parts)
    return found


def _select(tx: Tx, wanted: EntryFilter) -> list[Entry]:
    """Return the entries of the wanted operations, newest first."""
    limit = None if wanted.operation else MAX_ENTRIES + 1
    entries = list(history.stream_entries(tx, wanted, limit=limit, newest_first=True))
    operations = dict.fromkeys(entry.operation for entry in entries)
    if not operations:
        raise _find_nothing(tx, wanted)
    if wanted.operation is not None and len(operations) > 1:
        raise InvalidArgument(
            f"{wanted.operation} is the beginning of {len(operations)} operations",
            hint="Send more digits of the operation's id.",
        )
    if limit and len(entries) == limit:
        raise InvalidArgument(
            f"More than {MAX_ENTRIES:,} changes would be undone at once",
            hint="Send a later since, or one operation: desk_history lists them.",
        )
    return entries


def _find_nothing(tx: Tx, wanted: EntryFilter) -> NotFound:
    """Create the error that nothing is wanted; it names whose changes there are to take back."""
    whose = "" if wanted.actor_id is None else " of yours"
    hint = "desk_history lists the operations that can be undone."
    if wanted.actor_id is not None:
        hint = "What others did can be taken back by an owner of the workspace."
    if wanted.operation is not None:
        return NotFound(f"The journal has no such operation{whose}", hint=hint)
    # A client that was started again is another session of the same name.
    name = tx.scope.client if wanted.label else ""
    others = replace(wanted, label=None, client=name or None, project=None)
    found = history.latest_sessions(tx, others, _MAX_SESSIONS)
    anyones = replace(wanted, actor_id=None)
    is_by_others = bool(whose) and history.read_entries(tx, anyones, limit=1, heads_only=True)
    if found and not is_by_others:
        some = "; ".join(
            f"{entry.client}, {format_minute(entry.at)}"
            f"{f', project {entry.project}' if entry.project else ''}"
            for entry in found
        )
        hint = f"Send one of these sessions as actor: {some}."
    start = wanted.after if wanted.since is None else format_minute(wanted.since)
    who = f" by {wanted.label or wanted.client}"
    where = f" in project {wanted.project}" if wanted.project else ""
    return NotFound(f"The journal has nothing{whose}{who}{where} after {start}", hint=hint)


@contextmanager
def _guard(tx: Tx, app: AppContext, entries: Sequence[Entry]) -> Generator[None]:
    """Check the things whose toolsets guard them before and after an undo. Raises Conflict."""
    guards = _by_kind(app, "undo_guard")
    try:
        with ExitStack() as stack:
            for guard in {guards[entry.kind] for entry in entries if entry.kind in guards}:
                some = [entry for entry in entries if guards.get(entry.kind) is guard]
                stack.enter_context(guard(tx, some))
            yield
    except UndoConflict as conflict:
        raise _explain(tx, entries, conflict) from conflict


def _take_back(
    tx: Tx,
    app: AppContext,
    takers: Mapping[str, TakeBack],
    entries: Sequence[Entry],
    texts: Mapping[str, str],
) -> None:
    """Take one operation back. Raises Conflict."""
    by_taker: dict[TakeBack, list[Entry]] = {}
    for entry in reversed(entries):
        if entry.kind not in takers:
            owner = next(one.name for one in _OWNERS if entry.kind in one.journal_kinds)
            raise NotFound(
                f"{name_thing(entry)} is not put back here; nothing was undone",
                hint=f"This server is set to leave out the toolset {owner}.",
            )
        by_taker.setdefault(takers[entry.kind], []).append(entry)
    for take_back, some in by_taker.items():
        try:
            take_back(app, tx, some, texts)
        except UndoConflict as conflict:
            raise _explain(tx, entries, conflict) from conflict


def _explain(tx: Tx, entries: Sequence[Entry], conflict: UndoConflict) -> Conflict:
    """Return the error that names what is in the way, and the last operation that changed it."""
    kind, ref = conflict.thing
    entry = next(entry for entry in entries if entry.thing == conflict.thing)
    last = None
    if conflict.reason != BLOCKED and not conflict.by_others:
        last = _find_obstacle(tx, entry, conflict.reference or (entry.thing, _columns_of(entry)))
    uri = uri_of(entry) or f"{kind} {ref}"
    by, hint = "", "desk_read shows it as it is; nothing was undone."
    if last is not None:
        operation = short_operation(last.operation)
        by = f" by operation {operation} ({last.tool}, {last.client})"
        # By since an undo of the first would be taken back with the second, and stand in the way.
        then = f"then {short_operation(entry.operation)}, each as operation"
        hint = f"Undo {operation} first, {then}, or leave it as it is; nothing was undone."
    return Conflict(
        f"{uri} cannot be put back: {conflict.reason}{by}", hint=hint, data={"uri": uri}
    )


def _find_obstacle(tx: Tx, entry: Entry, found_in: tuple[Thing, Columns]) -> Entry | None:
    """Return the newest later entry of a thing that stands and undoes none of the others.

    One that changed the columns goes before the others.
    """
    (kind, ref), columns = found_in
    wanted = EntryFilter(kind=kind, ref=ref, after=entry.sequence)
    later = history.read_entries(tx, wanted, limit=MAX_ENTRIES, newest_first=True, heads_only=True)
    undone = history.undone_by(tx, [one.operation for one in later])
    cancelled = {*undone, *undone.values()}
    standing = (one for one in later if one.operation not in cancelled)
    whole = history.stream_entries(tx, wanted, limit=MAX_ENTRIES, newest_first=True)
    same = (one for one in whole if columns & _columns_of(one) and one.operation not in cancelled)
    return next(chain(same, standing), None)


def _columns_of(entry: Entry) -> Columns:
    """List by table, key and column where an entry changed its thing so that an undo minds."""
    kept = journaled_tables()
    return {
        (change["table"], key_text(change["key"]), column)
        for change in entry.changes
        for column in dict[str, Any](change["before"] or change["after"])
        if column not in (table := kept[change["table"]][1]).moving | table.computed | table.order
    }


def _by_kind(app: AppContext, field: str) -> dict[str, Any]:
    """Map the kinds of things to what their toolsets name in a field, where they name anything."""
    found: dict[str, Any] = {}
    for toolset in app.registry.toolsets:
        if name := getattr(toolset, field):
            found |= dict.fromkeys(toolset.journal_kinds, import_object(name))
    return found
