"""Queries for what grammars accept but the languages do not.

Each capture is a fault; its name selects the message and the exceptions in `_EXCEPTIONS`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
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
    "argument": "Expected ',' or an operator before '{}'",
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
    "undeclared": "Expected a type before '{}'",
    "case": "This belongs in a 'switch'",
    "semicolon": "Expected ';' after '{}'",
    "body": "Expected ';' after this",
    "unended": "Expected ';' after this",
    "command": "Expected an operator or brackets before this",
    "chained": "Comparisons cannot be chained",
    "escape": "Unknown escape {}",
    "char": "A character literal holds one character",
    "heredoc": "This text is never closed",
    "line": "String is never closed",
    "untried": "'{}' without a 'rescue' before it",
    "variable": "Expected '$' before '{}'",
    "value": "A value alone is no statement",
    "word": "Unexpected '{}'",
}
# Not "-", "*" and the like, which stand between what is before and after it where that has a value.
_BARE_ARGUMENT: Final = re.compile(rb"[\w@$\"']")
_MACRO_NAME: Final = re.compile(rb"[A-Z_][A-Z0-9_]*")
_MACRO: Final = re.compile(rb"\b[A-Z_]{3}")
_WORD_OR_OPERATOR: Final = re.compile(rb"\w+|[<*]")
_TYPES_OF_CS: Final = frozenset(
    (b"bool", b"byte", b"char", b"decimal", b"double", b"float", b"int", b"long", b"object",
     b"sbyte", b"short", b"string", b"uint", b"ulong", b"ushort", b"void")
)  # fmt: skip
_LABEL: Final = re.compile(rb"(?<=[;{}:])\s*(\w++)(?=\s*:)")
_COMPARISONS: Final = frozenset(("==", "!=", "<", ">", "<=", ">="))
_SHOWN: Final = 40
# Queries take one to four seconds a MiB on top of the parser's time.
_MAX_BYTES: Final = 1 << 20
_C: Final = """
(translation_unit [(return_statement) (if_statement) (for_statement) (while_statement)
  (do_statement) (switch_statement) (break_statement) (continue_statement)] @outside)
