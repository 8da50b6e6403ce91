"""The tools of notes, the note resource and its completions: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core import pagination
from rolltop.core.addresses import TEMPLATES
from rolltop.core.arguments import QueryText
from rolltop.core.context import CallContext
from rolltop.core.pagination import Continuation, Page, TextPage, add_continuation
from rolltop.core.tools import (
    TYPE,
    VALUE,
    Alias,
    ArgumentErrorCode,
    ResourceTemplate,
    Tool,
)
from rolltop.toolsets.notes.models import (
    MAX_PAGE_SIZE,
    MAX_PREVIEW_LINES,
    Action,
    JsonObject,
    LineRange,
    ListQuery,
    NoteList,
    NotePageRequest,
    PatchOperation,
    SaveRequest,
    Sort,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.service import NoteService

SERVICE: Final = "rolltop.toolsets.notes.service:NoteService"

Day = Annotated[str | None, Field(description="YYYY-MM-DD")]


async def note_list(
    call: CallContext,
    q: Annotated[
        QueryText | None,
        Field(
            description='question, words, wor*, "a phrase", -word, tag:x, before:/after:YYYY-MM-DD'
        ),
    ] = None,
    tags: Annotated[list[str] | None, Field(description="all must match")] = None,
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 20,
    page: Annotated[int, Field(ge=1)] = 1,
    trash_s: Annotated[int, Field(ge=0, le=2, description="0 active, 1 trashed, 2 both")] = 0,
    dt_before: Day = None,
    dt_after: Day = None,
    sort: Sort | None = None,
    preview_lines: Annotated[int, Field(ge=0, le=MAX_PREVIEW_LINES)] = 0,
) -> Page:
    """List or search the user's notes: best match first, otherwise last modified first."""
    query = ListQuery(q, tags or (), trash_s, dt_before, dt_after, sort)
    request = NotePageRequest(limit, page, call.cursor, preview_lines)
    return await _service(call).list_notes(call, query, request)


async def note_get(
    call: CallContext,
    id: str,  # the parameter's name
    local_version: Annotated[int | None, Field(description="an earlier version")] = None,
    range_line_start: Annotated[int | None, Field(ge=1)] = None,
    range_line_count: Annotated[int, Field(ge=0, description="0: to the end")] = 0,
    char_start: Annotated[int, Field(ge=0, description="from next")] = 0,
) -> TextPage:
    """Read a note, whole or some of its lines, byte for byte."""
    lines = LineRange(range_line_start, range_line_count, char_start)
    return await _service(call).get_note(call, id, local_version, lines)


async def note_save(
    call: CallContext,
    id: Annotated[str | None, Field(description="none: a new note")] = None,  # as above
    local_version: Annotated[int | None, Field(description="with id: the one you read")] = None,
    server_version: int | None = None,
    text: str | None = None,
    text_patch: Annotated[
        list[PatchOperation] | None,
        Field(description="add puts val before line ln; ln of local_version, applied at once"),
    ] = None,
    tags: Annotated[list[str] | None, Field(description="replaces all")] = None,
    trash: bool | None = None,  # a tool's parameter is named
    confirm_shrink: bool = False,  # as above
) -> JsonObject:
    """Create a note, or change one, with either its whole text or text_patch.

    If the note changed since local_version, a patch of other lines still applies.
    """
    request = SaveRequest(
        id=id,
        local_version=local_version,
        server_version=server_version,
        text=text,
        tags=None if tags is None else tuple(tags),
        trash=trash,
        confirm_shrink=confirm_shrink,
    )
    return await _service(call).save_note(call, request, text_patch)


async def note_manage(
    call: CallContext,
    action: Action,
    id: str | None = None,  # as above
    local_version: Annotated[int | None, Field(description="to change a note")] = None,
    version: Annotated[int | None, Field(description="to restore")] = None,
) -> JsonObject | Page:
    """Trash or delete a note, list and restore its versions, get stats, sync.

    delete_permanently takes trashed notes; restore brings back deleted ones too.
    """
    return await _service(call).manage_note(call, action, id, local_version, version)


async def read_resource(call: CallContext, **variables: str) -> str:
    """Read one of the caller's notes as the JSON text of its NoteData."""
    given = {"id": variables["id"]}
    page = await _service(call).get_note(call, variables["id"], None, LineRange())

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        tool = call.app.registry.use_listed_names("note_get")
        return add_continuation(part, Continuation(tool, {**given, **changed}, cursor))

    return pagination.compact_json(pagination.truncate(page, call.budget, finish))


async def complete_id(call: CallContext, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """List ids of notes whose id or title begins with what was typed, last modified first."""
    return await _service(call).matching_ids(call, typed[1])


def _service(call: CallContext) -> NoteService:
    return call.app.load_service(SERVICE)


_INVALID_KINDS: Final = frozenset({TYPE, VALUE})
_RANGE_FAULT: Final = ArgumentErrorCode("INVALID_RANGE", when=_INVALID_KINDS)
_TAGS_FAULT: Final = ArgumentErrorCode("INVALID_TAGS", when=_INVALID_KINDS)
_APPEND_HINT: Final = (
    'text_patch adds lines: [{"op": "add", "ln": <lines + 1>, "val": "…"}] puts one at the end.'
)
_RANGE_HINT: Final = "range_line_start says where to begin, range_line_count how many lines."

TOOLS: Final = (
    Tool(
        "note_list",
        note_list,
        "List or search notes",
        NoteList,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        aliases=(Alias("list"),),
        other_names=("list_notes",),
        argument_errors={"tags": _TAGS_FAULT},
        search_hint="find or browse notes, tags, trash",
    ),
    Tool(
        "note_get",
        note_get,
        "Read a note",
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        aliases=(Alias("get"),),
        other_names=("get_note", "get_notes"),
        argument_errors={
            "range_line_start": _RANGE_FAULT,
            "range_line_count": _RANGE_FAULT,
            "char_start": _RANGE_FAULT,
        },
        argument_hints=dict.fromkeys(
            ("end_line", "line_end", "range_line_end", "limit"), _RANGE_HINT
        ),
        search_hint="recall, memory",
    ),
    Tool(
        "note_save",
        note_save,
        "Save a note",
        destructive=True,
        open_world=True,
        accepts_max_tokens=True,
        accepts_idempotency_key=True,
        aliases=(Alias("save"),),
        other_names=("save_note", "save_notes"),
        argument_errors={
            "text_patch": ArgumentErrorCode("INVALID_PATCH", when=_INVALID_KINDS),
            "tags": _TAGS_FAULT,
        },
        argument_hints={
            **dict.fromkeys(("title", "name", "subject"), "The first line of text is the title."),
            **dict.fromkeys(("append", "mode"), _APPEND_HINT),
        },
        blank_values=frozenset({"text"}),
        search_hint="remember, write down, memory, Simplenote",
    ),
    Tool(
        "note_manage",
        note_manage,
        "Manage notes",
        destructive=True,
        open_world=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        aliases=(Alias("manage"),),
        other_names=("manage_note", "manage_notes"),
        reading_actions=("get_stats", "history"),
    ),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        "note",
        TEMPLATES["note"],
        "Note",
        "One note as JSON.",
        "application/json",
        read_resource,
        complete_id,
    ),
)
