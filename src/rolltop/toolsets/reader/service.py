"""What the reader's tools do: one `ReaderService` for each context."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from rolltop.core import cursor as cursors
from rolltop.core import pagination, token_counter
from rolltop.core.addresses import file_address, section_address
from rolltop.core.context import AppContext, CallContext
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.pagination import Page, TextPage
from rolltop.documents.extractors.formats import has_document_name, is_extracted
from rolltop.documents.outline import Section
from rolltop.toolsets.reader import section_plan, sections
from rolltop.toolsets.reader.document_cache import DocumentCache, OpenDocument
from rolltop.toolsets.reader.models import (
    MAX_FILES,
    MAX_HEADING_LENGTH,
    JsonObject,
    ReadMode,
    SummaryStyle,
    TokenEncoding,
)
from rolltop.toolsets.reader.summary_answer import summary_answer
from rolltop.workspace import FileStat, Root
from rolltop.workspace.completion import complete_file
from rolltop.workspace.encoding import is_binary

Place = tuple[str, str]
"""The name of a root, and a path in it."""
_CURSOR: Final = "sections"
_CURSOR_HASH_LENGTH: Final = 12
_MAX_TOKEN_LENGTH: Final = 128
"""Characters: no token has more, so a budget of n tokens takes at most 128 n."""
_MIN_ENTRY_TOKENS: Final = 20
_MAX_ALTERNATIVES: Final = 20
_ALTERNATIVES_SHARE: Final = 4
"""At most this part of a budget goes to other sections that match a heading."""
_UNREAD_FILES_TOKENS: Final = 12
_SEARCHING_SHARE: Final = 0.25
"""Of a call's time, in which a plan looks for the likeliest documents of folders and globs."""
_OPENING_SHARE: Final = 0.5
"""Of what is left then, after which it opens no further one of them."""
_HEAD_BYTES: Final = 8192
_MAX_SUGGESTIONS: Final = 5
_NONE_READ_NOTE: Final = "None of the files could be read."
_FULL_TEXT_NOTE: Final = "A summary would not be shorter: this is the document itself."
_CHANGED_NOTE: Final = "The file has changed since an earlier page was read: lines may have moved."
_LIST_NOTE: Final = "read_section takes an id, a title or a number."
_SUGGESTIONS_HINT: Final = (
    "Ask for one of the suggestions by its id, or call list_sections for all of them."
)
_NO_HEADINGS: Final = "The document has no sections; smart_read reads it."


