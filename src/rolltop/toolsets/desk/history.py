"""The journal as the desk's tools answer it: what was changed, by whom, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, cast

from rolltop.core import accounts, times
from rolltop.core import cursor as cursors
from rolltop.core.addresses import (
    RECORD_KINDS,
    Address,
    AddressText,
    Kind,
    full_address,
    parse_address,
    record_address,
    short_id,
    show_address,
)
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import CallContext
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.journal import history
from rolltop.core.journal.history import Entry, EntryFilter
from rolltop.core.pagination import Page, format_timestamp
from rolltop.core.principal import ALL_PROJECTS
from rolltop.toolsets.desk.models import JsonObject
from rolltop.toolsets.desk.opened import Opened, choose_one, format_minute

PAGE_SIZE: Final = 50
_POLL_INTERVAL: Final = 1.0
_MAX_DIGITS: Final = 9  # of an entry's number; Unix seconds, as notes show them, have ten
_SHORT_OPERATION: Final = 8  # hexadecimal digits


def parse_since(since: str | None, wanted: EntryFilter, now: datetime) -> EntryFilter:
    """Return the filter with what `since` means: a number of the journal or a time."""
    if since is None:
        return wanted
    if since.isdecimal() and len(since) <= _MAX_DIGITS:
        return replace(wanted, after=int(since))
    try:
        return replace(wanted, since=times.parse_span(since, "since", now).start)
    except InvalidArgument as refused:
        raise InvalidArgument(
            f"since is {value_preview(since)}, which is neither a sequence number nor a time",
            hint=f"Send a sequence number of desk_history, or a time. {refused.hint}",
        ) from None


def read_stamp(tx: Tx, opened: Opened) -> JsonObject:
    """Return who made a record what is shown of it, or deleted it, and when.

    Nothing is returned where the journal no longer says.
    """
    kind, ref = opened.address.kind, opened.record_id or opened.address.id
    version = int(opened.address.version or 0)
    things = [(kind, ref), *(("cell", one) for one in opened.cell_ids)]
    found = history.latest_entries(tx, things).values()
    entry = max(found, key=lambda one: one.sequence, default=None)
    if entry is not None and entry.kind != kind:
        # A cell that was removed since is not among them: then the pad was changed later.
        entry = entry if entry.at == opened.changed_at else None
    elif entry is not None and version:
        left = entry.version_before if entry.version_after is None else entry.version_after
        if (left or 0) > version:
            earlier = EntryFilter(kind=kind, ref=ref, before=entry.sequence)
            heads = history.stream_entries(tx, earlier, newest_first=True, heads_only=True)
            made = (one for one in heads if 0 < (one.version_after or 0) <= version)
            entry = next(made, None)
            left = entry and entry.version_after
        if kind == "pad" and left != version:
            entry = None  # its cells were changed, which its own entries do not tell
    return {"by": entry.client, "at": format_minute(entry.at)} if entry else {}


def filter_by_address(uri: str, wanted: EntryFilter) -> EntryFilter:
    """Return the filter for one thing. Raises InvalidArgument."""
    address = parse_address(uri)
    if not address.id:
        raise InvalidArgument(
            f"The journal keeps no history of a {address.kind}",
            hint="Name a note, pad, cell or task; the history of files is in git.",
        )
    return replace(wanted, kind=address.kind, ref=require_storable(address.id, "uri"))


def filter_by_project(project: str | None, wanted: EntryFilter) -> EntryFilter:
    """Return the filter for a project; `*` and none are all."""
    if project is None or project in {"", ALL_PROJECTS}:
        return wanted
    return replace(wanted, project=require_storable(project, "project"))


def list_page(tx: Tx, wanted: EntryFilter, cursor: str | None, *, newest_first: bool) -> Page:
    """Return a page of entries: of history the newest first, of changes the oldest.

    Raises InvalidArgument: for a cursor, and for the beginning of several ids.
    """
    wanted = _find_one(tx, wanted)
    kind = "history" if newest_first else "changes"
    if cursor is not None:
        match cursors.decode(kind, cursor):
            case [int(place)]:
                end = {"before": place} if newest_first else {"after": place}
                wanted = replace(wanted, **end)
            case _:
                raise cursors.invalid_cursor("INVALID_CURSOR")
    found = history.read_entries(tx, wanted, limit=PAGE_SIZE + 1, newest_first=newest_first)
    shown = found[:PAGE_SIZE]
    return Page(
        describe(tx, shown),
        lambda items: {"changes": items},
        lambda index: cursors.encode(kind, [shown[index].sequence]),
        len(found) > PAGE_SIZE,
    )


def _find_one(tx: Tx, wanted: EntryFilter) -> EntryFilter:
    """Return the filter with the whole id of the one thing that it names, if the journal knows it.

    Raises InvalidArgument for the beginning of several ids.
    """
    if wanted.kind is None or wanted.ref is None:
        return wanted
    kind = cast("Kind", wanted.kind)
    known = history.find_refs(tx, EntryFilter(kind=kind, ref=wanted.ref))
    if not known:
        return wanted
    by_uri = {full_address(kind, ref): ref for ref in known}
    chosen = by_uri[choose_one("uri", full_address(kind, wanted.ref), by_uri)]
    return replace(wanted, ref=None, refs=[chosen])


def describe(tx: Tx, entries: Sequence[Entry]) -> list[JsonObject]:
    """Return entries as the tools answer them."""
    texts = history.read_texts(tx, history.text_digests(entries))
    undone = history.undone_by(tx, [entry.operation for entry in entries])
    return [_describe(entry, texts, undone.get(entry.operation)) for entry in entries]


def _describe(entry: Entry, texts: dict[str, str], undone: str | None) -> JsonObject:
    data: JsonObject = {
        "sequence": entry.sequence,
        "operation": short_operation(entry.operation),
        "uri": uri_of(entry),
        "tool": entry.tool,
        "by": entry.client,
        "at": format_timestamp(entry.at),
        "summary": history.summarize(entry, texts),
    }
    if entry.kind == "link":
        data |= _describe_link(entry)
    elif entry.kind not in RECORD_KINDS:
        data["summary"] = f"{entry.kind} {entry.ref} {data['summary']}"
    if undone is not None:
        data["undone_by"] = short_operation(undone)
    return {name: value for name, value in data.items() if value not in {None, ""}}


def _describe_link(entry: Entry) -> JsonObject:
    change = entry.changes[0]
    row = change["before"] if change["after"] is None else change["after"]
    verb = "unlinked" if change["after"] is None else "linked"
    if not {"source", "target"} <= row.keys() or not all(
        isinstance(row[end], str) for end in ("source", "target")
    ):
        return {"summary": f"link {verb}"}  # an address so long that it lies elsewhere
    summary = f"{verb}: {row['relation']} {show_address(row['target'])}"
    return {"uri": show_address(row["source"]), "summary": summary}


def short_operation(operation: str) -> str:
    """Return an operation's id as answers show it."""
    return operation[:_SHORT_OPERATION]


