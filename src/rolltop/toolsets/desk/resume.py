"""Where the work of a project stands: what is open, what was touched last, what others did.

A client's last call is its newest entry of the journal: to keep more, reading would have to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, takewhile, zip_longest
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.addresses import RECORD_KINDS, file_address, record_address
from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.journal import history
from rolltop.core.journal.history import EntryFilter
from rolltop.core.pagination import MIN_BUDGET, count_fitting, count_tokens, fits_budget
from rolltop.core.principal import ALL_PROJECTS, is_project_name
from rolltop.toolsets.desk.opened import find_service, first_line, format_minute, read_titles
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from rolltop.core.addresses import Kind
    from rolltop.core.context import AppContext, CallContext
    from rolltop.core.db import Tx
    from rolltop.core.journal.history import Entry
    from rolltop.core.principal import Principal
    from rolltop.toolsets.desk.models import JsonObject, ResumeAnswer
    from rolltop.toolsets.notes.service import NoteService
    from rolltop.toolsets.retrieval.service.touched import TouchedFiles
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService
    from rolltop.toolsets.tasks.service import TaskService

MAX_READY: Final = 3
MAX_OPEN: Final = 50
"""Of each kind of open item; more are counted."""
MAX_TOUCHED: Final = 20
"""Things that were touched last, by others or at all."""
MAX_FILES: Final = 5
MAX_ENTRIES: Final = 300
"""The newest entries of the journal, which are looked at."""
MAX_SEARCHED: Final = 10_000
"""Of the entries before those: among them is looked whether the client wrote before."""
FIRST_CALL: Final = timedelta(hours=24)
"""What others changed in this time is shown to a client without an earlier call."""
_OPEN: Final = ("in_work", "ready", "broken", "blocked")
_ORDER: Final = ("in_work", "ready", "blocked", "recent", "changed_by_others", "broken")
_OPEN_SHARE: Final = 0.6  # of the budget, with which open items leave room for what was touched
_TITLE_LENGTHS: Final = (100, 60, 30, 15)

Lists = dict[str, "list[JsonObject]"]
Thing = tuple[str, str]
"""A kind and an id."""


@dataclass(frozen=True)
class Overview:
    """Items by list; `unread` counts those beyond what is read."""

    project: str
    items: Lists
    unread: Mapping[str, int]


def parse_project(app: AppContext, principal: Principal, given: str | None) -> str:
    """Return the project to show, the connection's where none is named; empty for all."""
    if app.settings["names"] == "seed":
        return ""
    name = principal.project if given is None else given.strip()
    if name == ALL_PROJECTS or not name:
        return ""
    if not is_project_name(name):
        raise InvalidArgument(
            f"project {value_preview(name)} is no project's name",
            hint="Leave project out for this connection's own; * is all.",
        )
    return name


def read_overview(
    tx: Tx, app: AppContext, project: str, evidence: Sequence[tuple[str, str, str]]
) -> Overview:
    """Read where the work of a project and of none stands; an empty one stands for all.

    `evidence` is that which broke: tasks, by id, with their title and what became of it.
    """
    reader = _Reader(tx, app, project)
    reader.read_tasks()
    reader.add_evidence(evidence)
    reader.read_broken()
    reader.read_touched()
    return Overview(project, reader.items, reader.unread)


