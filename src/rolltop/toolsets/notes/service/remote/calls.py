"""The tools' work with a connected account: each write at the backend first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rolltop.toolsets.notes.models import Erased, Note, Saved
from rolltop.toolsets.notes.service import checks, managing, saving, stats
from rolltop.toolsets.notes.service.remote import access, cycle, writing
from rolltop.toolsets.notes.service.remote.link import Record, change_account
from rolltop.toolsets.notes.service.remote.writing import Change
from rolltop.toolsets.notes.store import accounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.call import Call
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import (
        Account,
        JsonObject,
        Notebook,
        Save,
        Source,
        Target,
    )
    from rolltop.toolsets.notes.service.saving import Plan


async def save(call: Call, account: Account, asked: Save) -> Saved:
    """Return the note as the backend has it now."""
    checks.save(asked)
    if asked.tags is not None:
        checks.tags(asked.tags)
    return await _write(
        call, account, asked.id, lambda tx, notebook: saving.plan(tx, notebook, asked)
    )


async def set_trash(call: Call, account: Account, target: Target, *, trash: bool) -> Note:
    """Return the note, in the trash or out of it."""
    done = await _write(
        call,
        account,
        target.id,
        lambda tx, notebook: managing.plan_trash(
            tx, notebook, target.id, target.local_version, trash=trash
        ),
    )
    return done.note


async def restore(call: Call, account: Account, target: Target, version: int) -> Saved:
    """Return the note, saying again what the version said."""
    return await _write(
        call,
        account,
        target.id,
        lambda tx, notebook: managing.plan_restore(
            tx, notebook, target.id, version, target.local_version
        ),
        source="restore",
    )


async def erase(call: Call, account: Account, target: Target) -> Erased:
    """Return the last versions of a note, deleted for good at the backend and here."""
    checks.identifier(target.id)
    async with access.linked(call.desk, call.scope, account) as link:

        def decide(tx: Tx) -> Note:
            return managing.erasable(tx, link.notebook, target.id, target.local_version)

        version, server_version = await writing.delete(link, target.id, decide)
        return Erased(version, server_version)


async def sync(call: Call, account: Account) -> JsonObject:
    """Return what a sync did. Raises what it failed with."""
    interval = float(call.desk.settings["notes.sync_interval"])
    async with access.linked(call.desk, call.scope, account) as link:
        done = await cycle.sync(link, interval, report=call.report)
        if done.status == "error" and done.error is not None:
            raise done.error
    return done.data


async def reset(call: Call, account: Account) -> JsonObject:
    """Return the answer of reset_cache; the next sync reads everything anew.

    Raises Conflict (PENDING_WRITES) while there is what the backend does not have.
    """
    history: int = call.desk.settings["notes.history"]
    dropped = await call.write(_reset, account, history)
    return {
        "status": "success",
        "message": f"Dropped the copies of {dropped} notes; they come again from Simplenote.",
        "full_resync_triggered": True,
    }


async def _write(
    call: Call,
    account: Account,
    note_id: str | None,
    plan: Callable[[Tx, Notebook], Plan],
    *,
    source: Source = "local",
) -> Saved:
    """Return the note as a plan left it, at the backend and here."""
    if note_id is not None:
        checks.identifier(note_id)
    moved: list[tuple[tuple[int, int], ...] | None] = [None]
    async with access.linked(call.desk, call.scope, account) as link:

        def decide(tx: Tx) -> Change:
            planned = plan(tx, link.notebook)
            moved[0] = planned.moved
            return Change(planned.before, planned.content, source, planned.id)

        note = await writing.write(
            link, note_id, decide, offline=call.desk.settings["notes.offline_writes"]
        )
    return Saved(note, moved[0])


def _reset(tx: Tx, account: Account, history: int) -> int:
    present = accounts.get(tx, account.account) or account
    dropped = stats.reset(tx, access.notebook_of(account, history), present)

    def change(kept: Account, record: Record) -> tuple[Account, Record]:
        return kept, replace(record, next_at=0.0)

    change_account(tx, account.account, change)
    return dropped
