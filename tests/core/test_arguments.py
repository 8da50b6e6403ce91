"""Strict arguments that teach: what is wrong, what was given, what is allowed, the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from rolltop.core import pagination
from rolltop.core.argument_names import PARAMETER_SYNONYMS
from rolltop.core.arguments import Parameters, require_storable, value_preview
from rolltop.core.errors import InvalidArgument, InvalidText
from rolltop.core.tools import MISSING, ArgumentErrorCode, Tool
from tests.campaign import examples

if TYPE_CHECKING:
    from rolltop.core.context import CallContext


@with_config(ConfigDict(extra="forbid", strict=True))
class _Step(TypedDict):
    """One step."""

    what: Literal["go", "stop"]
    times: Annotated[int, Field(ge=1)]
    names: NotRequired[list[str]]
    then: NotRequired[list[_Step]]


_STEP = (
    "{what: one of: go, stop; times: an integer, 1 or more; "
    "names?: a list of text; then?: a list of objects}"
)


async def _walk(call: CallContext, steps: list[_Step], last: _Step | None = None) -> dict[str, Any]:
    """Walk."""
    del call, steps, last
    return {}


async def _find(  # one parameter of each kind
    call: CallContext,
    query: Annotated[str, Field(description="Words to find.")],
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
    order: Literal["rank", "path"] = "rank",
    tags: list[str] | None = None,
    exact: bool | None = None,  # noqa: FBT001  # a tool's parameters are named
    weight: float | None = None,
) -> dict[str, Any]:
    """Find things."""
    del call, query, limit, order, tags, exact, weight
    return {}


async def _mark(  # lists of each kind
    call: CallContext,
    links: list[str] | None = None,
    indices: list[int] | None = None,
    kinds: list[Literal["note", "words", "deep_file"]] | None = None,
) -> dict[str, Any]:
    """Mark things."""
    del call, links, indices, kinds
    return {}


_MARK = Parameters(Tool("mark", _mark, "Mark", dict), code="INVALID_ARGUMENT")


def _parameters(**declared: Any) -> Parameters:
    tool = Tool("find", _find, "Find", dict, is_read_only=True, **declared)
    return Parameters(tool, code="INVALID_ARGUMENT")


def _refused(arguments: object, **declared: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        _parameters(**declared).validate(arguments)
    return caught.value


def test_schema_is_strict_and_carries_no_noise() -> None:
    schema = _parameters(accepts_max_tokens=True, accepts_cursor=True).schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["query"]
    assert schema["properties"] == {
        "query": {"description": "Words to find.", "type": "string"},
        "limit": {"default": 50, "maximum": 200, "minimum": 1, "type": "integer"},
        "order": {"default": "rank", "enum": ["rank", "path"], "type": "string"},
        "tags": {"items": {"type": "string"}, "type": "array"},
        "exact": {"type": "boolean"},
        "weight": {"type": "number"},
        "cursor": {"type": "string"},
        "max_tokens": {"minimum": 200, "type": "integer"},
    }


def test_hosts_are_listed_no_references_and_no_limits_that_go_without_saying() -> None:
    walk = Parameters(Tool("walk", _walk, "Walk", dict, accepts_max_tokens=True), code="X")
    step = walk.listed_schema["properties"]["last"]
    assert step["required"] == ["what", "times"]
    assert step["properties"]["times"] == {"type": "integer"}
    assert step["properties"]["then"] == {"items": {"type": "object"}, "type": "array"}
    assert walk.listed_schema["properties"]["max_tokens"] == {"type": "integer"}
    assert "$" not in str(walk.listed_schema)
    with pytest.raises(InvalidArgument, match="max_tokens must be an integer, 200 or more"):
        walk.validate({"steps": [], "max_tokens": 5})


def test_good_arguments_come_back_as_given_and_null_is_left_out() -> None:
    checked = _parameters().validate({"query": "x", "tags": None, "limit": 3})
    assert checked == {"query": "x", "limit": 3}


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"limit": "5"}, {"limit": 5}),
        ({"limit": " 5 "}, {"limit": 5}),
        ({"limit": 5.0}, {"limit": 5}),
        ({"limit": ""}, {}),
        ({"order": ""}, {}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"tags": ""}, {}),
        ({"tags": "a"}, {"tags": ["a"]}),
        ({"tags": " a b "}, {"tags": [" a b "]}),
        ({"tags": "src/{a,b}/*.md"}, {"tags": ["src/{a,b}/*.md"]}),
        ({"tags": "{a,b}.md"}, {"tags": ["{a,b}.md"]}),
        ({"tags": 'the "old" quay'}, {"tags": ['the "old" quay']}),
        ({"tags": "a, b c ,"}, {"tags": ["a", "b c"]}),
        ({"label": "a;b"}, {"tags": ["a", "b"]}),
        ({"tags": "[a]"}, {"tags": ["a"]}),
        ({"tags": "['a b', 'c']"}, {"tags": ["a b", "c"]}),
        ({"tags": '"a"'}, {"tags": ["a"]}),
        ({"tags": "- a\n- b"}, {"tags": ["a", "b"]}),
        ({"tags": ["a, b"]}, {"tags": ["a, b"]}),
        ({"order": "Rank"}, {"order": "rank"}),
        ({"order": "PATHS"}, {"order": "path"}),
        ({"tag": "5"}, {"tags": ["5"]}),
        ({"exact": "true"}, {"exact": True}),
        ({"exact": "False"}, {"exact": False}),
        ({"exact": ""}, {}),
        ({"weight": "0.5"}, {"weight": 0.5}),
        ({"query": "5"}, {"query": "5"}),
        ({"query": "[1]"}, {"query": "[1]"}),
        ({"query": ""}, {"query": ""}),
        ({"maxResults": "3"}, {"limit": 3}),
    ],
)
def test_what_hosts_send_as_text_is_taken_where_no_text_is_asked_for(
    sent: dict[str, Any], taken: dict[str, Any]
) -> None:
    assert _parameters().validate({"query": "x", **sent}) == {"query": "x", **taken}


@pytest.mark.parametrize(
    "sent",
    [
        *(
            {"limit": text}
            for text in ("5 items", "0x5", "+5", "5.5", "NaN", "1e999", "true", "[5]")
        ),
        *({"limit": text} for text in ("9" * 5000, "5, 6", "null")),
        *({"exact": value} for value in ("yes", "1", "on", 1, 0)),
        *({"tags": text} for text in ('{"a": 1}', "[" * 100_000, "[1]", "it's, so")),
        *({"tags": text} for text in (" ", "{'a'}", "{'a,b'}", "[a", ",")),
        *({"order": text} for text in ("ranking", "r", "pathss")),
        *({"tags": value} for value in (1, True, {"a": 1}, {})),
        *({"weight": text} for text in ("NaN", "Infinity", "-Infinity", "1e999")),
    ],
)
def test_a_text_that_is_not_plainly_meant_is_refused(sent: dict[str, Any]) -> None:
    assert next(iter(sent)) in _refused({"query": "x", **sent}).message


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"links": "https://a.org/1,2"}, {"links": ["https://a.org/1,2"]}),
        (
            {"links": "https://a.org, rolltop://note/1"},
            {"links": ["https://a.org", "rolltop://note/1"]},
        ),
        ({"indices": "0, 1"}, {"indices": [0, 1]}),
        ({"indices": "[0]"}, {"indices": [0]}),
        ({"kinds": "Notes, deep-files"}, {"kinds": ["note", "deep_file"]}),
        ({"kinds": "NOTE"}, {"kinds": ["note"]}),
        ({"kinds": ["words", " Deep File "]}, {"kinds": ["words", "deep_file"]}),
        ({"kinds": "word"}, {"kinds": ["words"]}),
    ],
)
def test_a_text_that_names_the_entries_of_a_list_is_split(
    sent: dict[str, Any], taken: dict[str, Any]
) -> None:
    assert _MARK.validate(sent) == taken


@pytest.mark.parametrize(
    ("sent", "hint"),
    [
        (
            {"links": "It holds, and is fast"},
            'Send links as ["It holds, and is fast"] or ["It holds", "and is fast"].',
        ),
        ({"links": "https://a.org, b"}, 'Send links as ["https://a.org, b"] or'),
        ({"links": "it, " * 100}, "Call mark again with links as a list of text."),
        ({"indices": "0, x"}, "Call mark again with indices as a list of an integer"),
        ({"indices": "0 1"}, "a list of an integer"),
        ({"kinds": "note, wordy"}, "note, words, deep_file"),
        ({"kinds": "all"}, "note, words, deep_file"),
    ],
)
def test_a_list_that_is_not_plain_is_shown_as_it_can_be_sent(
    sent: dict[str, Any], hint: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        _MARK.validate(sent)
    assert hint in caught.value.hint


def test_a_blank_text_is_a_value_where_the_tool_says_so() -> None:
    walk = Tool("find", _find, "Find", dict, blank_values=frozenset({"tags"}))
    given = {"query": "x", "tags": "", "order": ""}
    with pytest.raises(InvalidArgument, match="tags must be"):
        Parameters(walk, code="X").validate(given)


def test_fields_of_objects_are_read_like_arguments() -> None:
    parameters = Parameters(Tool("walk", _walk, "Walk", dict), code="INVALID_ARGUMENT")
    plain = {"steps": [{"what": "go", "times": 2, "then": [{"what": "stop", "times": 1}]}]}
    for steps in (
        '[{"what": "go", "times": "2", "then": "[{\\"what\\": \\"stop\\", \\"times\\": 1}]"}]',
        ['{"what": "go", "times": 2.0, "names": null, "then": [{"what": "stop", "times": 1}]}'],
        [{**plain["steps"][0], "names": ""}],
        {"what": "go", "times": 2, "then": {"what": "stop", "times": 1}},
        '{"what": "go", "times": 2, "then": {"what": "stop", "times": 1}}',
    ):
        assert parameters.validate({"steps": steps}) == plain


async def _keep(call: CallContext, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """Keep things."""
    del call, metadata
    return {}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_number_that_json_does_not_have_is_taken_anywhere(number: float) -> None:
    parameters = Parameters(Tool("keep", _keep, "Keep", dict), code="INVALID_ARGUMENT")
    for metadata in ({"a": number}, {"a": [{"b": number}]}):
        with pytest.raises(InvalidArgument, match="which is no number of JSON"):
            parameters.validate({"metadata": metadata})
    assert parameters.validate({"metadata": {"a": "5", "b": ""}}) == {
        "metadata": {"a": "5", "b": ""}
    }


def test_json_text_is_bounded_as_a_message_is() -> None:
    parameters = Parameters(Tool("keep", _keep, "Keep", dict), code="INVALID_ARGUMENT")
    with pytest.raises(InvalidArgument, match="too large for JSON text"):
        parameters.validate({"metadata": f'{{"a": [{"[],[]," * 25_000}0]}}'})
    deep = '{"a":' * 101 + "1" + "}" * 101
    with pytest.raises(InvalidArgument, match="nested too deeply"):
        parameters.validate({"metadata": deep})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "x", "limit": "five"}, 'limit must be an integer from 1 to 200; got "five"'),
        ({"query": "x", "limit": True}, "limit must be an integer from 1 to 200; got true"),
        ({"query": "x", "limit": 0}, "limit must be an integer from 1 to 200; got 0"),
        ({"query": 5}, "query must be text; got 5"),
        ({"query": "x", "order": "size"}, 'order must be one of: rank, path; got "size"'),
        ({"query": "x", "tags": "it's, b"}, """tags must be a list of text; got "it's, b\""""),
        ({"query": "x", "tags": ["a", 1]}, "tags[1] must be text; got 1"),
        ({"query": "x", "weight": float("nan")}, "weight must be a number; got NaN"),
        ({"query": "x", "weight": float("inf")}, "weight must be a number; got Infinity"),
        ({}, "query is required (text)"),
        ({"query": None}, "query is required (text)"),
        ([], "arguments must be an object; got []"),
        (None, "arguments must be an object; got null"),
    ],
)
def test_each_kind_of_bad_value_is_named(arguments: object, message: str) -> None:
    error = _refused(arguments)
    assert error.message == message
    assert error.code == "INVALID_ARGUMENT"
    assert error.hint


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("go", f'steps[1] must be an object {_STEP}; got "go"'),
        ({"what": "go", "times": "x"}, 'steps[1].times must be an integer, 1 or more; got "x"'),
        ({"what": "go", "times": 0}, "steps[1].times must be an integer, 1 or more; got 0"),
        ({"what": "run", "times": 1}, 'steps[1].what must be one of: go, stop; got "run"'),
        ({"what": "go"}, "steps[1].times is required (an integer, 1 or more)"),
        ({"what": "go", "times": 1, "names": ["a", 2]}, "steps[1].names[1] must be text; got 2"),
        (
            {"what": "go", "times": 1, "then": [{"what": "go", "times": 0}]},
            "steps[1].then[0].times must be an integer, 1 or more; got 0",
        ),
        (
            {"what": "go", "times": 1, "time": 1},
            'Unknown field "time" of steps[1]; did you mean times?',
        ),
        ({"what": "go", "times": 1, "x" * 99: 1}, f'Unknown field "{"x" * 58}… of steps[1]'),
    ],
)
def test_a_field_of_an_entry_is_named_with_what_it_allows(step: object, message: str) -> None:
    parameters = Parameters(Tool("walk", _walk, "Walk", dict), code="INVALID_ARGUMENT")
    with pytest.raises(InvalidArgument) as caught:
        parameters.validate({"steps": [{"what": "go", "times": 1}, step]})
    assert caught.value.message == message
    assert caught.value.hint == f"Call walk again with steps as a list of objects {_STEP}."
    with pytest.raises(InvalidArgument) as alone:
        parameters.validate({"steps": [], "last": step})
    assert alone.value.message == message.replace("steps[1]", "last")


