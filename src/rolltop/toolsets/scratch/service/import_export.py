"""Scratchpads as folders: `pad.json` says what the pad is, and each cell is a file of its own."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Final, cast

from rolltop.core.accounts import lock_owner
from rolltop.core.arguments import parse_timestamp, value_preview
from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.db.types import MAX_VERSION
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import format_timestamp
from rolltop.toolsets.scratch.models import LABEL_KEYS, JsonObject
from rolltop.toolsets.scratch.models.inputs import CellInput
from rolltop.toolsets.scratch.models.records import (
    Cell,
    Pad,
    PadLimits,
    SchemaEntry,
    ValidationSummary,
)
from rolltop.toolsets.scratch.service import cell_input, pads, schemas
from rolltop.toolsets.scratch.store import cell_rows, pad_rows

PAD_FILE: Final = "pad.json"
_BATCH_SIZE: Final = 100
_CELLS_AT_ONCE: Final = 20
_SUFFIX: Final = re.compile(r"[a-z0-9]{1,10}")
_CELL_FILE: Final = re.compile(r"[^/\\:\0]+")


@dataclass(frozen=True)
class PortablePad:
    """A pad with its schemas and whole cells."""

    pad: Pad
    schemas: tuple[SchemaEntry, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class PadImport:
    """What became of imported pads; `kept` are different here, and stay as they are here."""

    added: int = 0
    unchanged: int = 0
    kept: int = 0


def read_pads(tx: Tx) -> Iterator[Pad]:
    """Yield all pads of the caller, those in the trash too, by id."""
    last = None
    while batch := pad_rows.all_pads(tx, last, _BATCH_SIZE):
        yield from batch
        last = batch[-1].scratch_id


def read_namespaces(tx: Tx) -> list[JsonObject]:
    """Return the caller's namespaces, by name."""
    return [
        {"namespace": name, "created_at": format_timestamp(moment), "is_project": is_project}
        for name, moment, is_project in pad_rows.all_namespaces(tx)
    ]


def render_pad(tx: Tx, pad: Pad) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a pad by their names, `pad.json` last."""
    outlines = cell_rows.outlines(tx, pad.scratch_id)
    names = {cell.cell_id: _cell_file(cell, len(outlines)) for cell in outlines}
    described: list[JsonObject] = []
    for some in batches([*names], _CELLS_AT_ONCE):
        for cell in cell_rows.get_cells(tx, pad.scratch_id, some):
            described.append({"file": names[cell.cell_id], **_describe_cell(cell)})
            yield names[cell.cell_id], (cell.content or "").encode()
    whole = {
        "scratch_id": pad.scratch_id,
        "namespace": pad.namespace,
        "tags": list(pad.tags),
        "metadata": pad.metadata,
        "schemas": {
            entry.name: {"id": entry.id, "description": entry.description, "schema": entry.schema}
            for entry in pad_rows.schemas_of(tx, pad.scratch_id)
        },
        "created_at": format_timestamp(pad.created_at),
        "updated_at": format_timestamp(pad.updated_at),
        "version": pad.version,
        **({"deleted_at": format_timestamp(pad.deleted_at)} if pad.deleted_at else {}),
        "cells": described,
    }
    yield PAD_FILE, f"{json.dumps(whole, ensure_ascii=False, indent=2)}\n".encode()


def parse_pad(data: bytes, read: Callable[[str], bytes], limits: PadLimits) -> PortablePad:
    """Parse `pad.json`; `read` returns a cell's file, by a name without folders.

    Raises InvalidArgument, and what `read` raises.
    """
    whole = _json_object(data)
    pad_id = cell_input.identifier(str(whole.get("scratch_id")))
    try:
        return _parse_pad(pad_id, whole, read, limits)
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(f"{PAD_FILE} is not as it is exported ({error})") from None


def import_namespaces(tx: Tx, given: object) -> list[str]:
    """Register namespaces, save those that are registered; return what is wrong with others."""
    if given is not None and not isinstance(given, list):
        return ["namespaces is not a list"]
    refused: list[str] = []
    for at, entry in enumerate(cast("list[object]", given or [])):
        named = cast("JsonObject", entry if isinstance(entry, dict) else {})
        try:
            name = cell_input.name(named.get("namespace"), "namespace")
            moment = parse_timestamp(named.get("created_at"))
        except InvalidArgument as error:
            refused.append(f"namespaces[{at}]: {error.message}")
        else:
            pad_rows.put_namespace(tx, name, moment, is_project=named.get("is_project") is True)
    return refused


def is_here(tx: Tx, pad_id: str) -> bool:
    """Return whether a pad is here, or in the trash."""
    return pad_rows.get_including_trash(tx, pad_id) is not None


def import_pad(tx: Tx, given: PortablePad, limits: PadLimits, result: PadImport) -> PadImport:
    """Import a validated pad that is not here yet, and return `result` with it.

    Raises InvalidArgument if there is no room for it, or one of its cells is in another pad.
    """
    lock_owner(tx)
    owner = tx.scope.user_id
    given = replace(given, pad=replace(given.pad, tenant_id=owner))
    pad = given.pad
    here = pad_rows.get_including_trash(tx, pad.scratch_id)
    if here is not None:
        is_same = without_findings(_read_whole(tx, here)) == without_findings(given)
        return replace(
            result, unchanged=result.unchanged + is_same, kept=result.kept + (not is_same)
        )
    if limits.pads and pad.deleted_at is None and pad_rows.count_pads(tx) >= limits.pads:
        raise InvalidArgument(f"there are {limits.pads} scratchpads, and no more are allowed")
    taken = cell_rows.pads_and_tags(tx, [cell.cell_id for cell in given.cells])
    if taken:
        raise InvalidArgument(f"its cell {min(taken)} is in another scratchpad")
    pad_rows.register_namespace(tx, pad.namespace)
    pad_rows.insert_stored(tx, pad)
    pad_rows.put_schemas(tx, pad.scratch_id, given.schemas)
    cell_rows.insert_stored(tx, given.cells)
    if pad.deleted_at is None:
        pads.index_pad_with_cells(tx, pad)
    return replace(result, added=result.added + 1)


def _cell_file(cell: Cell, count: int) -> str:
    """Name a cell's file by its place in the pad and its language."""
    suffix = cell.language if _SUFFIX.fullmatch(cell.language) else "txt"
    return f"{cell.index + 1:0{max(2, len(str(count)))}}.{suffix}"


