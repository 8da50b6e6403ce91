"""Scratchpads and cells as the store and the service know them; not loaded at the start."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rolltop.core.addresses import record_address
from rolltop.core.pagination import AddressText, format_timestamp
from rolltop.toolsets.scratch.models import (
    LABEL_KEYS,
    EvictionPolicy,
    JsonObject,
)


@dataclass(frozen=True)
class TextStats:
    """Sizes and hash of a cell's content."""

    sha256: str
    bytes: int
    characters: int
    lines: int
    tokens: int
    first_line: str


@dataclass(frozen=True)
class ValidationSummary:
    """Counts of a stored validation, with its validator and the content's hash."""

    valid: bool
    errors: int
    warnings: int
    validator: str
    sha256: str

    def data(self, sha256: str, validator: str) -> JsonObject:
        """Render it for a cell that has that content now."""
        stale = (self.sha256, self.validator) != (sha256, validator)
        counts = {"valid": self.valid, "errors": self.errors, "warnings": self.warnings}
        return {**counts, "stale": stale}


@dataclass(frozen=True)
class Draft:
    """A cell as a caller sent it, checked and measured; None if left out."""

    language: str
    content: str
    stats: TextStats
    validate: bool = False
    json_schema: object = None
    metadata: JsonObject | None = None
    tags: tuple[str, ...] | None = None
    cell_id: str | None = None
    finding: ValidationSummary | None = None


@dataclass(frozen=True)
class Cell:
    """A stored cell; `content`, `json_schema` and `metadata` are None if not read."""

    cell_id: str
    scratch_id: str
    index: int
    language: str
    tags: tuple[str, ...]
    version: int
    stats: TextStats
    validate: bool = False
    json_schema: object = None
    metadata: JsonObject | None = None
    finding: ValidationSummary | None = None
    content: str | None = None

    @property
    def uri(self) -> AddressText:
        """The cell's address."""
        return record_address("cell", self.cell_id)

    @property
    def outline(self) -> JsonObject:
        """The cell as `scratch_list_cells` lists it."""
        names = ("bytes", "lines", "tokens", "first_line")
        return {
            "cell_id": self.cell_id,
            "uri": self.uri,
            "index": self.index,
            "language": self.language,
            "tags": list(self.tags),
            "version": self.version,
            **{name: getattr(self.stats, name) for name in names},
        }

    def full_data(self, validator: str) -> JsonObject:
        """Render the cell with its content, for `scratch_read`."""
        optional: JsonObject = {
            "json_schema": self.json_schema,
            "metadata": self.metadata,
            "validation": self.finding and self.finding.data(self.stats.sha256, validator),
        }
        return {
            "cell_id": self.cell_id,
            "uri": self.uri,
            "index": self.index,
            "language": self.language,
            "content": self.content,
            "validate": self.validate,
            "tags": list(self.tags),
            "version": self.version,
            **{name: value for name, value in optional.items() if value is not None},
            "sha256": self.stats.sha256,  # last: the first to be left out of a narrow answer
        }


@dataclass(frozen=True)
class Pad:
    """A stored scratchpad without its cells; `metadata` is without `schemas`."""

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
    def uri(self) -> AddressText:
        """The pad's address."""
        return record_address("pad", self.scratch_id)

    @property
    def labels(self) -> JsonObject:
        """Title, description and summary, where set."""
        return {name: self.metadata[name] for name in LABEL_KEYS if name in self.metadata}

    @property
    def entry(self) -> JsonObject:
        """The pad as `scratch_list` and the trash list it."""
        deleted = {"deleted_at": format_timestamp(self.deleted_at)} if self.deleted_at else {}
        return {
            "scratch_id": self.scratch_id,
            "uri": self.uri,
            "title": self.metadata.get("title"),
            "description": self.metadata.get("description"),
            "namespace": self.namespace,
            "tags": list(self.tags),
            "cell_count": self.cell_count,
            "updated_at": format_timestamp(self.updated_at),
            **deleted,
        }

    def data(
        self, cells: list[JsonObject], cell_tags: list[str], accessed_at: datetime
    ) -> JsonObject:
        """Render the pad around some of its cells, as of its last access."""
        return {
            "scratch_id": self.scratch_id,
            "uri": self.uri,
            "tenant_id": self.tenant_id,
            "namespace": self.namespace,
            "tags": list(self.tags),
            "cells": cells,
            "cell_count": self.cell_count,
            "cell_tags": cell_tags,
            "created_at": format_timestamp(self.created_at),
            "updated_at": format_timestamp(self.updated_at),
            "last_access_at": format_timestamp(accessed_at),
            "version": self.version,
        }


@dataclass(frozen=True)
class PadWrite:
    """A pad after a write, with the cells written; `whole` is the pad as a read shows it, if asked.

    `evicted` are the pads that made room for it.
    """

    pad: Pad
    cells: tuple[Cell, ...] = ()
    evicted: tuple[str, ...] = ()
    whole: JsonObject | None = None


@dataclass(frozen=True)
class SchemaEntry:
    """A JSON Schema of a pad."""

    id: str
    name: str
    description: str
    schema: object


@dataclass(frozen=True)
class SchemaChange:
    """A JSON Schema of a pad as a caller sent it, checked; None if left out."""

    schema: object
    id: str | None = None
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class PadChange:
    """A pad's own fields as a caller sent them, checked; None if left out.

    `removed` names the metadata keys to remove, `removed_schemas` the schemas.
    """

    namespace: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: JsonObject = field(default_factory=dict[str, Any])
    removed: frozenset[str] = frozenset()
    schemas: tuple[SchemaChange, ...] = ()
    removed_schemas: frozenset[str] = frozenset()
    removes_all_schemas: bool = False


@dataclass(frozen=True)
class PadLimits:
    """The limits of pads and cells; 0 is unlimited."""

    pads: int
    cells: int
    cell_bytes: int
    policy: EvictionPolicy
    namespace: str


@dataclass(frozen=True)
class CellSelection:
    """Which cells of which pads a caller asks for; None and () filter nothing."""

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
