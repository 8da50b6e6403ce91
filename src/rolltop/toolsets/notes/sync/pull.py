"""Changes at the backend are pulled page by page; each page is one transaction.

At most daily the whole list is compared as well, for what was deleted for good or missed. A dry run
finds out what a sync would do without doing it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core.context import ProgressCallback
from rolltop.core.leases import JobLease
from rolltop.toolsets.notes.clients.backend import (
    BackendError,
    BodyTooLong,
    IndexPage,
    RemoteNote,
    unexpected_response,
)
from rolltop.toolsets.notes.models import BackendState, Content
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync.connection import (
    AccountConnection,
    SyncRecord,
    read_record,
    renew_lease,
    save_record,
)
from rolltop.toolsets.notes.sync.merge import max_destructive_changes
from rolltop.toolsets.notes.sync.remote_changes import (
    ApplyResult,
    AskedNote,
    MergeStep,
    apply_within_limit,
    list_vanishing,
    plan_steps,
    require_safety_limit,
    restore_copy,
    trash_vanished,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.sync.service import SyncCounts

_FULL_PAGE: Final = 100
_DELTA_PAGE: Final = 500
_COMPARISON_PAGE: Final = 1000
_MAX_TITLE_LENGTH: Final = 60
_MAX_PENDING: Final = 1 << 20

# new, change: from Simplenote; trash, cut: a change that takes text away; merge: both sides changed
# other lines; conflict: both changed the same, a copy is made; gone: deleted for good elsewhere,
# goes to the trash; send: changed here.
PlannedAction = Literal["new", "change", "trash", "cut", "merge", "conflict", "gone", "send"]


@dataclass(frozen=True)
class PlannedChange:
    """What would become of one note."""

    action: PlannedAction
    note_id: str
    title: str


@dataclass(frozen=True)
class DryRun:
    """All a sync would do; one that takes away more than `allowed` notes asks first.

    `taken` notes were taken away by earlier syncs that stopped before their end.
    """

    notes: tuple[PlannedChange, ...]
    allowed: int
    taken: int = 0

    @property
    def needs_confirmation(self) -> bool:
        """Whether the sync would stop and ask."""
        more = sum(planned.action in {"trash", "cut", "gone"} for planned in self.notes)
        return self.taken + more > self.allowed


async def pull_changes(
    connection: AccountConnection, counts: SyncCounts, report: ProgressCallback, *, accept: bool
) -> None:
    """Pull what changed; the cursor moves once the last page is in.

    Raises:
        NeedsAccept: a page would trash or cut too much; it was not taken.
        LeaseLost: another process syncs this account now.

    """
    position = await connection.read(_resume_pull)
    reader = _PageReader(connection, position.since, position.mark)
    while True:
        page, remotes = await reader.read()
        if reader.is_restarted:
            position = SyncRecord()
        done, position = await connection.write(
            _apply_page, connection.lease, position, page, remotes, accept=accept
        )
        counts.add(done)
        connection.notify_changes(done.ids)
        report(counts.pulled, None, "notes from Simplenote")
        if page.mark is None:
            return


class _PageReader:
    """Reads the backend's list page by page, from a position on."""

    def __init__(self, connection: AccountConnection, since: str | None, mark: str | None) -> None:
        self._connection = connection
        self._since = since
        self._mark = mark
        self._size = _FULL_PAGE if since is None else _DELTA_PAGE
        self._marks = {mark}
        self.is_restarted = False

    async def read(self) -> tuple[IndexPage, list[AskedNote]]:
        """Read the next page; `is_restarted` if it is the first of the whole list again."""
        self.is_restarted = False
        while True:
            try:
                page = await self._connection.backend.index(
                    limit=self._size, mark=self._mark, since=self._since, data=True
                )
            except BodyTooLong:
                if self._size > 1:
                    self._size = max(1, self._size // 8)
                    continue
                page = await self._pass_over()
            if page is not None:
                self._mark = _next_mark(page, self._marks)
                return page, await _confirm_versions(self._connection, page.notes)
            # The cursor is of a list that the backend has no more: read it all.
            self._since, self._mark, self._size = None, None, _FULL_PAGE
            self._marks.clear()
            self.is_restarted = True

    async def _pass_over(self) -> IndexPage | None:
        """Read the page of one note, without that if it is too large to be read.

        By now the list may begin with another.
        """
        backend = self._connection.backend
        page = await backend.index(limit=1, mark=self._mark, since=self._since, data=False)
        self._size = _FULL_PAGE
        if page is None:
            return None
        notes: list[RemoteNote] = []
        unreadable = [*page.unreadable]
        for listed in page.notes:
            try:
                note = await backend.get(listed.id)
            except BackendError as failure:
                if failure.data["subcategory"] != "unknown":
                    raise
                unreadable.append(listed.id)
            else:
                notes += [note] if note is not None else []
        return replace(page, notes=tuple(notes), unreadable=tuple(unreadable))


def _next_mark(page: IndexPage, seen: set[str | None]) -> str | None:
    """Return where the list goes on. Raises BackendError for a place it was at: it has no end."""
    if page.mark is not None and page.mark in seen:
        raise unexpected_response()
    seen.add(page.mark)
    return page.mark


async def _confirm_versions(
    connection: AccountConnection, remotes: Sequence[RemoteNote]
) -> list[AskedNote]:
    """Ask again for the notes that are behind what is known here.

    A page may be older than a write of another process that came between, so only what the
    backend says of the note alone counts.
    """
    notes: list[AskedNote] = []
    known = await connection.read(Notebook.server_versions, [remote.id for remote in remotes])
    for remote in remotes:
        version = known.get(remote.id)
        if version is None or remote.version >= version:
            notes.append((remote, None))
        elif (present := await connection.backend.get(remote.id)) is not None:
            notes.append((present, version))
    return notes


async def compare_all(
    connection: AccountConnection, counts: SyncCounts, report: ProgressCallback, *, accept: bool
) -> None:
    """Compare the whole list of the backend with the notes here.

    A list may be wrong: a note counts as deleted only if the backend, asked for it alone, does not
    have it. Raises NeedsAccept, LeaseLost and BackendError.
    """
    lists = await _compare_lists(connection)
    if lists is None:
        return
    await connection.read(_require_few_missing, lists.missing, accept=accept)
    different = [*lists.missing, *lists.changed]
    for done, note_id in enumerate(different):
        known = lists.known.get(note_id)
        for remote in await _get_readable(connection, note_id):
            result = await connection.write(
                _apply_difference, connection.lease, note_id, remote, known, accept=accept
            )
            counts.add(result)
            connection.notify_changes(result.ids)
        report(done + 1, len(different), "notes compared")
    await connection.write(_record_comparison, connection.lease, lists.there)


async def plan_sync(connection: AccountConnection) -> DryRun:
    """Plan a sync; nothing is changed. Raises as a sync fails."""
    account, record = await connection.read(read_record)
    reader = _PageReader(connection, account.cursor, None)
    found: dict[str, PlannedChange] = {}
    listed: set[str] = set()
    while True:
        page, remotes = await reader.read()
        listed |= {remote.id for remote, _known in remotes}
        found |= await connection.write(_plan_pull, remotes)
        if page.mark is None:
            break
    if lists := await _compare_lists(connection):
        for note_id in [*lists.missing, *lists.changed]:
            if note_id not in listed:
                known = lists.known.get(note_id)
                found |= await _plan_difference(connection, note_id, known)
    found |= await connection.read(_plan_push, {*found, *record.unread})
    total = await connection.read(Notebook.count)
    allowed = max_destructive_changes(total)
    return DryRun(tuple(found.values()), allowed, record.destructive_changes)


async def _plan_difference(
    connection: AccountConnection, note_id: str, known: int | None
) -> dict[str, PlannedChange]:
    found: dict[str, PlannedChange] = {}
    for remote in await _get_readable(connection, note_id):
        if remote is None:
            found |= await connection.read(_plan_deleted, note_id)
        else:
            found |= await connection.write(_plan_pull, [(remote, known)])
    return found


@dataclass(frozen=True)
class _ListComparison:
    """The versions of the notes `known` here and `there`, and the ids of those that differ."""

    known: Mapping[str, int]
    there: Mapping[str, int]
    missing: Sequence[str]
    changed: Sequence[str]


async def _compare_lists(connection: AccountConnection) -> _ListComparison | None:
    """Compare the notes here, and those whose copies were dropped; None if the list broke off."""
    known = await connection.read(Notebook.server_versions)
    there = await _list_remote_versions(connection)
    if there is None:
        return None
    dropped = await connection.read(Notebook.list_dropped)
    missing = [note_id for note_id in dict.fromkeys([*known, *dropped]) if note_id not in there]
    changed = [note_id for note_id, version in there.items() if known.get(note_id) != version]
    return _ListComparison(known, there, missing, changed)


async def _get_readable(connection: AccountConnection, note_id: str) -> list[RemoteNote | None]:
    """Fetch a note, None if it is gone; nothing if it is of a form this program doesn't know."""
    try:
        return [await connection.backend.get(note_id)]
    except BackendError as failure:
        if failure.data["subcategory"] != "unknown":
            raise
        return []


def _resume_pull(notebook: Notebook) -> SyncRecord:
    """Find the position of a pull that was interrupted, else start from the cursor."""
    account, record = read_record(notebook)
    return record if record.is_pulling else SyncRecord(since=account.cursor)


def _apply_page(
    notebook: Notebook,
    lease: JobLease | None,
    position: SyncRecord,
    page: IndexPage,
    remotes: list[AskedNote],
    *,
    accept: bool,
) -> tuple[ApplyResult, SyncRecord]:
    """Apply a page and move the position, in one transaction."""
    account, record = renew_lease(notebook, lease)
    done = apply_within_limit(notebook, remotes, record.destructive_changes, accept=accept)
    current = position.current or page.current
    starts_anew = position.since is None and not position.is_pulling
    known = record.unread if starts_anew else [remote.id for remote, _known in remotes]
    record = record.with_unread(page.unreadable, known)
    record = record.with_destructive(done.destructive_changes, accept=accept)
    if page.mark is not None:
        record = replace(
            record, is_pulling=True, since=position.since, mark=page.mark, current=current
        )
    else:
        compared = record.compared_at
        if position.since is None:  # nothing can be missing from a list that is read first
            is_first = (account.cursor, compared, account.last_sync_at) == (None, None, None)
            compared = notebook.tx.now.timestamp() if is_first else None
        ended = {"is_pulling": False, "since": None, "mark": None, "current": None}
        record = replace(record, **ended, compared_at=compared)
        account = replace(account, cursor=current)
    save_record(notebook, account, record)
    return done, record


async def _list_remote_versions(connection: AccountConnection) -> dict[str, int] | None:
    """Map every note at the backend to its version; None if the list broke off."""
    there: dict[str, int] = {}
    marks: set[str | None] = set()
    mark = None
    while True:
        page = await connection.backend.index(
            limit=_COMPARISON_PAGE, mark=mark, since=None, data=False
        )
        if page is None:
            return None
        there |= {remote.id: remote.version for remote in page.notes}
        mark = _next_mark(page, marks)
        if mark is None:
            return there


def _require_few_missing(notebook: Notebook, missing: Sequence[str], *, accept: bool) -> None:
    vanishing = len(list_vanishing(notebook, missing))
    destructive_changes = read_record(notebook)[1].destructive_changes + vanishing
    require_safety_limit(notebook, destructive_changes, accept=accept)


def _apply_difference(
    notebook: Notebook,
    lease: JobLease | None,
    note_id: str,
    remote: RemoteNote | None,
    known: int | None,
    *,
    accept: bool,
) -> ApplyResult:
    """Apply one note that differs from the list."""
    account, record = renew_lease(notebook, lease)
    if remote is not None:
        before = record.destructive_changes
        done = apply_within_limit(notebook, [(remote, known)], before, accept=accept)
    elif known is None:
        done = restore_copy(notebook, note_id)
    else:
        done = trash_vanished(notebook, note_id, known)
    record = record.with_unread([], [note_id])
    record = record.with_destructive(done.destructive_changes, accept=accept)
    save_record(notebook, account, record)
    return done


def _record_comparison(notebook: Notebook, lease: JobLease | None, there: Collection[str]) -> None:
    """Record the time, and try again what the backend refused: it may take it by now."""
    account, record = renew_lease(notebook, lease)
    record = record.with_unread([], [one for one in record.unread if one and one not in there])
    save_record(notebook, account, replace(record, compared_at=notebook.tx.now.timestamp()))
    for refused in notebook.list_in_states(["conflict"], _COMPARISON_PAGE):
        note = notebook.lock(refused.id)
        if note is not None and note.sync_state == "conflict":
            state = BackendState("pending", note.server_version, note.base)
            notebook.set_backend_state(note, state)


def _plan_pull(notebook: Notebook, remotes: list[AskedNote]) -> dict[str, PlannedChange]:
    planned = map(_change_of_step, plan_steps(notebook, remotes))
    return {one.note_id: one for one in planned if one is not None}


def _change_of_step(step: MergeStep) -> PlannedChange | None:
    note_id = step.remote.id
    theirs = step.remote.content
    if step.note is None:
        return _planned_change("new", note_id, theirs)
    decision, ours = step.decision, step.note.content
    if decision is None or (decision.content == ours and decision.copy is None):
        return None
    if decision.copy is not None:
        return _planned_change("conflict", note_id, theirs)
    if decision.seen is not None:
        return _planned_change("merge", note_id, decision.content)
    if step.is_destructive:
        return _planned_change("trash" if decision.content.trash else "cut", note_id, ours)
    return _planned_change("change", note_id, decision.content)


def _plan_deleted(notebook: Notebook, note_id: str) -> dict[str, PlannedChange]:
    vanishing = list_vanishing(notebook, [note_id])
    return {one: _planned_change("gone", one, content) for one, content in vanishing.items()}


def _plan_push(notebook: Notebook, known: set[str]) -> dict[str, PlannedChange]:
    return {
        note.id: _planned_change("send", note.id, note.content)
        for note in notebook.list_in_states(["pending"], _MAX_PENDING)
        if note.id not in known
    }


def _planned_change(action: PlannedAction, note_id: str, content: Content) -> PlannedChange:
    lines = content.text.strip().splitlines()
    return PlannedChange(action, note_id, lines[0].rstrip()[:_MAX_TITLE_LENGTH] if lines else "")
