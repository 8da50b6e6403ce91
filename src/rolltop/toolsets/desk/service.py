"""Reading whatever is at an address.

The desk uses of other toolsets what they publish: the functions of their tools, and their services.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, cast

from rolltop.core import cursor as cursors
from rolltop.core.addresses import (
    RECORD_KINDS,
    SCHEME,
    Address,
    Kind,
    full_address,
    is_address,
    is_id_start,
    parse_address,
    show_address,
)
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument, InvalidConfig, InvalidText, NotFound
from rolltop.core.evidence import WEB_ADDRESS
from rolltop.core.journal.history import EntryFilter
from rolltop.core.pagination import BudgetTooSmall, Page
from rolltop.core.principal import names_session
from rolltop.core.tools import Toolset
from rolltop.toolsets.desk import history, links, resume, search, undo, versions
from rolltop.toolsets.desk.files import open_file, open_section
from rolltop.toolsets.desk.links import End
from rolltop.toolsets.desk.models import (
    JsonObject,
    LinkAnswer,
    Relation,
    ResumeAnswer,
    UndoAnswer,
)
from rolltop.toolsets.desk.opened import Opened, choose_one
from rolltop.toolsets.desk.records import open_cell, open_note, open_pad, open_task
from rolltop.toolsets.desk.undo import Undone
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.reader import TOOLSET as READER
from rolltop.toolsets.retrieval import TOOLSET as RETRIEVAL
from rolltop.toolsets.retrieval.service import touched
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS
from rolltop.toolsets.tasks.service import TaskService

Opener = Callable[[CallContext, Address], Awaitable[Opened]]

_OPERATION: Final = re.compile(r"[0-9a-f]{8,32}", re.ASCII)
_OPENERS: Final[Mapping[Kind, tuple[Toolset, Opener]]] = {
    "note": (NOTES, open_note),
    "pad": (SCRATCH, open_pad),
    "cell": (SCRATCH, open_cell),
    "task": (TASKS, open_task),
    "file": (RETRIEVAL, open_file),
    "section": (READER, open_section),
}
"""For each kind of address the toolset whose it is, and what opens it."""


class DeskService:
    """Opens addresses of all kinds; all of its state is the toolsets' own."""

    def __init__(self, app: AppContext) -> None:
        """Open nothing yet; import what the toolsets say of their tables, which summaries need."""
        self._app: Final = app
        for toolset in (NOTES, SCRATCH, TASKS):
            import_module(toolset.service.partition(":")[0])

    async def read(self, call: CallContext, uri: str, as_of: str | None) -> JsonObject:
        """Answer desk_read.

        Raises:
            InvalidArgument: the text is no address, or the beginning of several ids.
            NotFound: nothing is there, or it is another user's.

        """
        uri = await self._find_address(call, uri, "uri")
        address = parse_address(uri)
        request = versions.EarlierRequest.parse(uri, address, as_of, self._app.database.now())
        self._require_offered(address)
        try:
            opened = await self._open(replace(call, cursor=None), address)
        except NotFound:
            gone = await call.read(history.find_gone, address) if address.id else None
            if gone is None:
                raise
            opened = gone
        earlier = None
        if address.id and (
            as_of is not None or address.version not in {"", opened.address.version}
        ):
            toolset, _open_address = _OPENERS[address.kind]
            earlier = await versions.open_earlier(call, request, toolset, opened)
        if earlier is None and call.cursor is not None:
            raise cursors.invalid_cursor("INVALID_CURSOR")
        opened = earlier or opened
        if as_of is not None:
            return opened.answer(call)
        stamp, described = await call.read(_describe, self._app, opened)
        fields = {**stamp, **opened.fields, **links.fit_links(*described, call.budget)}
        return replace(opened, fields=fields).answer(call)

    async def link(
        self, call: CallContext, source: str, target: str, relation: Relation, *, remove: bool
    ) -> LinkAnswer:
        """Answer desk_link.

        Raises:
            InvalidArgument: an end is no address, or both are the same thing.
            NotFound: nothing is there, or no such link.

        """
        source = await self._find_address(call, source, "from")
        target = await self._find_address(call, target, "to")
        start, end = links.parse_end(source, "from"), links.parse_end(target, "to")
        if not remove:
            start, end = await self._find_end(call, start), await self._find_end(call, end)
        if start.thing == end.thing:
            raise InvalidArgument(
                "from and to are the same thing", hint="Name two different things."
            )
        write = links.remove_link if remove else links.add_link
        try:
            await call.write(write, start, end, relation)
        except NotFound:
            # A link is kept at the addresses of what was found, not as they were given.
            start, end = await self._find_end(call, start), await self._find_end(call, end)
            await call.write(write, start, end, relation)
        for one in (start, end):
            if one.is_record:
                self._app.notify_changed(call.principal, one.thing)
        return {
            "uri": show_address(start.uri),
            "relation": relation,
            "to": show_address(end.uri),
            "linked": not remove,
        }

    async def _find_address(self, call: CallContext, given: str, name: str) -> str:
        """Return the address that a plain id or path means; any other text as it is.

        Raises InvalidArgument for the beginning of several ids.
        """
        text = require_storable(given, name).strip()
        if is_address(text) or WEB_ADDRESS.fullmatch(text):
            return text
        if file := await call.run_in_thread(self._app.roots.find_address, text):
            return str(file)
        kind, slash, record_id = text.removeprefix(SCHEME).rpartition("/")
        records: tuple[Kind, ...] = ("note", "pad", "cell", "task")
        kinds: list[Kind] = [one for one in records if not slash or kind in {one, f"{one}s"}]
        found = [uri for one in kinds if (uri := await self._find_record(call, one, record_id))]
        return choose_one(name, text, found) if found else text

    async def _find_record(self, call: CallContext, kind: Kind, record_id: str) -> str | None:
        toolset, _open_address = _OPENERS[kind]
        if not is_id_start(record_id) or not self._app.has_toolset(toolset.name):
            return None
        with suppress(NotFound):
            opened = await self._open(
                replace(call, budget=0, cursor=None), Address(kind, record_id)
            )
            return full_address(kind, opened.record_id)
        return None

    async def _find_end(self, call: CallContext, end: End) -> End:
        """Return an end with the whole id of what is there. Raises NotFound."""
        if end.address is None:
            return end
        self._require_offered(end.address)
        whole = replace(call, budget=0, cursor=None)
        opened = await self._open(whole, end.address)
        there = opened.address
        found = replace(end.address, path=there.path, section=there.section)
        return End.of(found, opened.record_id)

    def _require_offered(self, address: Address) -> None:
        toolset, _open_address = _OPENERS[address.kind]
        if not self._app.has_toolset(toolset.name):
            raise NotFound(
                f"Addresses of a {address.kind} are not opened here",
                hint=f"This server is set to leave out the toolset {toolset.name}.",
            )

    async def _open(self, call: CallContext, address: Address) -> Opened:
        _toolset, open_address = _OPENERS[address.kind]
        try:
            return await open_address(call, address)
        except (NotFound, InvalidConfig) as missing:
            raise NotFound(missing.message, hint=missing.hint, data=_details(missing)) from None
        except (InvalidText, BudgetTooSmall):
            raise
        except InvalidArgument as refused:
            raise InvalidArgument(
                refused.message, hint=refused.hint, data=_details(refused)
            ) from None

    async def resume(self, call: CallContext, project: str | None) -> ResumeAnswer:
        """Answer desk_resume. Raises InvalidArgument."""
        wanted = resume.parse_project(self._app, call.principal, project)
        reading = self._read_overview(call, wanted)
        has_files = self._app.roots.named and self._app.has_toolset(RETRIEVAL.name)
        own = call.principal.project  # to which the files belong, if to any
        if has_files and (not own or wanted in {"", own}):
            overview, files = await touched.list_beside(call, resume.MAX_FILES, reading)
        else:
            overview, files = await reading, None
        answer = resume.fit_answer(overview, call, project)
        return resume.add_files(answer, files, call.budget) if files else answer

    async def _read_overview(self, call: CallContext, project: str) -> resume.Overview:
        evidence: Sequence[tuple[str, str, str]] = ()
        if self._app.has_toolset(TASKS.name):
            tasks: TaskService = self._app.load_service(TASKS.service)
            evidence = await tasks.list_broken_evidence(call, project, resume.MAX_OPEN)
        return await call.read(resume.read_overview, self._app, project, evidence)

    async def search(
        self,
        call: CallContext,
        query: str,
        kinds: Sequence[Kind] | None,
        project: str | None,
        tags: Sequence[str] | None,
        since: str | None,
        as_of: str | None,
    ) -> Page:
        """Answer desk_search. Raises InvalidArgument, or NotFound for a time too long ago."""
        request = search.SearchRequest(query, kinds, project, tags, since, as_of)
        try:
            return await search.search(call, request)
        except InvalidText:
            raise
        except InvalidArgument as refused:
            code = "INVALID_CURSOR" if refused.code == "INVALID_CURSOR" else None
            raise InvalidArgument(refused.message, hint=refused.hint, code=code) from None

    async def list_history(
        self,
        call: CallContext,
        uri: str | None,
        since: str | None,
        actor: str | None,
        project: str | None,
        tool: str | None,
    ) -> Page:
        """Answer desk_history. Raises InvalidArgument."""
        for name, text in (("actor", actor), ("tool", tool)):
            require_storable(text or "", name)
        wanted = history.parse_since(
            since, EntryFilter(client=actor, tool=tool), self._app.database.now()
        )
        wanted = history.filter_by_project(project, wanted)
        if uri is not None:
            uri = await self._find_address(call, uri, "uri")
            wanted = history.filter_by_address(uri, wanted)
        return await call.read(history.list_page, wanted, call.cursor, newest_first=True)

    async def list_changes(
        self, call: CallContext, since: str | None, wait_seconds: int, project: str | None
    ) -> Page:
        """Answer desk_changes. Raises InvalidArgument."""
        wanted = history.parse_since(since, EntryFilter(), self._app.database.now())
        wanted = history.filter_by_project(project, wanted)
        return await history.wait_for_changes(call, wanted, wait_seconds)

    async def undo(
        self,
        call: CallContext,
        operation: str | None,
        since: str | None,
        actor: str | None,
        project: str | None,
        *,
        dry_run: bool,
    ) -> UndoAnswer:
        """Answer desk_undo.

        Raises:
            InvalidArgument: neither or both of operation and since are given, or one is none.
            NotFound: the journal has nothing of the kind.
            Conflict: later work depends on it.

        """
        wanted = history.filter_by_project(project, _parse_wanted(call, operation, since, actor))
        if since is not None and project is None and not _is_one_session(call, actor):
            wanted = history.filter_by_project(call.principal.project, wanted)
        try:
            undone = await call.write(undo.undo, self._app, wanted, dry_run=dry_run)
        except undo.Tried as tried:
            undone = tried.undone
        if not dry_run:
            for kind, ref in dict.fromkeys(entry.thing for entry in undone.entries):
                if kind in RECORD_KINDS:
                    uri = full_address(cast("Kind", kind), ref)
                    self._app.notify_changed(call.principal, uri)
        answer = _undo_answer(call, undone, dry_run=dry_run)
        return {**answer, "project": wanted.project} if wanted.project else answer


