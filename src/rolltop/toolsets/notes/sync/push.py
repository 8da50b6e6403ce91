"""Changes here are sent to the backend, each note on its own and none of them twice.

A sync pushes what is pending; the tools write through: to the backend first, and reported once the
backend has it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.context import ProgressCallback
from rolltop.core.errors import Conflict
from rolltop.core.idempotency import RETENTION
from rolltop.core.leases import JobLease
from rolltop.toolsets.notes.clients.backend import (
    Backend,
    BackendError,
    BodyTooLong,
    CredentialsRejected,
    RemoteNote,
    WriteResult,
    body_too_long,
)
from rolltop.toolsets.notes.clients.note_object import base_object, build_object, parse_content
from rolltop.toolsets.notes.edits import Edit
from rolltop.toolsets.notes.models import (
    BackendState,
    Content,
    NewNote,
    Note,
    OneWrite,
    SaveResult,
)
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import remote_changes
from rolltop.toolsets.notes.sync.connection import (
    AccountConnection,
    read_record,
    renew_lease,
    save_record,
)
from rolltop.toolsets.notes.sync.merge import (
    includes_changes,
    is_same_content,
    loses_changes,
    reconcile,
)
from rolltop.toolsets.notes.sync.remote_changes import ApplyResult

if TYPE_CHECKING:
    from rolltop.toolsets.notes.sync.service import SyncCounts

_BATCH_SIZE: Final = 50
NO_KEY: Final = OneWrite()
_CHANGE_ID_NAMESPACE: Final = uuid.UUID("b0b1a3a4-6a4e-4c0f-8f39-0f2f8a6f5d11")
_MAX_ATTEMPTS: Final = 3
# Notes that may fail before a sync takes it that the backend is out of order.
_MAX_FAILED_NOTES: Final = 2


@dataclass(frozen=True)
class Upload:
    """Content to send, the object at the backend that it was made from, and its version there."""

    note_id: str
    content: Content
    base: Mapping[str, Any] | None
    version: int | None

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Upload:
        """Return the upload with this `data`."""
        return cls(data["id"], parse_content(data["object"]), data["base"], data["version"])

    @property
    def data(self) -> dict[str, Any]:
        """What is to be sent, as JSON."""
        whole = build_object(self.content, None)
        return {"id": self.note_id, "object": whole, "base": self.base, "version": self.version}


@dataclass(frozen=True)
class UploadResult:
    """A note as the backend has it after a write.

    `overwritten` is what another wrote there meanwhile, which the backend merged with ours.
    """

    note: RemoteNote
    overwritten: RemoteNote | None = None


async def push_changes(
    connection: AccountConnection, counts: SyncCounts, report: ProgressCallback
) -> None:
    """Send all pending notes; one that is refused, or too large there, holds no other back.

    Nor do a few that fail in another way, which may lie in them: those are tried again next time.

    Raises:
        BackendError: the backend is out of reach, takes no more for now, or failed for a note.
        LeaseLost: another process syncs this account now.

    """
    _account, record = await connection.read(read_record)
    tried, failures = set(record.unread), list[BackendError]()
    while True:
        pending = await connection.read(
            Notebook.list_in_states, ["pending"], len(tried) + _BATCH_SIZE
        )
        waiting = [note for note in pending if note.id not in tried]
        if not waiting:
            break
        for note in waiting:
            tried.add(note.id)
            try:
                await _push_note(connection, note, counts)
            except BackendError as failure:
                if failure.is_overall or len(failures) == _MAX_FAILED_NOTES:
                    raise
                failures.append(failure)
            report(counts.pushed, None, "notes to Simplenote")
    if failures:
        raise failures[0]


async def write_note(
    connection: AccountConnection,
    note_id: str | None,
    plan: Callable[[Notebook], Edit],
    once: OneWrite = NO_KEY,
    *,
    offline: bool,
) -> SaveResult:
    """Write an edit to the backend and then here; with the key of `once`, of several alike one.

    `plan` decides on the note as a transaction has it and writes nothing; it runs again if the
    note turns out to have changed. The backend is asked for the note first, so that the decision
    is about what is there. With `offline` a change that cannot be sent is kept here, pending.

    Raises:
        BackendError: the backend did not take it, or may have (`may_have_arrived`); then
            the details name the note by its `id`.
        Conflict: the note went on changing at the backend.

    """
    new_id = str(uuid.uuid4())
    if once.new_id is not None:
        new_id = await connection.read(_find_free_id, once.new_id, new_id)
    try:
        if (written := await _find_written(connection, once)) is not None:
            return written
        for attempt in range(_MAX_ATTEMPTS):
            if note_id is not None:
                await _refresh_note(connection, note_id, again=attempt > 0)
            edit, upload = await connection.write(_plan_upload, plan, new_id, once)
            note, new_id = edit.before, upload.note_id
            if note is not None and note.sync_state == "synced" and note.content == edit.content:
                unchanged = SaveResult(note, edit.moved)
                return await connection.write(_write_once, once, _as_it_is, unchanged)
            sent = await _upload_note(connection.backend, upload, again=attempt > 0)
            if sent is not None:
                await _pull_overwritten(connection, note, sent)
                return await connection.write(_write_once, once, _store_sent, edit, upload, sent)
    except BackendError as failure:
        if not offline or failure.code == "BACKEND_REFUSED":
            if failure.may_have_arrived:
                failure.data["details"]["id"] = note_id or new_id
            raise
        return await connection.write(_write_once, once, _queue_edit, plan, new_id)
    raise _contention_error()


def _plan_upload(
    notebook: Notebook, plan: Callable[[Notebook], Edit], new_id: str, once: OneWrite
) -> tuple[Edit, Upload]:
    """Plan an edit, and keep with its key what is to be sent."""
    edit = plan(notebook)
    upload = Upload(edit.id or new_id, edit.content, None, None)
    if (note := edit.before) is not None:
        upload = Upload(note.id, edit.content, base_object(note), note.server_version)
    once.keep(notebook.tx, upload.data)
    return edit, upload


async def _find_written(connection: AccountConnection, once: OneWrite) -> SaveResult | None:
    """Return the note of a call with this key that was sent, arrived and was not answered.

    One that is new here is stored as the caller's, if nobody else has changed it.
    """
    if once.new_id is None:
        return None  # without a key
    begun = await connection.read(lambda notebook: once.find(notebook.tx))
    if begun is None:
        return None
    sent = Upload.of_data(begun)
    is_new = sent.note_id == once.new_id  # then nobody else has the id
    if is_new and await connection.read(Notebook.get, sent.note_id) is None:
        made = await connection.backend.get(sent.note_id)
        if made is not None and is_same_content(made.content, sent.content):
            edit, result = Edit(None, sent.content), UploadResult(made)
            return await connection.write(_write_once, once, _store_sent, edit, sent, result)
    remote = await _refresh_note(connection, sent.note_id)
    if remote is None or not (is_new or _contains(remote, sent)):
        return None
    note = await connection.read(Notebook.get, sent.note_id)
    if note is None:
        return None
    return await connection.write(_write_once, once, _as_it_is, SaveResult(note))


async def _pull_overwritten(
    connection: AccountConnection, note: Note | None, sent: UploadResult
) -> None:
    """Pull what another wrote to a note while it was sent: an undo of the write leaves that.

    Not where the note had more changes than were sent now: then they are stored together.
    """
    if sent.overwritten is not None and note is not None and note.base is None:
        pull = connection.for_sync()
        await pull.write(remote_changes.apply_note, sent.overwritten, note.server_version)


def _write_once(
    notebook: Notebook, once: OneWrite, write: Callable[..., SaveResult], *args: object
) -> SaveResult:
    return once.run(notebook.tx, lambda _tx: write(notebook, *args))


def _as_it_is(_notebook: Notebook, saved: SaveResult) -> SaveResult:
    return saved


def _find_free_id(notebook: Notebook, wanted: str, other: str) -> str:
    """Return the id wanted for a new note, or the other if it is an old note's.

    One as young as the key may be the same write, which came here by a sync.
    """
    note = notebook.get(wanted)
    if note is None:
        return wanted
    age = notebook.tx.now.timestamp() - note.content.created
    return wanted if age < RETENTION.total_seconds() else other


async def delete_note(
    connection: AccountConnection, note_id: str, select: Callable[[Notebook], Note]
) -> tuple[int, int | None]:
    """Delete a note for good; return its last versions here and there.

    `select` returns the note in a transaction, or raises what the tool answers. This is never
    queued: what the backend was not asked to delete would come back.
    """
    for attempt in range(_MAX_ATTEMPTS):
        await _refresh_note(connection, note_id, again=attempt > 0)
        note = await connection.write(select)
        if note.server_version is not None and not await _delete_remote(connection, note):
            continue
        version = await connection.write(_erase_local, note)
        if version is not None:
            return version, note.server_version
    raise _contention_error()


async def _upload_note(
    backend: Backend, upload: Upload, *, again: bool = False
) -> UploadResult | None:
    """Write a note to the backend; None if it must be read anew first.

    The id of the change follows from what is sent and what it was made from: after a crash the
    same change has the same id. `again` takes a new one. Raises BackendError.
    """
    data = build_object(upload.content, upload.base)
    change_id = str(uuid.uuid4()) if again else _change_id(upload, data)
    try:
        written = await backend.put(upload.note_id, data, upload.version, change_id)
    except BackendError as failure:
        if not failure.may_have_arrived:
            raise
        found = await _find_lost_write(backend, upload, failure)
        written = found or await backend.put(upload.note_id, data, upload.version, change_id)
    if written.outcome == "gone":
        if await backend.get(upload.note_id) is not None:
            return None  # not the note, but the version that this was made from
        whole = build_object(upload.content, None)
        written = await backend.put(upload.note_id, whole, None, str(uuid.uuid4()))
    present = written.note
    if written.outcome in {"unchanged", "duplicate"}:
        present = await backend.get(upload.note_id)
        if present is not None and not _contains(present, upload):
            return None
    if present is None:
        return None
    return UploadResult(present, await _fetch_overwritten(backend, present, upload.version))


def _store_result(
    notebook: Notebook, note: Note, upload: Upload, sent: UploadResult
) -> ApplyResult:
    """Apply the backend's answer to `note`, as it was when it was sent.

    What was changed here since then stays, as a change of what was sent.
    """
    present = notebook.lock(note.id)
    if present is None:
        return ApplyResult()
    known = present.server_version
    if known is not None and known > sent.note.version and known != note.server_version:
        return ApplyResult()  # another process here knows a newer version
    copies = _copy_overwritten(notebook, note, upload, sent)
    if present.local_version == note.local_version:
        _mark_synced(notebook, present, sent)
        return ApplyResult((note.id,), copies)
    base = build_object(note.content, note.base)
    rebased = replace(present, backend=BackendState("pending", note.server_version, base))
    decision = reconcile(rebased, sent.note, notebook.iterate_versions(note.id))
    if decision is None:
        return ApplyResult((), copies)
    remote_changes.apply_decision(notebook, present, decision)
    return ApplyResult((note.id,), copies + int(decision.copy is not None))


def _copy_overwritten(notebook: Notebook, note: Note, upload: Upload, sent: UploadResult) -> int:
    """Copy what another wrote and the backend's merge left out; return how many copies (0, 1)."""
    if sent.overwritten is None or upload.base is None:
        return 0
    base, theirs = parse_content(upload.base), sent.overwritten.content
    if is_same_content(theirs, upload.content) or not loses_changes(
        base, theirs, sent.note.content
    ):
        return 0
    remote_changes.create_conflict_copy(notebook, note, theirs)
    return 1


