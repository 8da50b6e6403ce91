"""The work of each tool of notes, from checked arguments on.

A write of local notes is one transaction, which also finds out whether they are local; if an
account is connected it writes nothing, and the write goes to the backend first.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolltop import __version__
from rolltop.core import cursor as cursors
from rolltop.core import idempotency
from rolltop.core.addresses import full_address, record_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import Conflict, InvalidArgument
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.pagination import Page, TextPage
from rolltop.core.settings import Settings
from rolltop.toolsets.notes import edits, note_list, note_view
from rolltop.toolsets.notes.edits import Edit
from rolltop.toolsets.notes.migrations import HEAD
from rolltop.toolsets.notes.models import (
    CONFLICT_KEY,
    CONFLICT_TAG,
    CURSOR,
    LOCAL_ACCOUNT,
    MAX_TAGS,
    Account,
    Action,
    JsonObject,
    LineRange,
    ListQuery,
    Note,
    NotePageRequest,
    OneWrite,
    PatchOperation,
    SaveRequest,
    SaveResult,
    VersionHead,
)
from rolltop.toolsets.notes.store import list_queries, notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.notes.sync import push
from rolltop.toolsets.notes.sync.connection import revoke_lease, sync_principal

if TYPE_CHECKING:
    from rolltop.toolsets.notes.sync.service import SyncService

_SYNC_SERVICE: Final = "rolltop.toolsets.notes.sync.service:SyncService"
_HISTORY_PAGE: Final = 1000
_CURSOR_CODE: Final = "INVALID_ARGUMENT"
_MEBIBYTE: Final = 1 << 20
_MAX_NAMED_NOTES: Final = 20
_UNSENT_STATES: Final = ("pending", "conflict")


class NoteService:
    """Answers the tools; all of its state is in the store."""

    def __init__(self, app: AppContext) -> None:
        self._app: Final = app

    @property
    def _sync(self) -> SyncService:
        # Local notes need neither the sync nor its HTTP client.
        return self._app.load_service(_SYNC_SERVICE)

    async def list_notes(
        self, call: CallContext, query: ListQuery, request: NotePageRequest
    ) -> Page:
        """Answer note_list."""
        return await call.read(note_list.list_notes, self._app.settings, query, request)

    async def find_texts(self, call: CallContext, query: TextQuery) -> list[FoundText]:
        """Return the notes that answer a search best, for the desk's own search."""
        return await call.read(note_list.find_texts, self._app.settings, query)

    def meets_filters(
        self, query: TextQuery, tags: Sequence[str], modified: datetime, now: datetime
    ) -> bool:
        """Whether a note of then has the tags and the days of a search."""
        return note_list.meets_filters(query, tags, modified, now)

    async def matching_ids(self, call: CallContext, prefix: str) -> list[str]:
        """List ids of notes whose id or title has a prefix, last modified first."""
        return await call.read(note_list.matching_ids, self._app.settings, prefix)

    def find_titles(
        self,
        tx: Tx,
        note_ids: Sequence[str],
        project: str,  # noqa: ARG002  # notes have none
    ) -> dict[str, str | None]:
        """Map those of the ids that are notes, in the trash too, to their titles."""
        notebook, _account = notebooks.open_notebook(tx, self._app.settings)
        return dict(list_queries.titles(notebook, note_ids))

    def list_conflicts(self, tx: Tx, limit: int) -> list[tuple[str, str]]:
        """List id and title of notes that a sync left in conflict, and of the copies it made."""
        notebook, account = notebooks.open_notebook(tx, self._app.settings)
        return list_queries.conflict_titles(notebook, CONFLICT_TAG, limit) if account else []

    def find_original(self, tx: Tx, note_id: str) -> str | None:
        """Return the id of the note of which a sync made this copy, if it is still to be merged."""
        notebook, _account = notebooks.open_notebook(tx, self._app.settings)
        copy = notebook.get(note_id)
        if copy is None or copy.content.trash or CONFLICT_TAG not in copy.content.tags:
            return None
        original = notebook.get(str(copy.content.extra.get(CONFLICT_KEY)))
        return None if original is None or original.content.trash else original.id

    async def get_note(
        self, call: CallContext, note_id: str, version: int | None, lines: LineRange
    ) -> TextPage:
        """Answer note_get."""
        note = await call.read(note_view.read_note, self._app.settings, note_id, version)
        return note_view.note_text(note, lines)

    async def save_note(
        self,
        call: CallContext,
        request: SaveRequest,
        operations: Sequence[PatchOperation] | None,
    ) -> JsonObject:
        """Answer note_save."""
        if operations is not None:  # with a text, check_save refuses both
            patch = edits.parse_patch(operations) if request.text is None else ()
            request = replace(request, patch=patch)
        checked = edits.check_save(request)
        if checked.id is not None:
            checked = replace(checked, id=await self._find_id(call, checked.id))
        elif self._app.settings["notes.project_tag"] and call.principal.project:
            tags = dict.fromkeys([*(checked.tags or ()), call.principal.project])
            checked = replace(checked, tags=tuple(tags)[:MAX_TAGS])
        answer = partial(note_view.save_response, limit=call.budget)
        try:
            saved = await self._write(
                call, checked.id, lambda notebook: edits.plan_save(notebook, checked), answer
            )
        except edits.SaveConflict as conflict:
            registry = self._app.registry
            shape = registry.find(call.tool, call.principal).toolset.shape_error
            raise note_view.build_conflict(
                conflict, call.budget, registry.use_listed_names("note_get"), shape
            ) from None
        return answer(saved)

    async def manage_note(
        self,
        call: CallContext,
        action: Action,
        note_id: str | None,
        local_version: int | None,
        version: int | None,
    ) -> JsonObject | Page:
        """Answer note_manage."""
        if action in {"get_stats", "reset_cache", "sync"}:
            return await self._manage_account(call, action)
        if note_id is None:
            hint = "note_list answers the ids of your notes."
            raise InvalidArgument(f"id is required for {action}", hint=hint)
        whole_id = await self._find_id(call, note_id)
        if action == "history":
            return await call.read(_list_history, self._app.settings, whole_id, call.cursor)
        if local_version is None:
            raise edits.version_required("note_manage")
        if action == "restore":
            return await self._restore(call, whole_id, local_version, version)
        if action == "delete_permanently":
            return await self._erase(call, whole_id, local_version)
        is_trash = action == "trash"
        saved = await self._write(
            call,
            whole_id,
            lambda notebook: edits.plan_trash(notebook, whole_id, local_version, trash=is_trash),
        )
        note, status = saved.note, "trashed" if is_trash else "untrashed"
        return _status_response(whole_id, status, note.local_version, note.server_version)

    async def _find_id(self, call: CallContext, given: str) -> str:
        """Return the id of the note that is meant: the start of an id costs a look."""
        if not edits.may_be_start(given):
            return given
        return await call.read(_find_id, self._app.settings, given)

    async def _manage_account(self, call: CallContext, action: Action) -> JsonObject:
        settings = self._app.settings
        if action == "get_stats":
            return await call.read(_collect_stats, settings, self._app.database.path)
        if action == "reset_cache":
            # The copies come again by the sync: nobody who takes a turn back means them.
            as_sync = replace(call, principal=sync_principal(call.principal.user_id))
            dropped = await as_sync.write(_reset_copies, settings)
            message = f"Dropped the copies of {dropped} notes; they come again from Simplenote."
            return {"status": "success", "message": message, "full_resync_triggered": True}
        account = await call.read(_require_account, settings, action)
        async with self._sync.connect(call.principal, account) as connection:
            outcome = await self._sync.run(connection, report=call.report_progress)
            if outcome.status == "error" and outcome.error is not None:
                raise outcome.error
        return outcome.data

    async def _write(
        self,
        call: CallContext,
        note_id: str | None,
        plan: Callable[[Notebook], Edit],
        answer: Callable[[SaveResult], JsonObject] | None = None,
    ) -> SaveResult:
        """Write the edit that `plan` decides on: to local notes at once, else via the backend.

        `answer` is what a tool that accepts an idempotency key answers.
        """

        def answer_local(saved: SaveResult | Account) -> JsonObject | None:
            return None if answer is None or isinstance(saved, Account) else answer(saved)

        saved = await call.write_once(answer_local, _write_local, self._app.settings, plan)
        if isinstance(saved, Account):
            once = _one_write(call, answer_local)
            offline: bool = self._app.settings["notes.offline_writes"]
            async with self._sync.connect(call.principal, saved) as connection:
                saved = await push.write_note(connection, note_id, plan, once, offline=offline)
        self._notify(call, saved.note.id)
        return saved

    async def _restore(
        self, call: CallContext, note_id: str, local_version: int, version: int | None
    ) -> JsonObject:
        if version is None:
            raise InvalidArgument(
                "version is required for restore",
                hint="Name the version to bring back; action history lists them.",
            )
        saved = await self._write(
            call,
            note_id,
            lambda notebook: edits.plan_restore(notebook, note_id, local_version, version),
        )
        return note_view.save_response(saved, call.budget)

    async def _erase(self, call: CallContext, note_id: str, local_version: int) -> JsonObject:
        def select(notebook: Notebook) -> Note:
            return edits.require_erasable(notebook, note_id, local_version)

        server_version = None
        last = await call.write(_erase_local, self._app.settings, select)
        if isinstance(last, Account):
            async with self._sync.connect(call.principal, last) as connection:
                last, server_version = await push.delete_note(connection, note_id, select)
        self._notify(call, note_id)
        return _status_response(note_id, "deleted", last, server_version)

    def _notify(self, call: CallContext, note_id: str) -> None:
        self._app.notify_changed(call.principal, full_address("note", note_id))


