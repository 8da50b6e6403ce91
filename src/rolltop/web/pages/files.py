"""Files of the roots: folders, lines, sections and exact search. Nothing is written."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.core.addresses import file_address
from rolltop.core.tools import JsonObject
from rolltop.web.visit import PageRoute, ToolFailure, Visit, find_number

_LINES: Final = 500
"""Of a file, on one page."""
_FILE_TOKENS: Final = 40_000
"""Of lines on one page."""
_FOLDER_TOKENS: Final = 20_000
"""Of entries, or of sections, on one page."""
_MAX_LINE: Final = 10**9
_BEFORE: Final = 20
"""Lines that stand above the one asked for."""
_FILTERS: Final = ("query", "repo", "file_glob", "regex")


async def show_files(visit: Visit) -> Response:
    """Show the roots, and what an exact search of them finds."""
    visit.require("repo_search")
    filters = {name: visit.argument(name) for name in _FILTERS}
    found = None
    if filters["query"]:
        found = await visit.call(
            "repo_search",
            **{**filters, "regex": bool(filters["regex"])},
            context=1,
            limit=100,
            cursor=visit.argument("cursor"),
        )
    roots = [root.name for root in visit.app.roots.named]
    return visit.render("files", roots=roots, filters=filters, found=found)


async def show_file(visit: Visit) -> Response:
    """Show a folder's entries, or lines of a file: around one, or `from` one on."""
    root, path = visit.request.path_params["root"], visit.request.path_params.get("path", "")
    path = path.strip("/")
    if not path:
        return await _show_folder(visit, root, ".")
    line = _find_line(visit, "line")
    first = max(_find_line(visit, "from"), line - _BEFORE)
    try:
        page = await _read_lines(visit, root, path, first)
        shown = page["result"]
        if shown["end_line"] < line <= shown["total_lines"]:  # those above leave it no room
            page = await _read_lines(visit, root, path, line)
    except ToolFailure as failure:
        if failure.code not in {"FILE_NOT_FOUND", "FILE_UNREADABLE"}:
            raise
        try:
            return await _show_folder(visit, root, path)
        except ToolFailure:
            raise failure from None
    onward: JsonObject = page["meta"].get("next", {}).get("arguments", {})
    return visit.render(
        "file",
        root=root,
        path=path,
        file=page["result"],
        line=line,
        sections=await _list_sections(visit, root, path),
        size=_LINES,
        is_cut=bool(onward.get("char_start")),
    )


def _find_line(visit: Visit, name: str) -> int:
    asked = find_number(visit.argument(name)) or 1
    return 1 if asked >= _MAX_LINE else asked


async def _read_lines(visit: Visit, root: str, path: str, first: int) -> JsonObject:
    """Return a page's lines of a file or document from `first` on. Raises ToolFailure."""
    last = first + _LINES - 1
    try:
        return await visit.call(
            "repo_get_snippet",
            repo=root,
            path=path,
            start_line=first,
            end_line=last,
            lines=True,
            max_tokens=_FILE_TOKENS,
        )
    except ToolFailure as failure:
        if failure.code == "RANGE_INVALID" and first > 1:  # the file is shorter than it was
            return await _read_lines(visit, root, path, 1)
        if failure.code == "RANGE_INVALID":  # the file is empty
            return await visit.call("repo_open_file", repo=root, path=path, lines=True)
        if failure.code == "FILE_BINARY" and visit.offers("desk_read"):  # a document has its text
            uri = file_address(root, path, (first, last))
            opened = await visit.call("desk_read", uri=uri, max_tokens=_FILE_TOKENS)
            return {"result": _number_lines(opened), "meta": opened}
        raise


async def _show_folder(visit: Visit, root: str, path: str) -> Response:
    page = await visit.call(
        "repo_list_dir",
        repo=root,
        path=path,
        max_tokens=_FOLDER_TOKENS,
        cursor=visit.argument("cursor"),
    )
    cursor = page["meta"].get("next_cursor", "")
    return visit.render("folder", root=root, path=path, folder=page["result"], cursor=cursor)


def _number_lines(opened: JsonObject) -> JsonObject:
    """Return lines that desk_read opened as repo_get_snippet shows a file's."""
    first, last = opened["line_start"], opened["line_end"]
    texts = zip(range(first, last + 1), opened["text"].split("\n"), strict=False)
    lines = [{"line": line, "text": text} for line, text in texts]
    total = opened["total_lines"]
    return {"start_line": first, "end_line": last, "total_lines": total, "lines": lines}


async def _list_sections(visit: Visit, root: str, path: str) -> JsonObject:
    if not visit.offers("list_sections"):
        return {}
    try:
        file_path = f"{root}/{path}"
        return await visit.call("list_sections", file_path=file_path, max_tokens=_FOLDER_TOKENS)
    except ToolFailure:
        return {}


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/files", "GET", show_files),
    ("/files/{root}", "GET", show_file),
    ("/files/{root}/{path:path}", "GET", show_file),
)