def test_unknown_argument_names_the_nearest() -> None:
    error = _refused({"query": "x", "limt": 3})
    assert error.message == 'Unknown argument "limt" for find; did you mean limit?'
    assert error.hint == "find takes: query, limit, order, tags, exact, weight."


@pytest.mark.parametrize("name", ["weights", "Tagz", "quer", "qeury", "exakt", "or-der"])
def test_a_slip_of_the_keys_is_told_from_another_word(name: str) -> None:
    assert "; did you mean " in _refused({"query": "x", name: 1}).message


@pytest.mark.parametrize("name", ["tasks", "status", "queue", "exit", "length", "border_limit"])
def test_another_word_is_not_taken_for_a_name(name: str) -> None:
    assert _refused({"query": "x", name: 1}).message == f'Unknown argument "{name}" for find'


def test_what_is_done_otherwise_is_said_instead_of_guessed() -> None:
    elsewhere = {"weigh": "Call weigh_all for that."}
    error = _refused({"query": "x", "weigh": 3}, argument_hints=elsewhere)
    assert error.message == 'Unknown argument "weigh" for find'
    assert error.hint.startswith("Call weigh_all for that. find takes: query, ")


def test_common_other_names_are_accepted_but_not_twice() -> None:
    assert _parameters().validate({"q": "x", "max_results": 5}) == {"query": "x", "limit": 5}
    assert _parameters().validate({"question": "x", "maxResults": 5}) == {"query": "x", "limit": 5}
    assert _refused({"query": "x", "q": "y"}).message == 'query is given twice, once as "q"'
    assert _refused({"q": "y", "query": "x"}).message == 'query is given twice, once as "q"'
    assert _refused({"q": "x", "search": "y"}).message == 'query is given twice, once as "search"'


