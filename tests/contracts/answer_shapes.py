"""The shapes of answers, also of those that tools/list says nothing about."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from rolltop.core.addresses import Kind
from rolltop.core.pagination import NextCall
from rolltop.core.tools import JsonObject, Tool, Toolset
from rolltop.toolsets.desk.models import LinkData, ThingRef
from rolltop.toolsets.notes.models import SyncState
from rolltop.toolsets.reader.models import SummaryStyle, TokenEncoding
from rolltop.toolsets.retrieval.models import LineData, Meta
from rolltop.toolsets.scratch.models.answers import PadAnswer, PadData, PadEntry, SuccessAnswer
from rolltop.toolsets.tasks.models import TaskData


class AddressAnswer(TypedDict):
    """What is at an address now: a text or its lines, a pad's cells, a folder's entries or a task.

    `uri` has the version that is shown. `became` says what happened to what was asked for;
    `heading` has the titles around the text, the outermost first. `links` are those from and to it.
    `by` and `at` say who made a record what it is, and when.
    """

    uri: str
    kind: Kind
    title: str
    by: NotRequired[str]
    at: NotRequired[str]
    became: NotRequired[str]
    heading: NotRequired[list[str]]
    pad: NotRequired[ThingRef]
    language: NotRequired[str]
    tags: NotRequired[list[str]]
    line_start: NotRequired[int]
    line_end: NotRequired[int]
    total_lines: NotRequired[int]
    text: NotRequired[str]
    cells: NotRequired[list[JsonObject]]
    entries: NotRequired[list[JsonObject]]
    task: NotRequired[JsonObject]
    links: NotRequired[list[LinkData]]
    more_links: NotRequired[int]
    omitted: NotRequired[list[str]]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]


class TaskAnswer(TypedDict):
    """One task."""

    success: Literal[True]
    data: TaskData
    truncated: NotRequired[bool]


class AddedTask(TypedDict):
    """One of several new tasks."""

    task_id: str
    uri: NotRequired[str]


class TaskAddedAnswer(TypedDict):
    """A new task, or several in the order they were sent."""

    success: Literal[True]
    data: TaskData | list[AddedTask]
    hint: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class Waiting(TypedDict):
    """How many pending tasks are not ready, by why, and when the first lease ends."""

    claimed: int
    blocked: int
    overdue: int
    lease_ends: NotRequired[str]


class NextTaskAnswer(TypedDict):
    """One task, or null where none is ready."""

    success: Literal[True]
    data: TaskData | None
    waiting: NotRequired[Waiting]
    truncated: NotRequired[bool]


class DeletedTask(TypedDict):
    """A task that went into the trash."""

    task_id: str
    uri: NotRequired[str]
    message: str


class TaskDeletedAnswer(TypedDict):
    """A deletion."""

    success: Literal[True]
    data: DeletedTask
    truncated: NotRequired[bool]


class MovedLine(TypedDict):
    """A line of a patch, and where it was when the patch was applied."""

    ln: int
    now: int


class NoteData(TypedDict):
    """A note, of which `text` may be a part; `moved_left_out` counts what `moved` leaves out."""

    id: str
    uri: NotRequired[str]
    local_version: int
    server_version: NotRequired[int]
    text: str
    tags: NotRequired[list[str]]
    modified_at: int
    created_at: int
    trash: bool
    txt_partial: bool
    txt_tot_ln: int
    range_line_start: NotRequired[int]
    range_line_count: NotRequired[int]
    sha256: str
    sync_state: SyncState
    rebased: NotRequired[bool]
    moved: NotRequired[list[MovedLine]]
    moved_left_out: NotRequired[int]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class VersionData(TypedDict):
    """A version of a note."""

    local_version: int
    server_version: NotRequired[int]
    modified_at: int
    bytes: int
    source: str


class StatusChangeAnswer(TypedDict):
    """The answer of trash, untrash and delete_permanently."""

    id: str
    uri: NotRequired[str]
    status: Literal["trashed", "untrashed", "deleted"]
    new_local_version: int
    new_server_version: NotRequired[int]


class StatsAnswer(TypedDict):
    """The answer of get_stats; times are UNIX seconds."""

    version: str
    python_version: str
    memory_rss_mb: float | None
    db_encryption: Literal["enabled", "disabled", "unavailable"]
    db_file_size_mb: float | None
    db_total_notes: int
    db_last_sync_at: int | None
    db_sync_duration_ms: int | None
    db_sync_status: str
    db_sync_error_count: int
    db_schema_version: int
    backend_cursor: str | None
    pending_writes: int


class ResetAnswer(TypedDict):
    """The answer of reset_cache."""

    status: Literal["success"]
    message: str
    full_resync_triggered: bool


class SyncAnswer(TypedDict):
    """The answer of sync."""

    pulled: int
    pushed: int
    conflicts: int
    status: str


class HistoryAnswer(TypedDict):
    """The answer of history, newest first."""

    uri: NotRequired[str]
    versions: list[VersionData]
    next_cursor: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


ManageAnswer = (
    StatusChangeAnswer | StatsAnswer | ResetAnswer | SyncAnswer | HistoryAnswer | NoteData
)


class FileText(TypedDict):
    """Lines of a file as `text` or `lines`; `sha256` and `total_lines` cover the whole file."""

    repo: str
    path: str
    uri: NotRequired[str]
    start_line: int
    end_line: int
    text: NotRequired[str]
    lines: NotRequired[list[LineData]]
    total_lines: int
    sha256: str
    encoding: NotRequired[str]


class FileAnswer(TypedDict):
    """The answer of repo_open_file and repo_get_snippet."""

    result: FileText
    meta: Meta


class SectionHeaders(TypedDict):
    """How many sections a document has, and the first of them."""

    count: int
    headers: NotRequired[list[str]]
    note: str


class IncludedParts(TypedDict):
    """Which parts a summary holds."""

    abstract: bool
    keywords: bool
    section_headers: bool
    key_findings: bool


class ExcludedParts(TypedDict):
    """What the document holds and its summary does not hold in full."""

    detailed_methods: bool
    complete_citations: bool
    code_examples: bool
    tables_and_figures: bool


class Coverage(TypedDict):
    """What a summary covers; the score is its tokens by the document's, 0 to 1."""

    included: IncludedParts
    excluded: ExcludedParts
    completeness_score: float


