"""The shapes in which hosts and models are known to send a tool's arguments."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from rolltop.core.argument_names import FIELD_SYNONYMS, PARAMETER_SYNONYMS, canonical_names
from rolltop.core.arguments import Parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rolltop.core.tools import Tool, Toolset

JsonObject = dict[str, Any]


def plain_arguments(toolset: Toolset, tool: Tool, sample: JsonObject) -> JsonObject:
    """Return a sample with every default written out, so that each kind of value is there."""
    properties = _schema(toolset, tool)["properties"]
    defaults = {name: part["default"] for name, part in properties.items() if "default" in part}
    # Shapes matter here, and more lines than these take long to compare.
    return {**defaults, **sample, **({"max_tokens": 2000} if "max_tokens" in properties else {})}


def shapes(toolset: Toolset, tool: Tool, plain: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield other ways to send the plain arguments, each with what it is called."""
    schema = _schema(toolset, tool)
    properties, required = schema["properties"], schema.get("required", ())
    optional = [name for name in properties if name not in required and name not in plain]
    blank = [name for name in optional if name not in tool.blank_values]
    yield "null", {**dict.fromkeys(optional), **plain}
    yield "empty text", {**dict.fromkeys(blank, ""), **plain}
    yield "JSON text", {k: _as_text(v, properties[k], schema) for k, v in plain.items()}
    yield "JSON text within", {k: _within(v, properties[k], schema) for k, v in plain.items()}
    yield "whole floats", {k: _as_float(v) for k, v in plain.items()}
    yield "lone values", {k: _alone(v, properties[k], schema) for k, v in plain.items()}
    yield "camelCase", {_camel_case(name): value for name, value in plain.items()}
    for own, others in PARAMETER_SYNONYMS.items():
        for other in others if own in plain else ():
            meant = canonical_names(other, properties, PARAMETER_SYNONYMS)[:1]
            if meant == [own] and other not in {*properties, *tool.argument_hints}:
                yield other, {other if k == own else k: v for k, v in plain.items()}
    for own, others in FIELD_SYNONYMS.items():
        for other in others:
            renamed = {k: _renamed(v, own, other) for k, v in plain.items() if k != "metadata"}
            if renamed != {k: v for k, v in plain.items() if k != "metadata"}:
                yield f"{other} within", {**plain, **renamed}


def one_entry(part: JsonObject) -> Any:
    """Return a value for a list of this schema without references."""
    items = part["items"]
    if items["type"] == "object":
        fields: Mapping[str, JsonObject] = items.get("properties", {})
        return {name: _example(field) for name, field in fields.items()}
    return _example(items)


def _example(part: JsonObject) -> Any:
    return part.get("enum", [_EXAMPLES[part.get("type", "string")]])[0]


_EXAMPLES: Mapping[str, Any] = {
    "string": "docs/{a,b}.md",
    "integer": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def _schema(toolset: Toolset, tool: Tool) -> JsonObject:
    return Parameters(tool, code=toolset.argument_code).schema


def _resolve(part: JsonObject, schema: JsonObject) -> JsonObject:
    return schema["$defs"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part


def _as_text(value: object, part: JsonObject, schema: JsonObject) -> object:
    """Return the value as JSON text where no text is asked for."""
    kind = _resolve(part, schema).get("type")
    return json.dumps(value, ensure_ascii=False) if kind not in {None, "string"} else value


def _within(value: object, part: JsonObject, schema: JsonObject) -> Any:
    """Return the value with each entry and field that is no text as JSON text."""
    part = _resolve(part, schema)
    if isinstance(value, list) and "items" in part:
        entries, items = cast("list[Any]", value), part["items"]
        return [_as_text(_within(v, items, schema), items, schema) for v in entries]
    fields: Mapping[str, JsonObject] = part.get("properties", {})
    if isinstance(value, dict) and fields:
        return {
            k: _as_text(_within(v, fields[k], schema), fields[k], schema)
            for k, v in cast("JsonObject", value).items()
        }
    return cast("object", value)


def _alone(value: object, part: JsonObject, schema: JsonObject) -> Any:
    """Return the value with each list of one as its entry."""
    part = _resolve(part, schema)
    if isinstance(value, list) and "items" in part:
        entries = [_alone(v, part["items"], schema) for v in cast("list[Any]", value)]
        return entries[0] if len(entries) == 1 else entries
    fields: Mapping[str, JsonObject] = part.get("properties", {})
    if isinstance(value, dict) and fields:
        return {k: _alone(v, fields[k], schema) for k, v in cast("JsonObject", value).items()}
    return cast("object", value)


def _as_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _camel_case(name: str) -> str:
    return re.sub(r"(?<=.)_(.)", lambda found: found[1].upper(), name)


def _renamed(value: object, own: str, other: str) -> Any:
    """Return the value with one field of its objects under another name."""
    if isinstance(value, list):
        return [_renamed(entry, own, other) for entry in cast("list[Any]", value)]
    if isinstance(value, dict) and other not in value:
        return {other if k == own else k: v for k, v in cast("JsonObject", value).items()}
    return cast("object", value)
