"""Exact searches as answers."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core import tokens
from rolltop.core.budget import Focused, Page, compact, count
from rolltop.core.errors import Invalid
from rolltop.toolsets.retrieval.exact import nearest, search
from rolltop.toolsets.retrieval.exact.content import CUT
from rolltop.toolsets.retrieval.service.indexing import trees
from rolltop.toolsets.retrieval.service.places import chosen_roots, repo_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.desk import Desk
    from rolltop.toolsets.retrieval.exact import Tree
    from rolltop.toolsets.retrieval.models import Found, Hit, JsonObject, Line, Query
    from rolltop.toolsets.retrieval.service.answers import Clock

_LONGEST_CURSOR: Final = 1 << 14
_SECONDS_FOR_NEAREST: Final = 1.0
_LEAST_HIT: Final = 16
"""Tokens: no hit takes fewer."""
_ENVELOPE: Final = 160
"""Tokens: what an answer takes besides its hits, the query and the path in its cursor."""
_WORTH_COUNTING: Final = 2_000


@dataclass(frozen=True, slots=True)
class Asked:
    """How much of what is found is wanted: up to `limit` from the cursor on, in a budget."""

    limit: int
    cursor: str | None
    budget: int

    def room(self, least: int) -> int:
        """Return how many entries of at least `least` tokens may be needed."""
        return min(self.limit, self.budget // least + 1) if self.budget else self.limit


def exact_page(desk: Desk, clock: Clock, query: Query, repo: str | None, asked: Asked) -> Page:
    """Return the lines that match, from the cursor on.

    Raises:
        RolltopError: CONFIG_INVALID, REPO_INVALID, QUERY_EMPTY, QUERY_INVALID, FILE_GLOB_INVALID,
            CURSOR_INVALID or TIMEOUT.

    """
    roots, missing = chosen_roots(desk.roots, repo)
    after = None if asked.cursor is None else _values(asked.cursor)
    searched = trees(desk, roots)
    most_bytes = desk.settings["retrieval.max_file_bytes"]
    found = search(
        searched,
        query,
        limit=asked.room(_LEAST_HIT),
        after=after,
        deadline=time.monotonic() + desk.settings["call_timeout"],
        most_bytes=most_bytes,
    )
    matches = [_match(hit) for hit in found.hits]
    kept = _kept(matches, asked.budget, tokens.count(query.text))
    more = found.more or kept < len(matches)
    if more:
        found.resume(kept - 1)  # may look at every file still to be read: here, on a worker
    is_zero = not matches and after is None  # where pages end, what was searched is not all
    told = zero(found, searched, query, most_bytes) if is_zero else _missed(found)
    meta = clock.meta(repo_of(roots), missing=missing, **told)
    return Page(
        matches[:kept],
        lambda items: {"result": items, "meta": meta},
        lambda index: compact(found.resume(index)),
        more,
        reduced=_without_lines,
        counts_only=True,
    )


def _kept(matches: Sequence[JsonObject], budget: int, query: int) -> int:
    """Return how many of the matches surely fit a budget of some size; all where none is known.

    What is left to be fitted by trying calls `resume` for each try, which costs. `query` is in
    tokens, for the call that goes on repeats it.
    """
    if budget < _WORTH_COUNTING:
        return len(matches)
    room = budget - query - _ENVELOPE
    for index, match in enumerate(matches):
        room -= count(match) + 1
        if room < len(match["path"]):  # the cursor holds the path, and goes out twice
            return max(1, index)
    return len(matches)


def _values(cursor: str) -> list[Any]:
    """Return what a cursor holds: the JSON of a position, which takes a third of base64's tokens.

    Raises:
        Invalid: CURSOR_INVALID, it is no such text.

    """
    try:
        values = json.loads(cursor) if len(cursor) <= _LONGEST_CURSOR else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        raise Invalid(
            "cursor is not one that repo_search answered",
            code="CURSOR_INVALID",
            hint="Send next_cursor exactly as it was answered, or leave cursor out to start again.",
        )
    return cast("list[Any]", values)


def _missed(found: Found) -> JsonObject:
    """Return what is said besides hits: how many files could not be read, which may have some."""
    missed = {"unreadable": found.skipped.unreadable, "changed": found.skipped.changed}
    return {"skipped": {reason: count for reason, count in missed.items() if count}}


def zero(found: Found, searched: Sequence[Tree], query: Query, most_bytes: int) -> JsonObject:
    """Return what is said of no hit: what was searched, what was not, and what does occur."""
    return {
        "searched": {"files": found.files, "bytes": found.bytes},
        "skipped": asdict(found.skipped),
        "nearest": nearest(
            searched,
            query,
            found.bytes,
            time.monotonic() + _SECONDS_FOR_NEAREST,
            most_bytes=most_bytes,
        ),
    }


def _match(hit: Hit) -> JsonObject:
    match: JsonObject = {
        "repo": hit.repo,
        "path": hit.path,
        "line": hit.line,
        "preview": Focused(hit.preview, hit.at),
    }
    if hit.before:
        match["before"] = [_line(line) for line in hit.before]
    if hit.after:
        match["after"] = [_line(line) for line in hit.after]
    return match


def _without_lines(match: JsonObject) -> JsonObject:
    """Return a match with marks where the lines around it were."""
    around = [side for side in ("before", "after") if side in match]
    return {**match, **{side: [{**match[side][0], "text": CUT}] for side in around}}


def _line(line: Line) -> JsonObject:
    return {"line": line.line, "text": line.text}
