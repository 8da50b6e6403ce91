"""Opening notes, pads, cells and tasks as they were: at a version, or at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from rolltop.core import cursor as cursors
from rolltop.core import times
from rolltop.core.addresses import Address, short_id
from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext, CallContext, import_object
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.journal.history import EntryFilter, latest_entries, read_entries
from rolltop.core.journal.snapshot import (
    EarlierThing,
    JournalSnapshot,
    Moment,
    moment_at,
    moment_of_version,
    version_not_kept,
)
from rolltop.core.pagination import Page, format_timestamp
from rolltop.core.tools import Toolset
from rolltop.toolsets.desk.models import JsonObject
from rolltop.toolsets.desk.opened import Opened, file_name, find_titles, first_line, text_lines

_PARTS: Final = frozenset({"pad", "task"})
"""Kinds of things that are shown in parts: a pad's cells, a task's comments."""


@dataclass(frozen=True)
class EarlierRequest:
    """What a caller asks for of the time before: an address with a version, or `as_of`."""

    uri: str
    address: Address
    as_of: datetime | None

    @classmethod
    def parse(cls, uri: str, address: Address, as_of: str | None, now: datetime) -> EarlierRequest:
        """Return the request. Raises InvalidArgument."""
        if as_of is None:
            return cls(uri, address, None)
        if not address.id:
            raise InvalidArgument(
                f"as_of opens no {address.kind}: the history of files is git's",
                hint="`git log -- <path>` lists its commits, `git show <commit>:<path>` opens one.",
            )
        if address.version:
            raise InvalidArgument(
                "The address names a version, and as_of a time", hint="Send one of the two."
            )
        return cls(uri, address, times.parse_span(as_of, "as_of", now).end)

    @property
    def cursor_kind(self) -> str:
        """The kind of the cursors by which an answer goes on."""
        return cursors.filtered_kind("earlier", self.uri, self.as_of and str(self.as_of))

    def parse_cursor(self, cursor: str | None, count: int) -> tuple[int, ...] | None:
        """Return the numbers at which an answer goes on. Raises InvalidArgument."""
        if cursor is None:
            return None
        values = cursors.decode(self.cursor_kind, cursor)
        if len(values) != count or not all(isinstance(one, int) and one >= 0 for one in values):
            raise cursors.invalid_cursor("INVALID_CURSOR")
        return tuple(values)

    def resume_at(self, line: int, char: int, _left: int) -> dict[str, object]:
        """Return the argument that goes on with a text at a character of a line."""
        return {"cursor": cursors.encode(self.cursor_kind, [line, char])}


async def open_earlier(
    call: CallContext, request: EarlierRequest, toolset: Toolset, now: Opened
) -> Opened | None:
    """Open what was there then; `now` is what is there now. None where that is all there is.

    Raises NotFound: nothing was there, or (VERSION_NOT_FOUND) it is no longer known.
    """
    whole = replace(request.address, id=now.record_id)
    thing = await call.read(_read_thing, call.app, toolset, request, whole, now)
    if thing is None:
        return None
    given = {} if request.as_of is None else {"as_of": format_timestamp(request.as_of)}
    opened = Opened(
        replace(whole, id=short_id(whole.id), version=str(thing.version or ""), lines=None),
        thing.title,
        fields=thing.fields,
        became=tuple(_describe(request, thing, now)),
        tool="desk_read",
        arguments={"uri": request.uri, **given},
        record_id=whole.id,
    )
    if whole.kind in _PARTS:
        return _with_parts(opened, request, thing, call.cursor)
    page, lines, gone = text_lines(
        thing.text, whole.lines, request.resume_at, request.parse_cursor(call.cursor, 2)
    )
    titles: list[str] = []
    if lines is not None:
        name = file_name(thing.fields.get("language", "markdown"))
        titles = await call.run_in_thread(find_titles, thing.text, name, lines[0])
    return replace(
        opened,
        address=replace(opened.address, lines=lines),
        title=first_line(thing.text),
        fields={"heading": titles, **thing.fields},
        became=(*opened.became, *filter(None, [gone])),
        source=page,
    )


def _read_thing(
    tx: Tx,
    app: AppContext,
    toolset: Toolset,
    request: EarlierRequest,
    address: Address,
    now: Opened,
) -> EarlierThing | None:
    kind, ref = address.kind, address.id
    if request.as_of is not None:
        moment = _moment_at(tx, request, request.as_of, (kind, ref))
    else:
        version, newest = int(address.version), int(now.address.version or 0)
        if not version or 0 < newest < version:
            return None
        moment = moment_of_version(tx, (kind, ref), version, newest)
        if moment is None and kind == "pad":
            return None  # its cells changed then, which its own entries do not tell
    thing = None
    if moment is not None:
        thing = read_thing_at(tx, app, toolset, moment, (kind, ref))
    if thing is None and moment is not None and request.as_of is not None:
        not_yet = _not_yet(tx, request, (kind, ref))
        if not_yet or not _was_left(tx, (kind, ref), moment):
            raise NotFound(
                not_yet
                or f"{value_preview(request.uri)} was not there at {_format_as_of(request)}",
                hint="desk_history shows what became of it, and when.",
            )
    if thing is None:
        raise version_not_kept(tx, request.uri)
    if request.as_of is None:
        return replace(thing, version=int(address.version))
    return thing if kind != "pad" else _without_doubtful_version(tx, thing, ref, moment)


def _without_doubtful_version(
    tx: Tx, pad: EarlierThing, ref: str, moment: Moment | None
) -> EarlierThing:
    """Return a pad without a version unless it is that of its last entry: its cells move it too."""
    last = latest_entries(tx, [("pad", ref)], moment and moment.sequence).get(("pad", ref))
    is_sure = last is not None and last.version_after == pad.version
    return pad if is_sure else replace(pad, version=0)


def _was_left(tx: Tx, thing: tuple[str, str], moment: Moment) -> bool:
    """Whether a thing that was not found was there: what a trash is emptied of has no entry."""
    kind, ref = thing
    until = EntryFilter(kind=kind, ref=ref, before=moment.sequence + 1)
    last = read_entries(tx, until, limit=1, newest_first=True, heads_only=True)
    return bool(last) and last[0].version_after is not None


def read_thing_at(
    tx: Tx, app: AppContext, toolset: Toolset, moment: Moment, thing: tuple[str, str]
) -> EarlierThing | None:
    """Read what a thing was at a moment, None if it was not there. Raises NotFound: not kept."""
    kind, ref = thing
    only = ref if len(toolset.journal_kinds) == 1 else None
    snapshot = JournalSnapshot(tx, moment, toolset.journal_kinds, only)
    found: dict[str, EarlierThing | None] = import_object(toolset.earlier)(
        app, tx, snapshot, kind, ref
    )
    return found[ref]


def _moment_at(tx: Tx, request: EarlierRequest, at: datetime, thing: tuple[str, str]) -> Moment:
    """Find the journal's place of then. Raises NotFound: too little is kept, or it was not yet."""
    try:
        return moment_at(tx, at)
    except NotFound as missing:
        missing.message = _not_yet(tx, request, thing) or missing.message
        raise


