"""Tables of a TOML file, edited as text: comments and everything else in it stay as they are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final, cast

_HEADER: Final = re.compile(
    r"""^\ufeff?[ \t]*\[+((?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^]["'\n])+)\]+[ \t]*(?:#.*)?\r?$""",
    re.MULTILINE,
)
"""Also a line of a text or of a list that looks like one: who edits parses the outcome."""
_BLANK_LINE: Final = re.compile(r"(?:(?<=\n)|\A)\r?\n\Z")
_LAST_LINE_ENDS: Final = re.compile(r"(?:\r?\n){1,2}\Z")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class TomlError(ValueError):
    """The text is no TOML, or says what is to be edited in a form that is not; says why."""


def parse(text: str) -> dict[str, Any]:
    """Parse a document. Raises TomlError."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlError(f"cannot be parsed ({error})") from None


def set_member(text: str, table: str, key: str, value: Mapping[str, object]) -> str:
    """Set the table `[table.key]`, at the end if it is new. Raises TomlError."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join(_render(f"{table}.{_key(key)}", value))
    known = parse(text).get(table, {})
    if not isinstance(known, dict):
        raise TomlError(f"has no table as {table!r}")
    if key in known:
        start, end = _find(text, table, key)
        return text[:start] + block + text[end:]
    if not text or text.endswith("\n"):
        return text + newline * bool(text) + block + newline
    return text + newline * 2 + block


def remove_member(text: str, table: str, key: str) -> str:
    """Remove the table `[table.key]` with those below it. Raises TomlError."""
    if key not in cast("dict[str, Any]", parse(text).get(table, {})):
        return text
    start, end = _find(text, table, key)
    before, after = text[:start], text[end:]
    if not after:  # as `set_member` appends it to a last line without an end
        return _LAST_LINE_ENDS.sub("", before)
    return _BLANK_LINE.sub("", before) + after.removeprefix("\r").removeprefix("\n")


def _find(text: str, table: str, key: str) -> tuple[int, int]:
    """Return where the table's header begins and its last key ends. Raises TomlError."""
    headers = [*_HEADER.finditer(text)]
    own = [at for at, header in enumerate(headers) if _is_below(header[1], table, key)]
    if not own or own != [*range(own[0], own[-1] + 1)]:
        raise TomlError(f"does not have {table}.{key} as a table of its own")
    start = headers[own[0]].start() + headers[own[0]][0].startswith("\ufeff")
    end = headers[own[-1] + 1].start() if own[-1] + 1 < len(headers) else len(text)
    lines = text[start:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()  # a comment before the next header is that one's
    return start, start + len("".join(lines).rstrip("\r\n"))


def _is_below(name: str, table: str, key: str) -> bool:
    try:
        document = tomllib.loads(f"[{name}]")
    except tomllib.TOMLDecodeError:
        return False
    return key in cast("dict[str, Any]", document.get(table, {}))


def _render(name: str, value: Mapping[str, object]) -> list[str]:
    lines = [f"[{name}]"]
    for key, part in value.items():
        if not isinstance(part, dict) or not part:
            lines.append(f"{_key(key)} = {_value(cast('object', part))}")
    for key, part in value.items():
        if isinstance(part, dict) and part:
            lines += ["", *_render(f"{name}.{_key(key)}", cast("dict[str, object]", part))]
    return lines


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _value(text)


def _value(value: object) -> str:
    """Return a value as TOML. Raises TomlError for kinds that entries of servers don't have."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, cast("list[object]", value))) + "]"
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in parts) + "}"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TomlError("holds a value that is not understood")