class ReaderService:
    """Reads documents, whole or in part, through a cache that lives as long as its context."""

    def __init__(self, app: AppContext) -> None:
        self._app: Final = app
        self.documents: Final = DocumentCache(app)

    async def smart_read(
        self,
        call: CallContext,
        path: str,
        mode: ReadMode,
        style: SummaryStyle,
        bound: int,
        position: tuple[int, int | None] | None,
    ) -> JsonObject | TextPage:
        """Read a document in full, or its summary if it is long or a summary is asked for.

        `position`, a line and a character in it, means the full text from there. Only calls that
        read on name a character.
        """
        tools = self._available_tools("list_sections", "read_section", "smart_read")

        def answer(document: OpenDocument) -> JsonObject | TextPage:
            is_long = document.tokens > self._app.settings["reader.threshold_tokens"]
            place = self._place(document)
            if position or mode == "full" or (mode == "auto" and not is_long):
                return _full_text(document, place, call.budget, position or (1, None))
            # It counts its own tokens, as sent.
            uri = file_address(*place) if place and not self._app.registry.uses_aliases else None
            return summary_answer(document, uri, style, bound, call.budget, tools) or _full_text(
                document, place, call.budget, (1, None), note=_FULL_TEXT_NOTE
            )

        return await self.documents.answer(call, path, answer)

    async def read_section(
        self, call: CallContext, path: str, heading: str, char_start: int
    ) -> TextPage:
        """Read the section that a heading names, from a character on.

        Raises:
            InvalidArgument: the heading is blank, or the section has no such character.
            NotFound: SECTION_NOT_FOUND, with suggestions.

        """
        if not heading.strip().strip("#").strip():
            raise InvalidArgument(
                "section_heading is blank",
                hint="list_sections shows the ids and titles to ask for.",
            )
        return await self.documents.answer(
            call,
            path,
            lambda document: self._section_page(document, heading, char_start, call.budget),
        )

    async def list_sections(self, call: CallContext, path: str, max_level: int) -> Page:
        """List the document's sections down to a level, from the call's cursor on."""
        document = await self.documents.open(call, path, with_text=False)
        listed = [at for at, s in enumerate(document.sections) if s.level <= max_level]
        first = _decode_cursor(call.cursor, document, max_level)
        room = call.budget // _MIN_ENTRY_TOKENS + 1 if call.budget else len(listed)
        shown = listed[first : first + room]
        notes = (
            "No headings: equal parts." if document.document.outline.is_divided else "",
            _LIST_NOTE if document.sections else _NO_HEADINGS,
            document.document.note,
        )

        def envelope(items: list[JsonObject]) -> JsonObject:
            return {
                "sections": [item["title"] for item in items],
                "count": len(listed),
                "type": "toc",
                **named,
                "path": document.path,
                "note": " ".join(filter(None, notes)),
                "outline": items,
            }

        def cursor_after(index: int) -> str:
            content = document.content[:_CURSOR_HASH_LENGTH]
            return cursors.encode(_CURSOR, [content, max_level, first + index + 1])

        place = self._place(document)
        named = {"uri": file_address(*place)} if place else {}
        entries = [_outline_entry(document, at) for at in shown]
        return Page(entries, envelope, cursor_after, has_more=first + len(shown) < len(listed))

    async def estimate_tokens(
        self, call: CallContext, text: str | None, path: str | None, encoding: TokenEncoding
    ) -> JsonObject:
        """Count the tokens of a text or of a document."""
        if (text is None) == (path is None):
            raise InvalidArgument(
                "Give either text or file_path",
                hint="Call estimate_tokens with exactly one of them.",
            )
        if text is not None:
            tokens = await call.run_in_thread(token_counter.count, text, encoding)
            return {"tokens": tokens, "encoding": encoding}
        # The store has counts in cl100k_base only; for another the text is needed.
        needs_text = encoding != "cl100k_base"
        document = await self.documents.open(call, path or "", with_text=needs_text)
        tokens = await call.run_in_thread(document.count, encoding)
        return {"tokens": tokens, "encoding": encoding, **_note_field(document)}

    async def read_plan(
        self, call: CallContext, paths: Sequence[str], query: str, room: int
    ) -> JsonObject:
        """Read the sections that answer a query best, within `room` tokens.

        Of folders and globs the likeliest documents are read; `unread_files` counts the others.
        """
        if not 1 <= len(paths) <= MAX_FILES:
            raise InvalidArgument(
                f"file_paths must list 1 to {MAX_FILES} files, folders or globs; got {len(paths)}",
                hint=f"Call read_plan again with 1 to {MAX_FILES} of them: a folder is one.",
            )
        allowed: float = self._app.settings["call_timeout"]
        end = asyncio.get_running_loop().time() + allowed
        max_bytes: int = self._app.settings["reader.max_file_bytes"]
        searching = allowed * _SEARCHING_SHARE
        files = await call.run_in_thread(
            section_plan.list_files, self._app.roots, paths, query, max_bytes, searching
        )
        deadline = end - (end - asyncio.get_running_loop().time()) * (1 - _OPENING_SHARE)
        total = len(files.named) + len(files.expanded)
        documents: dict[str, OpenDocument] = {}
        for done, path in enumerate(files.named, start=1):
            try:
                document = await self.documents.open(call, path)
            except RolltopError as problem:
                problem.data["path"] = path  # which of them it is
                raise
            documents[document.path] = document
            call.report_progress(done, total, "read")
        unread = files.unread
        # One slow document must not cost the plan of all: texts come first, then what time allows.
        for done, path in enumerate(sorted(files.expanded, key=has_document_name), start=1):
            try:
                async with asyncio.timeout_at(deadline):
                    document = await self.documents.open(call, path, retry=False)
            except (RolltopError, TimeoutError):
                unread += 1
            else:
                documents[document.path] = document
            call.report_progress(len(files.named) + done, total, "read")
        tools = self._available_tools("read_section", "smart_read")
        limit = call.budget - _UNREAD_FILES_TOKENS if call.budget and unread else call.budget
        placed = [(document, self._place(document)) for document in documents.values()]
        plan = await call.run_in_thread(section_plan.make_plan, placed, query, room, limit, tools)
        if not documents:
            plan["note"] = _NONE_READ_NOTE
        return {**plan, "unread_files": unread} if unread else plan

    async def section_text(self, call: CallContext, path: str, section_id: str) -> str:
        """Return the text of a section by its id.

        Raises NotFound: SECTION_NOT_FOUND, with suggestions.
        """
        document = await self.documents.open(call, path)
        found = next((s for s in document.sections if s.id == section_id), None)
        if found is None:
            raise await call.run_in_thread(_section_not_found, document, section_id)
        start, end = document.offsets(found)
        return document.text[start:end]

    async def complete(
        self, call: CallContext, variable: str, prefix: str, context: Mapping[str, str]
    ) -> list[str]:
        """Complete the root, path or id of a section."""
        roots, root = self._app.roots, context.get("root", "")
        if variable != "id":
            return await call.run_in_thread(
                complete_file, roots, variable, prefix, context, self._is_document
            )
        if roots.find_root(root) is None:
            return []
        path = f"{root}/{context.get('path', '')}"
        document = await self.documents.open(call, path, with_text=False)
        title = sections.normalize_title(prefix)
        return [
            section.id
            for section in document.sections
            if section.id.startswith(prefix)
            or sections.normalize_title(section.title).startswith(title)
        ]

    def _is_document(self, root: Root, entry: FileStat) -> bool:
        if entry.size > self._app.settings["reader.max_file_bytes"]:
            return False
        try:
            with self._app.roots.open_entry(root, entry) as file:
                head = file.read(_HEAD_BYTES)
        except (OSError, RolltopError):
            return False
        return is_extracted(head, entry.relative) or not is_binary(head)

    def _section_page(
        self, document: OpenDocument, heading: str, char_start: int, budget: int
    ) -> TextPage:
        found = sections.find_sections(document.sections, heading)
        if not found:
            raise _section_not_found(document, heading)
        section = found[0]
        start, end = document.offsets(section)
        _check_char_start(char_start, end - start, "section")
        place = self._place(document)
        fields = {
            "type": "section",
            **({"uri": section_address(*place, section.id)} if place else {}),
            "section": _truncate_heading(heading),
            "heading_level": section.level,
            "tokens": document.costs[document.sections.index(section)],
            "start_line": section.start_line,
            "end_line": section.end_line,
            "id": section.id,
            "path_titles": list(section.title_path),
        }
        if change := _note_change(document, reads_on=char_start > 0):
            fields["note"] = change
        elif not char_start:  # calls that read on need no repetition
            fields |= _note_field(document) | _alternatives(found[1:], budget)
        text, has_more = _text_window(document.text, start + char_start, end, budget)
        return TextPage(
            text,
            lambda part: {"content": part, **fields},
            lambda taken: {"char_start": char_start + taken},
            has_more,
        )

    def _place(self, document: OpenDocument) -> Place | None:
        """Return the root and the path of a document; None outside all named roots."""
        return self._app.roots.relative_place(document.path)

    def _available_tools(self, *tools: str) -> list[str]:
        """Select the tools that this server has."""
        return [tool for tool in tools if self._app.registry.has_tools([tool])]


