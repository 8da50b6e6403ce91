"""Declarations of the tools, resources and completions of scratch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from rolltop.core.addresses import TEMPLATES
from rolltop.core.arguments import QueryText
from rolltop.core.context import CallContext
from rolltop.core.lazy_imports import lazy
from rolltop.core.pagination import Page, TextPage
from rolltop.core.tools import Alias, ResourceTemplate, Tool
from rolltop.toolsets.scratch.flat_arguments import (
    join_cell,
    join_edit,
    join_labels,
    join_pad,
    join_schema,
)
from rolltop.toolsets.scratch.models import (
    MAX_HITS,
    MAX_PAGE_SIZE,
    SERVICE,
    JsonObject,
    PadOrder,
    SearchMode,
)
from rolltop.toolsets.scratch.models.answers import (
    CellsAnswer,
    PadAnswer,
    PadListAnswer,
    PadSearchAnswer,
    TagsAnswer,
    ValidationAnswer,
)
from rolltop.toolsets.scratch.models.inputs import (
    CellInput,
    EditInput,
    ReplacementInput,
    SchemaInput,
)

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.service import resources
    from rolltop.toolsets.scratch.service.pad_writer import PadWriter
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService
else:
    resources = lazy("rolltop.toolsets.scratch.service.resources")

Texts = list[str] | None
InView = Annotated[list[str] | None, Field(description='["*"]: of every project')]
Version = Annotated[int | None, Field(description="the pad's, else CONFLICT")]
CellVersion = Annotated[int | None, Field(description="the cell's, else CONFLICT")]
Metadata = Annotated[
    dict[str, Any] | None,
    Field(description="title, description, summary, schemas {name: {schema}}, any other"),
]
Edits = Annotated[
    list[EditInput],
    Field(
        description="{old, new, all?}, or {line_start, line_end, text} by the lines as read; "
        "a call takes 25 of the former in 5 MiB"
    ),
]


def _service(call: CallContext) -> ScratchService:
    return call.app.load_service(SERVICE)


def _writer(call: CallContext, *, verbose: bool) -> PadWriter:
    return _service(call).writer(call, verbose=verbose)


async def scratch_create(
    call: CallContext,
    scratch_id: str | None = None,
    metadata: Metadata = None,
    namespace: str | None = None,
    tags: Texts = None,
    cells: list[CellInput] | None = None,
    verbose: bool = False,
) -> JsonObject:
    """Create a durable scratchpad whose cells hold drafts, data and notes."""
    writer = _writer(call, verbose=verbose)
    return await writer.create_pad(scratch_id, metadata, namespace, tags, cells)


async def scratch_read(
    call: CallContext,
    scratch_id: str,
    cell_ids: Texts = None,
    indices: list[int] | None = None,
    tags: Texts = None,
    namespaces: Texts = None,
    include_metadata: bool = True,
    line_start: Annotated[int | None, Field(ge=1, description="of one cell, from 1")] = None,
    line_count: Annotated[int | None, Field(ge=1)] = None,
    char_start: Annotated[int | None, Field(ge=0)] = None,
) -> Page | TextPage | JsonObject:
    """Read a pad with its cells, or some cells, or some lines of one."""
    lines = (line_start, line_count, char_start)
    which = (cell_ids, indices, tags, namespaces)
    return await _service(call).read_pad(
        call, scratch_id, which, lines, with_metadata=include_metadata
    )


async def scratch_list_cells(
    call: CallContext, scratch_id: str, cell_ids: Texts = None, tags: Texts = None
) -> Page:
    """List a pad's cells without content: id, size, first line."""
    return await _service(call).list_cells(call, scratch_id, cell_ids, tags)


async def scratch_append_cell(
    call: CallContext,
    scratch_id: str,
    cell: CellInput,
    if_version: Version = None,
    verbose: bool = False,
) -> JsonObject:
    """Add a cell; validate: true checks its syntax and schema and reports lines."""
    return await _writer(call, verbose=verbose).append_cell(scratch_id, cell, if_version)


async def scratch_replace_cell(
    call: CallContext,
    scratch_id: str,
    cell: ReplacementInput,
    cell_id: str | None = None,
    index: int | None = None,
    new_index: int | None = None,
    if_version: CellVersion = None,
    verbose: bool = False,
) -> JsonObject:
    """Replace a cell, by cell_id or index; omitted language, tags and metadata are kept."""
    writer = _writer(call, verbose=verbose)
    return await writer.replace_cell(scratch_id, cell_id, index, cell, new_index, if_version)


async def scratch_edit_cell(
    call: CallContext,
    scratch_id: str,
    cell_id: str,
    edits: Edits,
    if_version: CellVersion = None,
    verbose: bool = False,
) -> JsonObject:
    """Change part of a cell, by exact text or lines; all edits or none."""
    return await _writer(call, verbose=verbose).edit_cell(scratch_id, cell_id, edits, if_version)


