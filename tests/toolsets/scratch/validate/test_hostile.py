"""Content made to break parsers ends in a result, for every language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.scratch.validate import LANGUAGES, Cell, Checked, Timeout, Validator
from rolltop.toolsets.scratch.validate.check import check
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

PROSE = {"md", "txt"}
TOKENS = st.sampled_from(
    [
        *"()[]{}<>\"'`#/*\\=:;,.-+!?&|%$@\n\t\r\0 1xé\ufeff\ud800\u2028",
        *("<!--", "-->", "/*", "*/", "//", "<?php ", "<a", "</a>", "if", "def ", "fn ", "- ", "? "),
        *("&a ", "*a", "---\n", "```", "'''", '"""', "#if X\n", "#endif\n"),
    ]
)


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    one = Validator(timeout=3.0)
    yield one
    one.close()


def only(validator: Validator, cell: Cell) -> Checked | Timeout:
    (result,) = validator.check_now([cell])
    return result


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - PROSE))
@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_nul_and_lone_surrogates_are_errors_with_places(language: str, character: str) -> None:
    checked = check(Cell(language, f"a\nb{character}"))
    assert [(one.line, one.column) for one in checked.errors] == [(2, 2)]


@pytest.mark.parametrize("opener", ["[", "(", "{", "<div>", "- ", "-", "!", "a.b(", '{"a":'])
@pytest.mark.parametrize("language", LANGUAGES)
def test_deep_nesting_ends(language: str, opener: str, validator: Validator) -> None:
    result = only(validator, Cell(language, opener * 2_000))
    assert isinstance(result, Checked)


@pytest.mark.parametrize("language", ["json", "yaml", "js", "css", "toml", "py", "html"])
def test_five_megabytes_of_brackets_end(language: str, validator: Validator) -> None:
    result = only(validator, Cell(language, "[" * 5_000_000))
    assert isinstance(result, Timeout) or result.valid is (language == "html")


def test_hundred_thousand_levels_of_json_are_an_error(validator: Validator) -> None:
    result = only(validator, Cell("json", "[" * 100_000 + "]" * 100_000))
    assert isinstance(result, Checked)
    assert result.errors[0].code == "JSON_TOO_DEEP"


def against(pattern: str, validator: Validator) -> Checked:
    """The result for a text that makes a backtracking engine try everything."""
    cell = Cell("json", '"' + "a" * 50_000 + '!"', schema={"pattern": pattern})
    result = only(validator, cell)
    assert isinstance(result, Checked)
    return result


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "^(?=(a+)+$)"])
def test_catastrophic_patterns_end(pattern: str, validator: Validator) -> None:
    assert [one.code for one in against(pattern, validator).errors] == ["SCHEMA_VIOLATION"]


@pytest.mark.parametrize("pattern", [r"^(\w+\s?)*\1$", r"^(?!(\w+\s?)*\1$)"])
def test_a_pattern_given_up_on_is_no_violation(pattern: str, validator: Validator) -> None:
    result = against(pattern, validator)
    assert result.valid
    assert [one.code for one in result.warnings] == ["SCHEMA_PATTERN_UNDECIDED"]
    assert "too many steps" in result.warnings[0].message
    assert (result.details["schema"]["performed"], result.details["schema"]["passed"]) == (
        True,
        None,
    )


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"items": {"$ref": "#"}}, {"enum": list(range(100_000))},
     {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}],
)  # fmt: skip
def test_schemas_that_go_round_end(schema: object, validator: Validator) -> None:
    assert isinstance(only(validator, Cell("json", "[[1]]", schema=schema)), Checked)


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=examples(40))
@given(content=st.lists(TOKENS, max_size=40).map("".join))
def test_any_text_has_a_result_with_places_inside_it(language: str, content: str) -> None:
    checked = check(Cell(language, content, schema={"type": "object"}))
    assert checked.valid is (not checked.errors)
    lines = content.split("\n")
    for one in (*checked.errors, *checked.warnings):
        assert 1 <= one.line <= len(lines) + 1
        assert one.column >= 1
        assert one.message
        assert one.code
