"""What a caller sends as a cell or as a pad's own fields, checked and measured: no store."""

from __future__ import annotations

import hashlib
import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core import tokens
from rolltop.core.arguments import shown, storable
from rolltop.core.errors import Invalid, RolltopError
from rolltop.core.text.lines import line_count
from rolltop.toolsets.scratch.models import (
    FIRST_LINE_LENGTH,
    LABELS,
    LANGUAGES,
    NAME_LENGTH,
    SCHEMA_URI,
    STRUCTURED,
    JsonObject,
)
from rolltop.toolsets.scratch.models.records import Draft, GivenPad, GivenSchema, Limits, Measured
from rolltop.toolsets.scratch.service.checks import (
    document,
    fields,
    identifier,
    mapping,
    name,
    names,
    required,
    wrong,
)
from rolltop.toolsets.scratch.validate import check_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CELL: Final = {
    "language": str,
    "content": str,
    "validate": bool,
    "json_schema": (dict, str),
    "metadata": dict,
    "tags": list,
    "cell_id": str,
}
_SCHEMA: Final = {"id": str, "name": str, "description": str, "schema": (dict, bool)}
_NAME_SHOWN: Final = 60


def draft(given: object, limits: Limits, what: str = "cell") -> Draft:
    """Return a cell to be stored. Raises Invalid."""
    entries = fields(given, what, _CELL)
    language = _language(required(entries, "language", what))
    content: str = required(entries, "content", what)
    tags, cell_id = entries.get("tags"), entries.get("cell_id")
    return Draft(
        language=language,
        content=storable(content, f"{what}.content"),
        measured=measured(content, limits),
        validate=entries.get("validate", False),
        json_schema=_schema_of_cell(entries.get("json_schema"), language, what),
        metadata=document(entries.get("metadata"), f"{what}.metadata"),
        tags=None if tags is None else names(tags, f"{what}.tags"),
        cell_id=None if cell_id is None else identifier(cell_id, f"{what}.cell_id"),
    )


def drafts(given: Sequence[object] | None, limits: Limits) -> list[Draft]:
    """Return the cells of a new pad. Raises Invalid: a cell is wrong, or there are too many."""
    cells = given or ()
    require_room(len(cells), limits)
    made = [draft(cell, limits, f"cells[{at}]") for at, cell in enumerate(cells)]
    seen: set[str] = set()
    for cell in made:
        if cell.cell_id in seen:
            raise id_taken("cell_id", cell.cell_id)
        if cell.cell_id is not None:
            seen.add(cell.cell_id)
    return made


def measured(content: str, limits: Limits) -> Measured:
    """Return what is kept about a content. Raises CAPACITY_LIMIT_REACHED where it is too long."""
    raw = content.encode()
    if limits.cell_bytes and len(raw) > limits.cell_bytes:
        raise Invalid(
            f"The content has {len(raw)} bytes; a cell may have {limits.cell_bytes}",
            code="CAPACITY_LIMIT_REACHED",
            hint="Split it over several cells.",
        )
    first = content[: content.find("\n")] if "\n" in content else content
    first = first.removesuffix("\r")
    if len(first) > FIRST_LINE_LENGTH:
        first = first[: FIRST_LINE_LENGTH - 1] + "…"
    return Measured(
        sha256=hashlib.sha256(raw).hexdigest(),
        bytes=len(raw),
        characters=len(content),
        lines=line_count(content),
        tokens=tokens.count(content),
        first_line=first,
    )


def require_room(cells: int, limits: Limits) -> None:
    """Raise CAPACITY_LIMIT_REACHED where a pad cannot have that many cells."""
    if limits.cells and cells > limits.cells:
        raise Invalid(
            f"A pad may have {limits.cells} cells; this would make {cells}",
            code="CAPACITY_LIMIT_REACHED",
            hint="Delete cells with scratch_delete_cell, or use another pad.",
        )


