"""Reads lines of files, with line indexes cached while a file stays unchanged."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import BinaryIO, Final, TypeVar

from rolltop.core.addresses import file_address, parse_file_address
from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext, CallContext
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.pagination import TextPage, VerbatimText
from rolltop.core.tools import ResourceContents
from rolltop.toolsets.retrieval.line_index import (
    BinaryFile,
    FileChanged,
    LineIndex,
    TextReader,
    build_line_index,
)
from rolltop.toolsets.retrieval.models import JsonObject
from rolltop.toolsets.retrieval.service.root_lookup import (
    CallTimer,
    candidate_roots,
    locate,
    reader_tool,
    root_name,
    translate_error,
)
from rolltop.workspace import PathError, ResolvedPath
from rolltop.workspace.errors import path_unreadable
from rolltop.workspace.file_stat import (
    StatState,
    is_open_for_writing,
    is_stable_state,
    state_of,
)
from rolltop.workspace.safe_open import still_names

_LINES: Final = re.compile(r"L?(\d{1,18})(?:-L?(\d{1,18}))?")
# Characters read for each token of the budget: ordinary text has half of that.
_CHARACTERS_PER_TOKEN: Final = 8
_ATTEMPTS: Final = 3
# Blocks of all cached line indexes, some 8 MB.
MAX_CACHED_BLOCKS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The requested lines of a file, or all of it; `numbered` for one object per line.

    `char_start` counts from the first character of the first requested line. `is_addressed`: the
    path itself names the lines.
    """

    repo: str | None
    path: str
    first: int | None = None
    last: int | None = None
    char_start: int | None = None
    numbered: bool = False
    is_addressed: bool = False


@dataclass(frozen=True, slots=True)
class _TextPart:
    """Text of a file from column `column` of line `line` on."""

    text: str
    line: int
    column: int
    more: bool
    known: LineIndex


def file_text(call: CallContext, timer: CallTimer, request: FileRequest) -> TextPage:
    """Read the requested lines, as many as the budget may allow.

    Raises RolltopError: as `locate` and `read_file`, or RANGE_INVALID.
    """
    request = _with_addressed_lines(request)
    _check_range(request)
    located = locate(call.app.roots, request.repo, request.path)
    part = read_file(
        call.app, located, lambda found, text: _read_part(found, text, request, call.budget)
    )
    missing = candidate_roots(call.app.roots, request.repo, request.path).missing
    meta = timer.meta(root_name(located), missing=missing)
    return TextPage(
        part.text,
        lambda shown: _envelope(located, part, shown, meta, numbered=request.numbered),
        lambda taken: _resume_arguments(request, part, taken),
        part.more,
    )


def _with_addressed_lines(request: FileRequest) -> FileRequest:
    """Return the request with the lines that its path names as an address, unless it has some."""
    address = parse_file_address(request.path)
    if address is None or address.lines is None or request.first is not None:
        return request
    first, last = address.lines
    return replace(request, first=first, last=last, is_addressed=True)


def resource_contents(
    call: CallContext, timer: CallTimer, repo: str, path: str, lines: str
) -> ResourceContents:
    """Read a file, or its lines `10` or `L10-L20`, up to the budget.

    Raises RolltopError: as `file_text`.
    """
    range_match = _LINES.fullmatch(lines) if lines else None
    if lines and range_match is None:
        raise InvalidArgument(
            f"{value_preview(lines)} is not a line range",
            code="RANGE_INVALID",
            hint="Append the lines to the path as #L10 or #L10-L20.",
        )
    first = int(range_match[1]) if range_match else None
    last = int(range_match[2] or range_match[1]) if range_match else None
    page = file_text(call, timer, FileRequest(repo, path, first, last))
    return ResourceContents(page.text, page.has_more)


def _check_range(request: FileRequest) -> None:
    first, last = request.first, request.last
    if any(line is not None and line < 1 for line in (first, last)):
        message, hint = "Line numbers start at 1", "Send start_line 1 or more."
    elif first is not None and last is not None and first > last:
        message = f"start_line {first} is after end_line {last}"
        hint = "Send start_line at or before end_line."
    else:
        return
    raise _out_of_range(message, hint, request)


