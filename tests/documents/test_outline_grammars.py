"""Outlines of published source files equal what tree-sitter's grammars find declared in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import tree_sitter

from rolltop.documents.outline import detect_file_type, parse_outline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from rolltop.documents.outline import Section

REAL: Final = Path(__file__).parents[1] / "data" / "validate" / "real"
MAX_TEXTS: Final = 50
"""Files of a language that are compared."""

FEWEST: Final = 5
MAX_LENGTH: Final = 200_000


@dataclass(frozen=True)
class Grammar:
    """What a language's grammar calls functions, what may hold more, and how much must agree.

    `least` is the share of declarations that the outline has with the same first and last line.
    """

    package: str
    functions: frozenset[str]
    containers: frozenset[str]
    least: float
    language: str = "language"
    bodies: frozenset[str] = field(default_factory=frozenset[str])
    """Of these only those with a body are sections."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_C = _names("struct_specifier union_specifier enum_specifier")
_JS = _names("function_declaration generator_function_declaration method_definition")
_TS = _names(
    "class_declaration abstract_class_declaration interface_declaration enum_declaration "
    "internal_module module"
)
_METHODS = _names("method_declaration constructor_declaration")
GRAMMARS: Final = {
    "js": Grammar("tree_sitter_javascript", _JS, _names("class_declaration"), 0.9),
    "ts": Grammar("tree_sitter_typescript", _JS, _TS, 0.99, "language_typescript", _JS),
    "tsx": Grammar("tree_sitter_typescript", _JS, _TS, 0.97, "language_tsx", _JS),
    "go": Grammar(
        "tree_sitter_go",
        _names("function_declaration method_declaration"),
        _names("type_spec"),
        0.99,
    ),
    "rs": Grammar(
        "tree_sitter_rust",
        _names("function_item function_signature_item"),
        _names("struct_item enum_item union_item trait_item mod_item"),
        0.98,
    ),
    "c": Grammar("tree_sitter_c", _names("function_definition"), _C, 0.98, bodies=_C),
    "cpp": Grammar(
        "tree_sitter_cpp",
        _names("function_definition"),
        _C | _names("class_specifier namespace_definition"),
        0.9,
        bodies=_C | _names("function_definition class_specifier"),
    ),
    "java": Grammar(
        "tree_sitter_java",
        _METHODS,
        _names("class_declaration interface_declaration enum_declaration record_declaration"),
        0.98,
        bodies=_METHODS,
    ),
    "cs": Grammar(
        "tree_sitter_c_sharp",
        _METHODS,
        _names(
            "class_declaration interface_declaration struct_declaration record_declaration "
            "enum_declaration namespace_declaration"
        ),
        0.99,
        bodies=_METHODS,
    ),
    "php": Grammar(
        "tree_sitter_php",
        _names("function_definition method_declaration"),
        _names("class_declaration interface_declaration trait_declaration enum_declaration"),
        0.99,
        "language_php",
        _METHODS,
    ),
    "rb": Grammar(
        "tree_sitter_ruby", _names("method singleton_method"), _names("class module"), 0.99
    ),
    "sh": Grammar("tree_sitter_bash", _names("function_definition"), frozenset(), 0.99),
}
_INSIDE: Final = _names(
    "lambda arrow_function function_expression closure_expression lambda_expression func_literal "
    "anonymous_function object_creation_expression object"
)
"""What is declared inside of these belongs to the declaration around them."""


@pytest.mark.parametrize("ending", GRAMMARS)
def test_sections_are_what_the_grammar_finds(ending: str) -> None:
    grammar = GRAMMARS[ending]
    parser = tree_sitter.Parser(_language(grammar))
    found = declared = 0
    for text in islice(_texts(ending), MAX_TEXTS):
        tree = parser.parse(text.encode("utf-8", "replace"))
        if tree.root_node.has_error:
            continue
        left = list(parse_outline(text, detect_file_type(f"a.{ending}")).sections)
        for node in _declared(grammar, tree.root_node):
            declared += 1
            found += _is_section(node, left)
    assert declared > FEWEST
    assert found / declared >= grammar.least, f"{found} of {declared}"


def _language(grammar: Grammar) -> tree_sitter.Language:
    made = getattr(import_module(grammar.package), grammar.language)()
    # The grammars hand over a capsule; only the annotation speaks of the old form, a number.
    return tree_sitter.Language(made)  # pyright: ignore[reportDeprecated]


def _texts(ending: str) -> Iterator[str]:
    names = (f"{ending}.json", *({"c": ("h.json",), "cpp": ("hpp.json",)}.get(ending, ())))
    for name in names:
        files: dict[str, str] = json.loads((REAL / name).read_text(encoding="utf-8"))
        yield from (text for text in files.values() if len(text) < MAX_LENGTH)


def _declared(grammar: Grammar, around: Node) -> Iterator[Node]:
    """Yield declarations, none inside functions."""
    for node in around.children:
        if node.type in _INSIDE:
            continue
        is_container = node.type in grammar.containers
        if is_container or node.type in grammar.functions:
            bodiless = node.type in grammar.bodies and node.child_by_field_name("body") is None
            unnamed = is_container and node.child_by_field_name("name") is None
            if not bodiless and not unnamed:
                yield node
        if node.type not in grammar.functions:
            yield from _declared(grammar, node)


def _is_section(node: Node, left: list[Section]) -> bool:
    """Return whether a section has the lines of a declaration, and take it away.

    A section may begin below the attributes in front of it, at the line of its name.
    """
    named = node.child_by_field_name("name") or node.child_by_field_name("declarator") or node
    first, name_at = node.start_point[0] + 1, named.start_point[0] + 1
    last = node.end_point[0] + (node.end_point[1] > 0)
    for section in left:
        if first <= section.start_line <= name_at and section.end_line == last:
            left.remove(section)
            return True
    return False
