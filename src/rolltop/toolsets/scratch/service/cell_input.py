"""Checks of what a caller sends, before anything is looked up: pure functions."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from rolltop.core import token_counter
from rolltop.core.argument_names import suggest_field
from rolltop.core.argument_values import split_names
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import compact_json
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.text.lines import line_count
from rolltop.toolsets.scratch.flat_arguments import wrap_schema
from rolltop.toolsets.scratch.models import (
    LABEL_KEYS,
    MAX_CELL_METADATA_BYTES,
    MAX_FIRST_LINE_LENGTH,
    MAX_LANGUAGE_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PAD_METADATA_BYTES,
    MAX_TAGS,
    SCHEMA_URI,
    STRUCTURED_LANGUAGES,
    JsonObject,
    schema_uri,
)
from rolltop.toolsets.scratch.models.inputs import CellInput, EditInput
from rolltop.toolsets.scratch.models.records import (
    CellSelection,
    Draft,
    Edit,
    LineEdit,
    PadChange,
    PadLimits,
    Replacement,
    SchemaChange,
    TextStats,
)
from rolltop.toolsets.scratch.syntax.checker import CANONICAL_NAMES
from rolltop.toolsets.scratch.syntax.schema_check import check_schema, is_costly

ID_LENGTH: Final = 36  # characters of a whole UUID
_MAX_DEPTH: Final = 100  # levels of nesting of metadata and schemas
_MAX_SHOWN_NAME: Final = 60
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_ID_START: Final = re.compile(r"[0-9a-f]{8,32}", re.IGNORECASE | re.ASCII)
_ID_PARTS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_MAX_JSON_VALUES: Final = 50_000  # as many as a message may hold
_JSON_LITERALS: Final = frozenset({"true", "false", "null"})
_SCHEMA_FIELDS: Final[dict[str, Any]] = {
    "id": str,
    "name": str,
    "description": str,
    "schema": (dict, bool),
}


def invalid_value(message: str, hint: str = "") -> InvalidArgument:
    """Create the error of a value that is not allowed."""
    return InvalidArgument(
        message, code="VALIDATION_ERROR", hint=hint or "Fix the value and retry."
    )


def capacity_error(message: str, hint: str) -> InvalidArgument:
    """Create the error of a limit that would be passed."""
    return InvalidArgument(message, code="CAPACITY_LIMIT_REACHED", hint=hint)


def id_conflict(what: str, value: str, hint: str = "") -> InvalidArgument:
    """Create the error of an id that is in use."""
    return InvalidArgument(
        f"{what} {value} is taken; nothing was written",
        code="INVALID_ID",
        hint=hint or f"Leave {what} out to have one made.",
    )


def identifier(text: str, name: str = "scratch_id") -> str:
    """Normalize a UUID to lower case. Raises InvalidArgument (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        raise InvalidArgument(
            f"{name} must be a UUID; got {value_preview(text)}",
            code="INVALID_ID",
            hint=f"Send {name} as the scratch tools answer it: 8-4-4-4-12 hexadecimal digits.",
        )
    return text.lower()


def id_start(text: str, name: str = "scratch_id") -> str:
    """Normalize the UUID of something that exists, or its first 8 or more digits.

    Raises InvalidArgument (INVALID_ID) for any other text.
    """
    digits = text.replace("-", "").lower()
    if not _ID_START.fullmatch(digits):
        raise InvalidArgument(
            f"{name} must be a UUID, or the beginning of one; got {value_preview(text)}",
            code="INVALID_ID",
            hint=f"Send {name} as the scratch tools answer it, or its first 8 or more digits.",
        )
    return "-".join(digits[start:end] for start, end in _ID_PARTS if digits[start:end])


def name(text: object, what: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Trim a name of 1 to `longest` characters."""
    if not isinstance(text, str):
        raise invalid_value(f"{what} must be text; got {value_preview(text)}")
    trimmed = require_storable(text, what).strip()
    if not 1 <= len(trimmed) <= longest:
        raise invalid_value(
            f"{what} must have 1 to {longest} characters; got {value_preview(text)}"
        )
    return trimmed


def check_names(texts: object, what: str) -> tuple[str, ...]:
    """Trim up to 100 names, each once, in the order given."""
    if not isinstance(texts, list):
        raise invalid_value(f"{what} must be a list of text; got {value_preview(texts)}")
    given = tuple(dict.fromkeys(name(text, what) for text in cast("list[object]", texts)))
    if len(given) > MAX_TAGS:
        raise invalid_value(f"{what} has {len(given)} entries; at most {MAX_TAGS} are allowed")
    return given


def cell_selection(
    cell_ids: Sequence[str] | None = None,
    indices: Sequence[int] | None = None,
    tags: Sequence[str] | None = None,
    namespaces: Sequence[str] | None = None,
) -> CellSelection:
    """Check which cells of which pads a caller asks for, by whole ids.

    An empty list filters nothing, nor do namespaces with "*" among them.
    """
    names = check_names(list(namespaces or ()), "namespaces")
    return CellSelection(
        tuple(dict.fromkeys(cell_ids or ())) or None,
        tuple(dict.fromkeys(indices or ())) or None,
        check_names(list(tags or ()), "tags"),
        () if ALL_PROJECTS in names else names,
    )


def parse_cell(given: CellInput, limits: PadLimits, what: str = "cell") -> Draft:
    """Check and measure a cell to be stored. Raises InvalidArgument."""
    language = name(given["language"], f"{what}.language", MAX_LANGUAGE_LENGTH)
    language = CANONICAL_NAMES.get(language.lower().removeprefix("."), language)
    metadata, cell_id = given.get("metadata"), given.get("cell_id")
    tags = _join_tags(given.get("tags"), metadata)
    check_metadata_size(metadata, MAX_CELL_METADATA_BYTES, f"{what}.metadata")
    return Draft(
        language=language,
        content=require_storable(given["content"], f"{what}.content"),
        stats=measure_text(given["content"], limits),
        validate=given.get("validate") or False,
        json_schema=_parse_cell_schema(given.get("json_schema"), language, what),
        metadata=storable_json(metadata, f"{what}.metadata"),
        tags=None if tags is None else check_names(tags, f"{what}.tags"),
        cell_id=None if cell_id is None else identifier(cell_id, f"{what}.cell_id"),
    )


def parse_cells(given: Sequence[CellInput] | None, limits: PadLimits) -> list[Draft]:
    """Check the cells of a new pad. Raises InvalidArgument."""
    require_room(len(given or ()), limits)
    drafts = [parse_cell(cell, limits, f"cells[{at}]") for at, cell in enumerate(given or ())]
    seen: set[str] = set()
    for draft in drafts:
        if draft.cell_id in seen:
            raise id_conflict("cell_id", draft.cell_id)
        if draft.cell_id is not None:
            seen.add(draft.cell_id)
    return drafts


def require_room(cells: int, limits: PadLimits) -> None:
    """Raise CAPACITY_LIMIT_REACHED if a pad can't have that many cells."""
    if limits.cells and cells > limits.cells:
        raise capacity_error(
            f"A pad may have {limits.cells} cells; this would make {cells}",
            "Delete cells with scratch_delete_cell, or use another pad.",
        )


def measure_text(content: str, limits: PadLimits) -> TextStats:
    """Measure a cell's content. Raises CAPACITY_LIMIT_REACHED if it is too long."""
    raw = content.encode("utf-8", "surrogatepass")
    if limits.cell_bytes and len(raw) > limits.cell_bytes:
        raise capacity_error(
            f"The content has {len(raw)} bytes; a cell may have {limits.cell_bytes}",
            "Split it over several cells.",
        )
    first = (content[: content.find("\n")] if "\n" in content else content).removesuffix("\r")
    if len(first) > MAX_FIRST_LINE_LENGTH:
        first = first[: MAX_FIRST_LINE_LENGTH - 1] + "…"
    return TextStats(
        sha256=hashlib.sha256(raw).hexdigest(),
        bytes=len(raw),
        characters=len(content),
        lines=line_count(content),
        tokens=token_counter.count(content),
        first_line=first,
    )


def check_metadata_size(metadata: JsonObject | None, limit: int, what: str) -> None:
    """Raise CAPACITY_LIMIT_REACHED if metadata is longer than `limit` bytes as JSON."""
    size = len(compact_json(metadata).encode("utf-8", "surrogatepass")) if metadata else 0
    if size > limit:
        raise capacity_error(
            f"{what} has {size} bytes as JSON; at most {limit} are allowed",
            "Put long text and data into cells.",
        )


def parse_pad_fields(
    metadata: Mapping[str, Any] | None,
    namespace: str | None,
    tags: Sequence[str] | None,
    default_namespace: str,
) -> PadChange:
    """Check a pad's own fields; `namespace` and `tags` win over the same keys in metadata.

    A null in metadata removes the key; the namespace goes back to the default.
    """
    fields: JsonObject = storable_json(dict(metadata or {}), "metadata")
    in_namespace = fields.pop("namespace", namespace)
    own_tags: object = fields.pop("tags", tags)
    if "namespace" in (metadata or {}) and in_namespace is None:
        in_namespace = default_namespace
    if "tags" in (metadata or {}) and own_tags is None:
        own_tags = []
    in_namespace = in_namespace if namespace is None else namespace
    own_tags = own_tags if tags is None else tags
    own_tags = split_names(own_tags) if isinstance(own_tags, str) else own_tags
    schemas = fields.pop("schemas", {})
    if schemas is not None and not isinstance(schemas, dict):
        raise invalid_value(f"metadata.schemas must be an object; got {value_preview(schemas)}")
    entries = cast("dict[str, object]", schemas or {})
    kept = {key: value for key, value in fields.items() if value is not None}
    for key in LABEL_KEYS:
        if not isinstance(kept.get(key, ""), str):
            raise invalid_value(f"metadata.{key} must be text; got {value_preview(kept[key])}")
        if key in kept:
            kept[key] = kept[key].strip()
    check_metadata_size(kept, MAX_PAD_METADATA_BYTES, "metadata")
    return PadChange(
        namespace=None if in_namespace is None else name(in_namespace, "namespace"),
        tags=None if own_tags is None else check_names(own_tags, "tags"),
        metadata=kept,
        removed=frozenset(fields.keys() - kept.keys()),
        schemas=tuple(_parse_named_schema(*one) for one in entries.items() if one[1] is not None),
        removed_schemas=frozenset(key for key, entry in entries.items() if entry is None),
        removes_all_schemas=schemas is None,
    )


def parse_schema(given: Mapping[str, Any], what: str = "schema") -> SchemaChange:
    """Check an entry of a pad's schemas. Raises InvalidArgument if it is seen to be no schema."""
    schema = storable_json(given["schema"], f"{what}.schema")
    schema_id, label, description = (given.get(key) for key in ("id", "name", "description"))
    _require_schema(schema)
    if schema_id is not None and not _ID.fullmatch(schema_id):
        raise invalid_value(
            f"{what}.id must be a UUID; got {value_preview(schema_id)}",
            "Leave id out to have one made.",
        )
    return SchemaChange(
        schema,
        id=None if schema_id is None else schema_id.lower(),
        name=None if label is None else name(label, f"{what}.name"),
        description=None if description is None else require_storable(description, what),
    )


def parse_edits(given: Sequence[EditInput]) -> tuple[Edit, ...]:
    """Check the edits of a cell."""
    if not given:
        raise invalid_value("edits is empty", 'Send edits such as {"old": "…", "new": "…"}.')
    return tuple(_parse_edit(edit, f"edits[{at}]") for at, edit in enumerate(given))


def storable_json(value: Any, what: str) -> Any:  # noqa: ANN401  # any JSON value
    """Check a JSON value: the store can hold its texts, and its nesting is bounded."""
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        if not level:
            return value
        level = [below for part in level for below in _children(part, what)]
    raise invalid_value(f"{what} is nested deeper than {_MAX_DEPTH} levels")


def _children(part: object, what: str) -> Iterable[object]:
    if isinstance(part, str):
        require_storable(part, what)
    elif isinstance(part, float) and not math.isfinite(part):
        raise invalid_value(f"{what} holds {part}, which JSON has no number for")
    elif isinstance(part, dict):
        for key, value in cast("dict[str, object]", part).items():
            require_storable(key, what)
            yield value
    elif isinstance(part, list):
        yield from cast("list[object]", part)


def _join_tags(given: list[str] | None, metadata: Mapping[str, object] | None) -> object:
    """Join a cell's tags and those under `metadata.tags`; None if it has neither."""
    others = (metadata or {}).get("tags")
    others = split_names(others) if isinstance(others, str) else others
    if not isinstance(others, list):
        return given
    return [*(given or []), *cast("list[object]", others)]


def _parse_cell_schema(given: object, language: str, what: str) -> object:
    """Check an inline schema, or the URI of one in the pad."""
    if given is None:
        return None
    if language not in STRUCTURED_LANGUAGES:
        raise invalid_value(
            f"{what}.json_schema is for json, yaml and yml; the language is {language}",
            "Leave json_schema out, or change the language.",
        )
    if isinstance(given, str):
        if given.startswith(SCHEMA_URI):
            return require_storable(given, f"{what}.json_schema")
        if not given.lstrip().startswith(("{", "[", '"')) and given.strip() not in _JSON_LITERALS:
            return schema_uri(name(given, f"{what}.json_schema"))
        given = _parse_json(given, what)
    schema = storable_json(given, f"{what}.json_schema")
    _require_schema(schema)
    return schema


def _parse_json(text: str, what: str) -> object:
    if sum(map(text.count, ",[{")) > _MAX_JSON_VALUES:
        raise invalid_value(
            f"{what}.json_schema is too large for JSON text",
            "Send it as an object, or keep a smaller one by scratch_schema.",
        )
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict | bool):
        raise invalid_value(
            f"{what}.json_schema is text, but no JSON object",
            f"Send an object, its JSON text, a schema's name, or {SCHEMA_URI}<name or id>.",
        )
    return cast("object", schema)


def _require_schema(schema: object) -> None:
    """Refuse what is no schema, if that is soon seen; else `ValidationRunner` does."""
    if not is_costly([schema]):
        check_schema(schema)


def _parse_named_schema(key: str, entry: object) -> SchemaChange:
    """Check a schema of `metadata.schemas`, which is open to any key: no input schema did."""
    what, entry = f"metadata.schemas.{key[:_MAX_SHOWN_NAME]}", wrap_schema(entry)
    if not isinstance(entry, dict):
        raise invalid_value(f"{what} must be an object; got {value_preview(entry)}")
    fields = {k: v for k, v in cast("JsonObject", entry).items() if v is not None}
    for field, value in fields.items():
        if field not in _SCHEMA_FIELDS:
            close = suggest_field(field, _SCHEMA_FIELDS)
            guess = f"; did you mean {close}?" if close else ""
            raise invalid_value(
                f"Unknown field {value_preview(field)} of {what}{guess}",
                f"{what} takes: {', '.join(_SCHEMA_FIELDS)}.",
            )
        if not isinstance(value, _SCHEMA_FIELDS[field]):
            kind = "an object" if field == "schema" else "text"
            raise invalid_value(f"{what}.{field} must be {kind}; got {value_preview(value)}")
    if "schema" not in fields:
        raise invalid_value(f"{what}.schema is required", f"Retry with schema in {what}.")
    if fields.setdefault("name", key).strip() != key.strip():
        raise invalid_value(
            f"{what}.name differs from the key it stands under", "Leave name out there."
        )
    return parse_schema(fields, what)


def _parse_edit(given: EditInput, what: str) -> Edit:
    fields: JsonObject = {key: value for key, value in given.items() if value is not None}
    if "line_start" in fields and "old" not in fields and not {"new", "text"} <= fields.keys():
        fields = {"text" if key == "new" else key: value for key, value in fields.items()}
    needed = ("line_start", "text") if {"line_start", "text"} & fields.keys() else ("old", "new")
    for field in needed:
        if field not in fields:
            raise invalid_value(f"{what}.{field} is required", f"Retry with {field} in {what}.")
    if needed[0] == "line_start":
        first: int = fields["line_start"]
        last: int = fields.get("line_end", first)
        if {"old", "new", "all"} & fields.keys() or first < 1 or last < first - 1:
            raise invalid_value(
                f"{what} must be {{old, new, all?}} or {{line_start, line_end, text}}, lines "
                "counted from 1; line_end may be one less than line_start, to insert before it"
            )
        return LineEdit(first, last, require_storable(fields["text"], what))
    if not fields["old"]:
        raise invalid_value(
            f"{what}.old is empty", "Name the text to replace, or lines by their numbers."
        )
    return Replacement(
        fields["old"], require_storable(fields["new"], what), fields.get("all", False)
    )