def pad_fields(
    metadata: Mapping[str, Any] | None,
    namespace: str | None,
    tags: Sequence[str] | None,
    default_namespace: str,
) -> GivenPad:
    """Return a pad's own fields; `namespace` and `tags` win over the same keys in metadata.

    A null in metadata removes the key; of a namespace it brings back the default.
    """
    open_fields: JsonObject = document(dict(metadata or {}), "metadata")
    given_namespace = open_fields.pop("namespace", namespace)
    if "namespace" in (metadata or {}) and given_namespace is None:
        given_namespace = default_namespace
    given_tags: object = open_fields.pop("tags", tags)
    if "tags" in (metadata or {}) and given_tags is None:
        given_tags = []
    schemas = open_fields.pop("schemas", {})
    removed = frozenset(key for key, value in open_fields.items() if value is None)
    kept = {key: value for key, value in open_fields.items() if value is not None}
    for key in LABELS:
        if key in kept:
            kept[key] = _label(kept[key], key)
    chosen = namespace if namespace is not None else given_namespace
    chosen_tags: object = tags if tags is not None else given_tags
    entries = {} if schemas is None else mapping(schemas, "metadata.schemas")
    return GivenPad(
        namespace=None if chosen is None else _namespace(chosen),
        tags=None if chosen_tags is None else names(chosen_tags, "tags"),
        metadata=kept,
        removed=removed,
        schemas=tuple(
            _named_schema(key, entry) for key, entry in entries.items() if entry is not None
        ),
        removed_schemas=frozenset(key for key, entry in entries.items() if entry is None),
        removes_all_schemas=schemas is None,
    )


def schema_entry(given: object, what: str = "schema") -> GivenSchema:
    """Return an entry of a pad's schemas. Raises Invalid where it is not a valid JSON Schema."""
    entries = fields(given, what, _SCHEMA)
    schema = document(required(entries, "schema", what), f"{what}.schema")
    schema_id, label = entries.get("id"), entries.get("name")
    require_schema(schema)
    return GivenSchema(
        schema,
        id=None if schema_id is None else _schema_id(schema_id, what),
        name=None if label is None else name(label, f"{what}.name"),
        description=storable(entries["description"], what) if "description" in entries else None,
    )


def require_schema(schema: object) -> None:
    """Raise Invalid where a schema is not a valid one."""
    try:
        check_schema(schema)
    except RolltopError as error:
        hint = error.hint or "Mend the schema and call again; nothing was stored."
        raise Invalid(error.message, code="VALIDATION_ERROR", hint=hint) from None


def id_taken(what: str, value: str, hint: str = "") -> Invalid:
    """Return the error of an id that is in use."""
    return Invalid(
        f"{what} {value} is taken; nothing was written",
        code="INVALID_ID",
        hint=hint or f"Leave {what} out to have one made.",
    )


def _named_schema(key: str, entry: object) -> GivenSchema:
    what = f"metadata.schemas.{key[:_NAME_SHOWN]}"
    made = schema_entry(entry, what)
    label = name(key, "the name of a schema")
    if made.name is not None and made.name != label:
        raise wrong(f"{what}.name differs from the key it stands under", "Leave name out there.")
    return GivenSchema(made.schema, made.id, label, made.description)


def _schema_id(text: str, what: str) -> str:
    try:
        return identifier(text, f"{what}.id")
    except Invalid as error:
        raise wrong(error.message, "Leave id out to have one made.") from None


def _language(text: str) -> str:
    if text not in LANGUAGES:
        # Their long names are like them: python, rust, bash.
        close = get_close_matches(text[:NAME_LENGTH].lower(), LANGUAGES, n=1, cutoff=0.5)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise wrong(f"Unknown language {shown(text)}{guess}", f"Allowed: {', '.join(LANGUAGES)}.")
    return text


def _schema_of_cell(given: object, language: str, what: str) -> object:
    """Return an inline schema, or the address of one in the pad."""
    if given is None:
        return None
    if language not in STRUCTURED:
        raise wrong(
            f"{what}.json_schema is for json, yaml and yml; the language is {language}",
            "Leave json_schema out, or change the language.",
        )
    if isinstance(given, str):
        if given.startswith(SCHEMA_URI):
            return storable(given, f"{what}.json_schema")
        given = _parsed(given, what)
    schema = document(given, f"{what}.json_schema")
    require_schema(schema)
    return schema


def _parsed(text: str, what: str) -> object:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict | bool):
        raise wrong(
            f"{what}.json_schema is text, but no JSON object",
            f"Send an object, its JSON text, or {SCHEMA_URI}<name or id>.",
        )
    return cast("object", schema)


def _label(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise wrong(f"metadata.{key} must be text; got {shown(value)}")
    return value.strip()


def _namespace(value: object) -> str:
    if not isinstance(value, str):
        raise wrong(f"namespace must be text; got {shown(value)}")
    return name(value, "namespace")
