"""Headings of source files: classes and functions of languages with braces, and of Ruby and shell.

A scanner passes over strings and comments and counts braces; a section ends with the brace that
closes its declaration. Where braces do not match (`#if` branches, a syntax error) the closing
brace's indentation says what it closes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from rolltop.core.text.lines import Lines
from rolltop.core.text.outline import declarations
from rolltop.core.text.outline.patterns import repeated
from rolltop.core.text.outline.sections import Heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.text.outline.declarations import Language

LANGUAGES: Final[dict[str, Language]] = {
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

LONGEST_LINE: Final = 2_000
"""Code points of a line that may be a declaration; generated and minified lines are longer."""

LONGEST_NAMELESS: Final = 160
"""Code points before a brace that say whether it begins a container without a name."""

_GOES_ON: Final = ("{", "where", ":", "=", "->", ")")
"""What a line begins with that goes on with the declaration before it."""

_COMMENT: Final = r"/\*(?:[^*]++|\*(?!/))*(?:\*/)?"
_DOUBLE: Final = r'"(?:[^"\\\n]++|\\.)*"?'
_SINGLE: Final = r"'(?:[^'\\\n]++|\\.)*'?"

_TAB: Final = 8
_DEEPEST: Final = 5
"""Levels of braces inside a body that is passed over in one go."""
_DEEPEST_MARGIN: Final = 8
"""Characters before it: for each number of them there is an expression."""


@dataclass(slots=True)
class _Block:
    """Something in braces; a name makes it a section, a container may hold more of them.

    `around` counts the parentheses its braces stand in. `is_value`: the braces are no block, but
    of a parameter or a value. `arrow`: an expression behind an arrow stands for the body.
    `initial`: the values of members stand before the body.
    """

    indent: int
    container: bool
    name: str = ""
    level: int = 0
    start: int = 0
    end: int = 0
    around: int = 0
    is_value: bool = False
    arrow: bool = False
    initial: bool = False


@dataclass(slots=True)
class _Scan:
    """The sections found in order, the blocks that are open, the declaration without its brace.

    `indent` is the width of the white space before the line, `margin` that before the line on which
    the innermost parentheses were opened, or before the same line. `bodies` and `named` count open
    blocks: those that are no containers, and the sections. `hidden` is where the last comment
    began and ended, or what else is passed over but strings.
    """

    language: Language
    found: list[_Block] = field(default_factory=list["_Block"])
    opened: list[_Block] = field(default_factory=list["_Block"])
    bodies: int = 0
    named: int = 0
    waiting: _Block | None = None
    parentheses: int = 0
    indent: int = 0
    margin: str = ""
    last_code: int = 0
    hidden: tuple[int, int] = (0, 0)


@cache
def _tokens(language: Language) -> re.Pattern[str]:
    hidden, arrow = language.hidden, "|=>" if language.arrows else ""
    return re.compile(
        rf"""^(?P<indent>[ \t]*+)(?:/\*[^*\n]*+\*/[ \t]*+)?(?=[^\s/\#*])
          | (?P<skip>{hidden}|{_COMMENT}|{_DOUBLE}|{_SINGLE})
          | (?P<mark>[{{}}();]{arrow})""",
        re.VERBOSE | re.MULTILINE | re.DOTALL,
    )


@cache
def _body(language: Language, margin: int) -> re.Pattern[str]:
    """Return what matches a body from its brace to the line that closes it.

    No line in between begins with a brace behind `margin` characters or fewer: where braces do not
    match, it is that one that closes the body.
    """
    string = f"(?<![{language.prefixes}])" if language.prefixes else ""
    line_break = rf"\n(?![ \t]{{0,{margin}}}\}})"
    inside = [
        rf"""[^{{}}"'/\n{language.marks}]++""",
        r"//[^\n]*+",
        _COMMENT,
        *language.inside,
        line_break,
        string + _DOUBLE,
        _SINGLE,
    ]
    nested = repeated(*inside)
    for _ in range(_DEEPEST):
        nested = repeated(*inside, rf"\{{{nested}\}}")
    return re.compile(rf"\{{{nested}\n(?=[ \t]{{0,{margin}}}\}})", re.DOTALL)


def headings(text: str, kind: str) -> Iterator[Heading]:
    """Yield the declarations of a text in a language with braces; `kind` is one of LANGUAGES."""
    lines = Lines(text)
    scan = _Scan(LANGUAGES[kind])
    at: int | None = 0
    while at is not None:
        at = _scanned(scan, text, at)
    at_end = len(text.rstrip())
    _settle(scan, at_end)
    while scan.opened:
        _end_block(scan, at_end)
    for block in scan.found:
        start, end = lines.line_at(block.start), lines.line_at(block.end)
        yield Heading(block.name, block.level, start, max(start, end))


def _scanned(scan: _Scan, text: str, at: int) -> int | None:
    """Take in the text from an offset; return where to go on, None at its end."""
    for token in _tokens(scan.language).finditer(text, at):
        if token.lastgroup == "indent":
            _begin_line(scan, text, token)
        elif token["mark"]:
            _take_mark(scan, text, token["mark"], token.start())
            if token["mark"] == "{" and (end := _end_of_body(scan, text, token.start())):
                return end
        elif text[token.start()] != '"':
            scan.hidden = token.span()
    return None


def _end_of_body(scan: _Scan, text: str, at: int) -> int | None:
    """Return where the line begins that closes the body at an offset; None where it is not plain.

    Nothing is declared in it, so that no brace inside it need be looked at.
    """
    if scan.waiting or len(scan.margin) > _DEEPEST_MARGIN:
        return None
    if scan.bodies != 1 or scan.opened[-1].container:
        return None
    found = _body(scan.language, len(scan.margin)).match(text, at)
    return None if found is None else found.end()


def _begin_line(scan: _Scan, text: str, token: re.Match[str]) -> None:
    """Take in the start of a line of code: what it closes, what it may declare."""
    at = token.end()
    before, scan.last_code = scan.last_code, at
    scan.indent = _width(token["indent"])
    if text[at] == "}" or not scan.parentheses:
        scan.margin = token["indent"]
    if text[at] == "}":
        # The last block further in may be what it closes: one that begins on a continued line.
        while len(scan.opened) > 1 and scan.opened[-2].indent >= scan.indent:
            if scan.opened[-1].indent <= scan.indent:
                break
            _end_block(scan, at)
        scan.parentheses = 0
        return
    if _goes_on(scan, text, at):
        return
    if _ends_waiting(scan, text, at):
        _settle(scan, before)
    if scan.parentheses or scan.bodies:
        return
    block = _declared(scan, text, at)
    if block is not None:
        _settle(scan, before)
        block.start = token.start()
        scan.waiting = block


def _goes_on(scan: _Scan, text: str, at: int) -> bool:
    """Return whether a line belongs to the declaration before it, which has a body to come."""
    waiting = scan.waiting
    if waiting is None or scan.language.bodiless or scan.indent <= waiting.indent:
        return False
    waiting.initial = waiting.initial or text.startswith((": ", ", "), at)
    return True


def _ends_waiting(scan: _Scan, text: str, at: int) -> bool:
    """Return whether a line follows a declaration that ended with its own line."""
    waiting = scan.waiting
    if waiting is None or _in_parentheses(scan) or not scan.language.bodiless:
        return False
    return scan.indent <= waiting.indent and not text.startswith(_GOES_ON, at)


def _declared(scan: _Scan, text: str, at: int) -> _Block | None:
    """Return the block that the line at an offset declares, if it declares one."""
    line_end = text.find("\n", at, at + LONGEST_LINE)
    if line_end < 0:
        line_end = min(len(text), at + LONGEST_LINE)
    language = scan.language
    in_class = bool(scan.opened and scan.opened[-1].name)
    bare = [language.method] if in_class and language.method is not None else []
    for pattern in (language.container, language.function, *bare):
        found = pattern.match(text, at, line_end)
        if found is None:
            continue
        name = found["name"] or found.groupdict().get("assigned") or ""
        keyword = pattern in bare or language.bare_functions
        if name.strip() and not (keyword and name in declarations.NOT_NAMES):
            return _Block(scan.indent, pattern is language.container, name.strip())
    return None


def _take_mark(scan: _Scan, text: str, mark: str, at: int) -> None:
    """Take in a bracket or a semicolon outside strings and comments."""
    if mark == "(":
        scan.parentheses += 1
    elif mark == ")":
        scan.parentheses = max(0, scan.parentheses - 1)
    elif mark == "{":
        is_value = bool(scan.parentheses) or _is_initial(scan, text, at)
        container = _is_nameless_container(scan, text, at)
        if container and scan.waiting is not None:
            _settle(scan, scan.waiting.start)  # a macro's use, whose braces these are not
        _open_block(scan, is_value=is_value and not container, container=container)
    elif mark == "}":
        _close_block(scan, at)
    elif mark == "=>":
        if scan.waiting is not None and not _in_parentheses(scan):
            scan.waiting.arrow = True
    elif not _in_parentheses(scan):
        _settle(scan, at)


def _in_parentheses(scan: _Scan) -> bool:
    return bool(scan.parentheses or (scan.opened and scan.opened[-1].is_value))


def _is_initial(scan: _Scan, text: str, at: int) -> bool:
    """Return whether a brace begins a member's value, right after its name, or a type's part."""
    before = text[at - 1 : at]
    return scan.waiting is not None and (
        before == "<" or (scan.waiting.initial and before.isalnum())
    )


def _is_nameless_container(scan: _Scan, text: str, at: int) -> bool:
    language = scan.language
    if language.nameless is None:
        return False
    if language.function_values and (scan.waiting or scan.bodies or scan.named):
        return False
    found = language.nameless.search(text, max(0, at - LONGEST_NAMELESS), at)
    begin, end = scan.hidden
    return found is not None and not begin <= found.start() < end


def _open_block(scan: _Scan, *, is_value: bool, container: bool) -> None:
    block, scan.waiting = scan.waiting, None
    if block is None or is_value:
        scan.waiting = block
        around, scan.parentheses = scan.parentheses, 0
        indent = _width(scan.margin)
        _enter(scan, _Block(indent, container=container, around=around, is_value=is_value))
        return
    block.level = 1 + scan.named
    scan.found.append(block)
    _enter(scan, block)


def _enter(scan: _Scan, block: _Block) -> None:
    scan.opened.append(block)
    scan.bodies += not block.container
    scan.named += bool(block.name)


def _close_block(scan: _Scan, at: int) -> None:
    if not (scan.opened and scan.opened[-1].is_value):
        _settle(scan, at)
    scan.parentheses = scan.opened[-1].around if scan.opened else 0
    if scan.opened:
        _end_block(scan, at)


def _width(margin: str) -> int:
    return len(margin.expandtabs(_TAB))


def _settle(scan: _Scan, end: int) -> None:
    """Let go of a declaration that gets no body; where the language has such, it is a section."""
    block, scan.waiting = scan.waiting, None
    if block is not None and (scan.language.bodiless or block.arrow):
        block.end = end
        block.level = 1 + scan.named
        scan.found.append(block)


def _end_block(scan: _Scan, at: int) -> None:
    block = scan.opened.pop()
    block.end = at
    scan.bodies -= not block.container
    scan.named -= bool(block.name)
