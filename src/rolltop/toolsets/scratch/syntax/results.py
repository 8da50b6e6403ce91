"""Requests and results of checks, and positions in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

MAX_DIAGNOSTICS: Final = 50
TIMEOUT_CODE: Final = "VALIDATION_TIMEOUT"
SCHEMAS_ALONE: Final = ""
"""The language of a request to judge the schemas that its own is a list of."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
Step = str | int
Path = tuple[Step, ...]
LineColumn = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A cell to check.

    `schema` is a JSON Schema, or the address of one (`scratchpad://schemas/<name or id>`), and
    applies to json, yaml and yml. `registry` holds the schemas a reference may name, by address.
    """

    language: str
    content: str
    schema: Any = None
    schema_name: str | None = None
    registry: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding; `line` and `column` count from 1, `column` in code points."""

    message: str
    code: str
    line: int = 1
    column: int = 1
    details: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one cell; `valid` is False exactly when there are errors.

    `details` is {syntax: {checked, passed, by: parser|grammar|none, reason?}, schema: {performed,
    passed, name, missing}, analysis: {…}}.
    """

    valid: bool
    errors: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    details: dict[str, Any]

    @property
    def timed_out(self) -> bool:
        """Whether the time limit ran out before the cell was checked."""
        return any(one.code == TIMEOUT_CODE for one in self.warnings)


def timeout_result(seconds: float) -> CheckResult:
    """Create the result of a cell that the time limit of its call left unchecked."""
    message = f"Validation passed its limit of {seconds:g} s; the cell is stored"
    warnings = (Diagnostic(message, TIMEOUT_CODE),)
    return CheckResult(valid=True, errors=(), warnings=warnings, details=unchecked_details())


def unreadable_result(cell: CheckRequest, message: str, code: str) -> CheckResult:
    """Create the result of a cell that could not be read to its end."""
    fault = Diagnostic(message, code)
    details = unchecked_details(cell.schema_name)
    return CheckResult(valid=False, errors=(fault,), warnings=(), details=details)


def unchecked_details(schema_name: str | None = None) -> dict[str, Any]:
    """Build `details` if nothing was checked to its end."""
    return {
        "syntax": {"checked": False, "passed": False, "by": "none"},
        "schema": schema_not_applied(schema_name),
        "analysis": {},
    }


def schema_not_applied(name: str | None) -> dict[str, Any]:
    """Build `details.schema` if no schema was applied."""
    return {"performed": False, "passed": None, "name": name, "missing": []}


@dataclass(frozen=True, slots=True)
class DataDocument:
    """A JSON or YAML document, with a function that finds positions of values in the cell."""

    value: Any
    find_positions: Callable[[Sequence[Path]], Mapping[Path, LineColumn]]


@dataclass(slots=True)
class SyntaxResult:
    """The diagnostics of a parser, and the documents of JSON and YAML.

    `remarks` are warnings that matter only if a schema applies.
    """

    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    analysis: dict[str, Any] = field(default_factory=dict[str, Any])
    documents: Sequence[DataDocument] = ()
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    unchecked: str = ""
    by: str = "parser"
    """`grammar` if a grammar parsed the text, which accepts more than the language does."""


def syntax_error(message: str, line: int = 1, column: int = 1) -> Diagnostic:
    """Create the error of a text that does not parse."""
    return Diagnostic(message, "SYNTAX_ERROR", line, column)


def locate_diagnostics(text: str, faults: Iterable[tuple[int, str, str]]) -> list[Diagnostic]:
    """Locate the first faults (offset, message, code) of a text, in order."""
    return [
        Diagnostic(message, code, *position_at(text, at))
        for at, message, code in sorted(faults)[:MAX_DIAGNOSTICS]
    ]


def duplicate_key(key: str, at: LineColumn) -> Diagnostic:
    """Create the warning of a key that its object or mapping has already."""
    message = f'The key "{key[:80]}" is given twice; the last value counts'
    return Diagnostic(message, "DUPLICATE_KEY", *at)


def position_of_line(text: str, line: int, column: int) -> LineColumn:
    """Convert a position by a parser that also ends lines at a lone CR."""
    if "\r" not in text:
        return line, column
    start = 0
    for number, end in enumerate(_LINE_END.finditer(text), start=1):
        if number == line:
            break
        start = end.end()
    return position_at(text, min(start + column - 1, len(text)))


def position_at(text: str, offset: int) -> LineColumn:
    """Find line and column of the code point at `offset`."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def position_at_byte(source: bytes, offset: int) -> LineColumn:
    """Find line and column of the code point at an offset in UTF-8."""
    before = source[source.rfind(b"\n", 0, offset) + 1 : offset]
    return source.count(b"\n", 0, offset) + 1, len(before.decode("utf-8", "replace")) + 1