class _Reader:
    """Collects items: each thing once."""

    def __init__(self, tx: Tx, app: AppContext, project: str) -> None:
        self._tx, self._app, self._project = tx, app, project
        self.items: Lists = {}
        self.unread: dict[str, int] = {}
        self._by_thing: dict[Thing, JsonObject] = {}

    def _add(self, name: str, thing: Thing, title: str, **fields: object) -> None:
        """Add an item to a list; what is false or empty of it is left out."""
        kind, ref = thing
        item = {"uri": record_address(cast("Kind", kind), ref), "title": title, **fields}
        shown = {key: value for key, value in item.items() if value}
        self.items.setdefault(name, []).append(shown)
        self._by_thing[thing] = shown

    def read_tasks(self) -> None:
        service: TaskService | None = find_service(self._app, TASKS)
        if service is None:
            return
        found = service.list_open(
            self._tx, self._project, ready=MAX_READY, limit=MAX_OPEN, for_caller=True
        )
        for task in found.begun:
            ends = task.claimed_until or task.lapsed_at
            fields = {"by": task.claimed_by, "until": ends and format_minute(ends)}
            lapsed = task.lapsed_at is not None
            self._add("in_work", ("task", task.id), task.title, **fields, lapsed=lapsed)
        for task in found.ready:
            why = _why(task.priority, task.due_at, self._tx.now)
            self._add("ready", ("task", task.id), task.title, why=why)
        for task in found.blocked:
            self._add("blocked", ("task", task.id), task.title)
        for task in found.blocked:
            self._by_thing["task", task.id]["blocked_by"] = [
                self._refer(("task", one), found.blockers[one])
                for one in task.blocked_by
                if one in found.blockers
            ]
        self.unread["in_work"] = found.begun_count - len(found.begun)
        self.unread["blocked"] = found.blocked_count - len(found.blocked)

    def _refer(self, thing: Thing, title: str) -> JsonObject:
        """Name a thing, with its title unless that is said elsewhere."""
        uri = {"uri": record_address("task", thing[1])}
        return uri if thing in self._by_thing else {**uri, "title": _shorten(title, 60)}

    def add_evidence(self, broken: Iterable[tuple[str, str, str]]) -> None:
        """Tell of tasks whose evidence broke; of open ones where they stand already."""
        for task_id, title, state in broken:
            thing, problem = ("task", task_id), f"evidence {state}"
            if thing in self._by_thing:
                self._by_thing[thing]["problem"] = problem
            else:
                self._add("broken", thing, title, problem=problem)

    def read_broken(self) -> None:
        notes: NoteService | None = find_service(self._app, NOTES)
        scratch: ScratchService | None = find_service(self._app, SCRATCH)
        if notes is not None:
            for note_id, title in notes.list_conflicts(self._tx, MAX_OPEN):
                self._add("broken", ("note", note_id), first_line(title), problem="sync conflict")
        if scratch is not None:
            for cell_id, line, problem in scratch.list_failed(self._tx, self._project, MAX_OPEN):
                self._add("broken", ("cell", cell_id), first_line(line), problem=problem)

    def read_touched(self) -> None:
        """Read the newest entry of each thing, of pads with their cells'."""
        wanted = EntryFilter(project=self._project or None)
        newest = history.read_entries(
            self._tx, wanted, limit=MAX_ENTRIES, newest_first=True, heads_only=True
        )
        known = {kind for each in self._app.registry.toolsets for kind in each.journal_kinds}
        kinds = RECORD_KINDS & known
        heads = [head for head in newest if head.kind in kinds]
        pads = self._pads_of([head.ref for head in heads if head.kind == "cell"])
        news = self._since_last_call(newest)
        by_others = self._newest((head for head in news if head.kind in kinds), pads)
        recent = {
            thing: head
            for thing, head in self._newest(heads, pads).items()
            if head.kind != "task" and thing not in by_others and thing not in self._by_thing
        }
        titles = read_titles(
            self._tx, self._app, {*by_others, *recent} - self._by_thing.keys(), self._project
        )
        elsewhere = {thing for thing, title in titles.items() if title is None}
        by_others, recent = (
            {thing: head for thing, head in some.items() if thing not in elsewhere}
            for some in (by_others, recent)
        )
        chosen = {
            "changed_by_others": list(by_others.items())[:MAX_TOUCHED],
            "recent": list(recent.items())[:MAX_TOUCHED],
        }
        self.unread["changed_by_others"] = len(by_others) - len(chosen["changed_by_others"])
        entries = self._whole(head for some in chosen.values() for _thing, head in some)
        texts = history.read_texts(self._tx, history.text_digests(entries.values()))
        for name, some in chosen.items():
            for thing, head in some:
                self._tell(name, thing, entries[head.sequence], texts, titles)

    def _since_last_call(self, newest: Sequence[Entry]) -> list[Entry]:
        """Return others' entries since the caller's client last wrote, else of 24 hours."""
        caller = self._tx.scope
        others = list(takewhile(lambda entry: not _is_own(entry, caller), newest))
        if caller.client and (len(others) < len(newest) or self._wrote_before(newest)):
            return others
        since = self._tx.now - FIRST_CALL
        return [entry for entry in newest if entry.at > since and not _is_own(entry, caller)]

    def _wrote_before(self, newest: Sequence[Entry]) -> bool:
        """Whether the caller's client wrote before these entries, if not too long before."""
        if len(newest) < MAX_ENTRIES:
            return False
        oldest = newest[-1].sequence
        wanted = EntryFilter(
            client=self._tx.scope.client,
            project=self._project or None,
            after=oldest - MAX_SEARCHED,
            before=oldest,
        )
        return bool(history.read_entries(self._tx, wanted, limit=1, heads_only=True))

    def _newest(self, heads: Iterable[Entry], pads: Mapping[str, str]) -> dict[Thing, Entry]:
        """Return the newest entry of each thing; of a cell's pad, unless the cell is an item."""
        newest: dict[Thing, Entry] = {}
        for head in heads:
            is_told = head.kind != "cell" or head.thing in self._by_thing
            thing = head.thing if is_told or head.ref not in pads else ("pad", pads[head.ref])
            known = newest.setdefault(thing, head)
            if known.operation == head.operation and head.kind == thing[0]:
                newest[thing] = head  # what was done to the pad itself says more
        return newest

    def _tell(
        self,
        name: str,
        thing: Thing,
        entry: Entry,
        texts: Mapping[str, str],
        titles: Mapping[Thing, str | None],
    ) -> None:
        """Add what was done to a thing; to an open item's where it is one."""
        summary = history.summarize(entry, texts)
        if entry.kind != thing[0]:
            summary = f"{entry.kind} {summary}"
        if (item := self._by_thing.get(thing)) is not None:
            if summary != f"claimed until {item.get('until')}":  # which the item says already
                item["changed"] = f"{entry.client}: {summary}"
            return
        by = "" if _is_own(entry, self._tx.scope) else entry.client
        title = first_line(titles.get(thing) or "")
        self._add(name, thing, title, summary=summary, by=by, at=format_minute(entry.at))

    def _pads_of(self, cell_ids: Sequence[str]) -> dict[str, str]:
        scratch: ScratchService | None = find_service(self._app, SCRATCH)
        wanted = list(dict.fromkeys(cell_ids))
        return scratch.find_pads_of(self._tx, wanted) if scratch is not None else {}

    def _whole(self, heads: Iterable[Entry]) -> dict[int, Entry]:
        sequences = [head.sequence for head in heads]
        if not sequences:
            return {}
        wanted = EntryFilter(sequences=sequences)
        found = history.read_entries(self._tx, wanted, limit=len(sequences))
        return {entry.sequence: entry for entry in found}