def uri_of(entry: Entry) -> AddressText | None:
    """Return the address of what an entry is of, as it was left; a namespace has none."""
    if entry.kind not in RECORD_KINDS:
        return None
    version = "" if entry.version_after is None else str(entry.version_after)
    return Address(cast("Kind", entry.kind), short_id(entry.ref), version=version).text


def name_thing(entry: Entry) -> str:
    """Return the address of what an entry is of: of a link, where it begins; else kind and name."""
    if entry.kind in RECORD_KINDS:
        return record_address(cast("Kind", entry.kind), entry.ref)
    uri = _describe_link(entry).get("uri") if entry.kind == "link" else None
    return uri or f"{entry.kind} {entry.ref}"


def find_gone(tx: Tx, address: Address) -> Opened | None:
    """Say what became of a thing that is gone for good, if the journal still knows.

    Raises InvalidArgument for the beginning of several ids.
    """
    wanted = _find_one(tx, EntryFilter(kind=address.kind, ref=address.id))
    last = history.read_entries(tx, wanted, limit=1, newest_first=True)
    if not last:
        return None
    (entry,) = last
    became = "deleted for good"
    if entry.version_before is not None and entry.version_after is None:
        operation = short_operation(entry.operation)
        became = f"deleted (restore: desk_undo with operation {operation})"
    return Opened(  # what the trash was emptied of has no entry that says so
        Address(address.kind, short_id(entry.ref)),
        "",
        became=(became,),
        record_id=entry.ref,
    )


async def wait_for_changes(call: CallContext, wanted: EntryFilter, seconds: float) -> Page:
    """Return the changes after a number, waiting for the first at most so long.

    The wait ends early where the server stops, and for a caller whose token was revoked, or who
    left the workspace.
    """
    page = await call.read(list_page, wanted, call.cursor, newest_first=False)
    last, left = -1, seconds
    while not page.items and left > 0 and not call.app.is_draining:
        await asyncio.sleep(min(left, _POLL_INTERVAL))
        left -= _POLL_INTERVAL
        if not await call.app.database.read(SYSTEM, accounts.find_allowed, [call.principal]):
            break
        now = await call.read(history.last_sequence)
        if now != last:
            last = now
            page = await call.read(list_page, wanted, call.cursor, newest_first=False)
    return page
