"""JSON cells: positions, remarks, depth, and where values are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.json_text import check, is_array, is_object
from rolltop.toolsets.scratch.syntax.results import CheckRequest
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)


def paths(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Every value inside `value`, with its path."""
    found: list[tuple[tuple[Any, ...], Any]] = [(above, value)]
    members: Iterable[tuple[Any, Any]] = ()
    if is_object(value):
        members = value.items()
    elif is_array(value):
        members = enumerate(value)
    for step, member in members:
        found += paths(member, (*above, step))
    return found


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1,}', 1, 9),
        ('{\n "a": 1\n "b": 2}', 3, 2),
        ("", 1, 1),
        ("[1, 2", 1, 6),
        ("nul", 1, 1),
    ],
)
def test_the_first_error_has_its_place(text: str, line: int, column: int) -> None:
    (error,) = check_cell(CheckRequest("json", text)).errors
    # The interpreter points at the comma before a missing member from 3.13 on.
    assert (error.code, error.line) == ("JSON_SYNTAX", line)
    assert error.column in {column, column - 1}


def test_a_key_given_twice_is_a_warning_at_the_second() -> None:
    checked = check_cell(CheckRequest("json", '{"a": 1,\n "b": {"a": 1},\n "\\u0061": 2}'))
    (warning,) = checked.warnings
    assert checked.valid
    assert (warning.code, warning.line, warning.column) == ("DUPLICATE_KEY", 3, 2)


def test_nan_and_infinity_are_warnings_with_places() -> None:
    checked = check_cell(CheckRequest("json", '[1, NaN,\n -Infinity, "NaN"]'))
    assert checked.valid
    assert [(one.code, one.line, one.column) for one in checked.warnings] == [
        ("JSON_NOT_A_NUMBER", 1, 5),
        ("JSON_NOT_A_NUMBER", 2, 2),
    ]


def test_a_thousand_levels_are_read_and_one_more_is_an_error() -> None:
    assert check_cell(CheckRequest("json", "[" * 1000 + "]" * 1000)).valid
    (error,) = check_cell(CheckRequest("json", "\n" + "[" * 1001 + "]" * 1001)).errors
    assert (error.code, error.line, error.column) == ("JSON_TOO_DEEP", 2, 1001)
    assert check_cell(CheckRequest("json", json.dumps("[" * 5000))).valid


def test_a_number_of_any_length_is_read() -> None:
    checked = check_cell(
        CheckRequest("json", "1" * 100_000, schema={"type": "integer", "minimum": 3})
    )
    assert checked.valid


@pytest.mark.parametrize("language", ["json", "yaml"])
@pytest.mark.parametrize("number", ["1e999", "-1.5e+999", "1e99999999999999999999"])
def test_a_number_of_any_size_is_one(language: str, number: str) -> None:
    def is_valid(schema: object) -> bool:
        return check_cell(CheckRequest(language, f"[{number}]", schema={"items": schema})).valid

    assert is_valid({"type": "number"})
    assert not is_valid({"minimum": -100, "maximum": 100})


@settings(max_examples=examples(60))
@given(VALUES, st.sampled_from([None, 2]))
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    wanted = paths(value)
    (document,) = check(text, "json").documents
    places = document.find_positions([path for path, _ in wanted])
    lines = text.split("\n")
    for path, member in wanted:
        line, column = places[path]
        offset = sum(len(before) + 1 for before in lines[: line - 1]) + column - 1
        assert json.JSONDecoder().raw_decode(text, offset)[0] == member
    assert check_cell(CheckRequest("json", text)).valid
