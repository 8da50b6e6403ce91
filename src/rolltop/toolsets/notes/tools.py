"""The tools of notes, the note resource and its completions: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import Field

from rolltop.core import budget
from rolltop.core.budget import Page, Text
from rolltop.core.call import Call
from rolltop.core.lazy import lazy
from rolltop.core.toolset import TYPE, VALUE, Actions, Fault, Reference, SeedName, Tool
from rolltop.toolsets.notes.models import (
    LONGEST_PAGE,
    MOST_PREVIEW_LINES,
    Action,
    JsonObject,
    ManageAnswer,
    NoteData,
    NoteList,
    PatchOperation,
    Save,
    Sort,
    continued,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.service import answers, listing, query, reading
else:
    answers = lazy("rolltop.toolsets.notes.service.answers")
    listing = lazy("rolltop.toolsets.notes.service.listing")
    query = lazy("rolltop.toolsets.notes.service.query")
    reading = lazy("rolltop.toolsets.notes.service.reading")

Day = Annotated[str | None, Field(description="YYYY-MM-DD, UTC")]


async def note_list(
    call: Call,
    q: Annotated[
        str | None,
        Field(description='words, "a phrase", -word, tag:x, before:/after:YYYY-MM-DD'),
    ] = None,
    tags: Annotated[list[str] | None, Field(description="all must match")] = None,
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 20,
    page: Annotated[int, Field(ge=1)] = 1,
    trash_s: Annotated[int, Field(ge=0, le=2, description="0 active, 1 trashed, 2 both")] = 0,
    dt_before: Day = None,
    dt_after: Day = None,
    sort: Sort | None = None,
    preview_lines: Annotated[int, Field(ge=0, le=MOST_PREVIEW_LINES)] = 0,
) -> Page:
    """List or search the user's notes: best match first, else last modified first."""
    question = query.Question(q, tags or (), trash_s, dt_before, dt_after, sort)
    pages = listing.Pages(limit, page, call.cursor, preview_lines)
    return await call.read(listing.page, call.desk.settings, question, pages)


async def note_get(
    call: Call,
    id: str,  # the parameter's name
    local_version: Annotated[int | None, Field(description="an earlier version")] = None,
    range_line_start: Annotated[int | None, Field(ge=1)] = None,
    range_line_count: Annotated[int, Field(ge=0, description="0: to the end")] = 0,
    char_start: Annotated[int, Field(ge=0, description="from next")] = 0,
) -> Text:
    """Read a note, whole or some of its lines, byte for byte."""
    lines = reading.Range(range_line_start, range_line_count, char_start)
    return await answers.get(call, id, local_version, lines)


async def note_save(
    call: Call,
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
    """Create a note, or change one: by its whole text or by text_patch, one of the two.

    If others changed the note since local_version, a patch of other lines is still applied;
    otherwise VERSION_CONFLICT tells both sides.
    """
    given = None if tags is None else tuple(tags)
    asked = Save(id, local_version, server_version, text, None, given, trash, confirm_shrink)
    return await answers.save(call, asked, text_patch)


async def note_manage(
    call: Call,
    action: Action,
    id: str | None = None,  # as above
    local_version: Annotated[int | None, Field(description="to change a note")] = None,
    version: Annotated[int | None, Field(description="to restore")] = None,
) -> JsonObject | Page:
    """Trash or delete a note, list and restore its versions, get stats, sync.

    delete_permanently takes trashed notes; restore also brings back deleted ones for 30 days.
    """
    return await answers.manage(call, action, (id, local_version), version)


async def read_resource(call: Call, **variables: str) -> str:
    """Return one of the caller's notes as the JSON text of its NoteData."""
    given = {"id": variables["id"]}
    shown = await answers.get(call, variables["id"], None, reading.Range())

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        tool = call.desk.registry.as_listed("note_get")
        return continued(part, budget.Continuation(tool, {**given, **changed}, cursor))

    return budget.compact(budget.fit(shown, call.budget, finish))


async def complete_id(call: Call, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Return ids of notes whose id or title begins with what was typed, last modified first."""
    return await call.read(listing.matching_ids, call.desk.settings, typed[1])


_WRONG: Final = frozenset({TYPE, VALUE})
_RANGE: Final = Fault("INVALID_RANGE", when=_WRONG)
_COUNTED: Final = "range_line_start says where to begin, range_line_count how many lines."

TOOLS: Final = (
    Tool(
        "note_list",
        note_list,
        "List or search notes",
        NoteList,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
        seeds=(SeedName("list"),),
    ),
    Tool(
        "note_get",
        note_get,
        "Read a note",
        NoteData,
        reads=True,
        idempotent=True,
        bounded=True,
        seeds=(SeedName("get"),),
        faults={
            "range_line_start": _RANGE,
            "range_line_count": _RANGE,
            "char_start": _RANGE,
        },
        elsewhere=dict.fromkeys(("end_line", "line_end", "range_line_end", "limit"), _COUNTED),
    ),
    Tool(
        "note_save",
        note_save,
        "Save a note",
        NoteData,
        destructive=True,
        open_world=True,
        bounded=True,
        seeds=(SeedName("save"),),
        faults={
            "text_patch": Fault("INVALID_PATCH", when=_WRONG),
            "tags": Fault("INVALID_TAGS", when=_WRONG),
        },
    ),
    Tool(
        "note_manage",
        note_manage,
        "Manage notes",
        cast("type", ManageAnswer),
        destructive=True,
        open_world=True,
        bounded=True,
        continues=True,
        seeds=(SeedName("manage"),),
        actions=Actions("action", ("get_stats", "history")),
    ),
)

REFERENCES: Final = (
    Reference(
        "note",
        "rolltop://note/{id}",
        "Note",
        "One note as JSON.",
        "application/json",
        read_resource,
        complete_id,
    ),
)
