"""Directories as answers."""

from __future__ import annotations

import json
import os
from collections import Counter
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core import cursor as cursors
from rolltop.core.arguments import shown
from rolltop.core.budget import Page
from rolltop.core.errors import Invalid, NotFound, RolltopError
from rolltop.core.roots import Entry, Folder, PathProblem, Skipped, is_binary, is_sendable
from rolltop.toolsets.retrieval.models import BOTH
from rolltop.toolsets.retrieval.service.places import (
    chosen_roots,
    locate,
    looked_in,
    name_of,
    read_by_reader,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Located, Root, Roots
    from rolltop.toolsets.retrieval.models import JsonObject
    from rolltop.toolsets.retrieval.service.answers import Clock

_CURSOR: Final = "dir"
_LEAST_ENTRY: Final = 12
"""Tokens: no entry takes fewer."""
_PROBE: Final = 1 << 13
_OF_DIRECTORIES: Final = {"FILE_NOT_FOUND": "DIR_NOT_FOUND", "FILE_UNREADABLE": "DIR_UNREADABLE"}


class _Place:
    """What is listed: a directory down to a depth, or the roots."""

    def __init__(self, desk: Desk, repo: str | None, path: str | None, depth: int) -> None:
        """Find the directory. Raises what `directory` does."""
        whole = BOTH if repo is None else repo
        self.roots = desk.roots
        self.depth = depth
        self.root: Root | None = None
        self.path = "."
        self.repo = BOTH
        if whole == BOTH and (path is None or _is_top(path)):
            self.present, self.missing = chosen_roots(desk.roots, whole)
            return
        named, asked = None if whole == BOTH else whole, "." if path is None else path
        self.present, self.missing = looked_in(desk.roots, named, asked)
        located = _locate(desk, named, asked)
        self.root, self.path, self.repo = located.root, located.relative, name_of(located)

    def items(self, skipped: Skipped) -> Iterator[Entry | Folder]:
        """Yield what is there, in order; binary files too."""
        if self.root is None:
            yield from (Folder(root.name) for root in self.present)
        else:
            found = self.roots.listing(
                self.root, under=self.path, depth=self.depth, skipped=skipped
            )
            yield from (item for item in found if is_sendable(item.relative))

    def mark(self, path: str) -> str:
        """Return what a cursor holds of an entry: enough to find it again in this place."""
        named = json.dumps([self.repo, self.path, self.depth, path])
        return blake2b(named.encode(), digest_size=8).hexdigest()


def directory(
    desk: Desk,
    clock: Clock,
    place: tuple[str | None, str | None, int],
    after: str | None,
    room: int,
) -> Page:
    """Return what a directory holds down to a depth; the roots where no place is named.

    `place` is repo, path and depth; `after` the call's cursor, `room` its budget.

    Raises:
        RolltopError: of the path, with DIR_NOT_FOUND and DIR_UNREADABLE; CURSOR_INVALID.

    """
    listed = _Place(desk, *place)
    skipped, counts = Skipped(), Counter[str]()
    items = listed.items(skipped)
    if after is not None:
        _pass_over(items, cursors.decode(_CURSOR, after, code="CURSOR_INVALID"), listed)
    entries = _entries(desk.roots, listed, items, counts)
    shown_now = list(islice(entries, room // _LEAST_ENTRY + 1 if room else None))
    more = room > 0 and next(entries, None) is not None
    left_out = {
        "binary": counts["binary"],
        "unreadable": counts["unreadable"] + skipped.unreadable,
        "special": skipped.no_files,
    }
    meta = clock.meta(
        listed.repo, missing=listed.missing, skipped={name: n for name, n in left_out.items() if n}
    )
    fixed: JsonObject = {"repo": listed.repo, "path": listed.path}
    return Page(
        shown_now,
        lambda part: {"result": {**fixed, "entries": part}, "meta": meta},
        lambda index: cursors.encode(_CURSOR, [listed.mark(shown_now[index]["path"])]),
        more,
    )


def _is_top(path: str) -> bool:
    return (
        bool(path.strip())
        and all(part in {"", "."} for part in path.split("/"))
        and (not path.startswith("/"))
    )


def _locate(desk: Desk, repo: str | None, path: str) -> Located:
    """Return the directory a path means."""
    roots = desk.roots
    try:
        located = locate(roots, repo, path, directories=True)
    except RolltopError as problem:
        code = _OF_DIRECTORIES.get(problem.code)
        if code is None:
            raise
        hint = problem.hint if code == "DIR_NOT_FOUND" else ""
        raise _problem(code, path, problem.data, hint) from None
    data = {"repo": name_of(located), "path": located.relative}
    try:
        os.scandir(located.path).close()
    except NotADirectoryError:
        call = read_by_reader(desk, located) or f"Call repo_open_file with path {shown(path)}."
        hint = f"It is a file. {call}"
        if not located.path.is_file():
            hint = "It is a FIFO, a socket or a device, which nothing here opens."
        raise _problem("DIR_NOT_FOUND", path, data, hint) from None
    except FileNotFoundError:
        raise _problem("DIR_NOT_FOUND", path, data) from None
    except OSError:
        raise _problem("DIR_UNREADABLE", path, data) from None
    if located.root is None or not roots.chosen(located.root, located.relative):
        raise _problem("DIR_NOT_FOUND", path, data, "Hidden and ignored folders are not listed.")
    return located


def _problem(code: str, path: str, data: JsonObject, hint: str = "") -> NotFound:
    what = "There is no directory" if code == "DIR_NOT_FOUND" else "It cannot be listed:"
    return NotFound(
        f"{what} {shown(path)}",
        code=code,
        hint=hint or "Call repo_list_dir without path to see what is there.",
        data=data,
    )


def _pass_over(items: Iterator[Entry | Folder], values: list[object], listed: _Place) -> None:
    """Move past the entry a cursor names.

    Raises:
        Invalid: CURSOR_INVALID, there is no such entry here (any more).

    """
    if not any([listed.mark(item.relative)] == values for item in items):
        raise Invalid(
            "cursor is of another listing, or what it names is gone",
            code="CURSOR_INVALID",
            hint="Call repo_list_dir again without cursor.",
        )


def _entries(
    roots: Roots, listed: _Place, items: Iterator[Entry | Folder], counts: Counter[str]
) -> Iterator[JsonObject]:
    """Yield the entries to show, and count the files that are not."""
    for item in items:
        if isinstance(item, Folder):
            yield {"path": item.relative, "type": "directory"}
            continue
        kind = _kind(roots, listed.root, item)
        if kind == "file":
            yield {"path": item.relative, "type": "file", "size": item.size}
        else:
            counts[kind] += 1


def _kind(roots: Roots, root: Root | None, entry: Entry) -> str:
    """Return `file` for text, else `binary` or `unreadable`."""
    if root is None or not entry.size:
        return "file"
    try:
        with roots.open_entry(root, entry) as file:
            return "binary" if is_binary(os.pread(file.fileno(), _PROBE, 0)) else "file"
    except PathProblem as problem:
        return "unreadable" if problem.code == "FILE_UNREADABLE" else "gone"
    except OSError:
        return "unreadable"
