"""The published schema of what a tool answers: success or the toolset's error."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from rolltop.core.arguments import clean

if TYPE_CHECKING:
    from rolltop.core.toolset import JsonObject, Tool, Toolset


def output_schema(toolset: Toolset, tool: Tool) -> JsonObject:
    """Return the JSON Schema of a tool's structured answer.

    Its root is an object with both outcomes in `anyOf`: strict clients check errors too, and
    the legacy protocol refuses a root that is no object.
    """
    outcomes: list[JsonObject] = []
    definitions: JsonObject = {}
    for kind in (tool.output, toolset.error_output):
        schema = dict(_schema(kind))
        definitions.update(schema.pop("$defs", {}))
        outcomes.append(schema)
    whole: JsonObject = {"type": "object", "anyOf": outcomes}
    return {**whole, "$defs": definitions} if definitions else whole


@lru_cache(maxsize=256)
def _schema(kind: type) -> dict[str, Any]:
    return clean(TypeAdapter(kind).json_schema(), nulls=True)