def _is_own(entry: Entry, caller: Principal) -> bool:
    """Whether an entry is of the caller's client: of its session where that has no name."""
    name = caller.client or caller.label
    return entry.client == name or entry.client.startswith(f"{name} (")


def _why(priority: int | None, due_at: datetime | None, now: datetime) -> str:
    """Say why a ready task comes first."""
    reasons = [] if priority is None else [f"priority {priority}"]
    if due_at is not None:
        day = f"{due_at:%Y-%m-%d}"
        reasons.append(f"overdue since {day}" if due_at < now else f"due {day}")
    return ", ".join(reasons) or "oldest"


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def fit_answer(overview: Overview, call: CallContext, project: str | None) -> ResumeAnswer:
    """Return as much as the budget holds: every open item first, then what was touched last."""
    whole = _render(overview, _shorten_titles(overview.items, _TITLE_LENGTHS[0]))
    if fits_budget(whole, call.budget):
        return whole
    onward: JsonObject = {"truncated": True}
    needed = max(count_tokens(whole), MIN_BUDGET)
    if not call.max_budget or needed <= call.max_budget:
        given = {} if project is None else {"project": project}
        arguments = {**given, "max_tokens": needed}
        onward["next"] = {"tool": call.tool, "arguments": arguments}
    open_items, extra = _fit_open(overview, call.budget, onward)
    touched = [
        (name, item)
        for name, item in _alternate(overview.items, ("changed_by_others", "recent"))
        if item.get("uri")
    ]

    brief = [
        (name, {field: value for field, value in item.items() if field != "summary"})
        for name, item in touched
    ]

    def render(count: int, whole: int = 0) -> ResumeAnswer:
        some = [*touched[:whole], *brief[whole:count]]
        return _render(overview, _shorten_titles(_with(open_items, some), 100), extra)

    count = count_fitting(len(touched), call.budget, render)
    return render(count, count_fitting(count, call.budget, lambda whole: render(count, whole)))