def test_other_names_never_appear_in_the_schema() -> None:
    listed = set(_parameters(accepts_max_tokens=True, accepts_cursor=True).schema["properties"])
    assert not listed & {name for own in listed for name in PARAMETER_SYNONYMS.get(own, ())}


def test_a_fault_gives_the_pages_code_and_text() -> None:
    faults = {
        "limit": ArgumentErrorCode("INVALID_LIMIT"),
        "query": ArgumentErrorCode("QUERY_EMPTY", "A query is needed", frozenset({MISSING})),
    }
    assert _refused({"query": "x", "limit": 0}, argument_errors=faults).code == "INVALID_LIMIT"
    missing = _refused({}, argument_errors=faults)
    assert (missing.code, missing.message) == ("QUERY_EMPTY", "A query is needed")
    assert _refused({"query": 5}, argument_errors=faults).code == "INVALID_ARGUMENT"


def test_a_list_of_more_entries_than_any_tool_takes_is_not_looked_through() -> None:
    fault = {"tags": ArgumentErrorCode("INVALID_TAGS")}
    refused = _refused({"query": "x", "tags": [1] * 15_001}, argument_errors=fault)
    assert (refused.code, "a list of 15001 entries; at most 15000" in refused.message) == (
        "INVALID_TAGS",
        True,
    )
    refused = _refused({"query": "x", "tags": "a," * 15_000}, argument_errors=fault)
    assert "a list of 15001 entries; at most 15000" in refused.message
    tags = ["a"] * 15_000
    assert _parameters().validate({"query": "x", "tags": tags})["tags"] == tags


