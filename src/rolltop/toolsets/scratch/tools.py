"""The tools of scratch, its resources and their completions: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from rolltop.core.budget import Page, Text
from rolltop.core.call import Call
from rolltop.core.lazy import lazy
from rolltop.core.toolset import Actions, Reference, SeedName, Tool
from rolltop.toolsets.scratch.models import LABELS, LONGEST_PAGE, MOST_HITS, JsonObject, Mode, Order
from rolltop.toolsets.scratch.models.answers import (
    CellsAnswer,
    DeletedAnswer,
    ListAnswer,
    NamespaceAnswer,
    PadAnswer,
    RestoreAnswer,
    SchemaAnswer,
    SearchAnswer,
    TagsAnswer,
    ValidationAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service import answers, resources
else:
    answers = lazy("rolltop.toolsets.scratch.service.answers")
    resources = lazy("rolltop.toolsets.scratch.service.resources")

Texts = list[str] | None
Version = Annotated[int | None, Field(description="refuse unless the pad is at this version")]
CellVersion = Annotated[int | None, Field(description="refuse unless the cell is at this version")]
_TEXT: Final = {"type": "string"}
_CELL: Final = {
    "type": "object",
    "properties": {
        "language": {**_TEXT, "description": "py ts go json yaml md txt …"},
        "content": _TEXT,
        "validate": {"type": "boolean", "description": "check syntax and schema"},
        "json_schema": {"description": "a schema, or scratchpad://schemas/<name>"},
        "metadata": {"type": "object"},
        "tags": {"type": "array", "items": _TEXT},
        "cell_id": _TEXT,
    },
    "required": ["language", "content"],
}
_LINE: Final = {"type": "integer"}
_EDIT: Final = {
    "type": "object",
    "properties": {
        "old": _TEXT,
        "new": _TEXT,
        "all": {"type": "boolean"},
        "line_start": _LINE,
        "line_end": _LINE,
        "text": _TEXT,
    },
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "name": _TEXT,
        "description": _TEXT,
        "schema": {"type": "object"},
    },
    "required": ["schema"],
}
CellObject = Annotated[dict[str, Any], WithJsonSchema(_CELL)]
Cells = Annotated[
    list[dict[str, Any]] | None, Field(description="each as cell of scratch_append_cell")
]
Metadata = Annotated[
    dict[str, Any] | None,
    Field(description="title, description, summary, schemas {name: {schema}}, any other"),
]
EditObject = Annotated[dict[str, Any], WithJsonSchema(_EDIT)]
Edits = Annotated[
    list[EditObject],
    Field(description="{old, new, all?}, or {line_start, line_end, text} by the lines as read"),
]


async def scratch_create(
    call: Call,
    scratch_id: str | None = None,
    metadata: Metadata = None,
    namespace: str | None = None,
    tags: Texts = None,
    cells: Cells = None,
) -> JsonObject:
    """Make a durable scratchpad for drafts, data and notes in cells."""
    return await answers.create(call, scratch_id, metadata, namespace, tags, cells)


async def scratch_read(
    call: Call,
    scratch_id: str,
    cell_ids: Texts = None,
    indices: list[int] | None = None,
    tags: Texts = None,
    namespaces: Texts = None,
    include_metadata: bool = True,
    line_start: Annotated[int | None, Field(ge=1, description="of one cell, from 1")] = None,
    line_count: Annotated[int | None, Field(ge=1)] = None,
    char_start: Annotated[int | None, Field(ge=0)] = None,
) -> Page | Text | JsonObject:
    """Read a pad with its cells, or some cells, or some lines of one."""
    lines = (line_start, line_count, char_start)
    which = (cell_ids, indices, tags, namespaces)
    return await answers.read(call, scratch_id, which, lines, with_metadata=include_metadata)


async def scratch_list_cells(
    call: Call, scratch_id: str, cell_ids: Texts = None, tags: Texts = None
) -> Page:
    """List a pad's cells without content: id, size, first line."""
    return await answers.list_cells(call, scratch_id, cell_ids, tags)


async def scratch_append_cell(
    call: Call, scratch_id: str, cell: CellObject, if_version: Version = None
) -> JsonObject:
    """Add a cell; validate: true checks its syntax and schema and reports lines."""
    return await answers.append(call, scratch_id, cell, if_version)