(translation_unit (expression_statement [
  (assignment_expression left: [
    (identifier) (field_expression) (subscript_expression) (pointer_expression)
    (call_expression function: [(identifier) (field_expression)])
  ])  ; and `int (*f)() = g;` is read as a call of a call
  (update_expression)
] @outside))
(pointer_expression argument: (pointer_expression)) @address
((concatenated_string (identifier) @comma) (#match? @comma "^[a-z][a-z0-9_]*$"))
([(identifier) (type_identifier)] @word (#any-of? @word "return" "if" "else" "for" "while"
  "do" "switch" "case" "break" "continue" "goto"))
(case_statement) @case
[(switch_statement) (function_definition)] @_around
(function_definition type: [(struct_specifier !body) (union_specifier !body)]  ; with a macro,
  declarator: (identifier) body: (compound_statement "}" @body .))  ; as in `struct API a {}`
"""
_C_ALONE: Final = """
(declaration type: (macro_type_specifier) @semicolon)  ; a call, on the line before another
"""
_CPP: Final = """
((identifier) @reserved (#any-of? @reserved "static_cast" "dynamic_cast" "const_cast"
  "reinterpret_cast" "template" "try" "catch" "throw"))
(function_definition type: (class_specifier !body) declarator: (identifier)
  body: (compound_statement "}" @body .))
"""
_QUERIES: Final = {
    "c": _C + _C_ALONE,
    "cpp": _C + _CPP,
    "hpp": _C + _CPP,
    "cs": """
(_ (modifier) @_word (#eq? @_word "const")
  (variable_declaration (variable_declarator name: (identifier) @const .)))
(try_statement body: (block) @alone .)
(constructor_declaration name: (identifier) @untyped)
(foreach_statement !type left: (identifier) @undeclared)
(argument_list (argument (declaration_expression name: (identifier) @argument)))
(bracketed_argument_list (argument (declaration_expression name: (identifier) @argument)))
((method_declaration parameters: (parameter_list (parameter !type
  name: (identifier) @undeclared))) (#not-eq? @undeclared "__arglist"))
((identifier) @reserved (#any-of? @reserved "return" "throw" "if" "else" "for" "foreach" "while"
  "do" "switch" "case" "try" "catch" "finally" "break" "continue" "goto" "lock" "is" "in"
  "out" "class" "struct" "enum" "interface" "namespace" "using"))
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
    "java": r"""
(constructor_declaration name: (identifier) @untyped)
([(type_identifier) (identifier)] @reserved (#any-of? @reserved "return" "throw" "if" "else" "for"
  "while" "do" "switch" "case" "try" "catch" "finally" "break" "continue" "new" "import" "class"))
(program [(expression_statement) (if_statement) (for_statement) (enhanced_for_statement)
  (while_statement) (do_statement) (switch_expression) (return_statement) (throw_statement)
  (try_statement) (block)] @outside)
(expression_statement [(binary_expression) (unary_expression) (ternary_expression) (identifier)
  (field_access) (array_access) (this) (cast_expression) (parenthesized_expression) (true) (false)
  (lambda_expression) (instanceof_expression) (string_literal) (decimal_integer_literal)] @value)
((escape_sequence) @escape
  (#not-match? @escape "^\\\\(?:u+[0-9a-fA-F]{4}|[0-7]{1,3}|[btnfrs\"'\\\\\n\r])"))
((character_literal) @char (#not-match? @char "^'(?:[^'\\\\]|\\\\[^u].{0,2}|\\\\u.{4,})'$"))
((string_literal) @line (#match? @line "^\"(?!\"\")[^\n]*\n"))
""",
    "php": """
(assignment_expression left: (member_access_expression object: (name) @variable))
(assignment_expression left: (subscript_expression . (name) @variable))
([(expression_statement (name) @reserved) (named_label_statement (name) @reserved)]
  (#match? @reserved "^(?i:else|elseif|case|default|end(if|while|for|foreach|switch|declare))$"))
""",
    "rb": """
((identifier) @reserved (#any-of? @reserved "end" "else" "elsif" "when" "ensure" "rescue" "then"))
(_ (ensure) (ensure) @again)
(_ (else) (else) @again)
(unless alternative: (elsif) @elsif)
(body_statement (else "else" @untried))
(begin (else "else" @untried))
(_ [(ensure) (else)] (rescue "rescue" @reserved))
(_ (ensure) (else "else" @reserved))
(assignment left: [(self) (nil) (true) (false)] @reserved)
(heredoc_body) @heredoc
(argument_list "," (call arguments: (argument_list) @command))
(array (call arguments: (argument_list) @command))
(pair value: (call arguments: (argument_list) @command))
(call method: [(instance_variable) (class_variable) (global_variable) (self)]
  arguments: (argument_list) @command)
""",
    "rs": r"""
(source_file [(let_declaration) (expression_statement [(assignment_expression) (if_expression)
  (for_expression) (while_expression) (loop_expression) (match_expression) (return_expression)
  (call_expression) (identifier) (scoped_identifier) (field_expression) (block)])] @outside)
(declaration_list [(let_declaration) (expression_statement)] @outside)
([(identifier) (type_identifier)] @word (#any-of? @word "return" "if" "else" "for" "while"
  "loop" "match" "break" "continue" "let" "fn" "struct" "enum" "impl" "trait" "mod" "use"))
(let_declaration value: (if_expression) "else" @reserved)
([(source_file (macro_invocation (token_tree [")" "]"] @unended .)))
  (declaration_list (macro_invocation (token_tree [")" "]"] @unended .)))
  (block (macro_invocation (token_tree [")" "]"] @unended .)))])
(binary_expression) @chained
((escape_sequence) @escape
  (#not-match? @escape "^\\\\(?:x[0-9a-fA-F]{2}|u\\{[0-9a-fA-F_]+\\}|[nrt0\"'\\\\\n\r])"))
((char_literal) @char (#match? @char "^b?''$"))
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
    query = _query(tree.language, _QUERIES[language])
    captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    if "case" in captures:
        around = captures.get("_around", [])
        captures["case"] = _outside_switches(captures["case"], around, source)
    labels = frozenset(_LABEL.findall(source) if "address" in captures else ())
    excuses: dict[str, Callable[[Node], bool]] = {
        **_EXCEPTIONS,
        "address": lambda node: _is_address(node, labels),
        "command": lambda node: _BARE_ARGUMENT.match(source, node.start_byte) is None,
    }
    named = [(name, node) for name, nodes in captures.items() for node in nodes]
    found: set[tuple[int, str]] = set()
    for name, node in sorted(named, key=lambda one: one[1].start_byte):
        if name in _MESSAGES and not (name in excuses and excuses[name](node)):
            found.add((node.start_byte, _message(name, node, source)))
            if len(found) == MAX_DIAGNOSTICS:
                break
    return [syntax_error(message, *position_at_byte(source, at)) for at, message in sorted(found)]


@cache
def _query(grammar: tree_sitter.Language, text: str) -> tree_sitter.Query:
    return tree_sitter.Query(grammar, text)  # takes tens of milliseconds


def _message(name: str, node: Node, source: bytes) -> str:
    end = min(node.end_byte, node.start_byte + 4 * _SHOWN)
    text = source[node.start_byte : end].decode("utf-8", "replace").split("\n", 1)[0][:_SHOWN]
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
    return parent.type in _NAME_PARENTS or parent.type.startswith("preproc_")


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


def _is_address(node: Node, labels: frozenset[bytes]) -> bool:
    """Whether it is `&*a`, or the address of a label, as GNU C takes it."""
    inner = node.children[-1]
    if b"*" in (node.children[0].text, inner.children[0].text):
        return True
    named = inner.children[-1]
    name = (named.text if named.type == "identifier" else None) or b""
    return name in labels or _MACRO_NAME.fullmatch(name) is not None


def _is_of_macro(node: Node) -> bool:
    """Whether a word is a macro's name, or among its arguments or tokens, which may be any."""
    around = node.parent
    return around is not None and around.type.startswith(("argument_list", "token_", "preproc_"))


def _outside_switches(cases: list[Node], around: list[Node], source: bytes) -> list[Node]:
    """List each case whose function has no `switch` around it, nor before it a macro with one."""
    macros = [one.start() for one in _MACRO.finditer(source)]
    found: list[Node] = []
    opened: list[Node] = []
    for node in sorted([*cases, *around], key=lambda one: one.start_byte):
        while opened and opened[-1].end_byte <= node.start_byte:
            opened.pop()
        if node.type != "case_statement":
            opened.append(node)
        elif opened and opened[-1].type == "function_definition":
            at = bisect_left(macros, opened[-1].start_byte)
            if at == len(macros) or macros[at] >= node.start_byte:
                found.append(node)
    return found


def _has_rescue(node: Node) -> bool:
    """Whether an `else` follows a `rescue`, or a clause after which none may."""
    clause = node.parent and node.parent.prev_sibling
    while clause is not None and clause.type not in ("rescue", "else", "ensure"):
        clause = clause.prev_sibling
    return clause is not None


def _is_in_no_chain(node: Node) -> bool:
    """Whether not both it and what stands left of its operator compare.

    A query for it takes time by the square of the depth.
    """
    left = node.child_by_field_name("left")
    operators = (one and one.child_by_field_name("operator") for one in (node, left))
    return not all(one is not None and one.type in _COMPARISONS for one in operators)


def _is_result(node: Node) -> bool:
    """Whether a value stands after the arrow of a case."""
    statement = node.parent
    around = statement and statement.parent
    return around is not None and around.type == "switch_rule"


def _is_out(node: Node) -> bool:
    """Whether an argument declares what a method writes to, or may be `a * b` or `a < b, c > d`."""
    declaration = node.parent
    argument = declaration and declaration.parent
    if declaration is None or argument is None:
        return False
    if any(one.type == "out" for one in argument.children):
        return True
    of_type = declaration.child_by_field_name("type")
    words = _WORD_OR_OPERATOR.findall((of_type and of_type.text) or b"")
    return (b"*" in words or b"<" in words) and _TYPES_OF_CS.isdisjoint(words)


_STATEMENTS_AROUND: Final = frozenset(("compound_statement", "case_statement", "labeled_statement"))


def _is_type(node: Node) -> bool:
    """Whether a macro with a name in brackets is a type, and no call whose `;` is missing."""
    after, around = node.next_sibling, node.parent and node.parent.parent
    if after is None or around is None or around.type not in _STATEMENTS_AROUND:
        return True
    name = node.children[0].text or b""
    is_below = after.start_point.row > node.end_point.row
    is_indented = after.start_point.column > node.start_point.column
    return not is_below or is_indented or _MACRO_NAME.fullmatch(name) is not None


def _is_declared(node: Node) -> bool:
    """Whether something follows the end of a structure on its line, a `;` most often."""
    definition = node.parent and node.parent.parent
    after = definition and definition.next_sibling
    return after is not None and after.start_point.row == node.end_point.row


def _is_value(node: Node) -> bool:
    """Whether a bracket ends a macro of Rust that is the value of its block, or has its ';'."""
    macro = node.parent and node.parent.parent
    after, around = macro and macro.next_sibling, macro and macro.parent
    if after is not None and after.type == "empty_statement":  # the ';', outside of functions
        return True
    if around is None or around.type != "block":
        return False
    inside = [one for one in around.named_children if not one.type.endswith("comment")]
    return inside[-1] == macro


def _is_ended(node: Node) -> bool:
    """Whether the word that ends a heredoc is there."""
    return not node.children or bool(node.children[-1].text)


_EXCEPTIONS: Final[dict[str, Callable[[Node], bool]]] = {
    "argument": _is_out,
    "body": _is_declared,
    "chained": _is_in_no_chain,
    "heredoc": _is_ended,
    "reserved": _is_name,
    "semicolon": _is_type,
    "unended": _is_value,
    "untried": _has_rescue,
    "value": _is_result,
    "word": _is_of_macro,
    "untyped": _is_of_its_class,
    "brace": _is_on_line,
    "parameter": _is_in_trait,
}
