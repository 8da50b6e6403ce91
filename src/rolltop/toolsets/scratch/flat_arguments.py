"""Arguments of callers who send the parts of one of them side by side, put together."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

from rolltop.core.argument_names import FIELD_SYNONYMS, PARAMETER_SYNONYMS, canonical_names
from rolltop.toolsets.scratch.models import LABEL_KEYS, JsonObject

_CELL_FIELDS: Final = ("content", "language", "validate", "json_schema")
"""Those that a pad does not have."""
_EDIT_FIELDS: Final = ("old", "new", "all", "line_start", "line_end", "text")
_SCHEMA_LABELS: Final = ("name", "description")
_SCHEMA_WORDS: Final = frozenset(
    ("type", "properties", "items", "enum", "const", "allOf", "anyOf", "oneOf", "not", "$ref",
     "$schema", "$defs")
)  # fmt: skip
"""Keywords of JSON Schema, by which one is told from an entry that holds one."""


def join_labels(given: JsonObject) -> JsonObject:
    """Put a title, a description and a summary into the metadata, where they win.

    A blank description removes the pad's; a title is never lost to a host that fills in blanks.
    """
    labels = {name: given[name] for name in LABEL_KEYS if given.get(name)}
    blank: JsonObject = {"description": None} if given.get("description") == "" else {}
    rest = {name: value for name, value in given.items() if name not in LABEL_KEYS}
    metadata: Any = given.get("metadata") or {}
    if not (labels or blank) or not isinstance(metadata, dict):
        return rest  # of metadata that is no object it is said what it must be
    return {**rest, "metadata": {**blank, **metadata, **labels}}


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
    """Put a schema's name and description, where they stand beside it, into its entry."""
    entry = wrap_schema(given.get("schema"))
    named = cast("JsonObject", entry if isinstance(entry, dict) else dict.fromkeys(_SCHEMA_LABELS))
    own = {name: given[name] for name in _SCHEMA_LABELS if given.get(name) and name not in named}
    rest = {
        name: value
        for name, value in given.items()
        if name not in _SCHEMA_LABELS or (value and name not in own)
    }
    return {**rest, "schema": {**own, **entry}} if isinstance(entry, dict) else rest


def _join(
    given: JsonObject,
    whole: str,
    fields: tuple[str, ...],
    *,
    needed: tuple[str, ...],
    as_list: bool,
) -> JsonObject:
    """Put fields, one of the needed among them, into the argument `whole` that is not given."""
    is_given = bool(given.get(whole))
    if is_given and None not in given.values():
        return given
    meant = {name: canonical_names(name, fields, FIELD_SYNONYMS)[:1] for name in given}
    given = {name: value for name, value in given.items() if value is not None or not meant[name]}
    if is_given or any(
        given[name] and canonical_names(name, (whole,), PARAMETER_SYNONYMS) for name in given
    ):
        return given
    parts = {name: value for name, value in given.items() if meant[name]}
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