def _describe(
    tx: Tx, app: AppContext, opened: Opened
) -> tuple[JsonObject, tuple[list[JsonObject], int]]:
    """Return who made a record what it is, and what it is linked with."""
    end = End.of(opened.address, opened.record_id)
    stamp = history.read_stamp(tx, opened) if end.is_record else {}
    return stamp, links.describe_links(tx, app, end)


def _parse_wanted(
    call: CallContext, operation: str | None, since: str | None, actor: str | None
) -> EntryFilter:
    require_storable(actor or "", "actor")
    if (operation is None) == (since is None):
        raise InvalidArgument(
            "Exactly one of operation and since is needed",
            hint="desk_history shows operations; since takes back all of yours after it.",
        )
    if operation is None:
        own = EntryFilter(label=call.principal.label)
        wanted = EntryFilter(client=actor) if actor else own
        return history.parse_since(since, wanted, call.app.database.now())
    digits = operation.replace("-", "").lower()
    if not _OPERATION.fullmatch(digits):
        raise InvalidArgument(
            f"operation is {value_preview(operation)}, which is no operation's id",
            hint="An operation's id is its first 8 digits or more, as desk_history shows it.",
        )
    return EntryFilter(operation=digits, client=actor)


def _is_one_session(call: CallContext, actor: str | None) -> bool:
    """Whether those who are meant are one session: a client's name is that of all its windows."""
    return names_session(actor) if actor else bool(call.principal.session)


def _undo_answer(call: CallContext, undone: Undone, *, dry_run: bool) -> UndoAnswer:
    answer: UndoAnswer = {"undone": [*dict.fromkeys(map(history.name_thing, undone.entries))]}
    if dry_run:
        answer["dry_run"] = True
    elif undone.entries:
        answer["operation"] = history.short_operation(call.principal.operation)
    if undone.skipped:
        answer["skipped"] = [
            {"operation": history.short_operation(one), "reason": reason}
            for one, reason in undone.skipped.items()
        ]
    return answer


def _details(error: NotFound | InvalidConfig | InvalidArgument) -> dict[str, Any]:
    """Return what an error says beside its texts, of these shapes: names and suggestions."""
    shown = ("nearest", "suggestions", "candidates")
    return {name: error.data[name] for name in shown if name in error.data}