def _not_yet(tx: Tx, request: EarlierRequest, thing: tuple[str, str]) -> str:
    """Say when a thing was made, if that was later; nothing where the journal does not tell."""
    kind, ref = thing
    first = read_entries(tx, EntryFilter(kind=kind, ref=ref), limit=1, heads_only=True)
    is_made = first and first[0].version_before is None and first[0].tool != "desk_undo"
    if not is_made or request.as_of is None or first[0].at <= request.as_of:
        return ""
    return (
        f"{value_preview(request.uri)} did not exist yet at {_format_as_of(request)}:"
        f" it was made at {format_timestamp(first[0].at)}"
    )


def _format_as_of(request: EarlierRequest) -> str:
    return "" if request.as_of is None else format_timestamp(request.as_of)


def _describe(request: EarlierRequest, thing: EarlierThing, now: Opened) -> Iterator[str]:
    """Yield what became of what is shown."""
    newest, shown = now.address.version, str(thing.version or "")
    if request.as_of is None:
        since = f"changed since @{shown}, which is shown"
    elif newest == shown:
        since = f"as of {format_timestamp(request.as_of)}, and now"
    else:
        since = f"as of {format_timestamp(request.as_of)}"
    yield f"{since}: now @{newest}" if newest not in {"", shown} else since
    if thing.is_deleted:
        yield "it was in the trash then"
    yield from (one for one in now.became if "restore: " in one)


def _with_parts(
    opened: Opened, request: EarlierRequest, thing: EarlierThing, cursor: str | None
) -> Opened:
    """Return a pad with its cells, or a task with its comments, from where a cursor goes on."""
    (start,) = request.parse_cursor(cursor, 1) or (0,)
    is_task = opened.address.kind == "task"
    # Of a task's first page the task itself is the first item: it is shown whole.
    parts = [{}, *thing.parts] if is_task else [*thing.parts]

    def envelope(items: list[JsonObject]) -> JsonObject:
        if not is_task:
            return {"cells": items}
        comments = [item for item in items if item]
        head = {} if start else {name: thing.fields[name] for name in thing.fields if name != "uri"}
        return {"task": {**head, **({"comments": comments} if comments else {})}}

    source = Page(
        parts[start:],
        envelope,
        lambda index: cursors.encode(request.cursor_kind, [start + index + 1]),
    )
    return replace(opened, fields={} if is_task else thing.fields, source=source)