def _one_write(call: CallContext, answer: Callable[[SaveResult], JsonObject | None]) -> OneWrite:
    """Make one write of the calls with the same idempotency key."""
    key = call.idempotency_key
    if key is None:
        return OneWrite()

    def run(tx: Tx, function: Callable[[Tx], SaveResult]) -> SaveResult:
        saved = call.run_once(tx, answer, function)
        idempotency.forget_attempt(tx, key)
        return saved

    return OneWrite(
        key.derive_id(call.principal.user_id),
        run,
        lambda tx, sent: idempotency.keep_attempt(tx, key, sent),
        lambda tx: idempotency.find_attempt(tx, key),
    )


def _find_id(tx: Tx, settings: Settings, given: str) -> str:
    return edits.find_id(notebooks.open_notebook(tx, settings)[0], given)


def _write_local(
    tx: Tx, settings: Settings, plan: Callable[[Notebook], Edit]
) -> SaveResult | Account:
    notebook, account = notebooks.open_notebook(tx, settings)
    return account or edits.apply_edit(notebook, plan(notebook))


def _erase_local(tx: Tx, settings: Settings, select: Callable[[Notebook], Note]) -> int | Account:
    notebook, account = notebooks.open_notebook(tx, settings)
    return account or notebook.erase(select(notebook))


