"""Headings of source files: classes and functions of languages with braces.

A scanner skips strings and comments and counts braces; a section ends with the brace that closes
its declaration. Where braces do not match (`#if` branches, a syntax error), the indentation of a
closing brace tells what it closes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline import declarations
from rolltop.documents.outline.declarations import DeclarationPatterns
from rolltop.documents.outline.sections import Heading

LANGUAGES: Final[dict[str, DeclarationPatterns]] = {
    "javascript": declarations.JAVASCRIPT,
    "java": declarations.JAVA,
    "csharp": declarations.CSHARP,
    "kotlin": declarations.KOTLIN,
    "swift": declarations.SWIFT,
    "c": declarations.C,
    "go": declarations.GO,
    "rust": declarations.RUST,
    "php": declarations.PHP,
}

MAX_LINE_LENGTH: Final = 2_000
"""Code points of a line that may be a declaration; generated and minified lines are longer."""
MAX_ANONYMOUS_LENGTH: Final = 160
"""Code points before a brace that tell whether it begins a container without a name."""
MAX_TYPE_LENGTH: Final = 80
"""Code points before a brace that tell whether it is part of a type."""
_GROUP: Final = "type ("
_CONTINUATION_MARKS: Final = ("{", "where", ":", "=", "->", ")")
"""Begin a line that continues the declaration before it."""

_COMMENT: Final = r"/\*(?:[^*]++|\*(?!/))*(?:\*/)?"
_DOUBLE: Final = r'"(?:[^"\\\n]++|\\.)*"?'
_SINGLE: Final = r"'(?:[^'\\\n]++|\\.)*'?"
_TAB: Final = 8


@dataclass(slots=True)
class _BraceBlock:
    """A part in braces; a name makes it a section, a container may hold more of them.

    `parenthesis_depth` counts the parentheses around its braces. `is_value`: the braces are those
    of a parameter or a value. `is_whole`: it needs no body, as where an expression behind an arrow
    stands for it. `is_initializer`: values of members stand before the body.
    """

    indent: int
    is_container: bool
    name: str = ""
    level: int = 0
    start: int = 0
    end: int = 0
    parenthesis_depth: int = 0
    is_value: bool = False
    is_whole: bool = False
    is_initializer: bool = False


def headings(text: str, kind: str) -> Iterator[Heading]:
    """Yield the declarations of a text in a language with braces; `kind` is one of LANGUAGES."""
    lines = TextLines(text)
    for block in _BraceScanner(text, LANGUAGES[kind]).scan():
        start, end = lines.line_at(block.start), lines.line_at(block.end)
        yield Heading(block.name, block.level, start, max(start, end))


def quote_pattern(language: DeclarationPatterns) -> str:
    """Return a verbose expression for comments, strings and whatever else may hide braces."""
    return rf"{language.hidden}|{_COMMENT}|{_DOUBLE}|{_SINGLE}"


@cache
def _tokens(language: DeclarationPatterns) -> re.Pattern[str]:
    arrow = "|=>" if language.arrows else ""
    return re.compile(
        rf"""^(?P<indent>[ \t]*+)(?:/\*[^*\n]*+\*/[ \t]*+)?(?=[^\s/\#*])
          | (?P<skip>{quote_pattern(language)})
          | (?P<mark>[{{}}();]{arrow})""",
        re.VERBOSE | re.MULTILINE | re.DOTALL,
    )


class _BraceScanner:
    """Finds the sections of one text."""

    def __init__(self, text: str, language: DeclarationPatterns) -> None:
        self._text: Final = text
        self._language: Final = language
        self._sections: Final[list[_BraceBlock]] = []
        self._open: Final[list[_BraceBlock]] = []
        self._bodies = 0
        """Open blocks that are no containers."""
        self._named = 0
        """Open blocks that are sections."""
        self._pending: _BraceBlock | None = None
        """A declaration whose brace may follow."""
        self._parentheses = 0
        self._indent = 0
        self._margin = 0
        """Columns before the line on which the innermost parentheses were opened."""
        self._last_code = 0
        self._hidden = (0, 0)
        """The span of the last comment, or whatever else but a string hides braces."""

    def scan(self) -> list[_BraceBlock]:
        """Return the sections in order."""
        text = self._text
        for token in _tokens(self._language).finditer(text):
            if token.lastgroup == "indent":
                self._begin_line(token)
            elif token["mark"]:
                self._handle_mark(token["mark"], token.start())
            elif text[token.start()] != '"':
                self._hidden = token.span()
        end = len(text.rstrip())
        self._resolve_pending(end)
        while self._open:
            self._end_block(end)
        return self._sections

    def _begin_line(self, token: re.Match[str]) -> None:
        """Handle the start of a line of code: what it closes, what it may declare."""
        at = token.end()
        before, self._last_code = self._last_code, at
        self._indent = len(token["indent"].expandtabs(_TAB))
        closes = self._text[at] == "}"
        if closes or not self._parentheses:
            self._margin = self._indent
        if closes:
            # It may close the last block further in, if that begins on a continued line.
            while len(self._open) > 1 and self._open[-2].indent >= self._indent:
                if self._open[-1].indent <= self._indent:
                    break
                self._end_block(at)
            self._parentheses = 0
            return
        if self._continues_declaration(at):
            return
        if self._ends_pending(at):
            self._resolve_pending(before)
        if self._parentheses or self._bodies:
            return
        block = self._match_declaration(at)
        if block is not None:
            self._resolve_pending(before)
            block.start = token.start()
            self._pending = block

    def _continues_declaration(self, at: int) -> bool:
        """Whether a line belongs to the declaration before it, whose body is to come."""
        pending = self._pending
        if pending is None or self._language.bodiless or self._indent <= pending.indent:
            return False
        pending.is_initializer |= self._text.startswith((": ", ", "), at)
        return True

    def _ends_pending(self, at: int) -> bool:
        """Whether a line follows a declaration that ended with its own line."""
        pending = self._pending
        if pending is None or self._is_in_parentheses():
            return False
        if not (self._language.bodiless or (self._language.types and pending.is_whole)):
            return False
        if self._text[at] == ")" and self._is_in_group():
            return True
        continues = self._text.startswith(_CONTINUATION_MARKS, at)
        return self._indent <= pending.indent and not continues

    def _match_declaration(self, at: int) -> _BraceBlock | None:
        """Return the block that the line at an offset declares, if it declares one."""
        text, language = self._text, self._language
        line_end = text.find("\n", at, at + MAX_LINE_LENGTH)
        if line_end < 0:
            line_end = min(len(text), at + MAX_LINE_LENGTH)
        in_class = bool(self._open and self._open[-1].name)
        methods = [language.method] if in_class and language.method is not None else []
        grouped = [language.grouped] if language.grouped and self._is_in_group() else []
        for pattern in (language.container, language.function, *methods, *grouped):
            found = pattern.match(text, at, line_end)
            if found is None:
                continue
            groups = found.groupdict()
            name = (groups["name"] or groups.get("assigned") or "").strip()
            may_be_keyword = pattern in methods or language.bare_functions
            if name and not (may_be_keyword and name in declarations.NOT_NAMES):
                is_container = pattern is language.container or pattern in grouped
                is_whole = bool(groups.get("bodiless"))
                return _BraceBlock(self._indent, is_container, name, is_whole=is_whole)
        return None

    def _handle_mark(self, mark: str, at: int) -> None:
        """Handle a bracket or a semicolon outside strings and comments."""
        if mark in "()":
            self._handle_parenthesis(mark, at)
        elif mark == "{":
            is_container = self._is_nameless_container(at)
            if is_container and self._pending is not None:
                self._resolve_pending(self._pending.start)  # a macro's use, without braces
            is_value = bool(self._parentheses) or self._is_initial_value(at)
            if self._pending is not None and not is_value and self._is_type(self._pending, at):
                is_value = self._pending.is_whole = True  # what has a type may have no body
            self._open_block(is_value=is_value and not is_container, is_container=is_container)
        elif mark == "}":
            self._close_block(at)
        elif mark == "=>":
            if self._pending is not None and not self._is_in_parentheses():
                self._pending.is_whole = True
        elif not self._is_in_parentheses():
            self._resolve_pending(at)

    def _handle_parenthesis(self, mark: str, at: int) -> None:
        if mark == "(" and self._begins_group(at):
            self._open_block(is_value=False, is_container=True)
        elif mark == ")" and not self._parentheses and self._is_in_group():
            self._close_block(at)
        else:
            self._parentheses = max(0, self._parentheses + (1 if mark == "(" else -1))

    def _begins_group(self, at: int) -> bool:
        """Whether a parenthesis opens a group of declarations, at the margin."""
        if self._language.grouped is None or self._open:
            return False
        start = at + 1 - len(_GROUP)
        return self._text.startswith(_GROUP, start) and self._text[start - 1 : start] in ("", "\n")

    def _is_in_group(self) -> bool:
        """Whether the innermost block is a group: in these languages no other has no name."""
        if self._language.grouped is None or not self._open:
            return False
        return self._open[-1].is_container and not self._open[-1].name

    def _is_in_parentheses(self) -> bool:
        return bool(self._parentheses or (self._open and self._open[-1].is_value))

    def _is_initial_value(self, at: int) -> bool:
        """Whether a brace begins a member's value, right after its name."""
        before = self._text[at - 1 : at]
        return self._pending is not None and self._pending.is_initializer and before.isalnum()

    def _is_type(self, pending: _BraceBlock, at: int) -> bool:
        """Whether a brace begins a part of a declaration's type, or is inside one."""
        types = self._language.types
        if types is None:
            return False
        if pending.is_whole and self._open and self._open[-1].is_value:
            return True
        return types.search(self._text, max(0, at - MAX_TYPE_LENGTH), at) is not None

    def _is_nameless_container(self, at: int) -> bool:
        language = self._language
        if language.nameless is None:
            return False
        if language.function_values and (self._pending or self._bodies or self._named):
            return False
        found = language.nameless.search(self._text, max(0, at - MAX_ANONYMOUS_LENGTH), at)
        begin, end = self._hidden
        return found is not None and not begin <= found.start() < end

    def _open_block(self, *, is_value: bool, is_container: bool) -> None:
        block = self._pending
        if block is None or is_value:
            block = _BraceBlock(
                self._margin,
                is_container,
                parenthesis_depth=self._parentheses,
                is_value=is_value,
            )
            self._parentheses = 0
        else:
            self._pending = None
            block.level = 1 + self._named
            self._sections.append(block)
        self._open.append(block)
        self._bodies += not block.is_container
        self._named += bool(block.name)

    def _close_block(self, at: int) -> None:
        if not (self._open and self._open[-1].is_value):
            self._resolve_pending(at)
        self._parentheses = self._open[-1].parenthesis_depth if self._open else 0
        if self._open:
            self._end_block(at)

    def _resolve_pending(self, end: int) -> None:
        """End a declaration without a body; it is a section in languages that have such."""
        block, self._pending = self._pending, None
        if block is not None and (self._language.bodiless or block.is_whole):
            block.end = end
            block.level = 1 + self._named
            self._sections.append(block)

    def _end_block(self, at: int) -> None:
        block = self._open.pop()
        block.end = at
        self._bodies -= not block.is_container
        self._named -= bool(block.name)
