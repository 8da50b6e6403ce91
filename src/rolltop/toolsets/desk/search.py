"""The desk's one search: what the searches of all kinds find, in one order, packed to a budget."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core import cursor as cursors
from rolltop.core import times
from rolltop.core.addresses import full_address, parse_address, record_address, show_address
from rolltop.core.arguments import require_storable
from rolltop.core.dispatch import internal_error
from rolltop.core.errors import (
    InvalidArgument,
    NotFound,
    RolltopError,
    ShuttingDown,
    UserDeleted,
)
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.fulltext.phrase_query import PhraseQuery
from rolltop.core.fulltext.query_syntax import QueryPart, find_phrases, split_prose
from rolltop.core.journal import history
from rolltop.core.pagination import MIN_BUDGET, Page, count_tokens
from rolltop.toolsets.desk import links, store
from rolltop.toolsets.desk.earlier_texts import read_earlier_texts
from rolltop.toolsets.desk.excerpts import SIZES, Excerpts
from rolltop.toolsets.desk.opened import find_titles, format_minute, use_tool
from rolltop.toolsets.desk.ranking import MAX_SCORED_LENGTH, rank_below, rank_texts, whole_text
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.retrieval import TOOLSET as RETRIEVAL
from rolltop.toolsets.retrieval.service import ranking as files
from rolltop.toolsets.retrieval.service.left_out import LeftOut
from rolltop.toolsets.retrieval.service.root_lookup import find_gone_roots
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS
from rolltop.toolsets.tasks.service import FilterInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from rolltop.core.addresses import Kind
    from rolltop.core.context import AppContext, CallContext
    from rolltop.core.db import Tx
    from rolltop.core.journal.history import Entry
    from rolltop.core.journal.snapshot import Moment
    from rolltop.toolsets.desk.earlier_texts import EarlierTexts
    from rolltop.toolsets.desk.excerpts import LinesSize
    from rolltop.toolsets.desk.models import JsonObject, Link
    from rolltop.toolsets.desk.ranking import RankedText
    from rolltop.toolsets.notes.service import NoteService
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService
    from rolltop.toolsets.tasks.service import TaskService

    _Search = Callable[[TextQuery], Awaitable[list[FoundText]]]

MAX_HITS: Final = 20
"""Hits of one answer."""
_AROUND_TOKENS: Final = 110
"""What stands around the hits: mostly the call that continues the answer."""
_MAX_TITLE: Final = 100
_ENOUGH: Final = 1_000
_ENOUGH_CHANGED: Final = 10_000
"""How many texts are asked for at least before fewer than wanted are enough."""
_FURTHER: Final = 4
"""How many times as many texts are asked for where too many do not belong to the answer."""
_SCORE_DIGITS: Final = 2
_KINDS_OF: Final[Mapping[str, frozenset[Kind]]] = {
    "notes": frozenset({"note"}),
    "scratch": frozenset({"pad", "cell"}),
    "tasks": frozenset({"task"}),
    "retrieval": frozenset({"file"}),
}
ALL_KINDS: Final[frozenset[Kind]] = frozenset({"note", "pad", "cell", "task", "file"})


class FoundLists(NamedTuple):
    """What each toolset's own search found, best first, by the toolset's name.

    Of the kinds in `limited` others may answer too; `unsearched` has those that were not searched,
    or not everywhere, and why; `left_out` are the files that were not read, or not to their end.
    """

    by_toolset: Mapping[str, Sequence[FoundText]]
    limited: frozenset[Kind]
    unsearched: Mapping[Kind, RolltopError]
    left_out: LeftOut


async def find_texts(
    call: CallContext, query: TextQuery, changed: frozenset[tuple[str, str]]
) -> FoundLists:
    """Ask each toolset's own search; one that fails does not hide what the others find.

    What was `changed` is left out. Raises RolltopError: the query is wrong, or every search failed.
    """
    offers = call.app.has_toolset
    searches: dict[str, _Search] = {}
    if "note" in query.kinds and offers("notes"):
        notes: NoteService = call.app.load_service(NOTES.service)
        searches["notes"] = partial(notes.find_texts, call)
    if not query.kinds.isdisjoint({"pad", "cell"}) and offers("scratch"):
        scratch: ScratchService = call.app.load_service(SCRATCH.service)
        searches["scratch"] = partial(scratch.find_texts, call)
    if "task" in query.kinds and offers("tasks"):
        tasks: TaskService = call.app.load_service(TASKS.service)
        searches["tasks"] = lambda query: call.read(_find_tasks, tasks, query)
    left_out = LeftOut()

    async def find_files(query: TextQuery) -> list[FoundText]:
        nonlocal left_out
        texts, left_out = await call.run_in_thread(files.find_texts, call, query)
        return texts

    has_files = call.app.roots.named or not searches  # who asks for files alone is told of none
    if "file" in query.kinds and offers("retrieval") and has_files:
        searches["retrieval"] = find_files
    outcomes = await asyncio.gather(
        *(
            _find_admitted(call, query, changed, search, heeds_phrases=name == NOTES.name)
            for name, search in searches.items()
        ),
        return_exceptions=True,
    )
    found: dict[str, Sequence[FoundText]] = {}
    limited: set[Kind] = {"file"} if left_out.limited else set()
    unsearched: dict[Kind, RolltopError] = {}
    for name, outcome in zip(searches, outcomes, strict=True):
        kinds = query.kinds & _KINDS_OF[name]
        if isinstance(outcome, BaseException):
            unsearched |= dict.fromkeys(kinds, _as_failure(outcome))
        else:
            found[name], is_limited = outcome
            limited |= kinds if is_limited else set()
    if unsearched and not found:
        raise next(iter(unsearched.values()))
    if "retrieval" in found and (gone := find_gone_roots(call.app.roots)):
        unsearched["file"] = gone
    return FoundLists(found, frozenset(limited), unsearched, left_out)


def _as_failure(problem: BaseException) -> RolltopError:
    """Return why a search failed. Raises what is no failure of that search alone."""
    if isinstance(problem, InvalidArgument | UserDeleted | ShuttingDown):
        raise problem
    if isinstance(problem, RolltopError):
        return problem
    if isinstance(problem, Exception):
        return internal_error(problem)
    raise problem


def _find_tasks(tx: Tx, tasks: TaskService, query: TextQuery) -> list[FoundText]:
    filters = FilterInput(
        project=query.project, q=query.words, all_tags=query.tags, changed_after=query.since
    )
    try:
        found, *_ = tasks.search_tasks(tx, filters, limit=query.limit)
    except NotFound:  # the user was deleted meanwhile
        return []
    return [
        FoundText(
            "task",
            record_address("task", task.id),
            task.title,
            task.description or "",
            task.updated_at,
            ref=task.id,
        )
        for task in found
    ]


def _read_part(part: QueryPart, now: datetime, *, is_filter: bool) -> QueryPart:
    """Return a part of a query; one that cannot filter notes is a word, as `before:absolute`."""
    if not part.key:
        return part
    if part.key != "tag" and not part.text[:1].isdigit():
        try:
            times.parse_span(part.text, part.key, now)
        except InvalidArgument:
            is_filter = False
    return part if is_filter else part.as_word


@dataclass(frozen=True)
class SearchRequest:
    """The arguments of desk_search but for the budget and the cursor."""

    query: str
    kinds: Sequence[Kind] | None
    project: str | None
    tags: Sequence[str] | None
    since: str | None
    as_of: str | None

    def parse(self, app: AppContext) -> TextQuery:
        """Return what to search for. Raises InvalidArgument."""
        now = app.database.now()
        words = self.query.replace("\0", " ").encode("utf-8", "replace").decode()
        if not words.strip():
            raise InvalidArgument("query is blank", hint="Send some words of what you look for.")
        tags = tuple(require_storable(tag, "tags") for tag in self.tags or ())
        since = None if self.since is None else times.parse_span(self.since, "since", now).start
        project = None if self.project is None else require_storable(self.project, "project")
        kinds = frozenset(self.kinds or ALL_KINDS)
        if tags:
            kinds -= {"file"}
            if not kinds:
                raise InvalidArgument("tags finds no files: they have none", hint="Leave tags out.")
        if self.as_of is not None:
            kinds -= {"file"}
            if not kinds:
                raise InvalidArgument(
                    "as_of finds no files: their history is git's",
                    hint="`git log -S <text>` finds the commits that brought a text or took it.",
                )
        words, split = split_prose(words)
        is_filter = "note" in kinds and app.has_toolset(NOTES.name)
        parts = [_read_part(part, now, is_filter=is_filter) for part in split]
        plain = [part.typed for part in parts if not (part.key or part.is_excluded)]
        if 0 < len(plain) < len(parts):
            words = " ".join(plain)
        return TextQuery(words, parts, find_phrases(parts), kinds, project, tags, since)

    def cursor_kind(self) -> str:
        """Return the kind of the cursors of this search."""
        kinds = sorted(self.kinds or ())
        given = (self.query, kinds, self.project, list(self.tags or ()), self.since, self.as_of)
        return cursors.filtered_kind("desk", *given)


class RankedAnswer(NamedTuple):
    """Texts of all kinds in one order, as they are or were at a moment; what was left out.

    `limited` are the kinds of which only the best were asked for, and others may answer too.
    """

    texts: list[RankedText]
    moment: Moment | None
    limited: Sequence[Kind]
    unsearched: JsonObject


async def rank(call: CallContext, query: TextQuery, as_of: str | None = None) -> RankedAnswer:
    """Find and rank what answers a query best. Raises RolltopError."""
    earlier: EarlierTexts | None = None
    if as_of is not None:
        then = times.parse_span(as_of, "as_of", call.app.database.now()).end
        earlier = await call.read(read_earlier_texts, call.app, query, then)
    found = await find_texts(call, query, earlier.changed if earlier else frozenset())
    past = earlier.found if earlier else ()
    lists = [*found.by_toolset.values(), *past]
    moment = earlier and earlier.moment
    ranked = await call.run_in_thread(rank_texts, query.words, lists)
    ranked = await _mark_superseded(call, ranked, moment)
    unsearched = {
        kind: failure.message if ranked else f"{failure.message}. {failure.hint}"
        for kind, failure in found.unsearched.items()
    }
    if left_out := found.left_out.hint(call.app, is_empty=not ranked):
        unsearched["file"] = " ".join(filter(None, [unsearched.get("file"), left_out]))
    full: set[Kind] = {some[0].kind for some in past if len(some) >= query.limit}
    return RankedAnswer(ranked, moment, sorted(full | found.limited), unsearched)


async def search(call: CallContext, request: SearchRequest) -> Page:
    """Answer desk_search. Raises InvalidArgument."""
    query = await call.run_in_thread(request.parse, call.app)
    kind = request.cursor_kind()
    named = cursors.decode_place(kind, call.cursor)
    found = await rank(call, query, request.as_of)
    ranked, moment = found.texts, found.moment
    keys = [one.found.ref or one.found.uri for one in ranked]
    start = cursors.find_place(keys, named)
    shown = ranked[start : start + MAX_HITS]
    things = [(one.found.kind, one.found.ref) for one in shown if one.found.ref]
    last = None if moment is None else moment.sequence
    latest = await call.read(history.latest_entries, things, last) if things else {}
    fields: JsonObject = {"matched": _match_mode(ranked)} if ranked else {}
    if not ranked:
        fields = {"searched": sorted(query.kinds)}
        if moment is None:
            fields |= await nearest_word(call, query)
    if found.unsearched:
        fields["unsearched"] = found.unsearched

    def envelope(hits: list[JsonObject]) -> JsonObject:
        is_end = start + len(hits) == len(ranked)
        limited = {"limited": found.limited} if is_end and found.limited else {}
        return {"hits": hits, **fields, **limited}

    room = call.budget and max(call.budget - _AROUND_TOKENS, MIN_BUDGET // 2)
    packed = await call.run_in_thread(_pack, room, query.words, shown, latest)
    return Page(
        packed,
        envelope,
        lambda index: cursors.encode_place(kind, keys, start + index + 1),
        start + len(packed) < len(ranked),
        counts_only=True,
    )


async def _find_admitted(
    call: CallContext,
    query: TextQuery,
    changed: frozenset[tuple[str, str]],
    search: _Search,
    *,
    heeds_phrases: bool,
) -> tuple[list[FoundText], bool]:
    """Ask a search for as many texts as are needed without those that are left out.

    Answers with whether there may be others.
    """
    limit, enough = query.limit, _ENOUGH_CHANGED if changed else _ENOUGH
    phrases = query.phrases
    if heeds_phrases:  # but of two around OR some have words alone
        phrases = PhraseQuery(any_of=phrases.any_of)
    leaves_out = bool(changed or phrases.filters)
    while True:
        found = await search(replace(query, limit=limit))
        kept = await call.run_in_thread(_admit, phrases, changed, found) if leaves_out else found
        is_full = len(found) >= limit
        if not is_full or len(kept) >= query.limit or limit >= enough:
            return kept[: query.limit], is_full or len(kept) > query.limit
        limit *= _FURTHER


def _admit(
    phrases: PhraseQuery, changed: frozenset[tuple[str, str]], found: Sequence[FoundText]
) -> list[FoundText]:
    """Leave out what was changed, and what the phrases do not admit."""
    return [
        one
        for one in found
        if (one.kind, one.ref) not in changed and phrases.admits(whole_text(one))
    ]


async def _mark_superseded(
    call: CallContext, ranked: list[RankedText], moment: Moment | None
) -> list[RankedText]:
    """Put what is superseded below what supersedes it."""
    things = [_thing_of(one.found) for one in ranked]
    superseders = (
        await call.read(links.find_superseders, call.app, things, moment) if ranked else {}
    )
    if not superseders:
        return ranked
    return await call.run_in_thread(_put_below, ranked, things, superseders)


def _put_below(
    ranked: Sequence[RankedText], things: Sequence[str], superseders: Mapping[int, Sequence[Link]]
) -> list[RankedText]:
    """Say of texts of things what supersedes them, and put them below that."""
    first = {store.key_of(thing): at for at, thing in reversed(list(enumerate(things)))}
    above = {
        at: [first[one.source_key] for one in some if one.source_key in first]
        for at, some in superseders.items()
    }
    marked: list[RankedText] = []
    score = ranked[0].score
    for at in rank_below(len(ranked), above):
        score = min(score, ranked[at].score)
        by = show_address(superseders[at][0].source) if at in superseders else ""
        marked.append(replace(ranked[at], score=score, superseded_by=by))
    return marked


def _thing_of(found: FoundText) -> str:
    """Return the address of the thing that a text is of."""
    if found.ref:
        return full_address(found.kind, found.ref)
    return links.End.of(parse_address(found.uri)).thing


def _pack(
    room: int, words: str, shown: Sequence[RankedText], latest: Mapping[tuple[str, str], Entry]
) -> list[JsonObject]:
    """Return as many hits as fit with a short line each, with as long lines as then still fit."""
    excerpts = [Excerpts(one.found.text, words) for one in shown]
    heads = [_head(one, latest, own.start) for one, own in zip(shown, excerpts, strict=True)]

    def with_lines(size: LinesSize, count: int) -> list[JsonObject]:
        pairs = zip(heads[:count], excerpts, strict=False)
        return [_add_lines(head, own.select_lines(size)) for head, own in pairs]

    packed = with_lines(SIZES[0], len(shown))
    if room:
        sums = list(accumulate(count_tokens(hit) + 1 for hit in packed))
        packed = packed[: max(bisect_right(sums, room), 1)]
    for size in SIZES[1:]:
        longer = with_lines(size, len(packed))
        if room and sum(count_tokens(hit) + 1 for hit in longer) > room:
            break
        packed = longer
    return packed


def _head(one: RankedText, latest: Mapping[tuple[str, str], Entry], line: int) -> JsonObject:
    found = one.found
    entry = latest.get((found.kind, found.ref))
    head: JsonObject = {
        "uri": found.uri,
        "kind": found.kind,
        "title": _title(found, line),
        "line": found.first_line + line,
        "lines": "",
        "score": round(one.score, _SCORE_DIGITS),
        "by": entry.client if entry else "",
        "at": format_minute(entry.at if entry else found.at),
        "superseded_by": one.superseded_by,
    }
    return {name: value for name, value in head.items() if value or name == "lines"}


def _add_lines(head: JsonObject, lines: str) -> JsonObject:
    """Return a hit with its lines, if they are more than its title."""
    is_told = not lines or lines.strip("# ") == head.get("title")
    needless = {"line", "lines"} if is_told else {"line"} if head["line"] == 1 else set[str]()
    return {
        name: lines if name == "lines" else value
        for name, value in head.items()
        if name not in needless
    }


def _title(found: FoundText, line: int) -> str:
    """Return the titles around a line, the outermost first."""
    titles = [found.title.strip()]
    if found.kind in {"note", "cell"} and len(found.text) <= MAX_SCORED_LENGTH:
        titles += find_titles(found.text, "text.md", line + 1)
    title = " > ".join(dict.fromkeys(filter(None, titles)))
    return title if len(title) <= _MAX_TITLE else f"{title[: _MAX_TITLE - 1]}…"


def _match_mode(ranked: Sequence[RankedText]) -> str:
    """Say how the best hits matched: all words in one of them, some, or only their meaning."""
    if any(one.has_all for one in ranked):
        return "all"
    return "some" if any(one.score for one in ranked) else "meaning"


async def nearest_word(call: CallContext, query: TextQuery) -> JsonObject:
    """Return the nearest spelling that notes, cells or files know, if any."""
    for name, toolset, tool, argument in (
        ("note", NOTES, "note_list", "q"),
        ("cell", SCRATCH, "scratch_search", "query"),
        ("file", RETRIEVAL, "repo_smart_search", "query"),
    ):
        if name not in query.kinds or not call.app.has_toolset(toolset.name):
            continue
        with suppress(RolltopError):
            asked = {argument: query.words, "limit": 1}
            page: Page = await use_tool(toolset, tool)(replace(call, cursor=None), **asked)
            answer = page.envelope([])
            if near := answer.get("nearest") or answer.get("meta", {}).get("nearest"):
                return {"nearest": near}
    return {}
