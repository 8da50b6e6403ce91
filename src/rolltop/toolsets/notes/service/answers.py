"""What the tools answer: each function is one tool's work, from checked arguments on."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.core import budget
from rolltop.core.budget import Continuation, Text
from rolltop.core.errors import Invalid
from rolltop.toolsets.notes.models import Target, continued
from rolltop.toolsets.notes.service import checks, clashes, managing, modes, reading, stats
from rolltop.toolsets.notes.service.checks import Clash
from rolltop.toolsets.notes.service.reading import Range, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.budget import Page
    from rolltop.core.call import Call
    from rolltop.toolsets.notes.models import Action, JsonObject, PatchOperation, Save, Saved

_GET: Final = "note_get"
_SHARE: Final = 8
"""Of a limit, what may tell how lines moved where not all of an answer fits."""
_STATUS: Final = {True: "trashed", False: "untrashed"}


async def get(call: Call, note_id: str, version: int | None, lines: Range) -> Text:
    """Return the answer of note_get."""
    shown = await call.read(reading.get, call.desk.settings, note_id, version)
    return reading.text(shown, lines)


async def save(call: Call, asked: Save, operations: Sequence[PatchOperation] | None) -> JsonObject:
    """Return the answer of note_save."""
    if operations is not None:
        patch = checks.changes(operations) if asked.text is None else ()  # both are refused later
        asked = replace(asked, patch=patch)
    try:
        saved = await modes.save(call, asked)
    except Clash as clash:
        registry = call.desk.registry
        shape = registry.find(call.tool, call.scope).toolset.shape_error
        raise clashes.told(clash, call.budget, registry.as_listed(_GET), shape) from None
    return fitted(saved, call.budget)


async def manage(
    call: Call, action: Action, target: tuple[str | None, int | None], version: int | None
) -> JsonObject | Page:
    """Return the answer of note_manage."""
    if action == "get_stats":
        return await call.read(stats.stats, call.desk.settings, call.desk.database.path)
    if action == "reset_cache":
        return await modes.reset(call)
    if action == "sync":
        return await modes.sync(call)
    if action == "history":
        note_id = _named(target[0], action)
        return await call.read(managing.history, call.desk.settings, note_id, call.cursor)
    return await _change(call, action, _target(target, action), version)


async def _change(call: Call, action: Action, target: Target, version: int | None) -> JsonObject:
    """Return the answer of an action that changes one note."""
    if action == "restore":
        if version is None:
            raise Invalid(
                "version is required for restore",
                hint="Name the version to bring back; action history lists them.",
            )
        return fitted(await modes.restore(call, target, version), call.budget)
    if action == "delete_permanently":
        gone = await modes.erase(call, target)
        return _managed(target.id, "deleted", gone.local_version, gone.server_version)
    trash = action == "trash"
    note = await modes.set_trash(call, target, trash=trash)
    return _managed(note.id, _STATUS[trash], note.local_version, note.server_version)


def fitted(saved: Saved, limit: int) -> JsonObject:
    """Return a note that was written, its text cut to `limit` tokens with the call that goes on.

    What was written is always answered, never refused.
    """
    answer = reading.text(Shown.of(saved.note), Range())
    given = {"id": saved.note.id}

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        return continued(part, Continuation(_GET, {**given, **changed}, cursor))

    def with_moved(share: int) -> Text:
        told = _moved(saved, share)
        return Text(answer.text, lambda text: {**answer.envelope(text), **told}, answer.resume_at)

    whole = with_moved(0)
    if fitting := budget.whole(whole, limit, finish):
        return fitting[0]
    for share in (limit // _SHARE, 1):
        with suppress(Invalid):  # what stands around the text is over the limit
            return budget.fit_part(with_moved(share), limit, finish)
    least = finish(with_moved(1).envelope(""), answer.resume_at(0), None)
    return budget.fit_object(least, limit, was_kept=True)


def _moved(saved: Saved, share: int) -> JsonObject:
    """Return how lines of a patch moved, in `share` tokens (0: no bound): the first of them."""
    if saved.moved is None:
        return {}
    lines = [{"ln": ln, "now": now} for ln, now in saved.moved]
    most = range(1, min(len(lines), share) + 1)  # none takes less than a token
    kept = bisect_right(most, share, key=lambda n: budget.count(lines[:n])) if share else len(lines)
    left_out = {"moved_left_out": len(lines) - kept} if kept < len(lines) else {}
    return {"rebased": True, "moved": lines[:kept], **left_out}


def _managed(
    note_id: str, status: str, local_version: int, server_version: int | None
) -> JsonObject:
    done: JsonObject = {"id": note_id, "status": status, "new_local_version": local_version}
    return done if server_version is None else {**done, "new_server_version": server_version}


def _named(note_id: str | None, action: Action) -> str:
    if note_id is None:
        raise Invalid(
            f"id is required for {action}", hint="note_list answers the ids of your notes."
        )
    return checks.identifier(note_id)


def _target(given: tuple[str | None, int | None], action: Action) -> Target:
    note_id = _named(given[0], action)
    if given[1] is None:
        raise checks.version_missing("note_manage")
    return Target(note_id, given[1])
