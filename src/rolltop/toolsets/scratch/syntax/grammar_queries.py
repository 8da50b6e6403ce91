"""Queries for what grammars accept but the languages do not.

Each capture is a fault; its name selects the message and the exceptions in `_EXCEPTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

import tree_sitter
from tree_sitter import Node, Tree

from .results import MAX_DIAGNOSTICS, Diagnostic, position_at_byte, syntax_error

_MESSAGES: Final = {
    "reserved": "Unexpected '{}'",
    "empty": "Nothing follows '{}'",
    "outside": "Only declarations may stand here",
    "brace": "'{{' must be on the line of what it belongs to",
    "again": "This clause is given already",
    "alone": "Expected 'catch' or 'finally' after this",
    "const": "A constant needs a value",
    "untyped": "Expected a return type",
    "address": "Expected an operand after '&&'",
    "comma": "Expected ',' or an operator before '{}'",
    "package": "Expected a package clause first",
    "elsif": "'unless' takes no 'elsif'",
    "parameter": "A parameter is a name and a type, as in 'a: u8'",
    "undeclared": "Expected a type or 'var' before '{}'",
}
_MACRO_NAME: Final = re.compile(rb"[A-Z_][A-Z0-9_]*")
# Queries take about a second a MiB on top of the parser's time.
_MAX_BYTES: Final = 2 << 20
_C: Final = """
(translation_unit [(return_statement) (if_statement) (for_statement) (while_statement)
  (do_statement) (switch_statement) (break_statement) (continue_statement)] @outside)
(translation_unit (expression_statement [(assignment_expression) (update_expression)] @outside))
(pointer_expression argument: (pointer_expression)) @address
((concatenated_string (identifier) @comma) (#match? @comma "^[a-z][a-z0-9_]*$"))
"""
_CPP: Final = """
((identifier) @reserved
 (#any-of? @reserved "static_cast" "dynamic_cast" "const_cast" "reinterpret_cast" "template"))
"""
_QUERIES: Final = {
    "c": _C,
    "h": _C,
    "cpp": _C + _CPP,
    "hpp": _C + _CPP,
    "cs": """
(field_declaration (modifier) @_word (#eq? @_word "const")
  (variable_declaration (variable_declarator name: (identifier) @const .)))
(try_statement body: (block) @alone .)
(constructor_declaration name: (identifier) @untyped)
(foreach_statement !type left: (identifier) @undeclared)
""",
    "go": """
(source_file . [(import_declaration) (function_declaration) (method_declaration)
  (type_declaration) (var_declaration) (const_declaration) (block)] @package)
(source_file [(block) (short_var_declaration) (expression_statement) (assignment_statement)
  (if_statement) (for_statement) (return_statement) (go_statement) (defer_statement)
  (inc_statement) (dec_statement) (expression_switch_statement) (select_statement)] @outside)
(if_statement consequence: (block) @brace)
(for_statement body: (block) @brace)
(expression_switch_statement "{" @brace)
(func_literal body: (block) @brace)
(expression_switch_statement (default_case) (default_case) @again)
(type_switch_statement (default_case) (default_case) @again)
(select_statement (default_case) (default_case) @again)
""",
    "java": """
(constructor_declaration name: (identifier) @untyped)
([(type_identifier) (identifier)] @reserved (#any-of? @reserved "return" "throw" "if" "else" "for"
  "while" "do" "switch" "case" "try" "catch" "finally" "break" "continue" "new" "import" "class"))
""",
    "rb": """
((identifier) @reserved (#any-of? @reserved "end" "else" "elsif" "when" "ensure" "rescue" "then"))
(_ (ensure) (ensure) @again)
(_ (else) (else) @again)
(unless alternative: (elsif) @elsif)
""",
    "rs": """
(source_file [(let_declaration) (expression_statement [(assignment_expression) (if_expression)
  (for_expression) (while_expression) (loop_expression) (match_expression) (return_expression)
  (call_expression) (block)])] @outside)
(function_item parameters: (parameters [(_type) "_"] @parameter))
(function_signature_item parameters: (parameters [(_type) "_"] @parameter))
""",
    "sh": """
((command name: (command_name (word) @reserved)) (#any-of? @reserved
  "fi" "done" "esac" "then" "else" "elif" "do" "}"))
(if_statement "then" @empty . ["fi" (elif_clause) (else_clause)])
(elif_clause "then" @empty .)
(else_clause "else" @empty .)
(do_group "do" @empty . "done")
(compound_statement "{" @empty . "}")
(subshell "(" @empty . ")")
""",
}


def find_faults(tree: Tree, source: bytes, language: str) -> list[Diagnostic]:
    """List the faults in a tree that its grammar built without an error, in order."""
    if language not in _QUERIES or tree.root_node.end_byte > _MAX_BYTES:
        return []
    found: set[tuple[int, str]] = set()
    query = _query(tree.language, _QUERIES[language])
    captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    for name, nodes in captures.items():
        if name not in _MESSAGES:
            continue
        excused = _EXCEPTIONS.get(name)
        for node in nodes:
            if excused is None or not excused(node):
                found.add((node.start_byte, _message(name, node)))
    return [
        syntax_error(message, *position_at_byte(source, at))
        for at, message in sorted(found)[:MAX_DIAGNOSTICS]
    ]


@cache
def _query(grammar: tree_sitter.Language, text: str) -> tree_sitter.Query:
    return tree_sitter.Query(grammar, text)  # takes tens of milliseconds


def _message(name: str, node: Node) -> str:
    text = (node.text or b"").decode("utf-8", "replace").split("\n", 1)[0][:40]
    return _MESSAGES[name].format(text)


_NAME_PARENTS: Final = frozenset(
    ("method", "singleton_method", "alias", "undef", "setter", "template_function")
)


def _is_name(node: Node) -> bool:
    """Whether a reserved word stands where any name may: after a dot, as a method's, of a cast."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "call":
        return parent.child_by_field_name("receiver") not in (None, node)
    return parent.type in _NAME_PARENTS


def _is_of_its_class(node: Node) -> bool:
    """Whether a constructor has the name of the type around it."""
    around = node.parent
    while around is not None:
        name = around.child_by_field_name("name")
        if name is not None and name != node:
            return name.text == node.text
        around = around.parent
    return False


def _is_on_line(node: Node) -> bool:
    """Whether a block begins on the line on which what stands before it ends."""
    before = node.prev_sibling
    return before is None or before.end_point.row == node.start_point.row


def _is_in_trait(node: Node) -> bool:
    """Whether a parameter is of a trait's function: in the edition of 2015 those need no name."""
    function = node.parent and node.parent.parent
    body = function and function.parent
    return body is not None and body.parent is not None and body.parent.type == "trait_item"


def _is_address(node: Node) -> bool:
    """Whether it is `&*a`, or the address of a label, as GNU C takes it."""
    text = node.text or b""
    name = text.removeprefix(b"&&").strip()
    function = node
    while function.parent is not None and function.type != "function_definition":
        function = function.parent
    label = rb"(?:^|[;{}:])\s*" + re.escape(name) + rb"\s*:"
    is_label = re.search(label, function.text or b"") or _MACRO_NAME.fullmatch(name)
    return b"*" in text[:2] or (is_label is not None)


_EXCEPTIONS: Final[dict[str, Callable[[Node], bool]]] = {
    "reserved": _is_name,
    "untyped": _is_of_its_class,
    "brace": _is_on_line,
    "parameter": _is_in_trait,
    "address": _is_address,
}
