"""The JSON Schemas of a pad, by name and id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, cast
from urllib.parse import unquote

from rolltop.core.errors import Conflict
from rolltop.toolsets.scratch.models import SCHEMA_URI
from rolltop.toolsets.scratch.models.records import SchemaChange, SchemaEntry

HINT: Final = "scratch_schema with action list shows names and ids."


def referenced_name(schema: object) -> str:
    """Extract the name or id that a cell's schema refers to, directly or by its `$ref`; or ""."""
    if isinstance(schema, dict):
        schema = cast("dict[str, object]", schema).get("$ref")
    if not isinstance(schema, str) or not schema.startswith(SCHEMA_URI):
        return ""
    return unquote(schema.removeprefix(SCHEMA_URI).partition("#")[0])


def merge_entries(
    before: Sequence[SchemaEntry], given: Sequence[SchemaChange]
) -> list[SchemaEntry]:
    """Resolve the given schemas against a pad's, to the entries to write.

    A schema replaces the one with its id; without an id the one with its name; else it is new.
    Raises Conflict if two would have one name.
    """
    by_id = {entry.id: entry for entry in before}
    by_name = {entry.name: entry.id for entry in before}
    written: dict[str, SchemaEntry] = {}
    for one in given:
        schema_id = one.id or by_name.get(one.name or "") or str(uuid.uuid4())
        if schema_id in written:
            raise Conflict(f"The id {schema_id} is given to two schemas", hint=HINT)
        old = by_id.get(schema_id)
        description = one.description
        if description is None:
            description = old.description if old else ""
        label = one.name or (old.name if old else schema_id)
        written[schema_id] = SchemaEntry(schema_id, label, description, one.schema)
    names: set[str] = set()
    for entry in {**by_id, **written}.values():
        if entry.name in names:
            raise Conflict(f"The name {entry.name} belongs to another schema of the pad", hint=HINT)
        names.add(entry.name)
    return list(written.values())