async def scratch_delete_cell(
    call: CallContext,
    scratch_id: str,
    cell_id: str,
    if_version: CellVersion = None,
    verbose: bool = False,
) -> JsonObject:
    """Delete a cell; scratch_restore undoes it."""
    return await _writer(call, verbose=verbose).delete_cell(scratch_id, cell_id, if_version)


async def scratch_update(
    call: CallContext,
    scratch_id: str,
    metadata: Annotated[dict[str, Any] | None, Field(description="merged; null removes")] = None,
    tags: Texts = None,
    namespace: str | None = None,
    if_version: Version = None,
    verbose: bool = False,
) -> JsonObject:
    """Change a pad's metadata, tags or namespace."""
    writer = _writer(call, verbose=verbose)
    return await writer.update_pad(scratch_id, metadata, tags, namespace, if_version)


async def scratch_delete(call: CallContext, scratch_id: str) -> JsonObject:
    """Delete a pad; scratch_restore undoes it for 30 days."""
    return await _service(call).delete_pad(call, scratch_id)


async def scratch_restore(
    call: CallContext,
    scratch_id: str | None = None,
    cell_id: str | None = None,
    verbose: bool = False,
) -> Page | JsonObject:
    """Bring back a pad or a cell; without an id, list the trash."""
    if scratch_id is None and cell_id is None:
        return await _service(call).list_trash(call)
    return await _writer(call, verbose=verbose).restore(scratch_id, cell_id)


async def scratch_list(
    call: CallContext,
    namespaces: InView = None,
    tags: Texts = None,
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)] = 50,
    order: PadOrder = "recent",
) -> Page:
    """List this project's pads and those of none, last written first."""
    return await _service(call).list_pads(call, namespaces, tags, limit, order)


async def scratch_list_tags(call: CallContext, namespaces: Texts = None) -> Page:
    """List the tags of pads and cells."""
    return await _service(call).list_tags(call, namespaces)


async def scratch_validate(
    call: CallContext, scratch_id: str, cell_ids: Texts = None, indices: list[int] | None = None
) -> Page:
    """Check cells' syntax and schema now; changes nothing."""
    return await _service(call).validate_cells(call, scratch_id, cell_ids, indices)


async def scratch_search(
    call: CallContext,
    query: QueryText,
    namespaces: InView = None,
    tags: Texts = None,
    limit: Annotated[int, Field(ge=1, le=MAX_HITS)] = 10,
    mode: SearchMode = "hybrid",
) -> Page:
    """Search pads and cells by words and meaning; pending texts go by words yet."""
    return await _service(call).search(call, query, namespaces, tags, limit, mode)


async def scratch_schema(
    call: CallContext,
    action: Literal["list", "get", "upsert", "delete"],
    scratch_id: str,
    schema_id: str | None = None,
    schema: SchemaInput | None = None,
) -> Page | JsonObject:
    """Manage a pad's JSON Schemas, which cells refer to by name."""
    return await _service(call).manage_schema(call, action, scratch_id, schema_id, schema)


async def scratch_namespace(
    call: CallContext,
    action: Literal["list", "create", "rename", "delete"],
    namespace: str | None = None,
    old_namespace: str | None = None,
    new_namespace: str | None = None,
    migrate_scratchpads: bool = True,
    delete_scratchpads: bool = False,
) -> Page | JsonObject:
    """Manage namespaces of pads."""
    given = {
        "namespace": namespace,
        "old_namespace": old_namespace,
        "new_namespace": new_namespace,
    }
    return await _service(call).manage_namespace(
        call, action, given, migrate=migrate_scratchpads, with_pads=delete_scratchpads
    )


async def read_pad(call: CallContext, **variables: str) -> str:
    """Read a pad as JSON, as much of it as scratch_read answers."""
    return await resources.read_pad(call, variables["id"])


async def read_cell(call: CallContext, **variables: str) -> str:
    """Read a cell as JSON, as much of it as scratch_read answers."""
    return await resources.read_cell(call, variables["id"])


async def complete_pad(
    call: CallContext, _variable: str, typed: str, _context: object
) -> list[str]:
    """Complete ids of pads, from the start of an id or a title; last written first."""
    return await call.read(resources.find_pad_ids, typed)


async def complete_cell(
    call: CallContext, _variable: str, typed: str, _context: object
) -> list[str]:
    """Complete ids of cells of the pads written last."""
    return await call.read(resources.find_cell_ids, typed)


