"""The promises every tool keeps, tried on every tool of every toolset."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from rolltop.core import pagination, token_counter
from rolltop.core.accounts import add_user
from rolltop.core.arguments import Parameters
from rolltop.core.db import SYSTEM, Database
from rolltop.core.dispatch import ToolRegistry, ToolSelection, UnknownTool
from rolltop.core.errors import InvalidArgument
from rolltop.core.journal import history
from rolltop.core.principal import Principal
from rolltop.core.tool_schema import published_output_schema
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from tests import witnesses
from tests.contracts.answer_shapes import output_schema
from tests.contracts.samples import SAMPLES, Stage, fill
from tests.contracts.shapes import one_entry, plain_arguments, shapes
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rolltop.core.tools import Tool, Toolset

PAIRS = [(toolset, tool) for toolset in TOOLSETS for tool in toolset.tools]
every_tool = pytest.mark.parametrize(
    ("toolset", "tool"), PAIRS, ids=[tool.name for _, tool in PAIRS]
)
VARYING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}|\d{4}-\d\d-\d\dT[\d:.]+Z?|\d{10}"
    r"|rolltop://\w+/[0-9a-f]{8}|\"operation\":\"[0-9a-f]{8}\""
    r"|\"token\":\"[\w-]+\"|\"(duration_ms|memory_rss_mb|db_total_notes|total_items|total|score)\":[\d.]+"
)
UNKNOWN = "00000000-0000-0000-0000-000000000007"
STORELESS = [tool for toolset, tool in PAIRS if not toolset.needs_store]
WRONG: dict[str, Any] = {
    "string": 5,
    "integer": "five",
    "number": "[5]",
    "boolean": "yes",
    "array": "{'a'}",
    "object": [],
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return a desk with a lot on it. What depends on the database is tested elsewhere."""
    store, folder = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("docs")
    database = Database(f"sqlite:///{store / 'desk.db'}")
    database.open()
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)
    made = Stage(make_desk(database, roots=Roots.open({"docs": folder}, base=folder)), me, folder)
    fill(made)
    yield made
    database.close()


def _schema(toolset: Toolset, tool: Tool) -> dict[str, Any]:
    return Parameters(tool, code=toolset.argument_code).schema


def test_every_tool_has_a_sample() -> None:
    assert set(SAMPLES) == {tool.name for _, tool in PAIRS}


@pytest.mark.parametrize("tool", STORELESS, ids=[tool.name for tool in STORELESS])
def test_a_tool_that_needs_no_store_answers_without_one(
    stage: Stage, tmp_path: Path, tool: Tool
) -> None:
    gone = Database(f"sqlite:///{tmp_path / 'no' / 'folder' / 'desk.db'}")
    (tmp_path / "no").touch()
    bare = make_desk(gone, roots=stage.desk.roots)
    arguments = SAMPLES[tool.name](stage)
    answer = call_tool(bare, Principal.for_user(""), tool.name, **arguments)
    with_store = call_tool(stage.desk, stage.scope, tool.name, **arguments)
    assert not answer.is_error, answer.structured
    assert answer.structured.keys() == with_store.structured.keys()
    for key in answer.structured.keys() - {"meta"}:  # which says how long it took
        assert answer.structured[key] == with_store.structured[key]
    bare.close()


@every_tool
def test_a_tool_says_what_it_is(toolset: Toolset, tool: Tool) -> None:
    assert tool.title
    assert 0 < len(tool.description) <= 1000
    assert len(tool.description.split(".")[0]) <= 120
    assert not (tool.is_read_only and tool.destructive)
    schema = _schema(toolset, tool)
    assert schema["additionalProperties"] is False
    assert '"title":' not in json.dumps(schema).replace('"title": {', "")
    listed = Parameters(tool, code=toolset.argument_code).listed_schema
    assert "$" not in json.dumps(listed)  # no reference, which some hosts do not follow
    assert listed["properties"].keys() == schema["properties"].keys()
    assert listed.get("required") == schema.get("required")
    witnesses.validate({}, {**listed, "required": []})


