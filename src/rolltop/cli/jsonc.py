"""JSON with comments and trailing commas: parsed with positions, and edited without a trace.

An edit changes the text of one member and nothing else: comments, order, indentation and line ends
stay. Removing what was set gives back the text that was there before.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, cast

_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LITERAL: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DECODER: Final = json.JSONDecoder()
_LEAD: Final = re.compile(r"(?:\r?\n)?[ \t]*\Z")
_LEAD_CHARACTERS: Final = 200
"""How far back the line end and indentation before a key are looked for."""


class JsoncError(ValueError):
    """The text is no such document, or not one that can be edited; says why."""


@dataclass(frozen=True)
class Member:
    """A member of an object: its key at `start`, and the comma after it, or -1."""

    key: str
    start: int
    node: Node
    comma: int


@dataclass(frozen=True)
class Node:
    """A value and where its text is; `members` are an object's, in their order."""

    value: Any
    start: int
    end: int
    members: tuple[Member, ...] = ()

    def find(self, key: str) -> Member | None:
        """Return the member with a key; None if there is none. Raises JsoncError for two."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise JsoncError(f"has {key!r} twice")
        return found[0] if found else None


def parse(text: str) -> Node:
    """Parse a document. Raises JsoncError."""
    try:
        node = _parse_value(text, _skip_blank(text, 0))
    except RecursionError:
        raise JsoncError("is nested too deeply") from None
    if _skip_blank(text, node.end) != len(text):
        raise _error(text, _skip_blank(text, node.end))
    return node


def set_member(text: str, table: str, key: str, value: object) -> str:
    """Set a member of the object that the document has under `table`. Raises JsoncError."""
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text.rstrip()}{{}}\n"
    root = _require_object(parse(text), "the document")
    style = _Style.of(text, root)
    parent = root.find(table)
    if parent is None:
        inner = style.render({key: value}, 1)
        return _insert(text, root, f"{json.dumps(table)}: {inner}", style, depth=1)
    node = _require_object(parent.node, repr(table))
    member = node.find(key)
    old = text[member.node.start : member.node.end] if member is not None else ""
    # On one line in a table that was empty: removing it will leave the table.
    on_a_line = "\n" not in old if old else not node.members
    rendered = json.dumps(value, ensure_ascii=False) if on_a_line else style.render(value, 2)
    if member is not None:
        return text[: member.node.start] + rendered + text[member.node.end :]
    return _insert(text, node, f"{json.dumps(key)}: {rendered}", style, depth=2)


def remove_member(text: str, table: str, key: str) -> str:
    """Remove a member of the object under `table`, and a table that was made for it.

    Raises JsoncError.
    """
    root = parse(text)
    parent = root.find(table)
    member = parent.node.find(key) if parent is not None else None
    if parent is None or member is None:
        return text
    made_for_it = (
        len(parent.node.members) == 1
        and "\n" in text[member.node.start : member.node.end]
        and text[parent.node.start + 1 : member.start].isspace()
        and not text[member.node.end : parent.node.end - 1].strip()
    )
    return (
        _drop_member(text, root, parent) if made_for_it else _drop_member(text, parent.node, member)
    )


@dataclass(frozen=True)
class _Style:
    """How a document is written: its line end and its unit of indentation."""

    newline: str
    unit: str

    @classmethod
    def of(cls, text: str, root: Node) -> _Style:
        newline = "\r\n" if "\r\n" in text else "\n"
        lead = _lead(text, root.members[0].start) if root.members else ""
        indentation = lead.lstrip("\r\n") if "\n" in lead else ""
        return cls(newline, indentation or "  ")

    def line(self, depth: int) -> str:
        return self.newline + self.unit * depth

    def render(self, value: object, depth: int) -> str:
        """Return a value that begins on a line of that depth; lists stay on one line."""
        if not isinstance(value, dict) or not value:
            return json.dumps(value, ensure_ascii=False)
        members = [
            f"{self.line(depth + 1)}{json.dumps(key, ensure_ascii=False)}: "
            f"{self.render(part, depth + 1)}"
            for key, part in cast("dict[str, object]", value).items()
        ]
        return "{" + ",".join(members) + self.line(depth) + "}"


def _insert(text: str, node: Node, member: str, style: _Style, *, depth: int) -> str:
    close = node.end - 1
    if not node.members:
        inner = text[node.start + 1 : close]
        if not inner:
            member = style.line(depth) + member + style.line(depth - 1)
        elif inner.isspace():
            return text[: node.start + 1] + member + text[node.start + 1 :]
        return _insert_after(text, node.start + 1, close, style.line(depth) * bool(inner) + member)
    last = node.members[-1]
    lead = _lead(text, last.start)
    if last.comma >= 0:
        start, member = last.comma + 1, f"{member},"
    else:
        start = last.node.end
        text = f"{text[:start]},{text[start:]}"
        start, close = start + 1, close + 1
    has_comment = bool(text[start:close].strip())
    separator = lead if "\n" in lead else style.line(depth) if has_comment else " "
    return _insert_after(text, start, close, separator + member)


def _insert_after(text: str, start: int, close: int, added: str) -> str:
    """Insert before the white space that ends text[start:close]."""
    at = start + len(text[start:close].rstrip())
    return text[:at] + added + text[at:]


def _drop_member(text: str, node: Node, member: Member) -> str:
    at = node.members.index(member)
    start = member.start - len(_lead(text, member.start))
    if member.comma >= 0:
        return text[:start] + text[member.comma + 1 :]
    if at:
        comma = node.members[at - 1].comma
        return text[:comma] + text[comma + 1 : start] + text[member.node.end :]
    before, after = text[node.start + 1 : member.start], text[member.node.end : node.end - 1]
    if before.isspace() and not after.strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    return text[:start] + text[member.node.end :]


def _lead(text: str, start: int) -> str:
    """Return the line end and the indentation directly before a position, or one of them."""
    found = _LEAD.search(text[max(0, start - _LEAD_CHARACTERS) : start])
    return found[0] if found else ""


def _require_object(node: Node, name: str) -> Node:
    if not isinstance(node.value, dict):
        raise JsoncError(f"has no object as {name}")
    return node


def _parse_value(text: str, at: int) -> Node:
    match text[at : at + 1]:
        case "{":
            return _parse_object(text, at)
        case "[":
            return _parse_array(text, at)
        case '"':
            value, end = _parse_string(text, at)
            return Node(value, at, end)
        case _:
            found = _LITERAL.match(text, at)
            if found is None:
                raise _error(text, at)
            return Node(json.loads(found[0]), at, found.end())


def _parse_object(text: str, start: int) -> Node:
    members: list[Member] = []
    value: dict[str, Any] = {}
    at = _skip_blank(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"' or (members and members[-1].comma < 0):
            raise _error(text, at)
        key_start = at
        key, at = _parse_string(text, at)
        at = _skip_blank(text, at)
        if text[at : at + 1] != ":":
            raise _error(text, at)
        node = _parse_value(text, _skip_blank(text, at + 1))
        at = _skip_blank(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        at = _skip_blank(text, at + 1) if comma >= 0 else at
        members.append(Member(key, key_start, node, comma))
        value[key] = node.value
    return Node(value, start, at + 1, tuple(members))


def _parse_array(text: str, start: int) -> Node:
    values: list[Any] = []
    at, after_comma = _skip_blank(text, start + 1), True
    while text[at : at + 1] != "]":
        if not after_comma:
            raise _error(text, at)
        node = _parse_value(text, at)
        values.append(node.value)
        at = _skip_blank(text, node.end)
        after_comma = text[at : at + 1] == ","
        at = _skip_blank(text, at + 1) if after_comma else at
    return Node(values, start, at + 1)


def _parse_string(text: str, at: int) -> tuple[str, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _error(text, error.pos) from None


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _error(text: str, at: int) -> JsoncError:
    return JsoncError(f"cannot be parsed (line {text.count(chr(10), 0, at) + 1})")
