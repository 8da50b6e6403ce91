"""Directory listings, and completions of the file resource."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Final

from rolltop.core import cursor as cursors
from rolltop.core.addresses import file_address
from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext, CallContext
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.pagination import Page
from rolltop.toolsets.retrieval.models import MULTIPLE_ROOTS, JsonObject
from rolltop.toolsets.retrieval.service.root_lookup import (
    CallTimer,
    candidate_roots,
    locate,
    reader_tool,
    root_name,
    select_roots,
)
from rolltop.workspace import (
    DirectoryEntry,
    FileStat,
    PathError,
    ResolvedPath,
    Root,
    Roots,
    SkippedEntries,
    is_binary,
    is_utf8_path,
)
from rolltop.workspace.completion import complete_file

_CURSOR: Final = "dir"
# Tokens: no entry takes fewer.
_MIN_ENTRY_TOKENS: Final = 12
_PROBE_BYTES: Final = 1 << 13
_DIRECTORY_CODES: Final = {"FILE_NOT_FOUND": "DIR_NOT_FOUND", "FILE_UNREADABLE": "DIR_UNREADABLE"}


class _Listing:
    """A directory down to a depth, or the list of roots."""

    def __init__(self, app: AppContext, repo: str | None, path: str | None, depth: int) -> None:
        """Locate the directory. Raises as `list_directory`."""
        is_top = path is None or _is_top(path)
        if repo is None and is_top and len(app.roots.named) == 1:
            repo = app.roots.named[0].name
        whole = MULTIPLE_ROOTS if repo is None else repo
        self.roots = app.roots
        self.depth = depth
        self.root: Root | None = None
        self.path = "."
        self.repo = MULTIPLE_ROOTS
        self.last = ""
        """The entry that was looked at last."""
        self.is_late = False
        """Whether the time was up then."""
        if whole == MULTIPLE_ROOTS and is_top:
            self.present, self.missing = select_roots(app.roots, whole)
            return
        named, asked = None if whole == MULTIPLE_ROOTS else whole, "." if path is None else path
        self.present, self.missing = candidate_roots(app.roots, named, asked)
        located = _locate(app, named, asked)
        self.root, self.path, self.repo = located.root, located.relative, root_name(located)

    def items(self, skipped: SkippedEntries) -> Iterator[FileStat | DirectoryEntry]:
        """Yield the entries in order, binary files included; count names that are no UTF-8."""
        if self.root is None:
            yield from (DirectoryEntry(root.name) for root in self.present)
        else:
            found = self.roots.list_directory(
                self.root, under=self.path, depth=self.depth, skipped=skipped
            )
            for item in found:
                if is_utf8_path(item.relative):
                    yield item
                else:
                    skipped.unreadable += 1

    def cursor_key(self, path: str) -> str:
        """Hash an entry of this listing for a cursor."""
        named = json.dumps([self.repo, self.path, self.depth, path])
        return blake2b(named.encode(), digest_size=8).hexdigest()


def list_directory(
    call: CallContext, timer: CallTimer, repo: str | None, path: str | None, depth: int
) -> Page:
    """List a directory down to `depth`; without repo and path, the only root, or the roots.

    Raises RolltopError: of the path, with DIR_NOT_FOUND and DIR_UNREADABLE; INVALID_CURSOR.
    """
    app, room = call.app, call.budget
    listed = _Listing(app, repo, path, depth)
    skipped, counts = SkippedEntries(), Counter[str]()
    items = listed.items(skipped)
    if call.cursor is not None:
        _skip_listed(items, cursors.decode(_CURSOR, call.cursor), listed)
    until = time.monotonic() + app.settings["call_timeout"] / 2
    entries = _entries(app.roots, listed, items, counts, until)
    shown_now = list(islice(entries, room // _MIN_ENTRY_TOKENS + 1 if room else None))
    more = (room > 0 and next(entries, None) is not None) or listed.is_late
    left_out = {
        "binary": counts["binary"],
        "unreadable": counts["unreadable"] + skipped.unreadable,
        "special": skipped.special_count,
    }
    meta = timer.meta(
        listed.repo, missing=listed.missing, skipped={name: n for name, n in left_out.items() if n}
    )
    fixed: JsonObject = {"repo": listed.repo, "path": listed.path}
    if listed.root is not None:
        fixed["uri"] = file_address(listed.repo, listed.path)

    def cursor_after(index: int) -> str:
        is_last = index == len(shown_now) - 1
        path = listed.last if listed.is_late and is_last else shown_now[index]["path"]
        return cursors.encode(_CURSOR, [listed.cursor_key(path)])

    return Page(
        shown_now,
        lambda part: {"result": {**fixed, "entries": part}, "meta": meta},
        cursor_after,
        more,
    )


def complete(app: AppContext, variable: str, prefix: str, context: Mapping[str, str]) -> list[str]:
    """Complete the root or path of a text file, as `complete_file` does."""

    def is_text(root: Root, entry: FileStat) -> bool:
        return classify_file(app.roots, root, entry) == "file"

    return complete_file(app.roots, variable, prefix, context, is_text)


def _is_top(path: str) -> bool:
    return (
        bool(path.strip())
        and all(part in {"", "."} for part in path.split("/"))
        and (not path.startswith("/"))
    )


def _locate(app: AppContext, repo: str | None, path: str) -> ResolvedPath:
    roots = app.roots
    try:
        located = locate(roots, repo, path, directories=True)
    except RolltopError as problem:
        code = _DIRECTORY_CODES.get(problem.code)
        if code is None:
            raise
        hint = problem.hint if code == "DIR_NOT_FOUND" else ""
        raise _not_found(code, path, problem.data, hint) from None
    data = {"repo": root_name(located), "path": located.relative}
    try:
        os.scandir(located.path).close()
    except NotADirectoryError:
        call = reader_tool(app, located) or f"Call repo_open_file with path {value_preview(path)}."
        hint = f"It is a file. {call}"
        if not located.path.is_file():
            hint = "It is a FIFO, socket or device."
        raise _not_found("DIR_NOT_FOUND", path, data, hint) from None
    except FileNotFoundError:
        raise _not_found("DIR_NOT_FOUND", path, data) from None
    except OSError:
        raise _not_found("DIR_UNREADABLE", path, data) from None
    if located.root is None or not roots.is_included(located.root, located.relative):
        raise _not_found("DIR_NOT_FOUND", path, data, "Hidden and ignored folders are not listed.")
    return located


def _not_found(code: str, path: str, data: JsonObject, hint: str = "") -> NotFound:
    what = "does not exist" if code == "DIR_NOT_FOUND" else "cannot be listed"
    return NotFound(
        f"Directory {value_preview(path)} {what}",
        code=code,
        hint=hint or "Call repo_list_dir without path to list what exists.",
        data=data,
    )


def _skip_listed(
    items: Iterator[FileStat | DirectoryEntry], values: list[object], listed: _Listing
) -> None:
    """Skip the entries up to the one a cursor names.

    Raises InvalidArgument: INVALID_CURSOR, no such entry.
    """
    if not any([listed.cursor_key(item.relative)] == values for item in items):
        raise InvalidArgument(
            "cursor belongs to another listing, or its entry no longer exists",
            code="INVALID_CURSOR",
            hint="Call repo_list_dir again without cursor.",
        )


def _entries(
    roots: Roots,
    listed: _Listing,
    items: Iterator[FileStat | DirectoryEntry],
    counts: Counter[str],
    until: float,
) -> Iterator[JsonObject]:
    """Yield the text files and directories until the time is up; count the other files."""
    for item in items:
        listed.last = item.relative
        if isinstance(item, DirectoryEntry):
            yield {"path": item.relative, "type": "directory"}
        elif (kind := classify_file(roots, listed.root, item)) == "file":
            yield {"path": item.relative, "type": "file", "size": item.size}
        else:
            counts[kind] += 1
        if time.monotonic() >= until:  # binary files are passed over by the hundred thousand
            listed.is_late = True
            return


def classify_file(roots: Roots, root: Root | None, entry: FileStat) -> str:
    """Classify a file as `file` (text), `binary`, `unreadable` or `gone`."""
    if root is None or not entry.size:
        return "file"
    try:
        with roots.open_entry(root, entry) as file:
            return "binary" if is_binary(os.pread(file.fileno(), _PROBE_BYTES, 0)) else "file"
    except PathError as problem:
        return "unreadable" if problem.code == "FILE_UNREADABLE" else "gone"
    except OSError:
        return "unreadable"
