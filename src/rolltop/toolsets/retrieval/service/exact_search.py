"""The answers of repo_search."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from rolltop.core import token_counter
from rolltop.core.addresses import file_address
from rolltop.core.arguments import value_preview
from rolltop.core.context import CallContext
from rolltop.core.pagination import (
    FocusedText,
    Page,
    compact_json,
    count_tokens,
    without_addresses,
)
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.grep.verifier import ELLIPSIS
from rolltop.toolsets.retrieval.index.trigram_index import search_roots
from rolltop.toolsets.retrieval.models import (
    JsonObject,
    Query,
    SearchMatch,
    SearchResults,
    SearchRoot,
)
from rolltop.toolsets.retrieval.service.root_lookup import (
    CallTimer,
    repo_label,
    resolve_glob,
    roots_for_glob,
    select_roots,
)
from rolltop.workspace import SkippedEntries
from rolltop.workspace.globs import globs_by_root

_MAX_CURSOR_LENGTH: Final = 1 << 14
_SUGGESTION_SECONDS: Final = 1.0
# Lower bound of a match's tokens.
_MIN_HIT_TOKENS: Final = 16
# Tokens of an answer besides its matches, the query and the path in its cursor.
_ENVELOPE_TOKENS: Final = 160
_MAX_COUNTED: Final = 2_000
# What hardly stands in a text that is meant as it is written.
_OPERATORS: Final = re.compile(
    r"\\[bBdDsSwW.(){}|*+?^$\[\]]|\.[*+?]|(?<![|\s])\|(?![|\s])|^\^|\$$|\][*+?]"
)
_PLAIN_TEXT_HINT: Final = (
    "query was searched for as plain text; with regex true it is a regular expression."
)


def exact_page(
    call: CallContext, timer: CallTimer, query: Query, repo: str | None, limit: int
) -> Page:
    """Find the matching lines from the cursor on.

    Raises RolltopError: CONFIG_INVALID, REPO_INVALID, QUERY_EMPTY, QUERY_INVALID,
    FILE_GLOB_INVALID, INVALID_CURSOR or TIMEOUT.
    """
    app = call.app
    roots, missing = select_roots(app.roots, repo)
    query = replace(query, file_glob=resolve_glob(app.roots, roots, query.file_glob))
    roots = roots_for_glob(roots, query.file_glob)
    after = None if call.cursor is None else _decode_cursor(call.cursor)
    searched = search_roots(app, roots)
    most_bytes = app.settings["retrieval.max_file_bytes"]
    found = search(
        searched,
        query,
        limit=min(limit, call.budget // _MIN_HIT_TOKENS + 1) if call.budget else limit,
        after=after,
        deadline=time.monotonic() + app.settings["call_timeout"],
        most_bytes=most_bytes,
    )
    matches = [_match_data(hit) for hit in found.hits]
    kept = _count_fitting(matches, call.budget, token_counter.count(query.text))
    more = found.more or kept < len(matches)
    if more:
        found.resume(kept - 1)  # may list all remaining files: do so on this worker thread
    is_zero = not matches and after is None  # where pages end, what was searched is not all
    details = _skipped_fields(found)
    if is_zero:
        details = empty_meta(found, searched, query, most_bytes)
        details["hint"] = details["hint"] or _text_hint(query)
    meta = timer.meta(repo_label(roots), missing=missing, **details)
    return Page(
        matches[:kept],
        lambda items: {"result": items, "meta": meta},
        lambda index: compact_json(found.resume(index)),
        more,
        reduce_item=_without_lines,
        counts_only=True,
    )


def _count_fitting(matches: Sequence[JsonObject], budget: int, query: int) -> int:
    """Count the matches that surely fit a large budget; all of them for a small one.

    Trying out the rest calls `resume` each time, which is expensive. `query` is in tokens: the
    continuation repeats it.
    """
    if budget < _MAX_COUNTED:
        return len(matches)
    room = budget - query - _ENVELOPE_TOKENS
    for index, match in enumerate(matches):
        room -= count_tokens(match) + 1
        if room < len(match["path"]):  # the cursor holds the path, and goes out twice
            return max(1, index)
    return len(matches)


def _decode_cursor(cursor: str) -> list[Any]:
    """Parse a cursor: a position in JSON, which takes a third of base64's tokens.

    Empty for any other text, which is no position.
    """
    try:
        values = json.loads(cursor) if len(cursor) <= _MAX_CURSOR_LENGTH else None
    except (ValueError, RecursionError):
        values = None
    return cast("list[Any]", values) if isinstance(values, list) else []


def _skipped_fields(found: SearchResults) -> JsonObject:
    """Count the files that could not be read and may match."""
    missed = {"unreadable": found.skipped.unreadable, "changed": found.skipped.changed}
    return {"skipped": {reason: count for reason, count in missed.items() if count}}


def empty_meta(
    found: SearchResults, searched: Sequence[SearchRoot], query: Query, most_bytes: int
) -> JsonObject:
    """Describe an empty result: files searched and skipped, a suggestion, a hint."""
    return {
        "searched": {"files": found.files, "bytes": found.bytes},
        "skipped": found.skipped._asdict(),
        "nearest": find_suggestion(
            searched,
            query,
            found.bytes,
            time.monotonic() + _SUGGESTION_SECONDS,
            max_bytes=most_bytes,
        ),
        "hint": None if found.files else _glob_hint(searched, query.file_glob),
    }


def _text_hint(query: Query) -> str | None:
    r"""Explain an expression taken as a text, or the end of a text, which is not that of a line."""
    if not query.regex:
        return _PLAIN_TEXT_HINT if _OPERATORS.search(query.text) else None
    if r"\z" not in query.text:
        return None
    return r"\z matches only where a file ends without a line break; $ matches where any line ends."


def _glob_hint(searched: Sequence[SearchRoot], file_glob: str | None) -> str | None:
    """Explain a glob that selects no file at all."""
    if file_glob is None:
        return None
    globs = globs_by_root(file_glob, [tree.root.name for tree in searched])
    for tree in searched:
        glob = globs[tree.root.name]
        files = tree.files(SkippedEntries())
        if glob is None or any(glob.matches(entry.relative) for entry in files):
            return None
    names = ", ".join(globs)
    return (
        f"file_glob {value_preview(file_glob)} selects no file of {names}. It is matched from a "
        "root's top as in .gitignore (*.md, src/**/*.py) or after its name "
        f"({next(iter(globs))}/**/*.md); repo_list_dir shows the folders."
    )


def _match_data(hit: SearchMatch) -> JsonObject:
    first, last = (hit.before or (hit,))[0].line, (hit.after or (hit,))[-1].line
    match: JsonObject = {
        "repo": hit.repo,
        "path": hit.path,
        "uri": file_address(hit.repo, hit.path, (first, last)),
        "line": hit.line,
        "preview": FocusedText(hit.preview, hit.at),
    }
    if hit.before:
        match["before"] = [line._asdict() for line in hit.before]
    if hit.after:
        match["after"] = [line._asdict() for line in hit.after]
    return match


def _without_lines(match: JsonObject) -> JsonObject:
    """Replace the lines around a match with an ellipsis; its address repeats the path."""
    around = [side for side in ("before", "after") if side in match]
    return {
        **without_addresses(match),
        **{side: [{**match[side][0], "text": ELLIPSIS}] for side in around},
    }
