"""Opening the addresses of files in the roots, and of their sections."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, cast
from unicodedata import normalize

from rolltop.core.addresses import VERSION_LENGTH, Address, section_address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.pagination import Page, TextPage
from rolltop.documents.extractors.formats import HEADER_BYTES, is_extracted
from rolltop.toolsets.desk.line_versions import LineVersions
from rolltop.toolsets.desk.models import JsonObject
from rolltop.toolsets.desk.opened import (
    MAX_OUTLINED_BYTES,
    Opened,
    clamp_lines,
    text_lines,
    titles_of,
    use_tool,
)
from rolltop.toolsets.reader import TOOLSET as READER
from rolltop.toolsets.retrieval import TOOLSET as RETRIEVAL
from rolltop.toolsets.retrieval.service import renames
from rolltop.workspace import Root, Roots

OpenFile = Callable[[CallContext, Address], Awaitable[Opened]]

_DEPTH: Final = 1


async def open_file(call: CallContext, address: Address) -> Opened:
    """Open a file or some of its lines; a document as its text, a folder as its entries.

    One that is gone is looked for by the hash in its address.
    """
    return await _open_where_it_is(call, address, _open_file)


async def open_section(call: CallContext, address: Address) -> Opened:
    """Open a section; it keeps its id where it moves in its file, and where that is renamed."""
    return await _open_where_it_is(call, address, _open_section)


async def _open_where_it_is(call: CallContext, address: Address, open_there: OpenFile) -> Opened:
    address = await call.run_in_thread(_as_on_disk, call.app.roots, address)
    try:
        return await open_there(call, address)
    except RolltopError:
        root = _find_root(call, address)
        renamed = None
        if address.version:
            wanted = (root, address.path, address.version)
            renamed = await call.run_in_thread(renames.find_renamed, call.app, *wanted)
        if renamed is None:
            raise
    opened = await open_there(call, replace(address, path=renamed))
    return replace(opened, became=(f"renamed to {address.root}/{renamed}", *opened.became))


async def _open_file(call: CallContext, address: Address) -> Opened:
    root = _find_root(call, address)
    title = f"{address.root}/{address.path}"
    if await call.run_in_thread(_is_document, call.app.roots, address):
        return await _open_document(call, address, root, title)
    seen = call.app.service(LineVersions)
    moved = await call.run_in_thread(seen.find_moved, address)
    try:
        page, lines, gone = await _read_lines(call, replace(address, lines=moved or address.lines))
    except RolltopError as refused:
        if refused.code == "FILE_BINARY":  # the reader reads more, or knows better why not
            return await _open_document(call, address, root, title)
        if refused.code != "FILE_UNREADABLE":
            raise
        return await _open_folder(call, address, title, refused)
    whole = page.envelope("")["result"]
    version = whole["sha256"][:VERSION_LENGTH]
    if "encoding" not in whole:  # else its lines may end otherwise
        await call.run_in_thread(seen.remember, replace(address, version=version))
    became = f"moved to {replace(address, lines=moved).text.rpartition('#')[2]}" if moved else gone

    def envelope(part: str) -> JsonObject:
        shown = page.envelope(part)["result"]
        if lines is None and shown["text"] == page.text and not page.has_more:
            return {"text": shown["text"]}
        return {
            "line_start": shown["start_line"],
            "line_end": shown["end_line"],
            "total_lines": shown["total_lines"],
            "text": shown["text"],
        }

    arguments: JsonObject = {"repo": address.root, "path": address.path}
    if lines:
        arguments |= {"start_line": lines[0], "end_line": lines[1]}
    return Opened(
        replace(address, version=version, lines=lines),
        title,
        {"heading": await _heading(call, root, address.path, lines)},
        (*_changes(address, version), *filter(None, [became])),
        replace(page, envelope=envelope),
        "repo_get_snippet" if lines else "repo_open_file",
        arguments,
    )


async def _open_section(call: CallContext, address: Address) -> Opened:
    root = _find_root(call, address)
    path = root.absolute_path(address.path)
    try:
        page: TextPage = await use_tool(READER, "read_section")(call, path, address.section)
    except NotFound as missing:
        raise _section_not_found(missing, address) from None
    fields = page.envelope("")
    titles: list[str] = fields["path_titles"]
    first, last = fields["start_line"], fields["end_line"]
    version, became = address.version, list[str]()
    if version:
        version = await _read_version(call, root, address.path)
        became += _changes(address, version)
    if address.lines and address.lines != (first, last):
        became.append(f"moved to L{first}-{last}")

    def envelope(part: str) -> JsonObject:
        last_line = last if len(part) == len(page.text) and not page.has_more else None
        end = last_line or first + max(part.count("\n") - part.endswith("\n"), 0)
        return {"line_start": first, "line_end": end, "text": part}

    return Opened(
        replace(address, section=fields["id"], version=version, lines=None),
        titles[-1],
        {"heading": [f"{address.root}/{address.path}", *titles[:-1]]},
        tuple(became),
        replace(page, envelope=envelope),
        "read_section",
        {"file_path": path, "section_heading": fields["id"]},
    )


async def _read_lines(
    call: CallContext, address: Address
) -> tuple[TextPage, tuple[int, int] | None, str]:
    """Read the lines that are there of those asked for; say what became of others."""
    where = {"repo": address.root, "path": address.path}
    if address.lines is None:
        return await use_tool(RETRIEVAL, "repo_open_file")(call, **where), None, ""
    read = use_tool(RETRIEVAL, "repo_get_snippet")
    first, last = address.lines
    try:
        page = await read(call, start_line=first, end_line=last, **where)
    except InvalidArgument as refused:
        if "total_lines" not in refused.data:
            raise
        total = refused.data["total_lines"]
        if not total:
            return await use_tool(RETRIEVAL, "repo_open_file")(call, **where), None, ""
        first, last, gone = clamp_lines(address.lines, total)
        return await read(call, start_line=first, end_line=last, **where), (first, last), gone
    total = page.envelope("")["result"]["total_lines"]
    return page, (first, min(last, total)), ""


async def _open_document(call: CallContext, address: Address, root: Root, title: str) -> Opened:
    """Open the text of a PDF, office or EPUB document."""
    path = root.absolute_path(address.path)
    read = use_tool(READER, "smart_read")
    whole: TextPage = await read(replace(call, budget=0), path, mode="full")
    page, lines, gone = text_lines(
        whole.text,
        address.lines,
        lambda line, char, _left: {"line_start": line, "char_start": char},
    )
    version = await _read_version(call, root, address.path)
    return Opened(
        replace(address, version=version, lines=lines),
        title,
        {"heading": await _heading(call, root, address.path, lines)},
        (*_changes(address, version), *filter(None, [gone])),
        page,
        "smart_read",
        {"file_path": path},
    )


async def _open_folder(
    call: CallContext, address: Address, title: str, refused: RolltopError
) -> Opened:
    where: JsonObject = {"repo": address.root, "path": address.path}
    try:
        page: Page = await use_tool(RETRIEVAL, "repo_list_dir")(
            replace(call, cursor=None), depth=_DEPTH, **where
        )
    except NotFound:
        raise refused from None

    def envelope(items: list[JsonObject]) -> JsonObject:
        return {"entries": items}

    source = replace(page, envelope=envelope)
    at = replace(address, version="", lines=None)
    return Opened(at, title, source=source, tool="repo_list_dir", arguments=where)


async def _heading(
    call: CallContext, root: Root, path: str, lines: tuple[int, int] | None
) -> list[str]:
    """Return the titles around lines of a file, the outermost first; none of a large one."""
    if lines is None:
        return []
    absolute = root.absolute_path(path)
    with suppress(RolltopError, OSError):
        status = await call.run_in_thread(os.stat, absolute)
        if status.st_size <= MAX_OUTLINED_BYTES:
            outline: Page = await use_tool(READER, "list_sections")(
                replace(call, budget=0, cursor=None), absolute
            )
            if not outline.envelope([])["note"].startswith("No headings"):
                return titles_of(cast("list[Any]", list(outline.items)), lines[0])
    return []


async def _read_version(call: CallContext, root: Root, path: str) -> str:
    """Return the version of a file: the beginning of its SHA-256."""
    digest = await call.run_in_thread(renames.hash_file, call.app.roots, root, path)
    return digest[:VERSION_LENGTH]


def _is_document(roots: Roots, address: Address) -> bool:
    """Report whether the file is a PDF, office or EPUB document."""
    with suppress(OSError, RolltopError):
        located = roots.locate(address.path, root=address.root)
        with roots.open_regular(located) as file:
            return is_extracted(file.read(HEADER_BYTES), address.path)
    return False


def _as_on_disk(roots: Roots, address: Address) -> Address:
    """Return the address with the path that the disk has for it, composed or not in Unicode.

    A part `.` and an empty one lead nowhere.
    """
    if not address.path.startswith("/"):
        parts = [part for part in address.path.split("/") if part not in {"", "."}]
        address = replace(address, path="/".join(parts) or address.path)
    if not address.path.isascii():
        with suppress(KeyError, RolltopError):
            path = roots.locate(address.path, root=address.root).relative
            if normalize("NFC", path) == normalize("NFC", address.path):
                return replace(address, path=path)
    return address


def _find_root(call: CallContext, address: Address) -> Root:
    root = call.app.roots.find_root(address.root)
    if root is None:
        names = ", ".join(each.name for each in call.app.roots.named) or "none"
        raise NotFound(f"There is no root {address.root}", hint=f"The roots are: {names}.")
    return root


def _section_not_found(missing: NotFound, address: Address) -> NotFound:
    """Return the error with the addresses of the sections that may be meant."""
    suggestions = [
        {"uri": section_address(address.root, address.path, one["id"]), "title": one["title"]}
        for one in missing.data.get("suggestions", ())
    ]
    hint = "Open one of the suggestions." if suggestions else missing.hint
    data = {"suggestions": suggestions} if suggestions else {}
    return NotFound(missing.message, hint=hint, data=data)


def _changes(address: Address, version: str) -> tuple[str, ...]:
    is_stale = address.version and address.version != version
    return (f"changed since @{address.version}: now @{version}",) if is_stale else ()