def add_files(answer: ResumeAnswer, touched: TouchedFiles, budget: int) -> ResumeAnswer:
    """Return the answer with as many of the files touched last as it leaves room for."""
    items: list[JsonObject] = [
        {
            "uri": file_address(file.root, file.path),
            "title": _shorten(f"{file.root}/{file.path}", _TITLE_LENGTHS[0]),
            "at": format_minute(file.at),
        }
        for file in touched.files
    ]
    extra: JsonObject = {}
    if not touched.is_current:
        listed_at = touched.listed_at
        state = f"as of {format_minute(listed_at)}" if listed_at else "being listed"
        extra["pending"] = f"files are {state}"

    def render(count: int) -> ResumeAnswer:
        recent = [*answer.get("recent", ()), *items[:count]]
        lists = {"recent": recent} if recent else {}
        return cast("ResumeAnswer", {**answer, **lists, **extra})

    longer = render(count_fitting(len(items), budget, render))
    return longer if fits_budget(longer, budget) else answer


def _fit_open(overview: Overview, budget: int, onward: JsonObject) -> tuple[Lists, JsonObject]:
    """Return open items in the longest form that fits, and what is said of the rest."""
    items = {name: overview.items[name] for name in _OPEN if name in overview.items}
    marked: JsonObject = {"truncated": True}
    full, brief = _TITLE_LENGTHS[:2]
    forms: list[tuple[Lists, JsonObject, float]] = [
        (_shorten_titles(items, full), onward, _OPEN_SHARE),
        ((named := _keep_fields(_shorten_titles(items, brief), "uri", "title")), onward, 1),
        ({**named, **_keep_fields({"blocked": named.get("blocked", [])}, "title")}, onward, 1),
        *(
            (_keep_fields(_shorten_titles(items, length), "title"), marked, 1)
            for length in _TITLE_LENGTHS[1:]
        ),
    ]
    for form, extra, share in forms:
        if fits_budget(_render(overview, form, extra), int(budget * share)):
            return form, extra
    shortest = [(name, item) for name, some in forms[-1][0].items() for item in some]

    def render(count: int) -> ResumeAnswer:
        return _render(overview, _with({}, shortest[:count]), marked)

    return _with({}, shortest[: count_fitting(len(shortest), budget, render)]), marked


def _render(overview: Overview, items: Lists, extra: JsonObject | None = None) -> ResumeAnswer:
    """Return the answer with these items, and the count of those that it lacks."""
    more = {
        name: len(overview.items.get(name, ()))
        - len(items.get(name, ()))
        + overview.unread.get(name, 0)
        for name in _ORDER
    }
    more = {name: count for name, count in more.items() if count}
    answer: JsonObject = {
        **({"project": overview.project} if overview.project else {}),
        **{name: items[name] for name in _ORDER if items.get(name)},
        **({"more": more} if more else {}),
        **(extra or {}),
    }
    return cast("ResumeAnswer", answer)


def _map_items(items: Lists, change: Callable[[JsonObject], JsonObject]) -> Lists:
    return {name: [change(item) for item in some] for name, some in items.items()}


def _shorten_titles(items: Lists, length: int) -> Lists:
    def shorten(item: JsonObject) -> JsonObject:
        return {**item, "title": _shorten(item["title"], length)} if "title" in item else item

    return _map_items(items, shorten)


def _keep_fields(items: Lists, *names: str) -> Lists:
    """Return the items with these fields alone; one without any of them keeps its address."""
    return _map_items(
        items,
        lambda item: {name: item[name] for name in names if name in item} or {"uri": item["uri"]},
    )


def _alternate(items: Lists, names: Sequence[str]) -> Iterable[tuple[str, JsonObject]]:
    """Yield one item of each list in turn, with the list's name."""
    lists = [[(name, item) for item in items.get(name, ())] for name in names]
    return (pair for pair in chain.from_iterable(zip_longest(*lists)) if pair is not None)


def _with(items: Lists, added: Iterable[tuple[str, JsonObject]]) -> Lists:
    """Return the lists with items added to them."""
    longer = {name: list(some) for name, some in items.items()}
    for name, item in added:
        longer.setdefault(name, []).append(item)
    return longer