def _reset_copies(tx: Tx, settings: Settings) -> int:
    """Drop the copies of an account's notes and its cursor; return how many copies there were.

    History stays, and the next sync is due now. Raises Conflict (PENDING_WRITES) while there are
    changes that the backend does not have.
    """
    account = _require_account(tx, settings, "reset_cache")
    notebook, _account = notebooks.open_notebook(tx, settings)
    unsent = notebook.count(*_UNSENT_STATES)
    if unsent:
        raise _unsent_error(notebook, unsent)
    revoke_lease(tx, account.account)
    account = notebooks.get_account(tx, account.account, lock=True) or account
    dropped = notebook.drop_copies()
    notebooks.upsert_account(tx, replace(account, cursor=None, state={"next_at": 0.0}))
    return dropped


def _require_account(tx: Tx, settings: Settings, action: str) -> Account:
    _notebook, account = notebooks.open_notebook(tx, settings)
    if account is None:
        raise InvalidArgument(
            f"{action} needs a connected account; these notes are local",
            code="NOT_IN_LOCAL_MODE",
            hint="Nothing has to be done for local notes. A person connects an account by "
            "`rolltop notes login`.",
        )
    return account


def _list_history(tx: Tx, settings: Settings, note_id: str, cursor: str | None) -> Page:
    """List the versions of a note, newest first. Raises NotFound."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    note = notebook.get(note_id)
    found = notebook.list_versions(note_id)
    if note is not None:
        size = len(note.content.text.encode())
        modified = note.content.modified
        head = VersionHead(note.local_version, note.server_version, modified, size, note.source)
        found.insert(0, head)
    if not found:
        raise edits.note_not_found(note_id)
    kind = cursors.filtered_kind(CURSOR, note_id)
    if cursor is not None:
        values: list[Any] = cursors.decode(kind, cursor, code=_CURSOR_CODE)
        if len(values) != 1 or type(values[0]) is not int:
            raise cursors.invalid_cursor(_CURSOR_CODE)
        found = [head for head in found if head.local_version < values[0]]
    shown, uri = found[:_HISTORY_PAGE], record_address("note", note_id)
    return Page(
        [head.data for head in shown],
        lambda items: {"uri": uri, "versions": items},
        lambda index: cursors.encode(kind, [shown[index].local_version]),
        len(found) > len(shown),
    )


def _status_response(
    note_id: str, status: str, local_version: int, server_version: int | None
) -> JsonObject:
    named: JsonObject = {"id": note_id, "uri": record_address("note", note_id)}
    answer: JsonObject = {**named, "status": status, "new_local_version": local_version}
    return answer if server_version is None else {**answer, "new_server_version": server_version}


def _collect_stats(tx: Tx, settings: Settings, file: Path | None) -> JsonObject:
    """Collect figures of the caller's notes, of the sync and, unless others share it, the process.

    How much it holds would tell what the others write.
    """
    is_shared = tx.scope.can_end
    notebook, account = notebooks.open_notebook(tx, settings)
    account = account or Account(LOCAL_ACCOUNT, status="local")
    last, duration = account.last_sync_at, account.sync_duration_ms
    encryption = "enabled" if settings["db_encryption_key"] else "disabled"
    return {
        "version": __version__,
        "python_version": platform.python_version(),
        "memory_rss_mb": None if is_shared else _resident_mebibytes(),
        "db_encryption": encryption if tx.kind == "sqlite" else "unavailable",
        "db_file_size_mb": (None if file is None or is_shared else _mebibytes(file.stat().st_size)),
        "db_total_notes": notebook.count(),
        "db_last_sync_at": None if last is None else int(last // 1),
        "db_sync_duration_ms": None if duration is None else round(duration),
        "db_sync_status": account.status,
        "db_sync_error_count": account.error_count,
        "db_schema_version": int(HEAD.rsplit("_", 1)[1]),
        "backend_cursor": account.cursor,
        "pending_writes": notebook.count(*_UNSENT_STATES),
    }


def _unsent_error(notebook: Notebook, count: int) -> Conflict:
    hint = "Call note_manage with action sync first; nothing was dropped."
    details: JsonObject = {"pending_writes": count}
    # A sync sends none of the notes that the backend refused.
    if refused := notebook.list_in_states(["conflict"], _MAX_NAMED_NOTES):
        details["refused"] = [note.id for note in refused]
        hint = (
            "Simplenote did not take the notes in details.refused, most often since they are too "
            "large: make them smaller with note_save; nothing was dropped."
        )
    return Conflict(
        f"{count} notes hold changes that the backend does not have yet",
        code="PENDING_WRITES",
        hint=hint,
        data={"details": details},
    )


def _resident_mebibytes() -> float | None:
    """Memory this process uses now; its peak on systems that know only that."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  # not on Windows

    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return _mebibytes(pages * resource.getpagesize())
    except (OSError, IndexError, ValueError):
        unit = 1 if sys.platform == "darwin" else 1 << 10
        return _mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def _mebibytes(size: int) -> float:
    return round(size / _MEBIBYTE, 2)
