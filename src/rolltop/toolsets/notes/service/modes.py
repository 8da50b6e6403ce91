"""Each write in its mode: local notes are written here, an account's at its backend first.

The local half runs in one write transaction, which also finds out which mode it is; where an
account is connected it has written nothing and `remote.calls` takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from rolltop.core.errors import Invalid
from rolltop.core.lazy import lazy
from rolltop.toolsets.notes.models import Account, Erased
from rolltop.toolsets.notes.service import managing, notebooks, saving

if TYPE_CHECKING:
    from rolltop.core.call import Call
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import JsonObject, Note, Save, Saved, Target
    from rolltop.toolsets.notes.service.remote import calls as remote
else:
    remote = lazy("rolltop.toolsets.notes.service.remote.calls")


async def save(call: Call, asked: Save) -> Saved:
    """Return the note as it was saved."""
    done = await call.write(_save, call.desk.settings, asked)
    if isinstance(done, Account):
        done = await remote.save(call, done, asked)
    _notify(call, done.note.id)
    return done


async def set_trash(call: Call, target: Target, *, trash: bool) -> Note:
    """Return the note, in the trash or out of it."""
    done = await call.write(_set_trash, call.desk.settings, target, trash)
    if isinstance(done, Account):
        done = await remote.set_trash(call, done, target, trash=trash)
    _notify(call, target.id)
    return done


async def erase(call: Call, target: Target) -> Erased:
    """Return the last versions of a note, which is deleted for good."""
    done = await call.write(_erase, call.desk.settings, target)
    if isinstance(done, Account):
        done = await remote.erase(call, done, target)
    _notify(call, target.id)
    return done


async def restore(call: Call, target: Target, version: int) -> Saved:
    """Return the note, saying again what the version said."""
    done = await call.write(_restore, call.desk.settings, target, version)
    if isinstance(done, Account):
        done = await remote.restore(call, done, target, version)
    _notify(call, target.id)
    return done


async def sync(call: Call) -> JsonObject:
    """Return what a sync did. Raises Invalid (NOT_IN_LOCAL_MODE)."""
    account = await _account(call, "sync")
    return await remote.sync(call, account)


async def reset(call: Call) -> JsonObject:
    """Return the answer of reset_cache. Raises Invalid (NOT_IN_LOCAL_MODE) and Conflict."""
    account = await _account(call, "reset_cache")
    return await remote.reset(call, account)


async def _account(call: Call, action: str) -> Account:
    _notebook, account = await call.read(notebooks.current, call.desk.settings)
    if account is None:
        raise Invalid(
            f"{action} needs a connected account; these notes are local",
            code="NOT_IN_LOCAL_MODE",
            hint="Nothing has to be done for local notes. A person connects an account by "
            "`rolltop notes login`.",
        )
    return account


def _save(tx: Tx, settings: Settings, asked: Save) -> Saved | Account:
    notebook, account = notebooks.current(tx, settings)
    return account or saving.save(tx, notebook, asked)


def _set_trash(tx: Tx, settings: Settings, target: Target, trash: bool) -> Note | Account:  # noqa: FBT001  # given by position through the transaction
    notebook, account = notebooks.current(tx, settings)
    if account is not None:
        return account
    planned = managing.plan_trash(tx, notebook, target.id, target.local_version, trash=trash)
    return saving.keep(tx, notebook, planned).note


def _erase(tx: Tx, settings: Settings, target: Target) -> Erased | Account:
    notebook, account = notebooks.current(tx, settings)
    return account or Erased(managing.erase(tx, notebook, target.id, target.local_version))


def _restore(tx: Tx, settings: Settings, target: Target, version: int) -> Saved | Account:
    notebook, account = notebooks.current(tx, settings)
    return account or managing.restore(tx, notebook, target.id, version, target.local_version)


def _notify(call: Call, note_id: str) -> None:
    call.desk.changed(call.scope, f"rolltop://note/{quote(note_id, safe='')}")