def _full_text(
    document: OpenDocument,
    place: Place | None,
    budget: int,
    position: tuple[int, int | None],
    note: str = "",
) -> TextPage:
    """Return the document's text from a line and a character in it on."""
    line, char = position[0], position[1] or 0
    lines = max(1, len(document.starts))
    if line > lines:
        raise InvalidArgument(
            f"line_start {line} is beyond the last line, {len(document.starts)}",
            hint=f"Call smart_read again with line_start from 1 to {lines}.",
        )
    first = document.starts[line - 1] if document.text else 0
    _check_char_start(char, len(document.text) - first, "text from there")
    fields: JsonObject = {"type": "full", "tokens": document.tokens, "path": document.path}
    change = _note_change(document, reads_on=position[1] is not None)
    if notes := " ".join(filter(None, (note, change, document.document.note))):
        fields["note"] = notes
    start = first + char
    text, has_more = _text_window(document.text, start, len(document.text), budget)

    def resume_at(taken: int) -> dict[str, object]:
        line = bisect_right(document.starts, start + taken)
        return {"line_start": line, "char_start": start + taken - document.starts[line - 1]}

    def envelope(part: str) -> JsonObject:
        last = bisect_right(document.starts, start + max(len(part), 1) - 1)
        lines = None if start == 0 and len(part) == len(document.text) else (line, max(line, last))
        named = {"uri": file_address(*place, lines)} if place else {}
        return {"content": part, **named, **fields}

    return TextPage(text, envelope, resume_at, has_more)


