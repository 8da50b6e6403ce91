"""What goes into a check and what comes out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MOST_DIAGNOSTICS: Final = 50

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
Step = str | int
Path = tuple[Step, ...]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
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
class Checked:
    """The result for one cell; `valid` is False exactly when there are errors.

    `details` is {syntax: {checked, passed, reason?}, schema: {performed, passed, name, missing},
    analysis: {…}}.
    """

    valid: bool
    errors: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    details: dict[str, Any]


def unreadable(cell: Cell, message: str, code: str) -> Checked:
    """Return the result for a cell that could not be read to the end."""
    fault = Diagnostic(message, code)
    details = unchecked(cell.schema_name)
    return Checked(valid=False, errors=(fault,), warnings=(), details=details)


def unchecked(schema_name: str | None = None) -> dict[str, Any]:
    """Return `details` where nothing was checked to its end."""
    return {
        "syntax": {"checked": False, "passed": False},
        "schema": not_performed(schema_name),
        "analysis": {},
    }


def not_performed(name: str | None) -> dict[str, Any]:
    """Return `details.schema` where no schema was applied."""
    return {"performed": False, "passed": None, "name": name, "missing": []}


@dataclass(frozen=True, slots=True)
class Timeout:
    """The time limit passed before the cell was checked; `seconds` is the limit of the call."""

    seconds: float

    @property
    def details(self) -> dict[str, Any]:
        """What `Checked.details` is for a cell that was not checked."""
        return unchecked()


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON or YAML document: its value, and the places in the cell of values asked for."""

    value: Any
    places: Callable[[Sequence[Path]], Mapping[Path, Place]]


@dataclass(slots=True)
class Syntax:
    """What the parser of a language found.

    `remarks` are warnings about the documents as a schema sees them; valid JSON and YAML without
    documents cannot be seen so.
    """

    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    analysis: dict[str, Any] = field(default_factory=dict[str, Any])
    documents: Sequence[Document] = ()
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    unchecked: str = ""


def located(text: str, faults: Iterable[tuple[int, str, str]]) -> list[Diagnostic]:
    """Return the first faults of `text` in their order; each is an offset, a message, a code."""
    return [
        Diagnostic(message, code, *place(text, at))
        for at, message, code in sorted(faults)[:MOST_DIAGNOSTICS]
    ]


def repeated_key(key: str, at: Place) -> Diagnostic:
    """Return the warning of a key that an object or a mapping has already."""
    message = f'The key "{key[:80]}" is given twice; the last value counts'
    return Diagnostic(message, "DUPLICATE_KEY", *at)


def place_of_line(text: str, line: int, column: int) -> Place:
    """Return where `text` has what a parser placed that also ends lines at a lone CR."""
    if "\r" not in text:
        return line, column
    start = 0
    for number, end in enumerate(_LINE_END.finditer(text), start=1):
        if number == line:
            break
        start = end.end()
    return place(text, min(start + column - 1, len(text)))


def place(text: str, offset: int) -> Place:
    """Return line and column of the code point at `offset`."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
