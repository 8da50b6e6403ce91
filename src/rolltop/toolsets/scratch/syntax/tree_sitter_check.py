"""Syntax errors of a language by its tree-sitter grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Final

import tree_sitter
from tree_sitter import Node, Tree

from . import grammar_gaps, grammar_queries
from .results import Diagnostic, SyntaxResult, position_at_byte, syntax_error

# The grammars of a language, tried in this order; each is imported when first needed.
_GRAMMARS: Final = {
    "py": ("python",),
    "rs": ("rust",),
    "c": ("c",),
    "h": ("c", "cpp"),
    "cpp": ("cpp",),
    "hpp": ("cpp",),
    "sh": ("bash",),
    "java": ("java",),
    "go": ("go",),
    "rb": ("ruby",),
    "php": ("php",),
    "cs": ("c_sharp",),
}
_MAX_DIAGNOSTICS: Final = 10
_OPENERS: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSERS: Final = {closer: opener for opener, closer in _OPENERS.items()}
_MAX_SHOWN: Final = 40
_STRINGS_END_WITH_LINES: Final = frozenset(("c", "h", "cpp", "hpp", "java", "go", "cs"))
# Lines of Ruby, without their indentation.
_END: Final = re.compile(r"end\b")
_OPENS_BLOCK: Final = re.compile(
    r"^(?:@?\w+ = |else )?(?:def|class|module|if|unless|case|while|until|for|begin)\b"
    r"|\bdo(?: \|[^|]*\|)?\s*$"
)
_CLOSES_BLOCK: Final = re.compile(r"^#|\bend\b|^def [^=]*\) = |^def \w+ = ")
_LINES_BACK: Final = 8
_CLOSED_STRING: Final = re.compile(
    r"""//.*|/\*.*?(?:\*/|$)|^\s*\*.*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
)


def check(content: str, language: str) -> SyntaxResult:
    """Find syntax errors; of two grammars the one with fewer counts."""
    found = _check(content, language)
    if found.errors and (plain := grammar_gaps.rewrite(content, language)) != content:
        other = _check(plain, language)
        return found if other.errors else other
    return found


def _check(content: str, language: str) -> SyntaxResult:
    source = content.encode("utf-8", "replace")
    best: list[Diagnostic] | None = None
    for grammar in _GRAMMARS[language]:
        tree = _parser(grammar).parse(source)
        read_as = grammar if language == "h" else language
        if tree.root_node.has_error:
            found = _diagnostics(tree, source)
        elif not (found := grammar_queries.find_faults(tree, source, read_as)):
            return SyntaxResult(by="grammar")
        if best is None or len(found) < len(best):
            best = found
    found = _open_string(content, language, best or [])
    if language == "rb" and (block := _unbalanced_block(content)):
        found = [block, *(one for one in found if one.line > block.line)]
    return SyntaxResult(found, by="grammar")


def find_faults(content: str, language: str) -> list[Diagnostic]:
    """Find what the grammar accepts but the language does not; nothing if it does not parse."""
    source = content.encode("utf-8", "replace")
    tree = _parser(_GRAMMARS[language][0]).parse(source)
    if tree.root_node.has_error:
        return []
    return grammar_queries.find_faults(tree, source, language)


def find_unexcused(
    plain: bytes, source: bytes, grammar: str, excuses: Callable[[int, int], bool]
) -> list[Diagnostic]:
    """Find the errors in `plain`, made of `source`, that no macro between two bytes excuses."""
    tree = _parser(grammar).parse(plain)
    if tree.root_node.has_error:
        return _diagnostics(tree, source, excuses)
    return grammar_queries.find_faults(tree, source, grammar)


