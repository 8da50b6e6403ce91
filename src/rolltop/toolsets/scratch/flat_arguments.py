"""Arguments of callers who send the parts of one of them side by side, put together."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

from rolltop.core.argument_names import FIELD_SYNONYMS, PARAMETER_SYNONYMS, canonical_names
from rolltop.toolsets.scratch.models import LABEL_KEYS, JsonObject

_CELL_FIELDS: Final = ("content", "language", "validate", "json_schema")
"""Those that a pad does not have."""
_EDIT_FIELDS: Final = ("old", "new", "all", "line_start", "line_end", "text")
_SCHEMA_WORDS: Final = frozenset(
    ("type", "properties", "items", "enum", "const", "allOf", "anyOf", "oneOf", "not", "$ref",
     "$schema", "$defs")
)  # fmt: skip
"""Keywords of JSON Schema, by which one is told from an entry that holds one."""


def join_labels(given: JsonObject) -> JsonObject:
    """Put a title, a description and a summary into the metadata, where they win."""
    labels = {name: given[name] for name in LABEL_KEYS if given.get(name)}
    metadata: Any = given.get("metadata") or {}
    if not labels or not isinstance(metadata, dict):
        return given
    rest = {name: value for name, value in given.items() if name not in LABEL_KEYS}
    return {**rest, "metadata": {**metadata, **labels}}


def join_pad(given: JsonObject) -> JsonObject:
    """Put a pad's labels into its metadata, and the fields of a cell into its cells."""
    return _join(join_labels(given), "cells", _CELL_FIELDS, needed=("content",), as_list=True)


def wrap_schema(given: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return an entry that holds the JSON Schema, where one was sent bare."""
    if not isinstance(given, dict) or "schema" in given:
        return cast("object", given)
    schema = cast("JsonObject", given)
    return schema if _SCHEMA_WORDS.isdisjoint(schema) else {"schema": schema}


def join_schema(given: JsonObject) -> JsonObject:
    """Put a schema's name and description beside it, where the schema was sent bare."""
    entry = wrap_schema(given.get("schema"))
    if entry is given.get("schema"):
        return given
    own = {name: given[name] for name in ("name", "description") if given.get(name)}
    rest = {name: value for name, value in given.items() if name not in own}
    return {**rest, "schema": {**own, **entry}}


def _join(
    given: JsonObject,
    whole: str,
    fields: tuple[str, ...],
    *,
    needed: tuple[str, ...],
    as_list: bool,
) -> JsonObject:
    """Put fields, one of the needed among them, into the argument `whole` that is not given."""
    if given.get(whole):
        return given
    if any(given[name] and canonical_names(name, (whole,), PARAMETER_SYNONYMS) for name in given):
        return given
    meant = {name: canonical_names(name, fields, FIELD_SYNONYMS)[:1] for name in given}
    parts = {name: value for name, value in given.items() if meant[name] and value is not None}
    if not any(meant[name][0] in needed for name in parts):
        return given
    rest = {name: value for name, value in given.items() if name not in parts}
    return {**rest, whole: [parts] if as_list else parts}


join_cell: Final = partial(
    _join,
    whole="cell",
    fields=(*_CELL_FIELDS, "metadata", "tags"),
    needed=("content",),
    as_list=False,
)
join_edit: Final = partial(
    _join, whole="edits", fields=_EDIT_FIELDS, needed=_EDIT_FIELDS, as_list=True
)
