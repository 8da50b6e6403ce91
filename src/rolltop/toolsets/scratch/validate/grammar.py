"""Syntax errors of a language by its tree-sitter grammar."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

import tree_sitter

from .results import Diagnostic, Syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node, Tree


def _c() -> object:
    return import_module("tree_sitter_c").language()


def _cpp() -> object:
    return import_module("tree_sitter_cpp").language()


def _javascript() -> object:
    return import_module("tree_sitter_javascript").language()


# The ways to read a language, tried in this order; each is imported when first needed.
_GRAMMARS: Final[dict[str, tuple[Callable[[], object], ...]]] = {
    "py": (lambda: import_module("tree_sitter_python").language(),),
    "js": (_javascript,),
    "jsx": (_javascript,),
    "ts": (lambda: import_module("tree_sitter_typescript").language_typescript(),),
    "tsx": (lambda: import_module("tree_sitter_typescript").language_tsx(),),
    "rs": (lambda: import_module("tree_sitter_rust").language(),),
    "c": (_c,),
    "h": (_c, _cpp),
    "cpp": (_cpp,),
    "hpp": (_cpp,),
    "sh": (lambda: import_module("tree_sitter_bash").language(),),
    "java": (lambda: import_module("tree_sitter_java").language(),),
    "go": (lambda: import_module("tree_sitter_go").language(),),
    "rb": (lambda: import_module("tree_sitter_ruby").language(),),
    "php": (lambda: import_module("tree_sitter_php").language_php(),),
    "cs": (lambda: import_module("tree_sitter_c_sharp").language(),),
}
_MOST: Final = 10
_OPENERS: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSERS: Final = {closer: opener for opener, closer in _OPENERS.items()}
_SHOWN: Final = 40
_STRINGS_END_WITH_LINES: Final = frozenset(
    ("js", "jsx", "ts", "tsx", "c", "h", "cpp", "hpp", "java", "go", "cs")
)
_LINES_BACK: Final = 8
_CLOSED_STRING: Final = re.compile(
    r"""//.*|/\*.*?(?:\*/|$)|^\s*\*.*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
)


def check(content: str, language: str) -> Syntax:
    """Return the syntax errors of `content`; where two grammars fit, the better one counts."""
    source = content.encode("utf-8", "replace")
    best: list[Diagnostic] | None = None
    for grammar in _GRAMMARS[language]:
        tree = _parser(grammar).parse(source)
        if not tree.root_node.has_error:
            return Syntax()
        found = _diagnostics(tree, source)
        if best is None or len(found) < len(best):
            best = found
    return Syntax(errors=_open_string(content, language, best or []))


def _open_string(content: str, language: str, found: list[Diagnostic]) -> list[Diagnostic]:
    """Put a string left open shortly before the first error in front: it is the likely cause."""
    if language not in _STRINGS_END_WITH_LINES or not found:
        return found
    lines = content.split("\n", found[0].line)[: found[0].line]
    for number in range(len(lines), max(len(lines) - _LINES_BACK, 0), -1):
        line = _CLOSED_STRING.sub(lambda one: " " * len(one.group()), lines[number - 1])
        column = line.find('"') + 1
        if column and "`" not in line:
            fault = Diagnostic("String is never closed", "SYNTAX_ERROR", number, column)
            return [fault, *(one for one in found if (one.line, one.column) > (number, column))]
    return found


@cache
def _parser(grammar: Callable[[], object]) -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def _diagnostics(tree: Tree, source: bytes) -> list[Diagnostic]:
    lines = source.split(b"\n")
    found: dict[tuple[int, int], Diagnostic] = {}
    for node in _faults(tree):
        diagnostic = _diagnostic(node, source, lines)
        found.setdefault((diagnostic.line, diagnostic.column), diagnostic)
        if len(found) == _MOST:
            break
    return sorted(found.values(), key=lambda one: (one.line, one.column))


def _faults(tree: Tree) -> Iterator[Node]:
    """Yield missing nodes, and error nodes that hold neither, in the order of the text."""
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        faulty = [child for child in node.children if child.has_error or child.is_missing]
        if node.is_missing or (node.is_error and not faulty):
            yield node
        pending.extend(reversed(faulty))


def _diagnostic(node: Node, source: bytes, lines: list[bytes]) -> Diagnostic:
    at, message = _reason(node, source)
    row, column = at.start_point.row, at.start_point.column
    line = lines[row] if row < len(lines) else b""
    characters = len(line[:column].decode("utf-8", "replace"))
    return Diagnostic(message, "SYNTAX_ERROR", row + 1, characters + 1)


def _reason(node: Node, source: bytes) -> tuple[Node, str]:
    """Return the node to point at, and what is wrong there."""
    if node.is_missing:
        return node, f"Expected {node.type!r} here"
    unbalanced = _unbalanced(node)
    if unbalanced is not None:
        bracket = unbalanced.type
        what = "is never closed" if bracket in _OPENERS else "closes nothing"
        return unbalanced, f"{bracket!r} {what}"
    last = node.children[-1] if node.children else node
    text = source[last.start_byte : last.end_byte].decode("utf-8", "replace")
    shown = re.sub(r"\s+", " ", text)[:_SHOWN]
    return last, f"Unexpected {shown!r}"


def _unbalanced(node: Node) -> Node | None:
    """Return the innermost bracket directly in an error node that has no partner there."""
    waiting: list[Node] = []
    for child in node.children:
        if child.type in _OPENERS:
            waiting.append(child)
        elif child.type in _CLOSERS:
            if not waiting or waiting[-1].type != _CLOSERS[child.type]:
                return child
            waiting.pop()
    return waiting[-1] if waiting else None