def _mark_synced(notebook: Notebook, note: Note, sent: UploadResult) -> Note:
    """Record that the backend has the note, whose content was sent."""
    theirs, state = sent.note.content, BackendState("synced", sent.note.version)
    if theirs == note.content:
        return notebook.set_backend_state(note, state)
    if sent.overwritten is not None:
        between = sent.overwritten.content
        if not is_same_content(between, note.content):
            note = notebook.write(note, between, source="pull")
    return notebook.write(note, theirs, source="push", backend=state)


async def _push_note(connection: AccountConnection, note: Note, counts: SyncCounts) -> None:
    again = False
    for attempt in range(_MAX_ATTEMPTS):
        upload = Upload(note.id, note.content, note.base, note.server_version)
        try:
            sent = await _upload_note(connection.backend, upload, again=again)
            remote = None if sent else await connection.backend.get(note.id)
        except BodyTooLong:
            await connection.write(_pass_over, connection.lease, note.id)
            return
        except BackendError as failure:
            if failure.code != "BACKEND_REFUSED":
                raise
            await connection.write(_mark_refused, connection.lease, note)
            counts.refused += 1
            return
        if sent is not None:
            result = await connection.write(_store_pushed, connection.lease, note, upload, sent)
            connection.notify_changes(result.ids)
            counts.pushed += 1
            counts.conflicts += result.conflicts
            return
        if attempt == 0 and remote is not None and remote.version < (note.server_version or 0):
            continue  # maybe a late answer, as in `_refresh_note`
        again = True
        conflicts, present = await connection.write(
            _store_refetched, connection.lease, note, remote
        )
        counts.conflicts += conflicts
        if present is None or present.sync_state != "pending":
            return
        note = present