def _read_part(
    index: LineIndex, windows: TextReader, request: FileRequest, budget: int
) -> _TextPart:
    if request.first is not None and request.first > index.lines:
        raise _out_of_range(
            f"start_line {request.first} is beyond the last line, {index.lines}",
            f"Send start_line from 1 to {index.lines}." if index.lines else "The file is empty.",
            request,
            total_lines=index.lines,
        )
    first = windows.start_of(request.first or 1)
    stop = index.length if request.last is None else windows.start_of(request.last + 1)
    start = first + (request.char_start or 0)
    if request.char_start and start >= stop:
        raise _out_of_range(
            f"char_start {request.char_start} is beyond the text, of {stop - first} characters",
            f"Send char_start from 0 to {max(0, stop - first - 1)}.",
            request,
        )
    end = min(stop, start + budget * _CHARACTERS_PER_TOKEN) if budget else stop
    text = windows.text(start, end)
    if end < stop:
        text = text[: text.rfind("\n") + 1] or text.removesuffix("\r")
    line = windows.line_of(start) if index.length else 0
    column = start - windows.start_of(line)
    return _TextPart(text, line, column, start + len(text) < stop, index)


def _envelope(
    located: ResolvedPath, part: _TextPart, shown: str, meta: JsonObject, *, numbered: bool
) -> JsonObject:
    """Build the answer for the first `shown` characters of the part."""
    last = part.line + shown.count("\n") - (shown.endswith("\n") or not shown)
    first, last = part.line, max(part.line, last)
    is_whole = len(shown) == part.known.length and first <= 1
    lines = None if is_whole else (first, last)
    result: JsonObject = {
        "repo": root_name(located),
        "path": located.relative,
        "uri": file_address(root_name(located), located.relative, lines),
        "start_line": first,
        "end_line": last,
        **({"lines": _number_lines(part, shown)} if numbered else {"text": shown}),
        "total_lines": part.known.lines,
        "sha256": part.known.sha256,
    }
    if part.known.encoding != "utf-8":
        result["encoding"] = part.known.encoding
    return {"result": result, "meta": meta}


def _number_lines(part: _TextPart, shown: str) -> list[JsonObject]:
    """Split the part into numbered lines without their line ends."""
    is_cut_in_end = shown.endswith("\r") and part.text.startswith("\n", len(shown))
    lines = (shown[:-1] if is_cut_in_end else shown).split("\n")
    ended = [line.removesuffix("\r") for line in lines[:-1]]
    rest = lines[-1:] if lines[-1] else []
    return [
        {"line": part.line + n, "text": VerbatimText(line)}
        for n, line in enumerate([*ended, *rest])
    ]


def _resume_arguments(request: FileRequest, part: _TextPart, taken: int) -> dict[str, object]:
    """Build the arguments of the call that continues after `taken` characters."""
    if request.first is None or request.is_addressed:
        return {"char_start": (request.char_start or 0) + taken}
    shown = part.text[:taken]
    breaks = shown.count("\n")
    column = taken - shown.rfind("\n") - 1 if breaks else part.column + taken
    changed: dict[str, object] = {"start_line": part.line + breaks}
    if column or request.char_start is not None:
        changed["char_start"] = column
    return changed


def _out_of_range(
    message: str, hint: str, request: FileRequest, **details: object
) -> InvalidArgument:
    given = {
        "start_line": request.first,
        "end_line": request.last,
        "char_start": request.char_start,
    }
    known = {name: value for name, value in given.items() if value is not None}
    return InvalidArgument(message, code="RANGE_INVALID", hint=hint, data={**known, **details})


T = TypeVar("T")


def _state(file: BinaryIO) -> StatState:
    return state_of(os.fstat(file.fileno()))