async def _manage(call: CallContext, action: Literal["list", "save", "drop"]) -> dict[str, Any]:
    """Manage things."""
    del call, action
    return {}


def test_read_only_keeps_only_the_reading_actions() -> None:
    tool = Tool("manage", _manage, "Manage", dict, reading_actions=("list",))
    reading = Parameters(tool, code="X", only_reading=True)
    assert reading.schema["properties"]["action"]["enum"] == ["list"]
    assert reading.validate({"action": "list"}) == {"action": "list"}
    with pytest.raises(InvalidArgument, match="this connection is read-only"):
        reading.validate({"action": "save"})


def test_a_value_is_shown_short_and_sendable() -> None:
    assert len(value_preview("x" * 500)) == 60
    assert value_preview("a\ud800b").encode() == '"a\ufffdb"'.encode()
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert value_preview(deep) == "a list"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(150))
@given(st.dictionaries(st.sampled_from(["query", "limit", "order", "tags", "q"]), json_values))
def test_whatever_is_sent_is_taken_as_it_is_or_refused_in_our_words(given_: dict[str, Any]) -> None:
    try:
        checked = _parameters().validate(given_)
    except InvalidArgument as error:
        text = error.message + error.hint
        assert "pydantic" not in text
        assert len(text) < 400
        assert pagination.replace_surrogates(text) == text
    else:
        assert isinstance(checked["query"], str)
        assert type(checked.get("limit", 1)) is int


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b", "\udfff"])
def test_text_the_store_cannot_keep_is_refused(bad: str) -> None:
    with pytest.raises(InvalidText) as caught:
        require_storable(bad, "title")
    assert caught.value.code == "INVALID_TEXT"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_every_other_text_is_storable(text: str) -> None:
    assert require_storable(text) == text
