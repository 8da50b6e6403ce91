"""JSON: the first syntax error; duplicate keys and NaN as warnings; positions of values."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from decimal import MAX_EMAX, Context, Decimal
from functools import partial
from itertools import islice
from typing import Any, Final, TypeGuard

from .positions import DataValue, Event, find_positions, walk
from .results import (
    MAX_DIAGNOSTICS,
    DataDocument,
    Diagnostic,
    SyntaxResult,
    duplicate_key,
    position_at,
)

MAX_DEPTH: Final = 1000
_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s\[\]{},:"]+', re.DOTALL)
_KINDS: Final = {"[": "sequence", "{": "mapping", "]": "end", "}": "end"}
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})

_MAX_DIGITS: Final = 4000  # Python refuses to write longer ones out
_MAX_BITS: Final = 13_000
_ROUNDED: Final = Context(prec=1000, Emax=MAX_EMAX)


def check(content: str, _language: str) -> SyntaxResult:
    """Parse a JSON text into its document."""
    too_deep = _too_deep_at(content)
    if too_deep is not None:
        message = f"Nested deeper than {MAX_DEPTH} levels"
        return SyntaxResult(
            errors=[Diagnostic(message, "JSON_TOO_DEEP", *position_at(content, too_deep))]
        )
    return _parse(content)


def _parse(content: str) -> SyntaxResult:
    remarks: set[str] = set()

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(members)
        if len(value) < len(members):
            remarks.add("duplicate")
        return value

    def constant(name: str) -> float:
        remarks.add("constant")
        return float(name)

    allowed = sys.getrecursionlimit()
    sys.setrecursionlimit(max(allowed, 20 * MAX_DEPTH))
    try:
        value = json.loads(
            content,
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=parse_integer,
            parse_float=lambda text: clamp_float(float(text)),
        )
    except json.JSONDecodeError as error:
        message = error.msg[:1].upper() + error.msg[1:]
        return SyntaxResult([Diagnostic(message, "JSON_SYNTAX", error.lineno, error.colno)])
    finally:
        sys.setrecursionlimit(allowed)
    is_unique = "duplicate" not in remarks
    find = partial(find_positions, content, _values, 0, paths_are_unique=is_unique)
    warnings = _find_warnings(content) if remarks else []
    return SyntaxResult(warnings=warnings, documents=[DataDocument(value, find)])


def _values(content: str) -> Iterator[DataValue]:
    return walk(_events(content), lambda key: json.loads(key) if "\\" in key else key[1:-1])


def _events(content: str) -> Iterator[Event]:
    yield "document", 0, None
    for token in _TOKEN.finditer(content):
        yield _KINDS.get(token.group(), "scalar"), token.start(), token.group()


def _find_warnings(content: str) -> list[Diagnostic]:
    repeated = (value for value in _values(content) if value.repeats)
    warnings = [
        duplicate_key(value.path[-1], position_at(content, value.key_at or 0))
        for value in islice(repeated, MAX_DIAGNOSTICS)
    ]
    constants = ((name, at) for _kind, at, name in _events(content) if name in _CONSTANTS)
    for name, at in islice(constants, MAX_DIAGNOSTICS - len(warnings)):
        message = f"{name} is not JSON; most other readers refuse it"
        warnings.append(Diagnostic(message, "JSON_NOT_A_NUMBER", *position_at(content, at)))
    return warnings


def _too_deep_at(content: str) -> int | None:
    if content.count("[") + content.count("{") <= MAX_DEPTH:
        return None
    depth = 0
    for token in _NESTING.finditer(content):
        first = token.group()
        if first in {"[", "{"}:
            depth += 1
            if depth > MAX_DEPTH:
                return token.start()
        elif first in {"]", "}"}:
            depth -= 1
    return None


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is an array."""
    return isinstance(value, list)


def parse_integer(digits: str) -> int | Decimal:
    """Parse an integer; one of more than 4,000 digits is rounded to the first 1,000."""
    return int(digits) if len(digits) <= _MAX_DIGITS else _ROUNDED.create_decimal(digits)


def clamp_float(value: float) -> float:
    """Clamp infinities to the largest float."""
    return math.copysign(sys.float_info.max, value) if math.isinf(value) else value


def clamp_integer(value: int) -> int | Decimal:
    """Round an integer as `parse_integer` does."""
    return value if value.bit_length() <= _MAX_BITS else _ROUNDED.create_decimal(value)
