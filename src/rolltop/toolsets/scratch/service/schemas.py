"""The JSON Schemas a pad keeps: by name and id, for its own cells."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from rolltop.core.errors import Conflict, NotFound
from rolltop.toolsets.scratch.models.records import GivenSchema, SchemaEntry
from rolltop.toolsets.scratch.service.finding import held, living
from rolltop.toolsets.scratch.store import names, pads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.db import Tx


def list_schemas(tx: Tx, scratch_id: str) -> list[SchemaEntry]:
    """Return a pad's schemas, by description, then by name. Raises NotFound."""
    living(tx, scratch_id)
    return names.schemas_of(tx, scratch_id)


def get_schema(tx: Tx, scratch_id: str, schema_id: str) -> SchemaEntry:
    """Return one schema of a pad. Raises NotFound."""
    for entry in list_schemas(tx, scratch_id):
        if entry.id == schema_id:
            return entry
    raise _unknown(schema_id)


def upsert_schema(tx: Tx, scratch_id: str, given: GivenSchema) -> SchemaEntry:
    """Return the entry, new or changed. Raises NotFound, or Conflict for a name that is taken."""
    pad = held(tx, scratch_id)
    before = names.schemas_of(tx, scratch_id)
    (entry,) = merged(before, [given])
    names.put_schemas(tx, scratch_id, [entry])
    pads.touch(tx, pad)
    return entry


def delete_schema(tx: Tx, scratch_id: str, schema_id: str) -> str:
    """Return the id of the schema that is gone. Raises NotFound."""
    pad = held(tx, scratch_id)
    if schema_id not in {entry.id for entry in names.schemas_of(tx, scratch_id)}:
        raise _unknown(schema_id)
    names.drop_schemas(tx, scratch_id, [schema_id])
    pads.touch(tx, pad)
    return schema_id


def merged(before: Sequence[SchemaEntry], given: Sequence[GivenSchema]) -> list[SchemaEntry]:
    """Return the entries to be written where `given` meets those that are there.

    An entry is the one with its id; without an id the one of its name; else a new one. Raises
    Conflict where two would have one name.
    """
    by_id = {entry.id: entry for entry in before}
    by_name = {entry.name: entry.id for entry in before}
    written: dict[str, SchemaEntry] = {}
    for one in given:
        schema_id = one.id or by_name.get(one.name or "") or str(uuid.uuid4())
        if schema_id in written:
            raise _taken(f"The id {schema_id} is given to two schemas")
        old = by_id.get(schema_id)
        label = one.name or (old.name if old else schema_id)
        description = one.description
        if description is None:
            description = old.description if old else ""
        written[schema_id] = SchemaEntry(schema_id, label, description, one.schema)
    _require_unique({**by_id, **written})
    return list(written.values())


def _require_unique(entries: Mapping[str, SchemaEntry]) -> None:
    seen: set[str] = set()
    for entry in entries.values():
        if entry.name in seen:
            raise _taken(f"The name {entry.name} belongs to another schema of the pad")
        seen.add(entry.name)


def _taken(message: str) -> Conflict:
    return Conflict(message, hint="scratch_schema with action list shows names and ids.")


def _unknown(schema_id: str) -> NotFound:
    return NotFound(
        f"The pad has no schema {schema_id}",
        hint="scratch_schema with action list shows names and ids.",
    )
