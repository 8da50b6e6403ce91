"""Schemas: violations with places, references, and what is no schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest
from rolltop.toolsets.scratch.syntax.schema_check import check_schema

if TYPE_CHECKING:
    from rolltop.toolsets.scratch.syntax.results import CheckResult

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "mail": {"format": "email"}, "age": {"minimum": 0}},
    "additionalProperties": False,
}


def checked(content: str, schema: Any, registry: dict[str, Any] | None = None) -> CheckResult:
    return check_cell(
        CheckRequest("json", content, schema=schema, schema_name="person", registry=registry or {})
    )


def test_violations_name_the_place_the_path_and_the_schema() -> None:
    result = checked('{"age": -1,\n "mail": "x",\n "more": 1}', PERSON)
    assert not result.valid
    found = {(one.details["instance_path"], one.line, one.column) for one in result.errors}
    assert found == {("/age", 1, 9), ("/mail", 2, 10), ("", 1, 1)}
    assert {one.details["schema"] for one in result.errors} == {"person"}
    assert result.details["schema"] == {
        "performed": True, "passed": False, "name": "person", "missing": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "content", "path", "names"),
    [
        ({"additionalProperties": False}, '{"one": 1, "two": {}}', "", "one, two"),
        ({"items": {"additionalProperties": False}}, '[{}, {"one": {"x": 1}}]', "/1", "one"),
        ({"allOf": [{"additionalProperties": False}]}, '{"one": null}', "", "one"),
        ({"additionalProperties": False, "properties": {"a": {}}}, '{"a": 1, "b": 2}', "", "b"),
        ({"unevaluatedProperties": False}, '{"one": 1, "two": 2}', "", "one, two"),
    ],
)
def test_members_that_are_not_allowed_are_named(
    schema: Any, content: str, path: str, names: str
) -> None:
    (error,) = checked(content, schema).errors
    assert error.message.endswith(f"has members that are not allowed: {names}")
    assert error.details["instance_path"] == path
    assert error.details["keyword"] in {"additionalProperties", "unevaluatedProperties"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"name": 1}', ["has members that are not allowed: name"]),
        ('{"a": {"name": 1}}', ["has members that are not allowed: name"]),
        ('{"name": 1, "z": 2}', ["has members that are not allowed: name, z"]),
        ('{"z": 1}', ["has members that are not allowed: z", 'lacks the member "name"']),
        ('{"n": 1}', ['lacks the member "name"']),
        ('{"name": "\\ud800"}', ["has members that are not allowed: name"]),
    ],
)
def test_no_member_is_called_missing_that_is_there(content: str, said: list[str]) -> None:
    closed = {
        "required": ["name"],
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": False,
    }
    inside = {"properties": {"a": closed}, "required": ["a"]}
    errors = checked(content, inside if '"a"' in content else closed).errors
    assert sorted(one.message.partition(" ")[2].removeprefix("document ") for one in errors) == said


def test_a_member_that_is_called_as_a_keyword_is_not_one() -> None:
    schema = {"properties": {"additionalProperties": False}}
    (error,) = checked('{"additionalProperties": {"one": 1}}', schema).errors
    assert error.message == "/additionalProperties is not allowed here"


@pytest.mark.parametrize("content", ['{"\\ud800": {"one": 1}}', '{"a":' * 120 + "1" + "}" * 120])
def test_members_of_any_name_and_depth_are_refused(content: str) -> None:
    schema: dict[str, Any] = {"additionalProperties": {"additionalProperties": False}}
    (error,) = checked(content, schema).errors
    assert "not allowed" in error.message
    (error,) = checked(content, {"additionalProperties": False}).errors
    assert "not allowed" in error.message


def test_a_member_with_a_wrong_name_is_named() -> None:
    errors = checked('{"one": 1, "three": 2}', {"propertyNames": {"maxLength": 3}}).errors
    assert [error.message for error in errors] == [
        "The document has a member whose name is not allowed: three is longer than 3 characters"
    ]


def test_at_most_fifty_violations_are_told() -> None:
    result = checked(str([1] * 200), {"items": {"type": "string"}})
    assert len(result.errors) == 50
    assert max(len(one.message) for one in result.errors) < 500


def test_references_go_through_the_registry_by_any_name() -> None:
    registry = {
        "scratchpad://schemas/Größe & Ort/x": {"$ref": "scratchpad://schemas/number"},
        "scratchpad://schemas/number": {"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"},
    }
    address = "scratchpad://schemas/Größe & Ort/x"
    assert checked("1", address, registry).valid
    assert not checked('"1"', {"anyOf": [{"$ref": address}]}, registry).valid


@pytest.mark.parametrize(
    "reference",
    ["scratchpad://schemas/gone", "http://localhost:1/x", "#/$defs/gone", "#gone", "not a uri",
     "scratchpad://schemas/here#/$defs/gone", "file:///etc/passwd",
     "scratchpad://schemas/gone#/items", "https://example.com/a.json#/additionalProperties",
     "https://example.com/a.json#/not"],
)  # fmt: skip
def test_a_missing_reference_is_a_warning_and_the_rest_counts(reference: str) -> None:
    schema = {"properties": {"a": {"$ref": reference}, "b": {"type": "string"}}}
    result = checked('{"a": 1, "b": 2}', schema, {"scratchpad://schemas/here": {}})
    assert [one.details["instance_path"] for one in result.errors] == ["/b"]
    assert [one.code for one in result.warnings] == ["SCHEMA_REFERENCE_MISSING"]
    assert result.details["schema"]["missing"] == [reference]


@pytest.mark.parametrize("reference", ["https://example.com/a.json", "#/$defs/gone"])
@pytest.mark.parametrize(
    ("content", "around"),
    [
        ("{}", {"oneOf": ["?", {"type": "object"}]}),
        ("{}", {"oneOf": ["?", {"allOf": ["?"]}]}),
        ("1", {"not": "?"}),
        ("1", {"not": {"$ref": "#/$defs/other"}, "$defs": {"other": {"allOf": ["?"]}}}),
        ("1", {"not": {"$ref": "scratchpad://schemas/other"}}),
        ("1", {"if": "?", "then": {"type": "string"}}),
        ("[1, 2]", {"contains": "?", "maxContains": 1}),
        ("[1, 2]", {"items": {"not": "?"}}),
        ('{"a": 1}', {"allOf": ["?"], "unevaluatedProperties": False}),
        ('{"a": 1}', {"anyOf": ["?", {"type": "string"}], "unevaluatedProperties": False}),
        ("[1]", {"allOf": ["?"], "unevaluatedItems": False}),
    ],
)
def test_what_only_a_missing_reference_may_break_is_not_broken(
    content: str, around: dict[str, Any], reference: str
) -> None:
    def fill(text: object) -> Any:
        return json.loads(json.dumps(text).replace('"?"', json.dumps({"$ref": reference})))

    schema = fill({"properties": {"b": {"type": "string"}}, **around})
    registry = {"scratchpad://schemas/other": fill({"allOf": ["?"]})}
    result = checked(content, schema, registry)
    assert result.errors == ()
    assert [one.code for one in result.warnings] == ["SCHEMA_REFERENCE_MISSING"]
    assert result.details["schema"]["performed"] is True


@pytest.mark.parametrize(
    ("content", "keyword", "around"),
    [
        ('{"b": 1}', "type", {"properties": {"a": "?", "b": {"type": "string"}}}),
        ("1", "anyOf", {"anyOf": [{"allOf": ["?", {"type": "string"}]}, {"type": "null"}]}),
        ("1", "oneOf", {"oneOf": ["?", {"type": "number"}, {"minimum": 0}]}),
        ("1", "oneOf", {"oneOf": [{"allOf": ["?", {"type": "string"}]}, {"type": "null"}]}),
        ("1", "not", {"not": {"anyOf": ["?", {"type": "number"}]}}),
        ("1", "type", {"if": {"type": "number"}, "then": {"type": "string"}, "else": "?"}),
        ("[1]", "contains", {"contains": {"type": "string"}, "items": "?"}),
        (
            '{"l": [1]}',
            "contains",
            {
                "properties": {
                    "l": {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 5},
                    "z": "?",
                }
            },
        ),
        (
            json.dumps({"a": [1] * 60, "b": 1}),
            "type",
            {"properties": {"a": {"items": {"not": "?"}}, "b": {"type": "string"}}},
        ),
    ],
)
def test_what_breaks_a_schema_whatever_is_missing_is_told(
    content: str, keyword: str, around: dict[str, Any]
) -> None:
    missing = json.dumps({"$ref": "https://example.com/a.json"})
    result = checked(content, json.loads(json.dumps(around).replace('"?"', missing)))
    assert [one.details["keyword"] for one in result.errors] == [keyword]
    assert result.details["schema"]["passed"] is False


@pytest.mark.parametrize("name", ["default", "const", "enum", "examples", "properties"])
@pytest.mark.parametrize("among", ["properties", "$defs", "patternProperties"])
def test_names_in_a_schema_may_be_those_of_keywords(among: str, name: str) -> None:
    missing = {among: {name: {"$ref": "scratchpad://schemas/gone"}}}
    schema = {**missing, "required": ["b"], "$ref": f"#/{among}/{name}"}
    result = checked('{"a": 1}', schema)
    assert [one.details["keyword"] for one in result.errors] == ["required"]
    assert result.details["schema"]["missing"] == ["scratchpad://schemas/gone"]
    registry = {"scratchpad://schemas/two%20words": {"type": "string"}}
    named = {"properties": {name: {"$ref": "scratchpad://schemas/two words"}}}
    assert not checked(f'{{"{name}": 1}}', named, registry).valid
    with pytest.raises(InvalidArgument):
        check_schema({among: {name: {"pattern": "(a"}}})


@pytest.mark.parametrize("keyword", ["default", "examples", "const", "enum"])
def test_data_in_a_schema_is_no_schema(keyword: str) -> None:
    data = {"$ref": "scratchpad://schemas/gone", "pattern": "("}
    schema = {keyword: [data] if keyword in {"enum", "examples"} else data}
    check_schema(schema)
    content = '{"$ref": "scratchpad://schemas/gone", "pattern": "("}'
    result = checked(content, schema)
    assert result.valid
    assert result.details["schema"]["missing"] == []


@pytest.mark.parametrize(
    "dialect",
    ["https://json-schema.org/draft-04/schema#", "https://json-schema.org/draft-07/schema",
     "http://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2019-09/schema#"],
)  # fmt: skip
def test_a_dialect_is_known_by_http_and_by_https(dialect: str) -> None:
    schema = {"$schema": dialect, "type": "integer", "properties": {"$schema": {"const": dialect}}}
    check_schema(schema)
    assert checked("1", schema).valid
    assert not checked('"1"', "scratchpad://schemas/a", {"scratchpad://schemas/a": schema}).valid


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a-b.c@d-e.org", "a b@c.org"),
        (r"^[a-z.-\d]$", "-", "/"),
        (r"^[^\s-,]$", "a", "-"),
        (r"^[\\w-z]$", "\\", "-"),
        (r"^\[\w-\d$", "[a-1", "[a"),
    ],
)
def test_a_dash_beside_a_class_is_itself(pattern: str, fits: str, fails: str) -> None:
    for schema in ({"pattern": pattern}, {"propertyNames": {"pattern": pattern}}):
        check_schema(schema)
    check_schema({"patternProperties": {pattern: {}}})
    closed: dict[str, Any] = {"patternProperties": {pattern: {}}, "additionalProperties": False}
    for text, is_valid in ((fits, True), (fails, False)):
        assert checked(json.dumps(text), {"pattern": pattern}).valid is is_valid
        assert checked(json.dumps({text: 1}), closed).valid is is_valid


def test_where_the_whole_schema_is_missing_none_is_performed() -> None:
    result = checked("1", "scratchpad://schemas/gone")
    assert result.valid
    assert result.details["schema"] == {
        "performed": False, "passed": None, "name": "person",
        "missing": ["scratchpad://schemas/gone"],
    }  # fmt: skip


def test_one_of_two_equal_fragments_is_missing() -> None:
    schema = {
        "properties": {
            "a": {"$ref": "scratchpad://schemas/one#/$defs/n"},
            "b": {"$ref": "scratchpad://schemas/two#/$defs/n"},
        }
    }
    registry = {
        "scratchpad://schemas/one": {"$defs": {"n": {"type": "string"}}},
        "scratchpad://schemas/two": {},
    }
    result = checked('{"a": 1, "b": 1}', schema, registry)
    assert [one.details["instance_path"] for one in result.errors] == ["/a"]
    assert result.details["schema"]["missing"] == ["scratchpad://schemas/two#/$defs/n"]


@pytest.mark.parametrize("content", ['"\\ud800"', '{"\\udfff": 1}', '["\\ud83d\\ude00"]'])
def test_lone_surrogates_meet_the_schema(content: str) -> None:
    result = checked(content, {"type": "integer"})
    assert [one.code for one in result.errors] == ["SCHEMA_VIOLATION"]


def test_deep_values_meet_the_schema() -> None:
    deep = "[" * 900 + "]" * 900
    assert checked(deep, {"type": "array"}).details["schema"]["passed"] is True
    result = checked(deep, {"type": "string"})
    assert [one.code for one in result.errors] == ["SCHEMA_VIOLATION"]


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, "/type"),
        ({"properties": {"a/b": {"minimum": "x"}}}, "/properties/a~1b/minimum"),
        ({"pattern": "(a"}, "/pattern"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema"),
        ({"$schema": 3}, "/$schema"),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "exclusiveMinimum": 1,
                "minimum": 0,
            },
            "/exclusiveMinimum",
        ),
        ([], ""),
        ("{}", ""),
        (None, ""),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: object, place: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_schema(schema)
    assert refused.value.code == "VALIDATION_ERROR"
    assert refused.value.hint
    assert refused.value.data["details"]["path"] == place
    assert place in refused.value.message


def test_a_schema_too_deep_or_too_large_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"not": deep}
    for schema in (deep, {"enum": list(range(300_000))}):
        with pytest.raises(InvalidArgument):
            check_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [True, False, {}, PERSON, {"$ref": "scratchpad://schemas/later"}, {"$ref": "#"},
     {"properties": {"pattern": {"enum": [{"pattern": "("}]}}},
     {"pattern": "^(?=a)b(?!c)$"}, {"$schema": "http://json-schema.org/draft-07/schema#"},
     {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True, "minimum": 1},
     ],
)  # fmt: skip
def test_schemas_of_each_dialect_are_accepted(schema: object) -> None:
    check_schema(schema)
