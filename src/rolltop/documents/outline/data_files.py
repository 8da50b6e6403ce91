"""Headings of data files: top-level keys of JSON and YAML, tables of TOML, sections of INI files.

The scanners continue after an error: nothing has to be valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.sections import Heading

_COMMENT: Final = r"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*(?:\*/)?"
_STRING: Final = r'"(?:[^"\\\n]++|\\.)*"?'
# Inside nested values all up to the next bracket is skipped in one step.
_NESTED: Final = re.compile(
    rf"(?:[^\"{{}}\[\]/]++|{_STRING}|{_COMMENT}|/)*([{{}}\[\]]?)", re.DOTALL
)
_AT_TOP: Final = re.compile(
    rf"""(?P<key>"(?:[^"\\\n]++|\\.)*")\s*+:
      | (?<![\w$])(?P<bare>[A-Za-z_$][\w$]*+)\s*+:
      | {_STRING} | {_COMMENT} | (?P<bracket>[{{}}\[\]])""",
    re.VERBOSE | re.DOTALL,
)

_YAML_KEY: Final = re.compile(
    r"""^(?P<key>"(?:[^"\\\n]++|\\.)*"
      | '(?:[^'\n]++|'')*'
      | (?![-?:][ \t\r\n]|[\s#%@`&*!|>'"{}\[\],]|---|\.\.\.)
        [^\n:#]*+(?:(?::(?=[^\s])|(?<=\S)\#)[^\n:#]*+)*
      )[ \t]*+:(?=[ \t\r\n]|\Z)[ \t]*+(?P<value>[^\n]?)""",
    re.VERBOSE | re.MULTILINE,
)
_DOUBLE_QUOTED: Final = re.compile(r'"(?:[^"\\]++|\\.)*"', re.DOTALL)
_SINGLE_QUOTED: Final = re.compile(r"'(?:[^']++|'')*'")
# Behind a backslash no string begins: of many that did, each would be searched to the line's end.
_FLOW: Final = re.compile(
    r"""[{}\[\]]|(?<!\\)"(?:[^"\\\n]++|\\.)*"|'(?:[^'\n]++|'')*'|(?<=\s)\#[^\n]*+"""
)

_TOML_TABLE: Final = re.compile(
    r"""\"\"\"(?:[^"\\]++|\\.|"(?!""))*(?:\"\"\")?
      | '''(?:[^']++|'(?!''))*(?:''')?
      | \#[^\n]*+ | "(?:[^"\\\n]++|\\[^\n])*"? | '[^'\n]*+'?
      | ^[ \t]*+(?P<open>\[(?P<second>\[)?)[ \t]*+(?P<name>(?:[\w.-]++|[ \t]++|"[^"\n]*+"
        |'[^'\n]*+')+)\](?(second)\])[ \t\r]*+(?:\#[^\n]*+)?$
      | (?P<bracket>[\[\]])""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_KEY_PART: Final = re.compile(r"\"[^\"]*+\"|'[^']*+'|[\w-]++")
_INI_SECTION: Final = re.compile(
    r"^[ \t]*+\[(?P<name>[^\n]{1,300}?)\][ \t\r]*+(?:[;#][^\n]*+)?$", re.MULTILINE
)


def json_keys(text: str) -> Iterator[Heading]:
    """Yield the keys of the outermost object; comments and trailing commas are skipped."""
    lines = TextLines(text)
    for key, start in _json_keys(text):
        yield Heading(key, 1, lines.line_at(start))


def _json_keys(text: str) -> Iterator[tuple[str, int]]:
    depth = at = 0
    while at < len(text):
        if depth > 1:
            nested = _NESTED.match(text, at)
            if nested is None or not nested.group(1):
                return
            depth += 1 if nested.group(1) in "{[" else -1
            at = nested.end()
            continue
        token = _AT_TOP.search(text, at)
        if token is None:
            return
        at = token.end()
        if token["bracket"]:
            if depth == 0 and token["bracket"] == "[":
                return  # a list has no keys
            depth = max(0, depth + (1 if token["bracket"] in "{[" else -1))
        elif depth == 1 and (token["key"] or token["bare"]):
            yield _unquote(token["key"] or token["bare"]), token.start()


def _unquote(key: str) -> str:
    if not key.startswith('"'):
        return key
    try:
        return str(json.loads(key, strict=False))
    except ValueError:
        return key[1:-1]


def yaml_keys(text: str) -> Iterator[Heading]:
    """Yield the keys at the left margin, of every document of the stream in turn."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        yield from json_keys(text)
        return
    lines, at = TextLines(text), 0
    while (found := _YAML_KEY.search(text, at)) is not None:
        yield Heading(_yaml_text(found["key"].strip()), 1, lines.line_at(found.start()))
        at = _after_value(text, found)


def _yaml_text(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1].replace("''", "'")
    return _unquote(key)


def _after_value(text: str, found: re.Match[str]) -> int:
    """Return where to search on: after a quoted or bracketed value, else after the key."""
    value, start = found["value"], found.start("value")
    closed = None
    if value == '"':
        closed = _DOUBLE_QUOTED.match(text, start)
    elif value == "'":
        closed = _SINGLE_QUOTED.match(text, start)
    elif value and value in "{[":
        return _after_flow(text, start)
    return closed.end() if closed else found.end("key") + 1


def _after_flow(text: str, start: int) -> int:
    depth = 0
    for token in _FLOW.finditer(text, start):
        if token.group() in "{}[]":
            depth += 1 if token.group() in "{[" else -1
            if depth == 0:
                return token.end()
        elif token.group() == "\n":
            return token.start()
    return len(text)


def toml_tables(text: str) -> Iterator[Heading]:
    """Yield the tables of a TOML text; one is inside those before it whose key begins its own."""
    lines, depth = TextLines(text), 0
    around: list[list[str]] = []  # the keys of the tables that hold the last one, and its own
    for found in _TOML_TABLE.finditer(text):
        if found["bracket"]:
            depth = max(0, depth + (1 if found["bracket"] == "[" else -1))
        elif found["open"] and depth == 0:
            name = found["name"].strip()
            key = [part.strip("\"'") for part in _KEY_PART.findall(name)]
            while around and key[: len(around[-1])] != around[-1]:
                around.pop()
            if not around or key != around[-1]:  # a list has one table after the other
                around.append(key)
            yield Heading(name, len(around), lines.line_at(found.start("open")))


def ini_sections(text: str) -> Iterator[Heading]:
    """Yield the sections of an INI file."""
    lines = TextLines(text)
    for found in _INI_SECTION.finditer(text):
        yield Heading(found["name"].strip(), 1, lines.line_at(found.start("name")))
