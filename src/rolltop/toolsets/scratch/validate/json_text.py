"""JSON: the first syntax error; duplicate keys and NaN as warnings; places of values."""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from .json_places import Survey, survey
from .results import MOST_DIAGNOSTICS, Diagnostic, Document, Syntax, place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .results import Path, Place

DEEPEST: Final = 1000
_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
# Longer integers would be converted in quadratic time.
_MOST_DIGITS: Final = 4000


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the JSON text `content`, and its document."""
    del language
    too_deep = _too_deep_at(content)
    if too_deep is not None:
        line, column = place(content, too_deep)
        message = f"Nested deeper than {DEEPEST} levels"
        return Syntax(errors=[Diagnostic(message, "JSON_TOO_DEEP", line, column)])
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
            content, object_pairs_hook=pairs, parse_constant=constant, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        found = Diagnostic(_capital(error.msg), "JSON_SYNTAX", error.lineno, error.colno)
        return Syntax(errors=[found])
    finally:
        sys.setrecursionlimit(allowed)
    warnings = _remarks(survey(content, [])) if remarks else []
    return Syntax(warnings=warnings, documents=[Document(value, _Places(content))])


class _Places:
    """Finds the places of values in one JSON text."""

    def __init__(self, content: str) -> None:
        self._content = content

    def __call__(self, paths: Sequence[Path]) -> Mapping[Path, Place]:
        """Return line and column of the value at each path; a path that is missing is left out."""
        found = survey(self._content, paths).offsets
        return {path: place(self._content, offset) for path, offset in found.items()}


def _remarks(found: Survey) -> list[Diagnostic]:
    warnings = [
        Diagnostic(f'The key "{key[:80]}" is given twice; the last value counts', "DUPLICATE_KEY")
        for key, _ in found.duplicates
    ]
    warnings += [
        Diagnostic(f"{name} is not JSON; most other readers refuse it", "JSON_NOT_A_NUMBER")
        for name, _ in found.constants
    ]
    places = [place(found.text, at) for _, at in (*found.duplicates, *found.constants)]
    return [
        Diagnostic(warning.message, warning.code, line, column)
        for warning, (line, column) in zip(warnings, places, strict=True)
    ][:MOST_DIAGNOSTICS]


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)


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