def _store_pushed(
    notebook: Notebook, lease: JobLease | None, note: Note, upload: Upload, sent: UploadResult
) -> ApplyResult:
    renew_lease(notebook, lease)
    return _store_result(notebook, note, upload, sent)


def _pass_over(notebook: Notebook, lease: JobLease | None, note_id: str) -> None:
    """Let a note that is too large at the backend wait until it can be read there."""
    account, record = renew_lease(notebook, lease)
    save_record(notebook, account, record.with_unread([note_id], []))


def _mark_refused(notebook: Notebook, lease: JobLease | None, sent: Note) -> None:
    """Let a refused note wait until it is changed, or lists are compared."""
    renew_lease(notebook, lease)
    present = notebook.lock(sent.id)
    if present is not None and present.local_version == sent.local_version:
        state = BackendState("conflict", present.server_version, present.base)
        notebook.set_backend_state(present, state)


def _store_refetched(
    notebook: Notebook, lease: JobLease | None, note: Note, remote: RemoteNote | None
) -> tuple[int, Note | None]:
    """Apply a note read anew; return the conflicts, and the note as it is then."""
    renew_lease(notebook, lease)
    conflicts = 0
    if remote is None:
        remote_changes.trash_vanished(notebook, note.id, note.server_version)
    else:
        conflicts = remote_changes.apply_note(notebook, remote, note.server_version).conflicts
    return conflicts, notebook.get(note.id)