def _text_window(text: str, start: int, end: int, budget: int) -> tuple[str, bool]:
    """Return the longest part that a budget can hold, and whether more follows."""
    last = min(end, start + budget * _MAX_TOKEN_LENGTH) if budget else end
    return text[start:last], last < end


def _check_char_start(char_start: int, length: int, what: str) -> None:
    if char_start > length:
        raise InvalidArgument(
            f"char_start {char_start} is beyond the {what}, which has {length} characters",
            hint=f"Call again with char_start from 0 to {length}.",
        )


def _alternatives(others: Sequence[Section], budget: int) -> JsonObject:
    """Return the first other sections that match a heading as well, and how many there are."""
    if not others:
        return {}
    shown = [
        {**_section_ref(other), "path_titles": list(other.title_path)}
        for other in others[:_MAX_ALTERNATIVES]
    ]
    while len(shown) > 1 and not pagination.fits_budget(shown, budget // _ALTERNATIVES_SHARE):
        shown.pop()
    return {"also": shown, **({"also_count": len(others)} if len(shown) < len(others) else {})}


def _section_not_found(document: OpenDocument, heading: str) -> NotFound:
    shown = _truncate_heading(heading)
    near = sections.suggest_sections(document.sections, heading, _MAX_SUGGESTIONS)
    suggestions = near or document.sections[:_MAX_SUGGESTIONS]
    return NotFound(
        f"Section '{shown}' not found in document",
        code="SECTION_NOT_FOUND",
        hint=_SUGGESTIONS_HINT if document.sections else _NO_HEADINGS,
        data={
            "content": f"ERROR: Section '{shown}' not found",
            "section": shown,
            "suggestions": [_section_ref(section) for section in suggestions],
        },
    )


def _truncate_heading(heading: str) -> str:
    if len(heading) <= MAX_HEADING_LENGTH:
        return heading
    return heading[: MAX_HEADING_LENGTH - 1] + "…"


def _note_change(document: OpenDocument, *, reads_on: bool) -> str:
    """Return a note if a call reads on in a file that has changed since it was begun, else ""."""
    document.is_rewritten = document.is_rewritten and reads_on
    return _CHANGED_NOTE if document.is_rewritten else ""


def _note_field(document: OpenDocument) -> JsonObject:
    """Return the field `note`, what the document's text leaves out, if anything."""
    return {"note": document.document.note} if document.document.note else {}


def _section_ref(section: Section) -> JsonObject:
    return {"id": section.id, "title": section.title, "start_line": section.start_line}


def _outline_entry(document: OpenDocument, at: int) -> JsonObject:
    section = document.sections[at]
    return {
        "id": section.id,
        "title": section.title,
        "level": section.level,
        "start_line": section.start_line,
        "end_line": section.end_line,
        "tokens": document.costs[at],
    }


def _decode_cursor(cursor: str | None, document: OpenDocument, max_level: int) -> int:
    """Return how many entries a cursor skips.

    Raises InvalidArgument: it is of another list, or the file has changed since.
    """
    if cursor is None:
        return 0
    match cursors.decode(_CURSOR, cursor, code="INVALID_ARGUMENT"):
        case [str(content), int(level), int(skipped)] if (
            content == document.content[:_CURSOR_HASH_LENGTH]
            and level == max_level
            and skipped >= 0
        ):
            return skipped
        case _:
            raise InvalidArgument(
                "The file or max_level changed since the cursor was answered",
                hint="Call list_sections again without cursor.",
            )
