"""JSON with comments and trailing commas: parsed with positions, and edited without a trace.

An edit changes the text of one member and nothing else: comments, order, indentation and line ends
stay. Removing what was set gives back the text that was there before.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, cast

# An end may be missing, else what is not closed is looked through again from each place in it.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*"?'
_COMMENT: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)|\ufeff", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + r'|(?<=[\w"\]}])\s*,(?=\s*[\]}])')
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_LEAD: Final = re.compile(r"(?:\r?\n)?[ \t]*\Z")
_LEAD_CHARACTERS: Final = 200
"""How far back the line end and indentation before a key are looked for."""


class JsoncError(ValueError):
    """The text is no such document, or not one that can be edited; says why."""


@dataclass(frozen=True)
class Member:
    """A member of an object: its key at `start`, its value, and the comma after it, or -1."""

    key: str
    value: Any
    start: int
    value_start: int
    end: int
    comma: int


@dataclass(frozen=True)
class Node:
    """An object and where its text is; its members in their order."""

    start: int
    end: int
    members: tuple[Member, ...]

    def find(self, key: str) -> Member | None:
        """Return the member with a key; None if there is none. Raises JsoncError for two."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise JsoncError(f"has {key!r} twice")
        return found[0] if found else None


def parse(text: str) -> Any:  # noqa: ANN401  # any JSON
    """Return the value that a document is. Raises JsoncError."""
    return _Text(text).value


class _Text:
    """A document's text as JSON with all characters in their places."""

    def __init__(self, text: str) -> None:
        """Parse it. Raises JsoncError."""
        self._plain: Final = _COMMENT.sub(_blank, text)
        self._json: Final = _LAST_COMMA.sub(_blank, self._plain)
        try:
            self.value: Any = _DECODER.decode(self._json)
        except json.JSONDecodeError as error:
            raise JsoncError(f"cannot be parsed (line {error.lineno})") from None
        except RecursionError:
            raise JsoncError("is nested too deeply") from None

    def read_object(self, start: int = 0) -> Node:
        """Return the object that begins at a place, blanks before it aside."""
        start = self._skip_blank(start)
        members: list[Member] = []
        at = self._skip_blank(start + 1)
        while self._plain[at] != "}":
            key, end = _DECODER.raw_decode(self._json, at)
            value_start = self._skip_blank(self._skip_blank(end) + 1)
            value, end = _DECODER.raw_decode(self._json, value_start)
            after = self._skip_blank(end)
            comma = after if self._plain[after] == "," else -1
            members.append(Member(key, value, at, value_start, end, comma))
            at = after if comma < 0 else self._skip_blank(after + 1)
        return Node(start, at + 1, tuple(members))

    def _skip_blank(self, at: int) -> int:
        found = _BLANK.match(self._plain, at)
        return found.end() if found else at


def _blank(found: re.Match[str]) -> str:
    """Replace what is no string by blanks, on the same lines; a comment without end stays."""
    text = found[0]
    is_kept = text[0] == '"' or (text.startswith("/*") and not text.endswith("*/", 2))
    return text if is_kept else re.sub(r"[^\n]", " ", text)


def set_member(text: str, table: str, key: str, value: object) -> str:
    """Set a member of the object that the document has under `table`. Raises JsoncError."""
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text.rstrip()}{{}}\n"
    whole, root = _read_root(text)
    style = _Style.of(text, root)
    parent = root.find(table)
    if parent is None:
        inner = style.render({key: value}, 1)
        return _insert(text, root, f"{json.dumps(table)}: {inner}", style, depth=1)
    if not isinstance(parent.value, dict):
        raise JsoncError(f"has no object as {table!r}")
    node = whole.read_object(parent.value_start)
    member = node.find(key)
    old = text[member.value_start : member.end] if member is not None else ""
    # On one line in a table that was empty: removing it will leave the table.
    on_a_line = "\n" not in old if old else not node.members
    rendered = json.dumps(value, ensure_ascii=False) if on_a_line else style.render(value, 2)
    if member is not None:
        return text[: member.value_start] + rendered + text[member.end :]
    return _insert(text, node, f"{json.dumps(key)}: {rendered}", style, depth=2)


def remove_member(text: str, table: str, key: str) -> str:
    """Remove a member of the object under `table`, and a table that was made for it.

    Raises JsoncError.
    """
    whole, root = _read_root(text)
    parent = root.find(table)
    if parent is None or not isinstance(parent.value, dict):
        return text
    node = whole.read_object(parent.value_start)
    member = node.find(key)
    if member is None:
        return text
    made_for_it = (
        len(node.members) == 1
        and "\n" in text[member.value_start : member.end]
        and text[node.start + 1 : member.start].isspace()
        and not text[member.end : node.end - 1].strip()
    )
    return _drop_member(text, root, parent) if made_for_it else _drop_member(text, node, member)


def _read_root(text: str) -> tuple[_Text, Node]:
    whole = _Text(text)
    if not isinstance(whole.value, dict):
        raise JsoncError("has no object as the document")
    return whole, whole.read_object()


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
        start = last.end
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
        return text[:comma] + text[comma + 1 : start] + text[member.end :]
    before, after = text[node.start + 1 : member.start], text[member.end : node.end - 1]
    if before.isspace() and not after.strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    return text[:start] + text[member.end :]


def _lead(text: str, start: int) -> str:
    """Return the line end and the indentation directly before a position, or one of them."""
    found = _LEAD.search(text[max(0, start - _LEAD_CHARACTERS) : start])
    return found[0] if found else ""
