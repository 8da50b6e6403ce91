"""What happens to every call: arguments, deadline, budget, error shape, log line."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pytest

from rolltop.core import logging, pagination
from rolltop.core.dispatch import Answer, UnknownTool, dispatch, error_answer
from rolltop.core.errors import NotFound
from rolltop.core.principal import Principal
from rolltop.core.tools import Tool
from tests import witnesses
from tests.contracts.answer_shapes import output_schema
from tests.core.example_toolset import EXAMPLE, RELEASE, Echo
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext, CallContext
    from rolltop.core.db import Database

ME = Principal.for_user("me")
A_THING = "C8E1D413-4014-4be5-ba66-080b31d6daa6"


class _NoDatabase:
    """These tools use no store."""


@pytest.fixture
def desk() -> AppContext:
    return _desk()


def _desk(**settings: Any) -> AppContext:
    nothing: Any = _NoDatabase()
    database: Database = nothing
    return make_desk(database, toolsets=[EXAMPLE], settings=settings)


def test_text_and_structured_are_the_same_answer(desk: AppContext) -> None:
    answer = call_tool(desk, ME, "say", text='a "b" é')
    assert answer == Answer(
        {"said": 'a "b" é for me'}, '{"said":"a \\"b\\" é for me"}', is_error=False
    )
    assert json.loads(answer.text) == answer.structured


def test_a_cut_list_is_continued_by_sending_next_as_it_is(desk: AppContext) -> None:
    answer = call_tool(desk, ME, "count", last=500, max_tokens=200)
    seen: list[int] = []
    while True:
        assert pagination.count_tokens(answer.structured) <= 200
        seen += [item["n"] for item in answer.structured["items"]]
        if "next" not in answer.structured:
            break
        following = answer.structured["next"]
        assert following["arguments"]["max_tokens"] == 200
        answer = call_tool(desk, ME, following["tool"], **following["arguments"])
    assert seen == list(range(500))


def test_max_tokens_above_the_setting_is_the_setting() -> None:
    answer = call_tool(_desk(max_result_tokens=300), ME, "recite", lines=5000, max_tokens=9000)
    assert pagination.count_tokens(answer.structured) <= 300


def test_no_bound_unless_the_call_asks_for_one() -> None:
    desk = _desk(max_result_tokens=0)
    whole = call_tool(desk, ME, "recite", lines=20_000)
    assert "next" not in whole.structured
    assert (
        pagination.count_tokens(
            call_tool(desk, ME, "recite", lines=20_000, max_tokens=500).structured
        )
        <= 500
    )


async def numbers(call: CallContext, action: Literal["list", "save"]) -> dict[str, Any]:
    """Answer what no cutting of texts makes shorter."""
    del call, action
    return {"items": [{"n": n} for n in range(500)]}


def test_an_action_that_reads_keeps_to_its_budget_and_one_that_writes_is_answered() -> None:
    tool = Tool(
        *("numbers", numbers, "Numbers", Echo), accepts_max_tokens=True, reading_actions=("list",)
    )
    nothing: Any = _NoDatabase()
    desk = make_desk(nothing, toolsets=[replace(EXAMPLE, tools=(tool,))])
    refused = call_tool(desk, ME, "numbers", action="list", max_tokens=200)
    assert refused.code == "INVALID_ARGUMENT"
    assert "takes at least" in refused.structured["problem"]
    kept = call_tool(desk, ME, "numbers", action="save", max_tokens=200)
    assert not kept.is_error
    assert kept.structured["truncated"] is True


def test_next_carries_the_name_that_was_called(desk: AppContext) -> None:
    assert call_tool(desk, ME, "save_thing", name="x").structured == {"said": "save x"}
    bad = call_tool(desk, ME, "save_thing", action="list")
    assert bad.code == "INVALID_ARGUMENT"


def test_errors_take_the_toolsets_shape(desk: AppContext) -> None:
    answer = call_tool(desk, ME, "fail", how="conflict")
    assert answer.is_error
    assert answer.structured == {
        "problem": "It is at version 3, not 2",
        "code": "CONFLICT",
        "hint": "Read it again.",
    }


@pytest.mark.parametrize("details", [{}, {"path": "龘" * 500}, {"known": ["龘" * 100] * 9}])
def test_errors_keep_to_the_budget_that_was_asked_for(
    desk: AppContext, details: dict[str, Any]
) -> None:
    error = NotFound("There is none of " + "龘" * 300, hint="Look " * 300, data=details)
    answer = error_answer(desk, EXAMPLE, error, 200)
    assert pagination.count_tokens(answer.structured) <= 200
    assert answer.structured["problem"].startswith("There is")
    assert answer.structured["hint"].startswith("Look")
    assert error_answer(desk, EXAMPLE, error).structured["problem"] == error.message


@pytest.mark.parametrize("asked", [{}, {"max_tokens": 200}], ids=["setting", "call"])
def test_arguments_too_long_to_be_repeated_are_gone_on_with_by_the_cursor(
    asked: dict[str, int],
) -> None:
    long = "word " * 300
    seen: list[int] = []
    small, cursor = _desk(**({} if asked else {"max_result_tokens": 250})), {}
    while True:
        answer = call_tool(small, ME, "count", last=99, note=long, **asked, **cursor)
        assert pagination.count_tokens(answer.structured) <= asked.get("max_tokens", 250)
        seen += [item["n"] for item in answer.structured["items"]]
        if "next_cursor" not in answer.structured:
            break
        assert answer.structured["truncated"]
        assert "next" not in answer.structured
        cursor = {"cursor": answer.structured["next_cursor"]}
    assert seen == list(range(99))


@pytest.mark.usefixtures("logging_restored")
def test_a_fault_of_ours_shows_a_reference_and_nothing_else(
    desk: AppContext, tmp_path: Path
) -> None:
    logging.configure(level="trace", file=tmp_path / "log")
    answer = call_tool(desk, ME, "fail", how="fault")
    assert answer.code == "INTERNAL_ERROR"
    assert answer.structured["reference"] in answer.structured["problem"]
    logged = (tmp_path / "log").read_text()
    assert answer.structured["reference"] in logged
    assert "swordfish" not in logged + answer.text


def test_a_tool_that_answers_no_object_is_a_fault(desk: AppContext) -> None:
    assert call_tool(desk, ME, "fail", how="nothing").code == "INTERNAL_ERROR"


def test_the_deadline_ends_a_call() -> None:
    answer = call_tool(_desk(call_timeout=0.01), ME, "fail", how="wait")
    assert answer.code == "TIMEOUT"
    assert "0.01 s" in answer.structured["problem"]
    assert "read back" in answer.structured["hint"]


def test_a_read_that_took_too_long_is_not_told_of_writes() -> None:
    RELEASE.clear()
    answer = call_tool(_desk(call_timeout=0.01), ME, "stuck")
    RELEASE.set()
    assert answer.code == "TIMEOUT"
    assert "write" not in answer.structured["hint"]


def test_while_stopping_every_call_is_refused(desk: AppContext) -> None:
    desk.is_stopping = True
    assert call_tool(desk, ME, "say", text="x").code == "UNAVAILABLE"


def test_an_unknown_tool_is_not_a_tool_answer(desk: AppContext) -> None:
    with pytest.raises(UnknownTool):
        call_tool(desk, ME, "sya", text="x")


def test_a_cancelled_call_is_cancelled(desk: AppContext) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(dispatch(desk, "fail", ME, {"how": "wait"}))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_what_the_caller_sent_comes_back_sendable(desk: AppContext) -> None:
    answer = call_tool(desk, ME, "say", text="\ud800")
    assert answer.text.encode()
    assert "\ufffd" in answer.structured["said"]
    refused = call_tool(desk, ME, "say", **{"te\ud800xt": 1})
    assert refused.text.encode()


@pytest.mark.parametrize("tool", EXAMPLE.tools, ids=lambda tool: tool.name)
def test_published_schemas_accept_both_outcomes(desk: AppContext, tool: Any) -> None:
    schema = output_schema(EXAMPLE, tool)
    assert schema["type"] == "object"
    witnesses.validate(call_tool(desk, ME, tool.name, nonsense=1).structured, schema)


@pytest.mark.usefixtures("logging_restored")
def test_one_log_line_a_call_with_no_text_of_the_user(desk: AppContext, tmp_path: Path) -> None:
    logging.configure(level="trace", file=tmp_path / "log")
    call_tool(desk, ME, "say", text="marker-text")
    call_tool(desk, ME, "say", text=5, marker_argument="marker-text")
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 2
    assert "outcome=ok" in lines[0]
    assert "outcome=error code=INVALID_ARGUMENT" in lines[1]
    assert "marker" not in "".join(lines)


async def show(call: CallContext, thing_id: str) -> dict[str, Any]:
    """Answer which thing is meant."""
    del call
    return {"said": thing_id}


@pytest.mark.usefixtures("logging_restored")
def test_the_log_names_the_stored_things_by_their_ids_and_no_other_text(tmp_path: Path) -> None:
    nothing: Any = _NoDatabase()
    tool = Tool("show", show, "Show", Echo, is_read_only=True)
    desk = make_desk(nothing, toolsets=[replace(EXAMPLE, tools=(tool,))])
    logging.configure(level="info", file=tmp_path / "log")
    call_tool(desk, ME, "show", thing_id=A_THING)
    call_tool(desk, ME, "show", thing_id="marker-text")
    first, second = (tmp_path / "log").read_text().splitlines()
    assert f"thing_id={A_THING.lower()}" in first
    assert "thing_id" not in second


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("name", ["marker_id", "request_id", "x=1\n info call marker_id"])
def test_the_log_takes_no_name_of_an_argument_from_the_caller(
    desk: AppContext, tmp_path: Path, name: str
) -> None:
    logging.configure(level="info", file=tmp_path / "log")
    assert call_tool(desk, ME, "say", text="x", **{name: A_THING}).code == "INVALID_ARGUMENT"
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert "tool=say" in line
    assert "code=INVALID_ARGUMENT" in line
    assert "marker" not in line
    assert A_THING.lower() not in line