class OriginalDocument(TypedDict):
    """The document that was summarised."""

    path: str
    filename: str
    size_bytes: int
    size_tokens: int


class SummaryConfidence(TypedDict):
    """What a summary may be used for."""

    completeness: float
    recommended_for: NotRequired[list[str]]
    not_recommended_for: NotRequired[list[str]]


class ReadAnswer(TypedDict):
    """A document in full (`tokens`, `path`) or its summary (the fields after them)."""

    content: str
    type: Literal["full", "summary"]
    uri: NotRequired[str]
    tokens: NotRequired[int]
    path: NotRequired[str]
    note: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]
    _preamble: NotRequired[str]
    style: NotRequired[SummaryStyle]
    original_tokens: NotRequired[int]
    summary_tokens: NotRequired[int]
    reduction_factor: NotRequired[float]
    sections: NotRequired[SectionHeaders]
    coverage: NotRequired[Coverage]
    original: NotRequired[OriginalDocument]
    confidence: NotRequired[SummaryConfidence]


class SectionRef(TypedDict):
    """A section by its id."""

    id: str
    title: str
    start_line: int


class AlternativeSection(SectionRef):
    """A section that answers to a heading as well, with the titles around it and its own."""

    path_titles: NotRequired[list[str]]


class SectionAnswer(TypedDict):
    """A section's lines; `tokens` and the lines are those of the whole section."""

    content: str
    type: Literal["section"]
    uri: NotRequired[str]
    section: str
    heading_level: int
    tokens: int
    start_line: int
    end_line: int
    id: str
    path_titles: NotRequired[list[str]]
    also: NotRequired[list[AlternativeSection]]
    also_count: NotRequired[int]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class TokenCount(TypedDict):
    """The tokens of a text."""

    tokens: int
    encoding: TokenEncoding


class OmittedSection(TypedDict):
    """A section a plan left out, and what it would cost.

    `heading_path` has the titles above it and its own: `Version 1.39.0 > Language`. Text that is
    in no section has `lines` for id and title.
    """

    path: str
    id: NotRequired[str]
    title: NotRequired[str]
    lines: NotRequired[list[int]]
    heading_path: NotRequired[str]
    tokens: int


class PlannedSection(OmittedSection):
    """A section a plan reads; `whole` is false for one that was cut to fit.

    Of that the lines that are given are told, and those of the whole as `section_lines`.
    """

    uri: NotRequired[str]
    start_line: int
    end_line: int
    whole: bool
    section_lines: NotRequired[list[int]]
    content: str
    next: NotRequired[NextCall]


class ReadPlan(TypedDict):
    """The sections that answer a query, and the best of those left out with their prices.

    `unread_files` of folders and globs were not read: others are likelier, or are documents.
    """

    type: Literal["plan"]
    sections: list[PlannedSection]
    tokens: int
    left_out: list[OmittedSection]
    left_out_count: int
    left_out_tokens: int
    unread_files: NotRequired[int]
    note: NotRequired[str]
    truncated: NotRequired[Literal[True]]
    next: NotRequired[JsonObject]


class PadDeletedAnswer(SuccessAnswer):
    """A deletion."""

    scratch_id: str
    uri: NotRequired[str]
    deleted: bool


class RestoreAnswer(SuccessAnswer):
    """One scratchpad, or the trash."""

    scratchpad: NotRequired[PadData]
    scratchpads: NotRequired[list[PadEntry]]
    evicted_scratchpads: NotRequired[list[str]]