def test_the_list_of_tools_is_small() -> None:
    offers = ToolRegistry(TOOLSETS).list_tools(Principal.for_user("me"))
    listed = [
        {"name": o.name, "description": o.description, "inputSchema": o.parameters.listed_schema}
        for o in offers
    ]
    most = {"tasks": 1200, "reader": 800, "scratch": 2300, "notes": 900, "retrieval": 900}
    most["desk"] = 740
    for toolset in TOOLSETS:
        names = {tool.name for tool in toolset.tools}
        own = [offer for offer in listed if offer["name"] in names]
        assert token_counter.count(pagination.compact_json(own)) <= most.get(toolset.name, 900)
    assert token_counter.count(pagination.compact_json(listed)) <= 5640


@every_tool
def test_an_answer_fits_its_schema_and_is_the_same_as_text(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    answer = call_tool(stage.desk, stage.scope, tool.name, **SAMPLES[tool.name](stage))
    assert not answer.is_error, answer.text
    assert json.loads(answer.text) == answer.structured
    assert answer.text == pagination.compact_json(answer.structured)
    witnesses.validate(answer.structured, output_schema(toolset, tool))
    witnesses.validate(answer.structured, published_output_schema(toolset, tool) or {})


@every_tool
@pytest.mark.parametrize("limit", [200, 700, 5000])
def test_no_answer_is_over_its_budget(
    stage: Stage, toolset: Toolset, tool: Tool, limit: int
) -> None:
    arguments = SAMPLES[tool.name](stage)
    desk = make_desk(
        stage.desk.database, roots=stage.desk.roots, settings={"max_result_tokens": limit}
    )
    answers = [call_tool(desk, stage.scope, tool.name, **arguments)]
    if tool.accepts_max_tokens:
        bounded = {**arguments, "max_tokens": limit}
        answers.append(call_tool(stage.desk, stage.scope, tool.name, **bounded))
    for answer in answers:
        assert token_counter.count(answer.text) <= limit
        witnesses.validate(answer.structured, output_schema(toolset, tool))


@every_tool
def test_a_cut_answer_carries_a_call_that_works(stage: Stage, toolset: Toolset, tool: Tool) -> None:
    arguments = SAMPLES[tool.name](stage)
    if not tool.accepts_max_tokens:
        return
    answer = call_tool(stage.desk, stage.scope, tool.name, **arguments, max_tokens=1000)
    for _ in range(5):
        following = answer.structured.get("next") or answer.structured.get("meta", {}).get("next")
        if not following:
            break
        assert '"truncated":true' in answer.text
        answer = call_tool(stage.desk, stage.scope, following["tool"], **following["arguments"])
        assert not answer.is_error, answer.text
        called = next(each for _, each in PAIRS if each.name == following["tool"])
        witnesses.validate(answer.structured, output_schema(toolset, called))


@every_tool
def test_each_bad_argument_is_named_and_nothing_is_guessed(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    good = SAMPLES[tool.name](stage)
    schema = _schema(toolset, tool)
    cases: list[tuple[str, dict[str, Any]]] = [("nonsense", {**good, "nonsense": 1})]
    for name, part in schema["properties"].items():
        if "type" in part:
            cases.append((name, {**good, name: WRONG[part["type"]]}))
        if name in schema.get("required", ()):
            cases.append((name, {k: v for k, v in good.items() if k != name}))
            cases.append((name, {**good, name: None}))
        if part.get("type") == "number":
            cases.append((name, {**good, name: float("nan")}))
    for name, arguments in cases:
        answer = call_tool(stage.desk, stage.scope, tool.name, **arguments)
        assert answer.is_error, (name, answer.text)
        assert answer.code in toolset.error_codes
        fault = tool.argument_errors.get(name)
        assert name in answer.text or (fault and fault.message), (name, answer.text)
        assert "pydantic" not in answer.text
        witnesses.validate(answer.structured, output_schema(toolset, tool))
        witnesses.validate(answer.structured, published_output_schema(toolset, tool) or {})


@every_tool
def test_a_call_repeated_with_its_key_answers_the_same_and_writes_nothing(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    if not tool.accepts_idempotency_key:
        assert "idempotency_key" not in _schema(toolset, tool)["properties"]
        return
    keyed = {**SAMPLES[tool.name](stage), "idempotency_key": str(uuid.uuid4())}
    first = call_tool(stage.desk, stage.scope, tool.name, **keyed)
    count = stage.desk.database.read_sync(stage.scope, history.last_sequence)
    assert call_tool(stage.desk, stage.scope, tool.name, **keyed) == first
    assert stage.desk.database.read_sync(stage.scope, history.last_sequence) == count


@every_tool
def test_what_is_searched_for_is_no_longer_than_can_be_parsed_at_once(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    for name in {"q", "query", "file_glob"} & _schema(toolset, tool)["properties"].keys():
        arguments = {**SAMPLES[tool.name](stage), name: "word " * 20_001}
        answer = call_tool(stage.desk, stage.scope, tool.name, **arguments)
        assert answer.is_error, answer.text
        assert f"{name} must be text of at most 100000 characters" in answer.text


def test_the_shape_of_lists_is_published_and_refuses_others() -> None:
    published = {tool.name: published_output_schema(toolset, tool) for toolset, tool in PAIRS}
    lists = {name for name, schema in published.items() if schema is not None}
    assert {"list_tasks", "scratch_search", "note_list", "repo_search", "list_sections"} <= lists
    assert not lists & {"add_task", "note_save", "note_get", "smart_read", "repo_open_file"}
    for name in lists:
        schema = published[name] or {}
        assert schema["type"] == "object"
        with pytest.raises(jsonschema.ValidationError):
            witnesses.validate({"strange": 1}, schema)


@every_tool
def test_a_user_who_was_deleted_meanwhile_is_no_fault_of_ours(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    nobody = Principal.for_user(str(uuid.uuid4()))
    answer = call_tool(stage.desk, nobody, tool.name, **SAMPLES[tool.name](stage))
    assert answer.code != "INTERNAL_ERROR"
    assert "user_id" not in answer.text.partition('"hint"')[2]
    if tool.name in {"add_task", "list_tasks", "next_task", "scratch_create"}:
        assert answer.code == "UNAVAILABLE"
        assert "user" in answer.text
        assert "deleted" in answer.text
    witnesses.validate(answer.structured, output_schema(toolset, tool))


@every_tool
def test_what_hosts_and_models_send_is_taken_as_the_plain_shape_is(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    def call(arguments: dict[str, Any]) -> str:
        """Return the answer without what differs between two calls."""
        answer = call_tool(stage.desk, stage.scope, tool.name, **arguments)
        assert not answer.is_error, (arguments, answer.text)
        return VARYING.sub("…", answer.text)

    def sample() -> dict[str, Any]:
        return plain_arguments(toolset, tool, SAMPLES[tool.name](stage))

    if tool.is_read_only:
        plain = sample()
        expected = call(plain)
        for name, sent in shapes(toolset, tool, plain):
            answer = call(sent)
            if answer != expected:  # vectors that were pending may be ready now
                expected = call(plain)
            assert answer == expected, name
        return
    names = [name for name, _ in shapes(toolset, tool, sample())]
    for name in names:
        (sent,) = (sent for way, sent in shapes(toolset, tool, sample()) if way == name)
        assert call(sent) == call(sample()), name


@every_tool
def test_one_value_is_taken_for_a_list_of_one(stage: Stage, toolset: Toolset, tool: Tool) -> None:
    parameters = Parameters(tool, code=toolset.argument_code)
    plain = plain_arguments(toolset, tool, SAMPLES[tool.name](stage))
    for name, part in parameters.short_schema["properties"].items():
        for entry in [one_entry(part)] if part.get("type") == "array" else []:
            listed = parameters.validate({**plain, name: [entry]})
            assert parameters.validate({**plain, name: entry}) == listed
            text = entry if isinstance(entry, str) else json.dumps(entry)
            assert parameters.validate({**plain, name: text}) == listed


@every_tool
def test_null_is_the_same_as_left_out(stage: Stage, toolset: Toolset, tool: Tool) -> None:
    schema = _schema(toolset, tool)
    nulls = {name: None for name in schema["properties"] if name not in schema.get("required", ())}
    good = SAMPLES[tool.name](stage)
    answer = call_tool(stage.desk, stage.scope, tool.name, **{**nulls, **good})
    assert not answer.is_error, answer.text


@every_tool
def test_an_unknown_argument_is_answered_with_the_nearest_name(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    name = next(iter(_schema(toolset, tool)["properties"]))
    answer = call_tool(stage.desk, stage.scope, tool.name, **{f"{name}x": "value"})
    assert answer.is_error
    assert f"did you mean {name}?" in answer.text


@pytest.mark.parametrize(
    ("tool", "given", "own"),
    [
        ("add_task", "desc", "description"),
        ("add_task", "prio", "priority"),
        ("update_task", "blocked", "blocked_by"),
        ("list_tasks", "before", "due_before"),
        ("claim_task", "lease", "lease_seconds"),
        ("scratch_create", "meta", "metadata"),
        ("scratch_read", "cells", "cell_ids"),
        ("scratch_validate", "cells", "cell_ids"),
        ("note_list", "preview", "preview_lines"),
        ("repo_search", "file", "file_glob"),
        ("smart_read", "style", "summary_style"),
        ("smart_read", "max_summary", "max_summary_tokens"),
        ("smart_read", "maxSummary", "max_summary_tokens"),
    ],
)
def test_a_short_or_longer_form_of_a_name_is_answered_with_it(
    stage: Stage, tool: str, given: str, own: str
) -> None:
    answer = call_tool(stage.desk, stage.scope, tool, **{given: "value"})
    assert f"did you mean {own}?" in answer.text


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        *(("list_sections", "end"), ("estimate_tokens", "model"), ("scratch_list", "name")),
        *(("update_task", "id_of"), ("next_task", "id"), ("list_tasks", "max")),
        *(("update_task", "end"), ("scratch_read", "line"), ("scratch_read", "lines")),
        *(("smart_read", "summary"), ("repo_open_file", "start"), ("note_list", "text")),
        *(("scratch_replace_cell", "new"), ("list_tasks", "by"), ("smart_read", "_")),
    ],
)
def test_a_name_of_something_else_is_answered_without_a_guess(
    stage: Stage, tool: str, given: str
) -> None:
    answer = call_tool(stage.desk, stage.scope, tool, **{given: "value"})
    assert answer.is_error
    assert "did you mean" not in answer.text


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("add_task", "status", "complete_task"),
        ("update_task", "status", "complete_task"),
        ("update_task", "state", "complete_task"),
        ("repo_open_file", "start_line", "repo_get_snippet"),
        ("repo_open_file", "offset", "repo_get_snippet"),
        ("repo_search", "pattern", "query"),
        ("repo_search", "-i", "case ignore"),
        ("repo_get_snippet", "line_range", "start_line"),
        ("smart_read", "limit", "max_tokens"),
        ("complete_task", "comment", "update_task"),
        ("note_save", "title", "first line"),
        ("desk_history", "limit", "cursor"),
        ("scratch_delete_cell", "index", "scratch_list_cells"),
        ("note_get", "end_line", "range_line_count"),
        ("scratch_create", "name", "metadata"),
        ("scratch_create", "content", "cells"),
        ("scratch_update", "schemas", "metadata"),
    ],
)
def test_what_a_tool_does_under_another_name_or_in_another_call_is_said(
    stage: Stage, tool: str, given: str, told: str
) -> None:
    answer = call_tool(stage.desk, stage.scope, tool, **{given: "value"})
    assert answer.is_error
    assert "did you mean" not in answer.text
    assert told in answer.text.partition(f"{tool} takes")[0]


@every_tool
def test_every_hint_about_an_argument_is_given(toolset: Toolset, tool: Tool) -> None:
    parameters = Parameters(tool, code=toolset.argument_code)
    for name, hint in tool.argument_hints.items():
        with pytest.raises(InvalidArgument) as caught:
            parameters.validate({name: "value"})
        assert caught.value.hint.startswith(hint), name


@pytest.mark.parametrize(
    ("tool", "given", "own"),
    [
        ("note_get", {"id": UNKNOWN, "start_line": 2}, "range_line_start"),
        ("scratch_read", {"id": UNKNOWN}, "scratch_id"),
        ("scratch_delete_cell", {"scratch_id": UNKNOWN, "id": UNKNOWN}, "cell_id"),
        ("read_section", {"file_path": "none.md", "id": "s1"}, "section_heading"),
    ],
)
def test_a_common_other_name_of_a_parameter_is_taken(
    stage: Stage, tool: str, given: dict[str, Any], own: str
) -> None:
    answer = call_tool(stage.desk, stage.scope, tool, **given)
    assert own not in answer.text
    assert "NOT_FOUND" in answer.text


def test_the_status_of_tasks_may_be_asked_for_as_their_state(stage: Stage) -> None:
    answer = call_tool(stage.desk, stage.scope, "list_tasks", state="none")
    assert "INVALID_STATUS" in answer.text


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("finish_task", "complete_task"),
        ("remove_task", "delete_task"),
        ("create_task", "add_task"),
        ("createTask", "add_task"),
        ("todo_write", "add_task"),
        ("read_file", "repo_open_file or repo_get_snippet or smart_read"),
        ("search_notes", "note_list"),
        ("create_note", "note_save"),
        ("create_scratchpad", "scratch_create"),
        ("add_cell", "scratch_append_cell"),
        ("search_code", "repo_search or repo_smart_search"),
        ("list_directory", "repo_list_dir"),
        ("count_tokens", "estimate_tokens"),
        ("grep", "repo_search"),
        ("cat", "repo_open_file"),
        ("summarize_document", "smart_read"),
        ("get_weather", None),
        ("update", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_another_servers_name_is_answered_with_the_tool_that_does_it(
    stage: Stage, asked: str, named: str | None
) -> None:
    with pytest.raises(UnknownTool) as caught:
        ToolRegistry(TOOLSETS).find(asked, stage.scope)
    assert caught.value.suggestion == named


@pytest.mark.parametrize("selection", [ToolSelection(), ToolSelection(use_aliases=True)])
def test_the_names_of_the_predecessors_code_are_taken(
    stage: Stage, selection: ToolSelection
) -> None:
    desk = make_desk(stage.desk.database, roots=stage.desk.roots, selection=selection)
    note = stage.note()
    patch = [{"operation": "mod", "line_number": 1, "value": "# Quay"}]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_notes", {"lim": 2, "date_after": "2001-01-01", "date_before": "2999-01-01"}),
        ("get_note", {"id": note, "l_ver": 2}),
        ("get_notes", {"id": note}),
        ("save_note", {"id": note, "l_ver": 2, "text_patch": patch}),
        ("save_notes", {"txt": "new"}),
        ("manage_note", {"act": "trash", "id": note, "l_ver": 3}),
        ("manage_notes", {"act": "get_stats"}),
    ]
    listed = {offer.name for offer in desk.registry.list_tools(stage.scope)}
    for name, arguments in calls:
        answer = call_tool(desk, stage.scope, name, **arguments)
        assert not answer.is_error, (name, answer.text)
        assert name not in listed


def test_read_only_lists_reading_tools_only() -> None:
    offers = ToolRegistry(TOOLSETS, ToolSelection(read_only=True)).list_tools(
        Principal.for_user("me")
    )
    assert offers
    assert all(offer.tool.is_read_only or offer.tool.reading_actions for offer in offers)


@every_tool
def test_a_reading_tool_writes_nothing_of_the_users(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    if not tool.is_read_only:
        return
    arguments = SAMPLES[tool.name](stage)
    before = call_tool(stage.desk, stage.scope, "list_tasks", limit=200).text
    call_tool(stage.desk, stage.scope, tool.name, **arguments)
    assert (
        toolset.name != "tasks"
        or before == call_tool(stage.desk, stage.scope, "list_tasks", limit=200).text
    )


@pytest.mark.parametrize("tool", [tool for _, tool in PAIRS], ids=lambda tool: tool.name)
def test_a_larger_budget_is_advised_only_where_it_can_be_had(stage: Stage, tool: Tool) -> None:
    arguments = SAMPLES[tool.name](stage)
    desk = make_desk(
        stage.desk.database, roots=stage.desk.roots, settings={"max_result_tokens": 230}
    )
    for more in ({}, {"max_tokens": 200}) if tool.accepts_max_tokens else ({},):
        answer = call_tool(desk, stage.scope, tool.name, **arguments, **more)
        for asked in map(int, re.findall(r'max_tokens"?[: ]"?(\d+)', answer.text)):
            assert asked <= 230, answer.text
            assert tool.accepts_max_tokens, answer.text
            if answer.is_error:
                larger = {**arguments, "max_tokens": asked}
                again = call_tool(desk, stage.scope, tool.name, **larger)
                assert not again.is_error, (answer.text, again.text)
