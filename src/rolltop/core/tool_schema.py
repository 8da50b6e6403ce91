"""JSON Schemas of tools: of arguments as hosts are sent them, of answers, and in words."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from rolltop.core.pagination import NextCall

if TYPE_CHECKING:
    from rolltop.core.tools import JsonObject, Tool, Toolset

_MAX_DESCRIBED_DEPTH = 2  # an object in a list, and its fields
_TYPE_NAMES = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
}


def shorten_schema(part: Any, definitions: JsonObject) -> Any:  # noqa: ANN401  # any part of a schema
    """Return a part of a schema with its references replaced by what they name."""
    if isinstance(part, list):
        entries = cast("list[Any]", part)
        return [shorten_schema(each, definitions) for each in entries if each != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    schema = cast("JsonObject", part)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        named = definitions.get(name, {"type": "object"})  # one within itself
        definitions = {key: value for key, value in definitions.items() if key != name}
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {
        key: {name: shorten_schema(value, definitions) for name, value in entry.items()}
        if key == "properties"
        else shorten_schema(entry, definitions)
        for key, entry in schema.items()
        if key not in _UNLISTED and (key, entry) not in _NEEDLESS
    }


_UNLISTED = {"$defs", "additionalProperties", "maxLength"}
_NEEDLESS = (("minimum", 0), ("minimum", 1), ("default", 0), ("default", False))
_IMPLIED = (("default", None), ("additionalProperties", True))
"""Keywords that say nothing with these values."""


def simplify_schema(schema: Any) -> Any:  # noqa: ANN401  # any part of a schema
    """Return the JSON Schema without titles, null defaults and null alternatives."""
    if isinstance(schema, list):
        return [simplify_schema(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    whole = cast("dict[str, Any]", schema)
    cleaned = {
        key: {name: simplify_schema(part) for name, part in value.items()}
        if key in {"properties", "$defs"}
        else simplify_schema(value)
        for key, value in whole.items()
        if (key, value) not in _IMPLIED and key != "title"
    }
    choices = [part for part in cleaned.get("anyOf", []) if part != {"type": "null"}]
    if len(choices) == 1 and len(cleaned["anyOf"]) > 1:
        del cleaned["anyOf"]
        return {**choices[0], **cleaned}
    return cleaned


def published_output_schema(toolset: Toolset, tool: Tool) -> JsonObject | None:
    """Return what tools/list says of a tool's answers; None for nothing.

    A host gains by the shape of lists, whose entries a program may work through. Of a failure,
    which is the same for a whole toolset, only its required fields are said; of `next`, which is
    sent as it is, nothing.
    """
    if tool.output is None or not (tool.is_read_only and tool.accepts_cursor):
        return None
    whole = {**_output_schema(tool.output)}
    definitions = {**whole.pop("$defs", {})}
    definitions.pop(NextCall.__name__, None)
    failure = {"required": list(toolset.error_fields)}
    published: JsonObject = {"type": "object", "anyOf": [whole, failure]}
    return {**published, "$defs": definitions} if definitions else published


def _shorten(schema: Any) -> Any:  # noqa: ANN401  # any part of a schema
    """Return a schema without prose, the fields of `next`, and types that values imply."""
    if isinstance(schema, list):
        return [_shorten(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    if schema == {"$ref": f"#/$defs/{NextCall.__name__}"}:
        return {"type": "object"}
    whole = cast("JsonObject", schema)
    needless = {"title", "description", *(["type"] if {"const", "enum"} & whole.keys() else [])}
    return {
        key: _shorten(part)
        for key, part in whole.items()
        if (key, part) not in _IMPLIED and (key not in needless or not isinstance(part, str))
    }


@lru_cache(maxsize=256)
def _output_schema(kind: type) -> JsonObject:
    return _shorten(TypeAdapter(kind).json_schema())


def describe_schema(part: JsonObject, root: JsonObject, depth: int = 0) -> str:
    """Return in words what a part of a schema allows; `?` marks fields that may be left out.

    Objects that are `depth` 2 down or more are said without their fields.
    """
    part = resolve_reference(part, root)
    if "enum" in part:
        return "one of: " + ", ".join(str(value) for value in part["enum"])
    if "const" in part:
        return f"{part['const']!r}"
    if "anyOf" in part:
        # A null is what is left out, of which `?` tells.
        choices = [choice for choice in part["anyOf"] if choice != {"type": "null"}]
        return " or ".join(describe_schema(choice, root, depth + 1) for choice in choices)
    words = _TYPE_NAMES.get(str(part.get("type")), "any value")
    if part.get("type") == "array" and "items" in part:
        entry = describe_schema(part["items"], root, depth + 1)
        words = f"a list of {entry.replace('an object', 'objects', 1)}"
    elif "properties" in part and depth < _MAX_DESCRIBED_DEPTH:
        needed = part.get("required", ())
        fields = (
            f"{name}{'' if name in needed else '?'}: {describe_schema(field, root, depth + 1)}"
            for name, field in part["properties"].items()
        )
        words += f" {{{'; '.join(fields)}}}"
    return words + _describe_range(part)


def resolve_reference(part: JsonObject, root: JsonObject) -> JsonObject:
    """Return a part of a schema, that which it refers to where it does."""
    while "$ref" in part:
        part = root["$defs"][part["$ref"].rsplit("/", 1)[1]]
    return part


def _describe_range(part: JsonObject) -> str:
    low = part.get("minimum", part.get("minLength", part.get("minItems")))
    high = part.get("maximum", part.get("maxLength", part.get("maxItems")))
    unit = " characters" if "minLength" in part or "maxLength" in part else ""
    unit = " items" if "minItems" in part or "maxItems" in part else unit
    of = " of" if unit else ""
    if low is not None and high is not None:
        return f"{of or ' from'} {low} to {high}{unit}"
    if low is not None:
        return f"{of} {low}{unit} or more" if unit else f", {low} or more"
    return f"{of or ','} at most {high}{unit}" if high is not None else ""
