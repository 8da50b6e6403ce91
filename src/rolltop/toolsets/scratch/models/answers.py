"""What the tools of scratch answer, as types."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from rolltop.toolsets.scratch.models import JsonObject, Mode


class Next(TypedDict):
    """The call that continues a cut answer."""

    tool: str
    arguments: JsonObject


class Answer(TypedDict):
    """What every success holds; the last three where the answer is cut."""

    ok: Literal[True]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[Next]


class CellValidation(TypedDict):
    """What an automatic validation found in a cell, in numbers."""

    valid: bool
    errors: int
    warnings: int
    stale: bool


class CellData(TypedDict):
    """A cell: with content where read, with its hash where written."""

    cell_id: str
    index: int
    language: str
    version: int
    content: NotRequired[str]
    validate: NotRequired[bool]
    json_schema: NotRequired[Any]
    metadata: NotRequired[JsonObject]
    tags: NotRequired[list[str]]
    validation: NotRequired[CellValidation]
    sha256: NotRequired[str]
    line_start: NotRequired[int]


class PadData(TypedDict):
    """A scratchpad; `cell_count` and `cell_tags` are of the whole, `cells` may be some.

    The smallest answer of a write holds only what is not marked.
    """

    scratch_id: str
    cells: list[CellData]
    cell_count: int
    version: int
    tenant_id: NotRequired[str]
    namespace: NotRequired[str]
    tags: NotRequired[list[str]]
    cell_tags: NotRequired[list[str]]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    last_access_at: NotRequired[str]
    title: NotRequired[str]
    description: NotRequired[str]
    summary: NotRequired[str]
    metadata: NotRequired[JsonObject]


class Diagnostic(TypedDict):
    """One finding, at a line and column counted from 1."""

    message: str
    code: str
    line: int
    column: int
    details: JsonObject


class ValidationData(TypedDict):
    """The result of validating one cell; not valid exactly when there are errors."""

    cell_index: int
    cell_id: str
    language: str
    valid: bool
    errors: list[Diagnostic]
    warnings: list[Diagnostic]
    details: JsonObject


class PadAnswer(Answer):
    """One scratchpad."""

    scratchpad: PadData
    cell_id: NotRequired[str]
    deleted: NotRequired[bool]
    validation: NotRequired[list[ValidationData]]
    evicted_scratchpads: NotRequired[list[str]]


class CellOutline(TypedDict):
    """A cell without its content."""

    cell_id: str
    index: int
    language: str
    tags: list[str]
    version: int
    bytes: int
    lines: int
    tokens: int
    first_line: str


class CellsAnswer(Answer):
    """Cells without content."""

    scratch_id: str
    cell_count: int
    cells: list[CellOutline]


class DeletedAnswer(Answer):
    """A deletion."""

    scratch_id: str
    deleted: bool


class PadEntry(TypedDict):
    """A scratchpad in a list; one in the trash says since when."""

    scratch_id: str
    title: str | None
    description: str | None
    namespace: str
    tags: list[str]
    cell_count: int
    updated_at: str
    deleted_at: NotRequired[str]


class ListAnswer(Answer):
    """Scratchpads."""

    scratchpads: list[PadEntry]


class RestoreAnswer(Answer):
    """One scratchpad, or what is in the trash."""

    scratchpad: NotRequired[PadData]
    scratchpads: NotRequired[list[PadEntry]]
    evicted_scratchpads: NotRequired[list[str]]


class TagsAnswer(Answer):
    """Tags in use."""

    scratchpad_tags: list[str]
    cell_tags: list[str]
    namespace_filter: NotRequired[list[str]]


class ValidationAnswer(Answer):
    """Results of validation."""

    scratch_id: str
    results: list[ValidationData]


class HitData(TypedDict):
    """One hit, best first; `cell_id` is null where the pad itself matches."""

    scratch_id: str
    cell_id: str | None
    tenant_id: str
    namespace: str
    tags: list[str]
    score: float
    snippet: str
    embedding_version: str


class SearchAnswer(Answer):
    """Hits, and how they were found."""

    hits: list[HitData]
    embedder: str
    mode: Mode


class SchemaData(TypedDict):
    """A schema of a pad."""

    id: str
    name: str
    description: str
    schema: Any


class SchemaAnswer(Answer):
    """Schemas of a pad, or one."""

    schemas: NotRequired[list[SchemaData]]
    schema: NotRequired[SchemaData]
    schema_id: NotRequired[str]
    deleted: NotRequired[bool]


class NamespaceEntry(TypedDict):
    """A namespace."""

    namespace: str
    scratchpad_count: int
    created_at: str


class NamespaceAnswer(Answer):
    """What became of a namespace, or the list of them."""

    namespaces: NotRequired[list[NamespaceEntry]]
    namespace: NotRequired[str]
    created: NotRequired[bool]
    migrated_count: NotRequired[int]
    deleted: NotRequired[bool]
    removed_scratchpads: NotRequired[int]


class Failure(TypedDict):
    """What went wrong and what to do next."""

    code: str
    message: str
    error: str
    hint: str
    details: NotRequired[JsonObject]


class ErrorAnswer(TypedDict):
    """A failure."""

    ok: Literal[False]
    error: Failure
    truncated: NotRequired[bool]
