"""What a scratchpad and its cells are, as the store keeps them; not loaded at the start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rolltop.toolsets.scratch.models import (
    LABELS,
    JsonObject,
    Policy,
    moment,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True)
class Measured:
    """What is kept about a text beside the text: sizes, and what tells it from another."""

    sha256: str
    bytes: int
    characters: int
    lines: int
    tokens: int
    first_line: str


@dataclass(frozen=True)
class Finding:
    """What is kept of a validation: counts, for which content, by which validator."""

    valid: bool
    errors: int
    warnings: int
    validator: str
    sha256: str

    def shown(self, sha256: str, validator: str) -> JsonObject:
        """Return it as `scratch_read` shows it for a cell that now holds that content."""
        stale = (self.sha256, self.validator) != (sha256, validator)
        counts = {"valid": self.valid, "errors": self.errors, "warnings": self.warnings}
        return {**counts, "stale": stale}


@dataclass(frozen=True)
class Draft:
    """A cell as a caller sent it, checked and measured; None is left out."""

    language: str
    content: str
    measured: Measured
    validate: bool = False
    json_schema: object = None
    metadata: JsonObject | None = None
    tags: tuple[str, ...] | None = None
    cell_id: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True)
class Cell:
    """A stored cell. `content`, `json_schema` and `metadata` are None where not asked for."""

    cell_id: str
    scratch_id: str
    index: int
    language: str
    tags: tuple[str, ...]
    version: int
    measured: Measured
    validate: bool = False
    json_schema: object = None
    metadata: JsonObject | None = None
    finding: Finding | None = None
    content: str | None = None

    @property
    def place(self) -> Place:
        """Where it stands, and no more."""
        return Place(
            self.cell_id, self.index, self.language, self.version, self.measured.tokens, self.tags
        )

    @property
    def outline(self) -> JsonObject:
        """The cell as `scratch_list_cells` lists it."""
        measured = self.measured
        return {
            "cell_id": self.cell_id,
            "index": self.index,
            "language": self.language,
            "tags": list(self.tags),
            "version": self.version,
            "bytes": measured.bytes,
            "lines": measured.lines,
            "tokens": measured.tokens,
            "first_line": measured.first_line,
        }

    def full(self, validator: str) -> JsonObject:
        """Return the cell with its content, as `scratch_read` answers it."""
        optional: JsonObject = {
            "json_schema": self.json_schema,
            "metadata": self.metadata,
            "validation": self.finding and self.finding.shown(self.measured.sha256, validator),
        }
        return {
            "cell_id": self.cell_id,
            "index": self.index,
            "language": self.language,
            "content": self.content,
            "validate": self.validate,
            "tags": list(self.tags),
            "version": self.version,
            **{name: value for name, value in optional.items() if value is not None},
        }


@dataclass(frozen=True)
class Place:
    """Where a cell stands in its pad, and what it costs to read it."""

    cell_id: str
    index: int
    language: str
    version: int
    tokens: int
    tags: tuple[str, ...]

    @property
    def structure(self) -> JsonObject:
        """The cell without its content, as a write's answer lists it."""
        shown: JsonObject = {
            "cell_id": self.cell_id,
            "index": self.index,
            "language": self.language,
            "version": self.version,
        }
        return {**shown, "tags": list(self.tags)} if self.tags else shown


@dataclass(frozen=True)
class Pad:
    """A stored scratchpad without its cells. `metadata` is without `schemas`."""

    scratch_id: str
    tenant_id: str
    namespace: str
    tags: tuple[str, ...]
    metadata: JsonObject
    cell_count: int
    created_at: datetime
    updated_at: datetime
    version: int
    deleted_at: datetime | None = None

    @property
    def labels(self) -> JsonObject:
        """Title, description and summary, where set."""
        return {name: self.metadata[name] for name in LABELS if name in self.metadata}

    @property
    def entry(self) -> JsonObject:
        """The pad as `scratch_list` lists it."""
        return {
            "scratch_id": self.scratch_id,
            "title": self.metadata.get("title"),
            "description": self.metadata.get("description"),
            "namespace": self.namespace,
            "tags": list(self.tags),
            "cell_count": self.cell_count,
            "updated_at": moment(self.updated_at),
        }

    def shown(
        self, cells: list[JsonObject], cell_tags: list[str], accessed_at: datetime
    ) -> JsonObject:
        """Return the pad around some of its cells, as of its last access."""
        return {
            "scratch_id": self.scratch_id,
            "tenant_id": self.tenant_id,
            "namespace": self.namespace,
            "tags": list(self.tags),
            "cells": cells,
            "cell_count": self.cell_count,
            "cell_tags": cell_tags,
            "created_at": moment(self.created_at),
            "updated_at": moment(self.updated_at),
            "last_access_at": moment(accessed_at),
            "version": self.version,
        }


@dataclass(frozen=True)
class Written:
    """A pad after a write: the pad, the cells to list, and the hashes of those written, by id."""

    pad: Pad
    cells: tuple[Place, ...]
    written: Mapping[str, str]
    cell_tags: tuple[str, ...]
    evicted: tuple[str, ...] = ()

    @property
    def shown(self) -> JsonObject:
        """The pad without any content; the cells written with their hash."""
        cells = [
            {**cell.structure, "sha256": self.written[cell.cell_id]}
            if cell.cell_id in self.written
            else cell.structure
            for cell in self.cells
        ]
        return self.pad.shown(cells, list(self.cell_tags), self.pad.updated_at)


@dataclass(frozen=True)
class SchemaEntry:
    """A JSON Schema that a pad keeps under a name."""

    id: str
    name: str
    description: str
    schema: object

    @property
    def shown(self) -> JsonObject:
        """The entry as the tools answer it."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
        }


@dataclass(frozen=True)
class GivenPad:
    """A pad's own fields as a caller sent them, checked; None is left out.

    `removed` names the metadata keys to remove, `removed_schemas` the schemas; or all of them go.
    """

    namespace: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: JsonObject = field(default_factory=dict[str, Any])
    removed: frozenset[str] = frozenset()
    schemas: tuple[GivenSchema, ...] = ()
    removed_schemas: frozenset[str] = frozenset()
    removes_all_schemas: bool = False


@dataclass(frozen=True)
class GivenSchema:
    """A schema entry as a caller sent it, checked; None is left out."""

    schema: object
    id: str | None = None
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of pads and cells; 0 is none."""

    pads: int
    cells: int
    cell_bytes: int
    policy: Policy
    namespace: str


@dataclass(frozen=True)
class Wanted:
    """Which cells of a pad a caller wants, checked; None is no condition."""

    cell_ids: tuple[str, ...] | None = None
    indices: tuple[int, ...] | None = None
    tags: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replacement:
    """One edit: `old` becomes `new` once, or everywhere with `everywhere`."""

    old: str
    new: str
    everywhere: bool


@dataclass(frozen=True)
class LineEdit:
    """One edit: the lines from `first` to `last`, 1-based and inclusive, become `text`.

    `last` = `first` − 1 inserts before `first`.
    """

    first: int
    last: int
    text: str


Edit = Replacement | LineEdit
