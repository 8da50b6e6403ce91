"""What a violated keyword means for the value, in one sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any, Final

from .json_values import is_array, is_object

_ADDITIONAL: Final = "additionalProperties"
_LONGEST: Final = 120

_SAID: Final[dict[str, str]] = {
    "additionalItems": "has more than {limit} items",
    "additionalProperties": "has members that are not allowed: {unexpected}",
    "anyOf": "fits none of the alternatives",
    "const": "must be {expected_value}",
    "contains": "holds no item of the kind asked for",
    "contentEncoding": "is not encoded as {content_encoding}",
    "contentMediaType": "is not of media type {content_media_type}",
    "enum": "must be one of {options}",
    "exclusiveMaximum": "must be less than {limit}",
    "exclusiveMinimum": "must be greater than {limit}",
    "falseSchema": "is not allowed here",
    "format": "is not a valid {format}",
    "maxItems": "has more than {limit} items",
    "maximum": "must be at most {limit}",
    "maxLength": "is longer than {limit} characters",
    "maxProperties": "has more than {limit} members",
    "minItems": "has fewer than {limit} items",
    "minimum": "must be at least {limit}",
    "minLength": "is shorter than {limit} characters",
    "minProperties": "has fewer than {limit} members",
    "multipleOf": "must be a multiple of {multiple_of}",
    "not": "fits a schema it must not fit",
    "pattern": "does not match the pattern {pattern}",
    "propertyNames": "has a member whose name is not allowed",
    "required": "lacks the member {property}",
    "type": "must be of type {types}",
    "unevaluatedItems": "has items that are not allowed: {unexpected}",
    "unevaluatedProperties": "has members that are not allowed: {unexpected}",
    "uniqueItems": "holds an item twice",
}
_GIVEN_UP: Final = "could not be matched against a pattern: it takes too many steps"
_SEVERAL: Final = "fits several of the alternatives, and may fit only one"


def is_undecided(error: Any) -> bool:  # noqa: ANN401  # the library's error
    """Whether the engine gave up on a pattern, so that nobody knows if the value matches."""
    return error.kind.name == "pattern" and "pattern" not in error.kind.as_dict()


def violated(error: Any, document: Any) -> tuple[str, str]:  # noqa: ANN401  # the library's error, any JSON value
    """Return the keyword, and what is wrong with the value, to stand behind its path."""
    keyword = error.kind.name
    if keyword == "falseSchema" and error.schema_path[-1:] == [_ADDITIONAL]:
        # Where a schema names no members, the engine says this of the first, at their object.
        # Keys with lone surrogates are not found as it saw them.
        with suppress(LookupError, TypeError, RecursionError):
            value = reduce(getitem, error.instance_path, document)
            if is_object(value) and error.instance != value:
                return _ADDITIONAL, _SAID[_ADDITIONAL].format(unexpected=_shown(list(value)))
    return keyword, message_of(error)


def message_of(error: Any) -> str:  # noqa: ANN401  # the library's error
    """Return what is wrong with the value, to stand behind its path."""
    keyword = error.kind.name
    if is_undecided(error):
        return _GIVEN_UP
    if keyword == "propertyNames":
        name = error.kind.as_dict()["error"]
        return f"{_SAID[keyword]}: {_shown([name.instance])} {message_of(name)}"
    if keyword == "oneOf":
        return _SEVERAL if "more than one" in error.message else _SAID["anyOf"]
    said = _SAID.get(keyword)
    if said is None:
        return f"could not be checked against {keyword}"
    values = {key: _shown(value) for key, value in error.kind.as_dict().items()}
    try:
        return said.format_map(values)
    except KeyError:
        return f"breaks {keyword}"


def _shown(value: Any) -> str:  # noqa: ANN401  # any JSON value
    if is_array(value) and value and all(isinstance(one, str) for one in value):
        text = ", ".join(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