def _describe_cell(cell: Cell) -> JsonObject:
    optional: JsonObject = {
        "tags": list(cell.tags) or None,
        "validate": cell.validate or None,
        "json_schema": cell.json_schema,
        "metadata": cell.metadata,
        "validation": cell.finding and vars(cell.finding),
    }
    return {
        "cell_id": cell.cell_id,
        "language": cell.language,
        "version": cell.version,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _parse_pad(
    pad_id: str, whole: JsonObject, read: Callable[[str], bytes], limits: PadLimits
) -> PortablePad:
    entries = cast("list[JsonObject]", whole["cells"])
    cell_input.require_room(len(entries), limits)
    metadata = _object_or_none(whole.get("metadata"), "metadata") or {}
    named: JsonObject = {**metadata, "schemas": whole.get("schemas") or {}}
    change = cell_input.parse_pad_fields(
        named, whole.get("namespace"), whole.get("tags") or [], limits.namespace
    )
    shown = {*change.metadata, *change.removed.difference(LABEL_KEYS)}
    deleted_at = whole.get("deleted_at")
    created_at = parse_timestamp(whole["created_at"])
    pad = Pad(
        pad_id,
        "",
        change.namespace or limits.namespace,
        change.tags or (),
        {key: change.metadata.get(key) for key in metadata if key in shown},
        len(entries),
        created_at=created_at,
        updated_at=parse_timestamp(whole.get("updated_at") or whole["created_at"]),
        version=_version(whole.get("version", 1)),
        deleted_at=None if deleted_at is None else parse_timestamp(deleted_at),
    )
    cells = tuple(_parse_cell(pad_id, at, entry, read, limits) for at, entry in enumerate(entries))
    if len({cell.cell_id for cell in cells}) < len(cells):
        raise InvalidArgument("two of its cells have the same cell_id")
    entries = schemas.merge_entries([], change.schemas)
    entries.sort(key=lambda entry: (entry.description, entry.name))
    return PortablePad(pad, tuple(entries), cells)


def _parse_cell(
    pad_id: str, at: int, entry: JsonObject, read: Callable[[str], bytes], limits: PadLimits
) -> Cell:
    file = entry["file"]
    if not isinstance(file, str) or not _CELL_FILE.fullmatch(file) or file in {".", ".."}:
        raise InvalidArgument(f"{value_preview(file)} is not the name of a file beside {PAD_FILE}")
    try:
        content = read(file).decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{file} is not UTF-8 text") from None
    cell_id = entry.get("cell_id") or str(uuid.uuid5(uuid.UUID(pad_id), file))
    given: dict[str, object] = {
        "language": entry["language"],
        "content": content,
        "validate": entry.get("validate") is True,
        "json_schema": entry.get("json_schema"),
        "metadata": _object_or_none(entry.get("metadata"), f"{file}.metadata"),
        "cell_id": str(cell_id),
    }
    draft = cell_input.parse_cell(cast("CellInput", given), limits, file)
    return Cell(
        draft.cell_id or "",
        pad_id,
        at,
        draft.language,
        cell_input.check_names(entry.get("tags") or [], f"{file}.tags"),
        _version(entry.get("version", 1)),
        draft.stats,
        draft.validate,
        draft.json_schema,
        draft.metadata,
        _parse_finding(entry.get("validation")),
        content,
    )


def _parse_finding(given: object) -> ValidationSummary | None:
    """Parse a validation; None for what is not one. It is what the file says, true or not."""
    types = {"valid": bool, "errors": int, "warnings": int, "validator": str, "sha256": str}
    if not isinstance(given, dict):
        return None
    values = cast("JsonObject", given)
    if any(type(values.get(name)) is not kind for name, kind in types.items()):
        return None
    return ValidationSummary(**{one.name: values[one.name] for one in fields(ValidationSummary)})


def without_findings(pad: PortablePad) -> PortablePad:
    """Leave out what validation found, which is not the pad's own."""
    return replace(pad, cells=tuple(replace(cell, finding=None) for cell in pad.cells))


def _read_whole(tx: Tx, pad: Pad) -> PortablePad:
    cells = cell_rows.get_all_cells(tx, pad.scratch_id)
    return PortablePad(pad, tuple(pad_rows.schemas_of(tx, pad.scratch_id)), tuple(cells))


def _json_object(data: bytes) -> JsonObject:
    try:
        whole: object = json.loads(data.decode())
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise InvalidArgument(f"{PAD_FILE} is not a JSON object in UTF-8")
    return cast("JsonObject", whole)


def _object_or_none(value: object, what: str) -> JsonObject | None:
    if value is not None and not isinstance(value, dict):
        raise InvalidArgument(f"{what} is not an object; got {value_preview(value)}")
    return cast("JsonObject | None", value)


def _version(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_VERSION:
        raise InvalidArgument(f"version {value_preview(value)} is not a whole number from 1 on")
    return value