class SchemaData(TypedDict):
    """A schema of a pad."""

    id: str
    name: str
    description: str
    schema: Any


class SchemaAnswer(SuccessAnswer):
    """Schemas of a pad, or one."""

    uri: NotRequired[str]
    schemas: NotRequired[list[SchemaData]]
    schema: NotRequired[SchemaData]
    schema_id: NotRequired[str]
    deleted: NotRequired[bool]


class NamespaceEntry(TypedDict):
    """A namespace."""

    namespace: str
    scratchpad_count: int
    created_at: str


class NamespaceAnswer(SuccessAnswer):
    """The outcome of an action on a namespace, or a list of namespaces."""

    namespaces: NotRequired[list[NamespaceEntry]]
    namespace: NotRequired[str]
    created: NotRequired[bool]
    migrated_count: NotRequired[int]
    deleted: NotRequired[bool]
    removed_scratchpads: NotRequired[int]


class TaskErrorAnswer(TypedDict):
    """A failure; a CONFLICT holds the task as it is now in `data`."""

    success: Literal[False]
    error: str
    code: str
    hint: str
    data: NotRequired[TaskData]
    reference: NotRequired[str]
    truncated: NotRequired[bool]


class NoteErrorData(TypedDict):
    """An error."""

    category: str
    code: str
    message: str
    details: JsonObject
    resolution_hint: str
    subcategory: NotRequired[str]
    http_status: int


class NoteErrorAnswer(TypedDict):
    """The toolset's error shape."""

    error: NoteErrorData


class RetrievalErrorData(TypedDict):
    """An error and the call that fixes it."""

    code: str
    message: str
    details: JsonObject
    hint: str


class RetrievalErrorAnswer(TypedDict):
    """The toolset's error shape."""

    error: RetrievalErrorData


class ReaderErrorAnswer(TypedDict):
    """What failed, and the call that repairs it."""

    type: Literal["error"]
    error: str
    code: str
    hint: str
    content: NotRequired[str]
    section: NotRequired[str]
    suggestions: NotRequired[list[SectionRef]]
    candidates: NotRequired[list[str]]
    reference: NotRequired[str]


class ScratchErrorData(TypedDict):
    """An error and its remedy."""

    code: str
    message: str
    error: str
    hint: str
    details: NotRequired[JsonObject]


class ScratchErrorAnswer(TypedDict):
    """A failure."""

    ok: Literal[False]
    error: ScratchErrorData
    truncated: NotRequired[bool]


class DeskErrorData(TypedDict):
    """An error, and the call that repairs it."""

    code: str
    message: str
    hint: str
    details: NotRequired[JsonObject]


class DeskErrorAnswer(TypedDict):
    """The toolset's error shape."""

    error: DeskErrorData


SHAPES: dict[str, Any] = {
    "add_task": TaskAddedAnswer,
    "delete_task": TaskDeletedAnswer,
    "next_task": NextTaskAnswer,
    **dict.fromkeys(
        ("complete_task", "update_task", "claim_task", "reopen_task", "restore_task"), TaskAnswer
    ),
    "scratch_create": PadAnswer,
    **dict.fromkeys(
        (f"scratch_{verb}_cell" for verb in ("append", "replace", "edit", "delete")), PadAnswer
    ),
    "scratch_update": PadAnswer,
    "scratch_delete": PadDeletedAnswer,
    "scratch_restore": RestoreAnswer,
    "scratch_schema": SchemaAnswer,
    "scratch_namespace": NamespaceAnswer,
    "note_get": NoteData,
    "note_save": NoteData,
    "note_manage": ManageAnswer,
    "repo_open_file": FileAnswer,
    "repo_get_snippet": FileAnswer,
    "smart_read": ReadAnswer,
    "read_section": SectionAnswer,
    "estimate_tokens": TokenCount,
    "desk_read": AddressAnswer,
    "read_plan": ReadPlan,
}
"""The answers of the tools that declare none."""


ERRORS: dict[str, type] = {
    "tasks": TaskErrorAnswer,
    "scratch": ScratchErrorAnswer,
    "notes": NoteErrorAnswer,
    "retrieval": RetrievalErrorAnswer,
    "reader": ReaderErrorAnswer,
    "desk": DeskErrorAnswer,
}
"""The failures of each toolset."""


@cache
def _schema_of(kind: type) -> JsonObject:
    return TypeAdapter(kind).json_schema()


def output_schema(toolset: Toolset, tool: Tool) -> JsonObject:
    """Return the JSON Schema of a tool's answers, in both outcomes."""
    failure = ERRORS.get(toolset.name)
    outcomes: list[JsonObject] = [
        _schema_of(tool.output or SHAPES[tool.name]),
        _schema_of(failure) if failure else {"required": list(toolset.error_fields)},
    ]
    definitions: JsonObject = outcomes[0].get("$defs", {}) | outcomes[1].get("$defs", {})
    return {"type": "object", "anyOf": outcomes, "$defs": definitions}
