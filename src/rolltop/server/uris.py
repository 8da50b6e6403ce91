"""Addresses of resources: a template of RFC 6570 read backwards."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

_EXPRESSION: Final = re.compile(r"\{([+#]?)(\w+)\}")
_VALUES: Final = {
    "": r"(?P<{name}>[^/?#]+)",  # one segment
    "+": r"(?P<{name}>[^?#]+)",  # segments with their slashes
    "#": r"(?:#(?P<{name}>.+))?",  # a fragment, which may be missing
}
_LONGEST: Final = 8192


class Template:
    """A template of the forms `{name}`, `{+name}` and `{#name}`."""

    def __init__(self, text: str) -> None:
        """Compile the template. Raises ValueError for other forms of expressions."""
        literals = _EXPRESSION.split(text)[::3]
        if any(mark in literal for literal in literals for mark in "{}"):
            raise ValueError(f"{text} has an expression of a form that cannot be matched")
        pattern = re.escape(literals[0])
        for found, literal in zip(_EXPRESSION.finditer(text), literals[1:], strict=True):
            pattern += _VALUES[found[1]].format(name=found[2]) + re.escape(literal)
        self._pattern = re.compile(pattern)
        self.variables = tuple(self._pattern.groupindex)
        """The names of its variables, in order."""

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the decoded variables the address has; None if it is no such address.

        Values that climb (`..`) or hold NUL or bytes that are no UTF-8 match nothing.
        """
        found = self._pattern.fullmatch(uri) if len(uri) <= _LONGEST else None
        if found is None:
            return None
        try:
            given = {n: unquote(v, errors="strict") for n, v in found.groupdict().items() if v}
        except UnicodeDecodeError:
            return None
        return given if all(_is_safe(value) for value in given.values()) else None


def _is_safe(value: str) -> bool:
    return "\0" not in value and ".." not in PurePosixPath(value.replace("\\", "/")).parts