async def scratch_replace_cell(
    call: Call,
    scratch_id: str,
    cell: Annotated[dict[str, Any], Field(description="as in scratch_append_cell")],
    cell_id: str | None = None,
    index: int | None = None,
    new_index: int | None = None,
    if_version: CellVersion = None,
) -> JsonObject:
    """Replace a cell, by cell_id or index; tags and metadata left out stay."""
    return await answers.replace_cell(call, scratch_id, cell_id, index, cell, new_index, if_version)


async def scratch_edit_cell(
    call: Call, scratch_id: str, cell_id: str, edits: Edits, if_version: CellVersion = None
) -> JsonObject:
    """Change part of a cell by exact replacement; all edits or none."""
    return await answers.edit(call, scratch_id, cell_id, edits, if_version)


async def scratch_delete_cell(
    call: Call, scratch_id: str, cell_id: str, if_version: CellVersion = None
) -> JsonObject:
    """Delete a cell for good."""
    return await answers.delete_cell(call, scratch_id, cell_id, if_version)


async def scratch_update(
    call: Call,
    scratch_id: str,
    metadata: Annotated[dict[str, Any] | None, Field(description="merged; null removes")] = None,
    tags: Texts = None,
    namespace: str | None = None,
    if_version: Version = None,
) -> JsonObject:
    """Change a pad's metadata, tags or namespace."""
    return await answers.update(call, scratch_id, metadata, tags, namespace, if_version)


async def scratch_delete(call: Call, scratch_id: str) -> JsonObject:
    """Delete a pad; scratch_restore undoes it for 30 days."""
    return await answers.delete(call, scratch_id)


async def scratch_restore(call: Call, scratch_id: str | None = None) -> Page | JsonObject:
    """Bring back a deleted or evicted pad; without scratch_id, list the trash."""
    return await answers.restore(call, scratch_id)


async def scratch_list(
    call: Call,
    namespaces: Texts = None,
    tags: Texts = None,
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50,
    order: Order = "recent",
) -> Page:
    """List pads, last written first."""
    return await answers.list_pads(call, namespaces, tags, limit, order)


async def scratch_list_tags(call: Call, namespaces: Texts = None) -> Page:
    """List the tags of pads and cells."""
    return await answers.list_tags(call, namespaces)


async def scratch_validate(
    call: Call, scratch_id: str, cell_ids: Texts = None, indices: list[int] | None = None
) -> Page:
    """Check cells' syntax and schema now; changes nothing."""
    return await answers.validate(call, scratch_id, cell_ids, indices)


async def scratch_search(
    call: Call,
    query: str,
    namespaces: Texts = None,
    tags: Texts = None,
    limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10,
    mode: Mode = "hybrid",
) -> Page:
    """Search all pads and cells by words and meaning."""
    return await answers.search(call, query, namespaces, tags, limit, mode)


async def scratch_schema(
    call: Call,
    action: Literal["list", "get", "upsert", "delete"],
    scratch_id: str,
    schema_id: str | None = None,
    schema: Annotated[dict[str, Any], WithJsonSchema(_SCHEMA)] | None = None,
) -> Page | JsonObject:
    """Keep a pad's JSON Schemas, for cells to refer to by name."""
    return await answers.schema(call, action, scratch_id, schema_id, schema)


async def scratch_namespace(
    call: Call,
    action: Literal["list", "create", "rename", "delete"],
    namespace: str | None = None,
    old_namespace: str | None = None,
    new_namespace: str | None = None,
    migrate_scratchpads: bool = True,
    delete_scratchpads: bool = False,
) -> Page | JsonObject:
    """List, create, rename or delete namespaces of pads."""
    if action == "rename":
        return await answers.rename_namespace(
            call, old_namespace, new_namespace, migrate=migrate_scratchpads
        )
    if action == "list":
        return await answers.list_namespaces(call)
    return await answers.namespace(call, action, namespace, with_pads=delete_scratchpads)


async def read_pad(call: Call, **variables: str) -> str:
    """Return one of the caller's pads as JSON, as much of it as a read answers."""
    return await resources.pad(call, variables["id"])


async def read_cell(call: Call, **variables: str) -> str:
    """Return one of the caller's cells as JSON, as much of it as a read answers."""
    return await resources.cell(call, variables["id"])


async def complete_pad(call: Call, _variable: str, typed: str, _context: object) -> list[str]:
    """Return ids of pads whose id or title begins with what was typed, last written first."""
    return await resources.pad_ids(call, typed)