_SCHEMA_ALIASES: Final = (
    Alias(
        "scratch_list_schemas",
        {"action": "list"},
        "List schemas",
        "List a pad's schemas.",
        ("scratch_id", "cursor", "max_tokens"),
    ),
    Alias(
        "scratch_get_schema",
        {"action": "get"},
        "Read a schema",
        "Read one schema.",
        ("scratch_id", "schema_id", "max_tokens"),
        ("schema_id",),
    ),
    Alias(
        "scratch_upsert_schema",
        {"action": "upsert"},
        "Keep a schema",
        "Keep a schema.",
        ("scratch_id", "schema_id", "schema"),
        ("schema",),
    ),
)
_NAMESPACE_PARAMETERS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "list": (("cursor", "max_tokens"), ()),
    "create": (("namespace",), ("namespace",)),
    "rename": (
        ("old_namespace", "new_namespace", "migrate_scratchpads"),
        ("old_namespace", "new_namespace"),
    ),
    "delete": (("namespace", "delete_scratchpads"), ("namespace",)),
}
_NAMESPACE_ALIASES: Final = tuple(
    Alias(
        f"scratch_namespace_{action}",
        {"action": action},
        f"{action.capitalize()} namespaces",
        f"{action.capitalize()} namespaces of scratchpads.",
        *parameters,
    )
    for action, parameters in _NAMESPACE_PARAMETERS.items()
)
_METADATA_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("name", "schemas"), "metadata holds title, description, summary and schemas."
)
_INDEX_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("index", "cell_index"), "scratch_list_cells shows the cell_id of each index."
)
_LINES_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("line_end", "end_line", "limit"), "line_start says where to begin, line_count how many lines."
)
_CHECK_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("content", "text", "code", "language"),
    "scratch_append_cell with validate true in its cell keeps a text and checks it.",
)
_SCHEMA_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("name", "schema_name"), "schema_id takes a schema's name too; schema holds the name to keep."
)
_FIND_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("query", "q", "search"), "scratch_search finds pads by their words."
)

_reading: Final = partial(
    Tool, is_read_only=True, idempotent=True, accepts_max_tokens=True, accepts_cursor=True
)
_changing: Final = partial(Tool, destructive=True, idempotent=True)
_managing: Final = partial(Tool, destructive=True, accepts_max_tokens=True, accepts_cursor=True)

TOOLS: Final = (
    Tool(
        "scratch_create",
        scratch_create,
        "Make a scratchpad",
        accepts_idempotency_key=True,
        argument_hints=_METADATA_HINTS,
        adapt=join_pad,
        search_hint="notebook, draft, keep data or code",
    ),
    _reading(
        "scratch_read",
        scratch_read,
        "Read a scratchpad",
        PadAnswer,
        argument_hints=_LINES_HINTS,
    ),
    _reading("scratch_list_cells", scratch_list_cells, "List cells", CellsAnswer),
    Tool(
        "scratch_append_cell",
        scratch_append_cell,
        "Append a cell",
        accepts_idempotency_key=True,
        adapt=join_cell,
    ),
    _changing("scratch_replace_cell", scratch_replace_cell, "Replace a cell", adapt=join_cell),
    Tool(
        "scratch_edit_cell",
        scratch_edit_cell,
        "Edit a cell",
        destructive=True,
        adapt=join_edit,
        argument_hints=_INDEX_HINTS,
    ),
    Tool(
        "scratch_delete_cell",
        scratch_delete_cell,
        "Delete a cell",
        destructive=True,
        argument_hints=_INDEX_HINTS,
    ),
    _changing(
        "scratch_update",
        scratch_update,
        "Change a scratchpad",
        argument_hints=_METADATA_HINTS,
        adapt=join_labels,
    ),
    _changing("scratch_delete", scratch_delete, "Delete a scratchpad"),
    Tool(
        "scratch_restore",
        scratch_restore,
        "Restore a scratchpad",
        accepts_max_tokens=True,
        accepts_cursor=True,
    ),
    _reading(
        "scratch_list",
        scratch_list,
        "List scratchpads",
        PadListAnswer,
        argument_hints=_FIND_HINTS,
    ),
    _reading("scratch_list_tags", scratch_list_tags, "List tags", TagsAnswer),
    _reading(
        "scratch_validate",
        scratch_validate,
        "Validate cells",
        ValidationAnswer,
        argument_hints=_CHECK_HINTS,
        search_hint="lint, check syntax or JSON Schema",
    ),
    _reading(
        "scratch_search",
        scratch_search,
        "Search scratchpads",
        PadSearchAnswer,
        search_hint="find drafts, data and results",
    ),
    _managing(
        "scratch_schema",
        scratch_schema,
        "Schemas of a scratchpad",
        accepts_idempotency_key=True,
        adapt=join_schema,
        argument_hints=_SCHEMA_HINTS,
        aliases=_SCHEMA_ALIASES,
        reading_actions=("list", "get"),
    ),
    _managing(
        "scratch_namespace",
        scratch_namespace,
        "Namespaces",
        aliases=_NAMESPACE_ALIASES,
        reading_actions=("list",),
    ),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        "pad",
        TEMPLATES["pad"],
        "Scratchpad",
        "One scratchpad with its cells as JSON.",
        "application/json",
        read_pad,
        complete_pad,
    ),
    ResourceTemplate(
        "cell",
        TEMPLATES["cell"],
        "Cell",
        "One cell of a scratchpad as JSON.",
        "application/json",
        read_cell,
        complete_cell,
    ),
)
