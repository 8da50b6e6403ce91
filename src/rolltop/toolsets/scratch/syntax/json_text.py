"""JSON: the first syntax error; duplicate keys and NaN as warnings; positions of values."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, Context, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from .results import (
    MAX_DIAGNOSTICS,
    DataDocument,
    Diagnostic,
    SyntaxResult,
    duplicate_key,
    position_at,
)

if TYPE_CHECKING:
    from .results import LineColumn, Path

MAX_DEPTH: Final = 1000
_NESTING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_PATH: Final = "path"

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
        found = Diagnostic(_capitalize(error.msg), "JSON_SYNTAX", error.lineno, error.colno)
        return SyntaxResult(errors=[found])
    finally:
        sys.setrecursionlimit(allowed)
    warnings = _find_warnings(content) if remarks else []
    return SyntaxResult(
        warnings=warnings, documents=[DataDocument(value, partial(_find_positions, content))]
    )


def _find_positions(content: str, paths: Sequence[Path]) -> Mapping[Path, LineColumn]:
    """Find the position of the value at each path; a path that is missing is left out."""
    found = find_positions(content, paths).offsets
    return {path: position_at(content, offset) for path, offset in found.items()}


def _find_warnings(content: str) -> list[Diagnostic]:
    found = find_positions(content, [])
    warnings = [duplicate_key(key, position_at(content, at)) for key, at in found.duplicates]
    for name, at in found.constants[: MAX_DIAGNOSTICS - len(warnings)]:
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


def _capitalize(message: str) -> str:
    return message[:1].upper() + message[1:]


@dataclass(slots=True)
class JsonPositions:
    """Offsets of the values asked for, of repeated keys, and of numbers JSON does not have."""

    offsets: dict[Path, int] = field(default_factory=dict["Path", int])
    duplicates: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    constants: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


@dataclass(slots=True)
class _Frame:
    """An open array or object: the wanted paths below it, the position in it, its keys."""

    wanted: dict[Any, Any] | None
    index: int | None = None
    key: str | None = None
    keys: set[str] = field(default_factory=set[str])
    expects_key: bool = False


def find_positions(text: str, paths: Sequence[Path]) -> JsonPositions:
    """Find positions in one pass over a text; if a key repeats, its last value counts."""
    found = JsonPositions()
    open_frames: list[_Frame] = []
    root = _trie(paths)
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        frame = open_frames[-1] if open_frames else None
        if first in "]}":
            open_frames.pop()
        elif first == ",":
            _next_member(frame)
        elif first == ":":
            continue
        elif frame is not None and frame.expects_key:
            _read_key(frame, token, found)
        else:
            wanted = root if frame is None else _child(frame)
            _read_value(token, wanted, found)
            if first == "[":
                open_frames.append(_Frame(wanted, index=0))
            elif first == "{":
                open_frames.append(_Frame(wanted, expects_key=True))
    return found


def _trie(paths: Sequence[Path]) -> dict[Any, Any]:
    """Turn paths into nested dicts; a path that ends at a node is in it."""
    root: dict[Any, Any] = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault((step,), {})
        node[_PATH] = path
    return root


def _child(frame: _Frame) -> dict[Any, Any] | None:
    if frame.wanted is None:
        return None
    step = frame.key if frame.index is None else frame.index
    return frame.wanted.get((step,))


def _next_member(frame: _Frame | None) -> None:
    if frame is None:
        return
    if frame.index is None:
        frame.expects_key = True
    else:
        frame.index += 1


def _read_key(frame: _Frame, token: re.Match[str], found: JsonPositions) -> None:
    written = token.group()
    key = json.loads(written) if "\\" in written else written[1:-1]
    if key in frame.keys and len(found.duplicates) < MAX_DIAGNOSTICS:
        found.duplicates.append((key, token.start()))
    frame.keys.add(key)
    frame.key, frame.expects_key = key, False


def _read_value(token: re.Match[str], wanted: dict[Any, Any] | None, found: JsonPositions) -> None:
    if wanted is not None and _PATH in wanted:
        found.offsets[wanted[_PATH]] = token.start()
    if token.group() in _CONSTANTS and len(found.constants) < MAX_DIAGNOSTICS:
        found.constants.append((token.group(), token.start()))


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