def _open_string(content: str, language: str, found: list[Diagnostic]) -> list[Diagnostic]:
    """Put a string left open near the first error in front: it is the likely cause.

    After a bracket that is never closed, the string may be anywhere.
    """
    if language not in _STRINGS_END_WITH_LINES or not found:
        return found
    lines, first = content.split("\n"), found[0].line
    near = [*range(min(first, len(lines)), max(first - _LINES_BACK, 0), -1)]
    if found[0].message.endswith("is never closed"):
        near += range(first + 1, len(lines) + 1)
    for number in near:
        line = _CLOSED_STRING.sub(lambda one: " " * len(one.group()), lines[number - 1])
        column = line.find('"') + 1
        if column and "`" not in line and '""' not in lines[number - 1]:
            fault = syntax_error("String is never closed", number, column)
            after = [one for one in found if (one.line, one.column) > (number, column)]
            return [fault, *after]
    return found


def _unbalanced_block(content: str) -> Diagnostic | None:
    """Find by indentation the block without an `end`, or the stray one, in text with an error."""
    opened: list[tuple[int, int, str]] = []
    for number, line in enumerate(content.split("\n"), start=1):
        text = line.lstrip(" \t")
        indent = len(line) - len(text)
        if _END.match(text):
            around = opened[-1][0] if opened else -1
            if around > indent:
                break
            if around < indent:
                return syntax_error("'end' closes nothing", number, indent + 1)
            opened.pop()
        elif _OPENS_BLOCK.search(text) and not _CLOSES_BLOCK.search(text):
            opened.append((indent, number, text.split(maxsplit=1)[0]))
    if not opened:
        return None
    indent, number, word = opened[-1]
    return syntax_error(f"{word[:_MAX_SHOWN]!r} has no 'end'", number, indent + 1)


@cache
def _parser(grammar: str) -> tree_sitter.Parser:
    module = import_module(f"tree_sitter_{grammar}")
    language: object = module.language_php() if grammar == "php" else module.language()
    return tree_sitter.Parser(tree_sitter.Language(language))


def _diagnostics(
    tree: Tree, source: bytes, excuses: Callable[[int, int], bool] | None = None
) -> list[Diagnostic]:
    found: dict[tuple[int, int], Diagnostic] = {}
    is_lost = False
    for node in _faults(tree):
        if excuses and (
            excuses(node.start_byte, node.end_byte) or (is_lost and _is_of_bracket(node))
        ):
            is_lost = True
            continue
        at, message = _reason(node, source)
        place = position_at_byte(source, at.start_byte)
        found.setdefault(place, syntax_error(message, *place))
        if len(found) == _MAX_DIAGNOSTICS:
            break
    return sorted(found.values(), key=lambda one: (one.line, one.column))


def _faults(tree: Tree) -> Iterator[Node]:
    """Yield missing nodes and what holds an error but no faulty node, in the order of the text."""
    pending = [tree.root_node]  # which has an error
    while pending:
        node = pending.pop()
        faulty = [child for child in node.children if child.has_error or child.is_missing]
        if node.is_missing or not faulty:
            yield node
        pending.extend(reversed(faulty))


def _reason(node: Node, source: bytes) -> tuple[Node, str]:
    """Choose the node to point at, and the message."""
    if not node.is_error:  # it is missing, or what it is made of
        return node, f"Expected {node.type!r} here"
    unbalanced = _find_unbalanced(node)
    if unbalanced is not None:
        bracket = unbalanced.type
        what = "is never closed" if bracket in _OPENERS else "closes nothing"
        return unbalanced, f"{bracket!r} {what}"
    last = node.children[-1] if node.children else node
    text = source[last.start_byte : last.end_byte].decode("utf-8", "replace")
    shown = re.sub(r"\s+", " ", text)[:_MAX_SHOWN]
    return last, f"Unexpected {shown!r}"


def _is_of_bracket(node: Node) -> bool:
    return node.type in _OPENERS or node.type in _CLOSERS or _find_unbalanced(node) is not None


def _find_unbalanced(node: Node) -> Node | None:
    """Find the innermost bracket directly in an error node that has no partner there."""
    waiting: list[Node] = []
    for child in node.children:
        if child.type in _OPENERS:
            waiting.append(child)
        elif child.type in _CLOSERS:
            if not waiting or waiting[-1].type != _CLOSERS[child.type]:
                return child
            waiting.pop()
    return waiting[-1] if waiting else None
