"""JSON: the first syntax error; duplicate keys and NaN as warnings; places of values."""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .json_places import survey
from .json_values import finite, integer
from .results import MOST_DIAGNOSTICS, Diagnostic, Document, Syntax, place, repeated_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .results import Path, Place

DEEPEST: Final = 1000
_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the JSON text `content`, and its document."""
    del language
    too_deep = _too_deep_at(content)
    if too_deep is not None:
        message = f"Nested deeper than {DEEPEST} levels"
        return Syntax(errors=[Diagnostic(message, "JSON_TOO_DEEP", *place(content, too_deep))])
    return _parse(content)


def _parse(content: str) -> Syntax:
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
    sys.setrecursionlimit(max(allowed, 20 * DEEPEST))
    try:
        value = json.loads(
            content,
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=integer,
            parse_float=lambda text: finite(float(text)),
        )
    except json.JSONDecodeError as error:
        found = Diagnostic(_capital(error.msg), "JSON_SYNTAX", error.lineno, error.colno)
        return Syntax(errors=[found])
    finally:
        sys.setrecursionlimit(allowed)
    warnings = _remarks(content) if remarks else []
    return Syntax(warnings=warnings, documents=[Document(value, partial(_places, content))])


def _places(content: str, paths: Sequence[Path]) -> Mapping[Path, Place]:
    """Return line and column of the value at each path; a path that is missing is left out."""
    found = survey(content, paths).offsets
    return {path: place(content, offset) for path, offset in found.items()}


def _remarks(content: str) -> list[Diagnostic]:
    found = survey(content, [])
    warnings = [repeated_key(key, place(content, at)) for key, at in found.duplicates]
    for name, at in found.constants[: MOST_DIAGNOSTICS - len(warnings)]:
        message = f"{name} is not JSON; most other readers refuse it"
        warnings.append(Diagnostic(message, "JSON_NOT_A_NUMBER", *place(content, at)))
    return warnings


def _too_deep_at(content: str) -> int | None:
    """Return the offset of the first bracket beyond the deepest level allowed."""
    if content.count("[") + content.count("{") <= DEEPEST:
        return None
    depth = 0
    for token in _NESTING.finditer(content):
        first = token.group()
        if first in {"[", "{"}:
            depth += 1
            if depth > DEEPEST:
                return token.start()
        elif first in {"]", "}"}:
            depth -= 1
    return None


def _capital(message: str) -> str:
    return message[:1].upper() + message[1:]
