"""Whether something is a JSON Schema: by the dialect its `$schema` names, 2020-12 if none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from rolltop.core.errors import Invalid

from .json_values import is_array, is_object
from .schema import DATA_KEYWORDS, PATTERNS, pointer
from .schema_messages import message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
DEEPEST: Final = 100
MOST_VALUES: Final = 200_000
_LONGEST_REASON: Final = 300
_TYPES: Final = "array, boolean, integer, null, number, object, string"
_HINT: Final = "Mend the schema at the place named and send the call again."


def check_schema(schema: object) -> None:
    """Return when `schema` is a JSON Schema; raises Invalid (VALIDATION_ERROR) naming the place.

    Bounded in time: depth and size are, patterns are compiled by a linear engine, and references
    are not followed.
    """
    if not is_object(schema) and not isinstance(schema, bool):
        raise _invalid("A JSON Schema is an object or a boolean", "")
    _check_size(schema)
    if is_object(schema):
        _check_dialect(schema)
    judged: Any = schema
    try:
        jsonschema_rs.meta.validate(judged)
    except jsonschema_rs.ValidationError as error:
        raise _invalid(_reason(error), pointer(error.instance_path)) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _invalid(str(error)[:_LONGEST_REASON], "") from None
    for path, pattern in _patterns(schema, ()):
        _check_pattern(path, pattern)


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
        if key not in DATA_KEYWORDS:
            yield from _patterns(value, (*above, key))


def _check_pattern(path: tuple[object, ...], pattern: str) -> None:
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=PATTERNS)
    except ValueError:
        reason = "is not a regular expression this server can run"
        raise _invalid(reason, pointer(path)) from None


def _check_dialect(schema: dict[Any, Any]) -> None:
    dialect = schema.get("$schema")
    if dialect is None or (isinstance(dialect, str) and dialect.rstrip("#") in DIALECTS):
        return
    allowed = ", ".join(DIALECTS)
    raise _invalid(f"Unknown dialect {str(dialect)[:80]!r}; known are {allowed}", "/$schema")


def _check_size(schema: object) -> None:
    """Refuse a schema too deep or too large to be judged at once."""
    level, values = [schema], 0
    for _ in range(DEEPEST):
        values += len(level)
        if values > MOST_VALUES:
            raise _invalid(f"The schema holds more than {MOST_VALUES} values", "")
        level = [member for one in level for member in _members(one)]
        if not level:
            return
    raise _invalid(f"The schema is nested deeper than {DEEPEST} levels", "")


def _members(value: object) -> list[object]:
    if is_object(value):
        return list(value.values())
    return list(value) if is_array(value) else []


def _reason(error: Any) -> str:  # noqa: ANN401  # the library's error
    if error.instance_path[-1:] == ["type"]:
        return f"must be one or several of {_TYPES}"
    return message_of(error)


def _invalid(reason: str, at: str) -> Invalid:
    where = f"{at} {reason}" if at else reason
    message = f"Not a valid JSON Schema: {where}"
    return Invalid(message, code="VALIDATION_ERROR", hint=_HINT, data={"details": {"path": at}})