class _LineIndexCache:
    """The line indexes of recently read files; bounded, but the latest always fits."""

    def __init__(self, _app: AppContext) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[StatState, LineIndex]] = OrderedDict()
        self._blocks = 0

    def find(self, path: str, state: StatState) -> LineIndex | None:
        """Look up the line index of a file in that state."""
        with self._lock:
            found = self._kept.get(path)
            if found is None or found[0] != state:
                return None
            self._kept.move_to_end(path)
            return found[1]

    def put(self, path: str, state: StatState, index: LineIndex) -> None:
        """Cache a line index; evict the least recently used ones."""
        with self._lock:
            self._forget(path)
            self._kept[path] = state, index
            self._blocks += _weight(index)
            while self._blocks > MAX_CACHED_BLOCKS and len(self._kept) > 1:
                self._blocks -= _weight(self._kept.popitem(last=False)[1][1])

    def forget(self, path: str) -> None:
        with self._lock:
            self._forget(path)

    def _forget(self, path: str) -> None:
        before = self._kept.pop(path, None)
        self._blocks -= _weight(before[1]) if before else 0


def read_file(
    app: AppContext, located: ResolvedPath, use: Callable[[LineIndex, TextReader], T]
) -> T:
    """Call `use(line_index, reader)` on the current state of a file, and return its result.

    All text that `use` reads belongs to the indexed bytes; it is called again if the file changed.

    Raises:
        NotFound: FILE_NOT_FOUND or FILE_UNREADABLE.
        InvalidArgument: FILE_BINARY or FILE_TOO_LARGE.

    """
    repo, path, real_path = root_name(located), located.relative, str(located.path)
    if located.path.is_dir():
        raise NotFound(
            f"{value_preview(path)} is a directory",
            code="FILE_UNREADABLE",
            hint=f"Call repo_list_dir with repo {repo} and path {value_preview(path)}.",
            data={"repo": repo, "path": path},
        )
    for left in reversed(range(_ATTEMPTS)):
        try:
            with app.roots.open_regular(located) as file:
                found = _line_index_of(app, located, file, again=left > 0)
                used = use(found, TextReader(file.fileno(), found))
                if (
                    is_stable_state(_state(file))
                    or file.is_unchanged()
                    or still_names(real_path, file)
                ):
                    return used
        except PathError as problem:
            raise translate_error(problem, app.roots, repo, path) from None
        except OSError:
            problem = path_unreadable(path, "may not be read")
            raise translate_error(problem, app.roots, repo, path) from None
        except FileChanged:
            app.service(_LineIndexCache).forget(str(located.path))
    raise NotFound(
        f"{value_preview(path)} changes faster than it can be read",
        code="FILE_UNREADABLE",
        hint="Retry in a moment.",
        data={"repo": repo, "path": path, "reason": "CHANGING"},
    )


def _line_index_of(
    app: AppContext, located: ResolvedPath, file: BinaryIO, *, again: bool
) -> LineIndex:
    """Look up or build the file's line index.

    Raises FileChanged if the file changes meanwhile; on the last attempt (not `again`), a file that
    only grows is indexed up to its previous end.
    """
    key = str(located.path)
    state = _state(file)
    kept = app.service(_LineIndexCache).find(key, state)
    if kept is not None:
        return kept
    details = {"repo": root_name(located), "path": located.relative}
    limit: int = app.settings["retrieval.max_file_bytes"]
    size = state[0]
    if size > limit:
        raise InvalidArgument(
            f"File of {size} bytes exceeds the limit of {limit}",
            code="FILE_TOO_LARGE",
            hint="Raise the setting retrieval.max_file_bytes, or read another file.",
            data={**details, "size": size, "limit": limit},
        )
    was_settled = is_stable_state(state)
    try:
        found = build_line_index(file, size)
        after = _state(file)
        # Losing the name, to a new file put in its place, changes the last of its times only.
        if after[:2] != state[:2] and (again or after[0] <= size):
            raise FileChanged  # its size and its bytes, or some of these, may be of different times
    except BinaryFile:
        raise InvalidArgument(
            f"{value_preview(located.relative)} is not text",
            code="FILE_BINARY",
            hint=reader_tool(app, located)
            or "Read a text file; repo_list_dir and the searches list only these.",
            data=details,
        ) from None
    if was_settled and after == state and not is_open_for_writing(file.fileno()):
        app.service(_LineIndexCache).put(key, state, found)
    return found


def _weight(index: LineIndex) -> int:
    return 1 + len(index.offsets)