def _change_id(upload: Upload, data: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return str(uuid.uuid5(_CHANGE_ID_NAMESPACE, f"{upload.note_id}\n{upload.version}\n{digest}"))


async def _find_lost_write(
    backend: Backend, upload: Upload, lost: BackendError
) -> WriteResult | None:
    """Find out what became of a write whose answer got lost; None if it never arrived."""
    try:
        present = await backend.get(upload.note_id)
    except BodyTooLong:
        raise body_too_long(may_have_arrived=True) from None
    except (BackendError, CredentialsRejected):
        raise lost from None
    if present is not None and _contains(present, upload):
        return WriteResult("stored", present)
    if (None if present is None else present.version) == upload.version:
        return None
    return WriteResult("stale")


async def _fetch_overwritten(
    backend: Backend, note: RemoteNote, version: int | None
) -> RemoteNote | None:
    """Fetch the version before ours, unless ours was made from it."""
    if version is None or note.version <= version + 1:
        return None
    try:
        return await backend.get(note.id, note.version - 1)
    except (BackendError, CredentialsRejected):
        return None  # the write is done; that it cannot be shown must not undo it


def _contains(present: RemoteNote, upload: Upload) -> bool:
    """Whether the backend has a change, alone or merged with what others changed."""
    base = upload.base or {}
    # Keys that are left out of what is sent stay at the backend.
    sent = parse_content({**base, **build_object(upload.content, base)})
    if is_same_content(present.content, sent):
        return True
    if upload.base is None or present.version == upload.version:
        return False
    return includes_changes(parse_content(upload.base), upload.content, present.content)


async def _refresh_note(
    connection: AccountConnection, note_id: str, *, again: bool = False
) -> RemoteNote | None:
    """Pull one note if the backend has something else than what is known here; return it.

    An older version may be a late answer. Only a write that is not taken shows that the backend
    went back: that is believed when asked `again`.
    """
    known = await connection.read(Notebook.get, note_id)
    remote = await connection.backend.get(note_id)
    version = None if known is None else known.server_version
    pull = connection.for_sync()
    if remote is None:
        if version is not None:
            await pull.write(remote_changes.trash_vanished, note_id, version)
    elif known is None or not (
        _is_known_version(known, remote) or (not again and remote.version < (version or 0))
    ):
        await pull.write(remote_changes.apply_note, remote, version)
    return remote


def _is_known_version(note: Note, remote: RemoteNote) -> bool:
    known = note.content if note.base is None else parse_content(note.base)
    is_same = is_same_content(known, remote.content)
    return note.server_version == remote.version and is_same


def _store_sent(notebook: Notebook, edit: Edit, upload: Upload, sent: UploadResult) -> SaveResult:
    """Store the backend's answer.

    What was sent becomes a version, whatever another process did to the note meanwhile.
    """
    remote_changes.lock_account(notebook)
    present = notebook.lock(sent.note.id)
    if present is None:
        state = BackendState("synced", sent.note.version)
        new = NewNote(sent.note.content, sent.note.id, state)
        return SaveResult(notebook.create([new], source=edit.source)[0], edit.moved)
    if edit.before is not None:
        _copy_overwritten(notebook, edit.before, upload, sent)
    if sent.overwritten is not None and sent.overwritten.version == present.server_version:
        sent = replace(sent, overwritten=None)  # it is here by now
    is_unchanged = edit.before is not None and present.local_version == edit.before.local_version
    is_older = present.sync_state == "synced" and (present.server_version or 0) <= sent.note.version
    written = present
    if not (is_unchanged or is_older) or present.content != edit.content:
        written = notebook.write(present, edit.content, source=edit.source)
    if is_unchanged or is_older:
        return SaveResult(_mark_synced(notebook, written, sent), edit.moved)
    back = notebook.write(written, present.content, source=present.source)
    remote_changes.apply_note(notebook, sent.note, None)
    return SaveResult(notebook.get(sent.note.id) or back, edit.moved)


def _queue_edit(notebook: Notebook, plan: Callable[[Notebook], Edit], new_id: str) -> SaveResult:
    """Store an edit that is still to be sent.

    A new note gets the id it was sent with: it may have arrived, and come here since.
    """
    edit = plan(notebook)
    if edit.before is None:
        remote_changes.lock_account(notebook)
        present = notebook.lock(new_id)
        if present is not None:
            return SaveResult(present)
        new = NewNote(edit.content, edit.id or new_id, BackendState("pending"))
        return SaveResult(notebook.create([new], source=edit.source)[0])
    note = notebook.lock(edit.before.id)
    if note is None or note.local_version != edit.before.local_version:
        raise _contention_error()
    if note.content != edit.content:
        state = BackendState("pending", note.server_version, base_object(note))
        note = notebook.write(note, edit.content, source=edit.source, backend=state)
    return SaveResult(note, edit.moved)


async def _delete_remote(connection: AccountConnection, note: Note) -> bool:
    """Delete a note at the backend; False if it has changed there."""
    change_id = str(uuid.uuid4())
    try:
        written = await connection.backend.delete(note.id, note.server_version, change_id)
    except BackendError as failure:
        if not failure.may_have_arrived:
            raise
        try:
            present = await connection.backend.get(note.id)
        except (BackendError, CredentialsRejected):
            raise failure from None
        if present is not None:
            raise
        return True
    if written.outcome == "gone":  # maybe only the version that is known here
        return await connection.backend.get(note.id) is None
    return written.outcome in {"stored", "duplicate", "unchanged"}


def _erase_local(notebook: Notebook, note: Note) -> int | None:
    """Erase a note and return its last version; None if it has changed."""
    present = notebook.lock(note.id)
    if present is None:
        return note.local_version
    if present.local_version != note.local_version:
        return None
    return notebook.erase(present)


def _contention_error() -> Conflict:
    return Conflict(
        "The note is being changed elsewhere at this moment.",
        code="VERSION_CONFLICT",
        hint="Read the note again, then repeat the change on what it says now.",
    )
