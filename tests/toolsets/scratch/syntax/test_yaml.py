"""YAML cells: documents, keys, aliases, tags, places."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.syntax.results import CheckResult


def codes(content: str, **more: Any) -> list[tuple[str, int, int]]:
    checked: CheckResult = check_cell(CheckRequest("yaml", content, **more))
    return [(one.code, one.line, one.column) for one in (*checked.errors, *checked.warnings)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [1, 2\n", ("YAML_SYNTAX", 2, 4)),
        ("a: 1\nb: *gone\n", ("YAML_SYNTAX", 2, 4)),
        ("a: b\n c: d: e\n", ("YAML_SYNTAX", 2, 3)),
        ("a: \x07\n", ("YAML_SYNTAX", 1, 4)),
        ("a: 1\n---\nb: {\n", ("YAML_SYNTAX", 3, 4)),
    ],
)
def test_errors_have_places(text: str, expected: tuple[str, int, int]) -> None:
    assert codes(text) == [expected]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\ta: 1", (1, 1)),
        (" \ta: 1\n", (1, 2)),
        ("\t- a", (1, 1)),
        ("\t? a", (1, 1)),
        ("\t[a]: 1", (1, 1)),
        ("\t&x a: 1", (1, 1)),
        ("# c\n\n\ta: 1\n", (3, 1)),
        ("a: 1\n---\n  \tb: 1\n", (3, 3)),
        ("-\ta: 1", (1, 2)),
        ("- a\n- \tb: 1\n", (2, 3)),
        ("a:\n\tb: 1\n", (2, 2)),
        ("\tname: a\n\non: b\n", (1, 1)),
    ],
)
def test_a_tab_is_no_indentation(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(yaml.YAMLError):
        list(yaml.compose_all(text))
    assert codes(text) == [("YAML_SYNTAX", *place)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("permissions:\n  a: 1\n  : read\n", (3, 3)),
        ("\ufeffé:\n  - : b\n", (2, 5)),
        ("a: {b: 1, : 2}\n", (1, 11)),
        ("a: 1\n:", (2, 1)),
    ],
)
def test_a_value_whose_key_is_gone_is_warned_of(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(yaml.YAMLError):
        list(yaml.compose_all(text))
    assert codes(text) == [("YAML_NO_KEY", *place)]


@pytest.mark.parametrize(
    "text",
    [
        "? a\n: b\n",
        "a: |\n  : b\n",
        "~: b\n",
        "a:: b # : c\n",
        "a: 'b\n  : c'\n",
        '{\n"a"\n: 1}',
        "|\n: a",
    ],
)
def test_no_key_is_missed_where_there_is_one(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "\t[a,\n\tb]",
        "\ta\n\tb",
        "\t|\n a",
        "\t!!map\n a: 1",
        "-\ta\n-\t\n  b: 1\n",
        "\t# c\na:\tb\n\t\nc: \td\n",
        "a: |\n  all:\n  \tgcc: x\n",
        "a: |\n \t\tx\n \ty: 1\n",
        'a: "b\n  \tc: d"\n',
    ],
)
def test_a_tab_separates_what_is_no_block_collection(text: str) -> None:
    assert codes(text) == []


def test_no_object_is_made_of_a_tag() -> None:
    assert codes("a: !!python/object/apply:os.getcwd []\n", schema={"const": {"a": []}}) == []
    assert not check_cell(CheckRequest("yaml", "a: !!python/name:os.getcwd x\n")).valid


def test_dates_of_yaml_1_1_are_texts() -> None:
    text = "a: !!timestamp 2026-01-01\nb: [!!timestamp 2026-01-02]\nc: x!!timestamp y\n"
    schema = {"properties": {"a": {"format": "date"}, "b": {"items": {"format": "date"}},
                             "c": {"const": "x!!timestamp y"}}}  # fmt: skip
    assert check_cell(CheckRequest("yaml", text, schema=schema)).errors == ()


@pytest.mark.parametrize("value", ["!!unknown b", "!!int b"])
def test_a_wrong_tag_has_its_place(value: str) -> None:
    (error,) = check_cell(CheckRequest("yaml", f"a: 1\nb:\n  c: {value}\n")).errors
    assert (error.line, error.column) == (3, 6)


def test_keys_given_twice_are_warnings_with_places() -> None:
    assert codes("a: 1\na: 2\nb: {c: 1, c: 2}\n---\na: 1\n") == [
        ("DUPLICATE_KEY", 2, 1),
        ("DUPLICATE_KEY", 3, 11),
    ]


def test_each_document_meets_the_schema_and_an_empty_one_is_null() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    text = "a: 1\n---\n# nothing\n---\na: x\n"
    assert codes(text, schema=schema) == [("SCHEMA_VIOLATION", 4, 1), ("SCHEMA_VIOLATION", 5, 4)]
    assert codes("", schema=schema) == [("SCHEMA_VIOLATION", 1, 1)]
    assert codes("# only a comment\n", schema={"type": "null"}) == []


def test_a_list_document_is_one_document() -> None:
    assert codes("- 1\n- 2\n", schema={"type": "array", "minItems": 2}) == []


def test_scalars_are_those_of_yaml_1_2() -> None:
    schema = {"enum": [{"on": "yes", "date": "2026-01-02", "octal": 15, "plain": 12}]}
    assert codes("on: yes\ndate: 2026-01-02\noctal: 0o17\nplain: 012\n", schema=schema) == []


def test_the_last_of_two_values_has_the_place() -> None:
    found = codes("a: x\nb: 1\na: y\n", schema={"properties": {"a": {"type": "integer"}}})
    assert found == [("SCHEMA_VIOLATION", 3, 4), ("DUPLICATE_KEY", 3, 1)]


def test_merge_keys_count_for_the_schema() -> None:
    schema = {"properties": {"use": {"required": ["x", "y"], "additionalProperties": {"const": 1}}}}
    assert codes("base: &b {x: 1}\nuse:\n  <<: *b\n  y: 1\n", schema=schema) == []


def test_places_go_through_aliases_keys_and_lists() -> None:
    schema = {"properties": {"b": {"items": {"type": "string"}}, "c": {"type": "string"}}}
    text = "a: &x 1\nb:\n  - *x\n  - ok\n  - {}\nc: 3\n"
    assert codes(text, schema=schema) == [
        ("SCHEMA_VIOLATION", 3, 5),
        ("SCHEMA_VIOLATION", 5, 5),
        ("SCHEMA_VIOLATION", 6, 4),
    ]


def test_what_an_alias_or_a_merge_brings_in_has_the_place_it_is_brought_to() -> None:
    schema = {"additionalProperties": {"properties": {"x": {"type": "string"}}}}
    text = "first: &f\n  x: 1\nsecond: *f\nthird:\n  <<: *f\n"
    found = [("SCHEMA_VIOLATION", *at) for at in ((2, 6), (3, 9), (5, 3))]
    assert codes(text, schema=schema) == found


@pytest.mark.parametrize(
    "key",
    [
        *("{a: [1]}", "{a: {b: 1}}", "[a, {b: c}]", "[[1], [2, null]]", "{? {a: [b]} : [0x1f]}"),
        *("!!set {a, b}", "!!set {? [{c: d}]}", "!mine [{a: [true]}]", "[*v]", "*v", "{}", "[]"),
        *("&k {a: [*k]}", "- a\n  - b: [c]"),
    ],
)
def test_no_schema_is_applied_where_a_key_is_a_collection(key: str) -> None:
    text = f"v: &v {{x: [yes]}}\n? {key}\n: one\nplain: 2\n"
    assert codes(text) == []
    checked = check_cell(CheckRequest("yaml", text, schema={"type": "array"}))
    assert checked.valid
    assert [one.code for one in checked.warnings] == ["SCHEMA_NOT_APPLIED"]
    assert not checked.details["schema"]["performed"]


def test_keys_that_only_look_alike_are_no_duplicates() -> None:
    text = "1: a\ntrue: b\n1.0: c\n0: d\nfalse: e\n"
    assert codes(text) == []
    assert codes(text, schema={"type": "array"}) == [("SCHEMA_NOT_APPLIED", 1, 1)]


def test_integers_of_any_length_are_keys_and_values() -> None:
    digits = "9" * 5000
    schema = {"additionalProperties": {"type": "integer", "maximum": 5}}
    text = f"? {digits}\n: {digits}\n"
    assert codes(text) == []
    assert codes(text, schema=schema) == [("SCHEMA_VIOLATION", 2, 3)]


def test_an_alias_bomb_is_an_error() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join(['*' + a] * 10)}]" for a, b in pairwise("abcdefghi")]
    assert [code for code, *_ in codes("\n".join(lines))] == ["YAML_ALIASES"]


@pytest.mark.parametrize(
    "text",
    [
        "a: 'x\n y'\n",
        'a:\n  b: "x\n   y"\n',
        '- a: "x\n   y"\n',
        "a:\n- b: 'x\n\n   y\n   z'\n  c: 1\n",
        "a:\r\n    b: 'x\r\n     y'\r\n",
        "a: &b\n  c: !!str 'x\n   y'\nd: *b\n",
        "? 'x\n y'\n: 'z\n w'\n",
        "a:\t1\nb: 'x\n y'\n",
        "a: 'x\n \t\n y'\n---\n'x\ny'\n",
    ],
)
def test_a_quoted_text_goes_on_right_of_its_mapping(text: str) -> None:
    assert codes(text) == []


def test_places_beside_a_quoted_text_of_several_lines_are_those_of_the_text() -> None:
    text = "a: 'x\n y'\nb: {c: 'z\n w', d: 1, d: '2'}\n"
    schema = {"properties": {"a": {"const": "x y"}, "b": {"properties": {"d": {"const": 1}}}}}
    assert codes(text, schema=schema) == [("SCHEMA_VIOLATION", 4, 15), ("DUPLICATE_KEY", 4, 12)]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 'x\ny'\n", (2, 1)),
        ("a:\n  b: 'x\n  y'\n", (3, 3)),
        ("a:\n      b: 'x\n   y'\n", (3, 4)),
        ("- a: 'x\n y'\n", (2, 2)),
        ("- 'x\ny'\n", (2, 1)),
        ("a: 'x\n y'\nb: 'z\nw'\n", (4, 1)),
        ("a: 'x\n y'\nb: [1, 2\n", (3, 4)),
    ],
)
def test_a_quoted_text_that_goes_on_further_left_is_no_yaml(
    text: str, place: tuple[int, int]
) -> None:
    assert codes(text) == [("YAML_SYNTAX", *place)]
