"""The tools' answers, as types."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from rolltop.core.pagination import NextCall
from rolltop.toolsets.scratch.models import JsonObject, SearchMode


class SuccessAnswer(TypedDict):
    """Fields of every success; those that follow `ok` if the answer is truncated."""

    ok: Literal[True]
    omitted: NotRequired[list[str]]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]


class CellValidation(TypedDict):
    """Counts of a cell's stored validation."""

    valid: bool
    errors: int
    warnings: int
    stale: bool


class CellData(TypedDict):
    """A cell, with content if read; `omitted` names fields that do not fit the budget."""

    cell_id: str
    uri: NotRequired[str]
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
    omitted: NotRequired[list[str]]
    line_start: NotRequired[int]


class PadData(TypedDict):
    """A scratchpad; `cells` may be some: those read or written. Counts and tags are of all.

    `omitted` names the fields, and entries of metadata, that do not fit the budget.
    """

    scratch_id: str
    uri: NotRequired[str]
    cell_count: int
    version: int
    cells: NotRequired[list[CellData]]
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
    omitted: NotRequired[list[str]]


class DiagnosticData(TypedDict):
    """A diagnostic; line and column count from 1."""

    message: str
    code: str
    line: int
    column: int
    details: NotRequired[JsonObject]


class ValidationData(TypedDict):
    """The result of validating one cell; not valid exactly when there are errors."""

    cell_index: int
    cell_id: str
    uri: NotRequired[str]
    language: str
    valid: bool
    errors: list[DiagnosticData]
    warnings: list[DiagnosticData]
    details: NotRequired[JsonObject]


class PadAnswer(SuccessAnswer):
    """One scratchpad."""

    scratchpad: PadData
    cell_id: NotRequired[str]
    deleted: NotRequired[bool]
    validation: NotRequired[list[ValidationData]]
    evicted_scratchpads: NotRequired[list[str]]


class CellOutline(TypedDict):
    """A cell without its content."""

    cell_id: str
    uri: NotRequired[str]
    index: int
    language: str
    tags: NotRequired[list[str]]
    version: int
    bytes: int
    lines: int
    tokens: int
    first_line: str


class CellsAnswer(SuccessAnswer):
    """Cells without content."""

    scratch_id: str
    uri: NotRequired[str]
    cell_count: int
    cells: list[CellOutline]


class PadEntry(TypedDict):
    """A scratchpad in a list or in the trash."""

    scratch_id: str
    uri: NotRequired[str]
    title: str | None
    description: str | None
    namespace: str
    tags: NotRequired[list[str]]
    cell_count: int
    updated_at: str
    deleted_at: NotRequired[str]


class ProjectView(SuccessAnswer):
    """What is seen from a project; `other_projects` are namespaces that are left out."""

    other_projects: NotRequired[int]


class PadListAnswer(ProjectView):
    """Scratchpads."""

    scratchpads: list[PadEntry]


class TagsAnswer(ProjectView):
    """Tags in use."""

    scratchpad_tags: NotRequired[list[str]]
    cell_tags: NotRequired[list[str]]
    namespace_filter: NotRequired[list[str]]


class ValidationAnswer(SuccessAnswer):
    """Results of validation."""

    scratch_id: str
    results: list[ValidationData]


class HitData(TypedDict):
    """One hit, best first; `cell_id` is null where the pad itself matches."""

    scratch_id: str
    cell_id: str | None
    uri: NotRequired[str]
    tenant_id: str
    namespace: str
    tags: NotRequired[list[str]]
    score: float
    snippet: str
    embedding_version: str


class PadSearchAnswer(ProjectView):
    """Hits, and how they were found; `pending` texts have no vector yet and go by words.

    Where nothing was found, `searched` counts the pads and `nearest` is a word that is there.
    """

    hits: list[HitData]
    embedder: str
    mode: SearchMode
    pending: NotRequired[int]
    searched: NotRequired[dict[str, int]]
    nearest: NotRequired[str]
