"""Headings of Python: classes and functions, from their first decorator to their last line.

Found by a scanner, not by the parser, so that a file with a syntax error has an outline too and
a large one is read quickly. Functions inside functions belong to the function around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.patterns import repetition
from rolltop.documents.outline.sections import Heading

STRING: Final = r"""(?:\"\"\"(?:[^"\\]++|\\.|"(?!""))*(?:\"\"\")?
    | '''(?:[^'\\]++|\\.|'(?!''))*(?:''')?
    | "(?:[^"\\\n]++|\\.)*"?
    | '(?:[^'\\\n]++|\\.)*'?)"""
"""A string without its prefix, for verbose expressions."""
_PLAIN: Final = r"""[^()\[\]{}"'\#\\\n]++"""
_COMMENT: Final = r"\#[^\n]*+"
_DECLARATION: Final = r"(?:class|def|async[ \t]++def)[ \t\\]++\w"


def _brackets(deepest: int) -> str:
    """Return a pattern for closed brackets with up to `deepest` levels inside them.

    A class or def at the margin is never inside: it ends a bracket that was never closed.
    """
    deeper = (_brackets(deepest - 1),) if deepest else ()
    inside = repetition(_PLAIN, STRING, _COMMENT, r"\\", rf"\n(?!{_DECLARATION})", *deeper)
    return rf"[(\[{{]{inside}[)\]}}]"


# Deeper ones are counted. A bracket that is never closed is looked through once for each level.
_BRACKETS: Final = _brackets(1)
_CONTINUED: Final = rf"\\\r?\n(?!{_DECLARATION})[ \t]*+"
_CODE: Final = repetition(_PLAIN, STRING, _BRACKETS, _CONTINUED, r"\\")
_LINE_END: Final = rf"[ \t\f\r]*+(?:{_COMMENT})?\n"
_LINES: Final = repetition(
    rf"{_LINE_END}{repetition(_LINE_END)}"
    rf"(?P=indent)[ \t\f]*+(?!class|def|async|@)(?=[^\s\#\\]){_CODE}"
)

# A statement includes the lines after it that are indented as deep or deeper, since they end no
# other block: a function's body is mostly one match.
_TOKEN: Final = re.compile(
    rf"""^(?P<indent>[ \t\f]*+)
        (?:(?P<word>class|def|async[ \t]++def)[ \t\\]++(?P<name>\w++)
          | (?P<at>@)
          | (?=[^\s\#\\]){_CODE}{_LINES})
      | (?P<plain>{_PLAIN}|{_COMMENT})
      | (?P<skip>(?:{STRING}|{_BRACKETS}|{_CONTINUED}){_CODE})
      | (?P<open>[(\[{{]) | (?P<close>[)\]}}])""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_INSIDE: Final = {"skip": 0, "open": 1, "close": -1}
_TAB: Final = 8


@dataclass(slots=True)
class _PythonBlock:
    """A class or function from offset to offset; its end is unknown while it is open."""

    name: str
    is_class: bool
    indent: int
    level: int
    start: int
    end: int = 0


@dataclass(slots=True)
class _PythonScan:
    """The blocks found in order, those still open, and where pending decorators begin."""

    blocks: list[_PythonBlock] = field(default_factory=list["_PythonBlock"])
    open_blocks: list[_PythonBlock] = field(default_factory=list["_PythonBlock"])
    decorator: int | None = None
    last_code: int = 0


def headings(text: str) -> Iterator[Heading]:
    """Yield classes and functions; a method is one level below its class."""
    lines = TextLines(text)
    for block in _blocks(text):
        yield Heading(block.name, block.level, lines.line_at(block.start), lines.line_at(block.end))


def _blocks(text: str) -> list[_PythonBlock]:
    scan = _PythonScan()
    depth = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "plain":
            continue
        if kind in _INSIDE:
            depth = max(0, depth + _INSIDE[kind])
        else:
            indent = len(token["indent"].expandtabs(_TAB))
            if not depth or (indent == 0 and token["word"]):
                depth = 0  # a class or def at the margin ends a bracket that was never closed
                _add_statement(scan, token, indent)
        scan.last_code = token.end() - 1
    _end_blocks(scan, 0)
    return scan.blocks


def _add_statement(scan: _PythonScan, token: re.Match[str], indent: int) -> None:
    """End the blocks that a statement leaves; open the one it begins."""
    _end_blocks(scan, indent)
    if token["at"]:
        scan.decorator = token.start() if scan.decorator is None else scan.decorator
        return
    start = token.start() if scan.decorator is None else scan.decorator
    scan.decorator = None
    if token["word"] and all(block.is_class for block in scan.open_blocks):
        is_class = token["word"] == "class"
        block = _PythonBlock(token["name"], is_class, indent, len(scan.open_blocks) + 1, start)
        scan.blocks.append(block)
        scan.open_blocks.append(block)


def _end_blocks(scan: _PythonScan, indent: int) -> None:
    while scan.open_blocks and scan.open_blocks[-1].indent >= indent:
        scan.open_blocks.pop().end = scan.last_code
