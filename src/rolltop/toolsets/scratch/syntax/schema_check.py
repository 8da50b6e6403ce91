"""Whether something is a JSON Schema: by the dialect its `$schema` names, 2020-12 if none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from rolltop.core.errors import InvalidArgument

from .json_text import is_array, is_object
from .schema import DIALECTS, PATTERNS, dialect_of, message_of, parts_of, pointer, runnable_pattern

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 200_000
_MAX_CHEAP_VALUES: Final = 1000
_MAX_REASON_LENGTH: Final = 300
# Of all patterns together: characters, and how often a part of them is counted to repeat.
_MAX_CHEAP_PATTERNS: Final = 200
_MULTIPLIES: Final = re.compile(r"\(|\\[pP]")
_COUNTED: Final = re.compile(r"\{(\d+)(?:,(\d*))?\}", re.ASCII)
_TYPES: Final = "array, boolean, integer, null, number, object, string"
_HINT: Final = "Fix the schema at the path named and retry."


def check_schema(schema: object) -> None:
    """Raise InvalidArgument (VALIDATION_ERROR) with the path if `schema` is no JSON Schema.

    Depth and size are limited and references are not followed; a pattern takes up to a second to
    compile all the same, in which no other thread runs.
    """
    if not is_object(schema) and not isinstance(schema, bool):
        raise _invalid("A JSON Schema is an object or a boolean", "")
    _check_size(schema)
    if is_object(schema):
        _check_dialect(schema)
    judged: Any = _in_known_dialect(schema)
    try:
        jsonschema_rs.meta.validate(judged)
    except jsonschema_rs.ValidationError as error:
        raise _invalid(_reason(error), pointer(error.instance_path)) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _invalid(str(error)[:_MAX_REASON_LENGTH], "") from None
    for path, pattern in _patterns(schema, ()):
        _check_pattern(path, pattern)


def is_costly(schemas: Iterable[object]) -> bool:
    """Whether judging schemas takes long: they have over 1,000 values, or more than a few patterns.

    Each pattern that may be large however short it is, is too many.
    """
    pending, left, of_patterns = list(schemas), _MAX_CHEAP_VALUES, _MAX_CHEAP_PATTERNS
    while pending and left:
        one = pending.pop()
        left -= 1
        if is_object(one):
            of_patterns -= sum(map(_pattern_cost, _own_patterns(one)))
        if of_patterns < 0:
            return True
        pending += _members(one)
    return bool(pending)


def _own_patterns(schema: Mapping[Any, Any]) -> Iterator[str]:
    pattern, named = schema.get("pattern"), schema.get("patternProperties")
    if isinstance(pattern, str):
        yield pattern
    if is_object(named):
        yield from (one for one in named if isinstance(one, str))


def _pattern_cost(pattern: str) -> int:
    """Return about how large a program a pattern becomes; what may multiply is too much."""
    if len(pattern) > _MAX_CHEAP_PATTERNS or _MULTIPLIES.search(pattern):
        return _MAX_CHEAP_PATTERNS + 1
    return len(pattern) + sum(int(most or least) for least, most in _COUNTED.findall(pattern))


def _patterns(schema: object, above: tuple[object, ...]) -> Iterator[tuple[Any, str]]:
    """Yield the regular expressions of a schema with their paths."""
    if is_array(schema):
        for number, one in enumerate(schema):
            yield from _patterns(one, (*above, number))
    if not is_object(schema):
        return
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str):
            yield (*above, key), value
        elif key == "patternProperties" and is_object(value):
            yield from (((*above, key, one), one) for one in value if isinstance(one, str))
    for steps, part in parts_of(schema):
        yield from _patterns(part, (*above, *steps))


def _check_pattern(path: tuple[object, ...], pattern: str) -> None:
    try:
        runnable: Any = {"pattern": runnable_pattern(pattern)}
        jsonschema_rs.validator_for(runnable, pattern_options=PATTERNS)
    except ValueError:
        reason = "is not a regular expression this server can run"
        raise _invalid(reason, pointer(path)) from None


def _in_known_dialect(schema: object) -> object:
    if is_object(schema) and isinstance(dialect := schema.get("$schema"), str):
        return {**schema, "$schema": dialect_of(dialect)}
    return schema


def _check_dialect(schema: dict[Any, Any]) -> None:
    dialect = schema.get("$schema")
    if dialect is None or (
        isinstance(dialect, str) and dialect_of(dialect).rstrip("#") in DIALECTS
    ):
        return
    allowed = ", ".join(DIALECTS)
    raise _invalid(f"Unknown dialect {str(dialect)[:80]!r}; known are {allowed}", "/$schema")


def _check_size(schema: object) -> None:
    """Refuse a schema too deep or too large to be judged at once."""
    level, values = [schema], 0
    for _ in range(MAX_DEPTH):
        values += len(level)
        if values > MAX_VALUES:
            raise _invalid(f"The schema holds more than {MAX_VALUES} values", "")
        level = [member for one in level for member in _members(one)]
        if not level:
            return
    raise _invalid(f"The schema is nested deeper than {MAX_DEPTH} levels", "")


def _members(value: object) -> list[object]:
    if is_object(value):
        return list(value.values())
    return list(value) if is_array(value) else []


def _reason(error: Any) -> str:  # noqa: ANN401  # the library's error
    if error.instance_path[-1:] == ["type"]:
        return f"must be one or several of {_TYPES}"
    return message_of(error)


def _invalid(reason: str, at: str) -> InvalidArgument:
    where = f"{at} {reason}" if at else reason
    message = f"Not a valid JSON Schema: {where}"
    return InvalidArgument(
        message, code="VALIDATION_ERROR", hint=_HINT, data={"details": {"path": at}}
    )