async def complete_cell(call: Call, _variable: str, typed: str, _context: object) -> list[str]:
    """Return ids of cells, of the pads written last, that begin with what was typed."""
    return await resources.cell_ids(call, typed)


_SCHEMA_SEEDS: Final = (
    SeedName("scratch_list_schemas", {"action": "list"}, "List schemas", "List a pad's schemas."),
    SeedName("scratch_get_schema", {"action": "get"}, "Read a schema", "Read one schema."),
    SeedName("scratch_upsert_schema", {"action": "upsert"}, "Keep a schema", "Keep a schema."),
)
_NAMESPACE_SEEDS: Final = tuple(
    SeedName(
        f"scratch_namespace_{action}",
        {"action": action},
        f"{action.capitalize()} namespaces",
        f"{action.capitalize()} namespaces of scratchpads.",
    )
    for action in ("list", "create", "rename", "delete")
)
_IN_METADATA: Final[dict[str, str]] = dict.fromkeys(
    (*LABELS, "name", "schemas"), "metadata holds title, description, summary and schemas."
)
_IN_CELLS: Final = dict.fromkeys(
    ("content", "text", "language", "cell"),
    "cells holds what is to be kept, as objects with language and content.",
)
_IN_EDITS: Final[dict[str, str]] = dict.fromkeys(
    (
        *("old", "new", "old_string", "new_string", "old_str", "new_str", "old_text", "new_text"),
        *("find", "replace", "line_start", "line_end", "start_line", "end_line", "text", "content"),
    ),
    'edits holds what is to change, as in [{"old": "…", "new": "…"}].',
)

TOOLS: Final = (
    Tool(
        "scratch_create",
        scratch_create,
        "Make a scratchpad",
        PadAnswer,
        elsewhere={**_IN_METADATA, **_IN_CELLS},
    ),
    Tool(
        "scratch_read",
        scratch_read,
        "Read a scratchpad",
        PadAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_list_cells",
        scratch_list_cells,
        "List cells",
        CellsAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool("scratch_append_cell", scratch_append_cell, "Append a cell", PadAnswer),
    Tool(
        "scratch_replace_cell",
        scratch_replace_cell,
        "Replace a cell",
        PadAnswer,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "scratch_edit_cell",
        scratch_edit_cell,
        "Edit a cell",
        PadAnswer,
        destructive=True,
        elsewhere=_IN_EDITS,
    ),
    Tool("scratch_delete_cell", scratch_delete_cell, "Delete a cell", PadAnswer, destructive=True),
    Tool(
        "scratch_update",
        scratch_update,
        "Change a scratchpad",
        PadAnswer,
        destructive=True,
        idempotent=True,
        elsewhere=_IN_METADATA,
    ),
    Tool(
        "scratch_delete",
        scratch_delete,
        "Delete a scratchpad",
        DeletedAnswer,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "scratch_restore",
        scratch_restore,
        "Restore a scratchpad",
        RestoreAnswer,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_list",
        scratch_list,
        "List scratchpads",
        ListAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_list_tags",
        scratch_list_tags,
        "List tags",
        TagsAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_validate",
        scratch_validate,
        "Validate cells",
        ValidationAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_search",
        scratch_search,
        "Search scratchpads",
        SearchAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "scratch_schema",
        scratch_schema,
        "Schemas of a scratchpad",
        SchemaAnswer,
        destructive=True,
        bounded=True,
        continues=True,
        seeds=_SCHEMA_SEEDS,
        actions=Actions("action", ("list", "get")),
    ),
    Tool(
        "scratch_namespace",
        scratch_namespace,
        "Namespaces",
        NamespaceAnswer,
        destructive=True,
        bounded=True,
        continues=True,
        seeds=_NAMESPACE_SEEDS,
        actions=Actions("action", ("list",)),
    ),
)

REFERENCES: Final = (
    Reference(
        "pad",
        "rolltop://pad/{id}",
        "Scratchpad",
        "One scratchpad with its cells as JSON.",
        "application/json",
        read_pad,
        complete_pad,
    ),
    Reference(
        "cell",
        "rolltop://cell/{id}",
        "Cell",
        "One cell of a scratchpad as JSON.",
        "application/json",
        read_cell,
        complete_cell,
    ),
)
