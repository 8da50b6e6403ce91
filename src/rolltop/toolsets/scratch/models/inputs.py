"""Objects that callers send to the tools, as types: the model sees them in the input schemas."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

_CONFIG = ConfigDict(extra="forbid", strict=True)


@with_config(_CONFIG)
class CellInput(TypedDict):
    """A cell to store."""

    language: Annotated[str, Field(description="python, json, md or any")]
    content: str
    validate: NotRequired[Annotated[bool | None, Field(description="check syntax and schema")]]
    json_schema: NotRequired[
        Annotated[
            dict[str, Any] | bool | str | None,
            Field(description="or a schema's name"),
        ]
    ]
    metadata: NotRequired[dict[str, Any] | None]
    tags: NotRequired[list[str] | None]
    cell_id: NotRequired[str | None]


@with_config(_CONFIG)
class ReplacementInput(TypedDict):
    """A cell to store in place of another, whose language it has if it names none."""

    language: NotRequired[str | None]
    content: str
    validate: NotRequired[bool | None]
    json_schema: NotRequired[dict[str, Any] | bool | str | None]
    metadata: NotRequired[dict[str, Any] | None]
    tags: NotRequired[list[str] | None]
    cell_id: NotRequired[str | None]


@with_config(_CONFIG)
class EditInput(TypedDict, total=False):
    """A replacement of text, or of lines by their numbers."""

    old: str | None
    new: str | None
    all: bool | None
    line_start: int | None
    line_end: int | None
    text: str | None


@with_config(_CONFIG)
class SchemaInput(TypedDict):
    """A JSON Schema to keep in a pad."""

    id: NotRequired[str | None]
    name: NotRequired[str | None]
    description: NotRequired[str | None]
    schema: dict[str, Any] | bool
