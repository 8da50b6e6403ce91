"""Answers of tools as a person reads them on a terminal.

Stored text is anybody's: no control character of it reaches the terminal as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from rolltop.cli import options

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_INDENT: Final = "  "


def printable(text: str) -> str:
    """Return a text with its control characters, line ends and tabs aside, spelled out."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def one_line(text: str, width: int) -> str:
    """Return the text on one line of at most so many characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"


def error_lines(shaped: Mapping[str, Any]) -> Iterator[str]:
    """Yield a tool's error, in whichever toolset's shape it comes."""
    nested = shaped.get("error")
    error = cast("Mapping[str, Any]", nested) if isinstance(nested, dict) else shaped
    message = error.get("message") or error.get("error") or ""
    code = error.get("code") or error.get("category") or "ERROR"
    yield f"{options.paint(printable(str(code)), options.RED)}: {printable(str(message))}"
    hint = error.get("hint") or error.get("resolution_hint")
    if hint:
        yield f"→ {printable(str(hint))}"


def answer_lines(value: object, depth: int = 0) -> Iterator[str]:
    """Yield an answer: a field a line, a text as it is, the items of a list one after the other."""
    indent = _INDENT * depth
    if isinstance(value, dict):
        for name, part in cast("dict[str, object]", value).items():
            if part is None or part in ([], {}):
                continue
            key = options.paint(printable(name), options.CYAN)
            if _is_short(part):
                yield f"{indent}{key}: {_short(part)}"
            else:
                yield f"{indent}{key}:"
                yield from answer_lines(part, depth + 1)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            lines = [_short(item)] if _is_short(item) else [*answer_lines(item, depth + 1)]
            yield f"{indent}- {lines[0].lstrip() if lines else ''}"
            yield from lines[1:]
    else:
        for line in printable(str(value)).split("\n"):
            yield f"{indent}{line}".rstrip()


def _is_short(value: object) -> bool:
    if isinstance(value, list):
        return all(not isinstance(item, dict | list) for item in cast("list[object]", value))
    return not isinstance(value, dict) and "\n" not in str(value)


def _short(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_short, cast("list[object]", value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value)).replace("\n", " ")
