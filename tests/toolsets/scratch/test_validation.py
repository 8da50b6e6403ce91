"""Validation as the tools answer it: on writing, on asking, by schemas of the pad, in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.scratch import models
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from rolltop.toolsets.scratch.syntax.results import timeout_result
from tests.desks import answer_of, make_desk
from tests.toolsets.scratch.caller import Caller, cell

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

PAIR = {"type": "array", "minItems": 2}


def test_a_broken_cell_is_stored_with_its_diagnostics(mine: Caller) -> None:
    pad = mine.pad()
    sent = cell("def f(:\n    pass\n", "py", validate=True)
    answer = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)
    (result,) = answer["validation"]
    assert result["cell_id"] == answer["cell_id"]
    assert (result["cell_index"], result["language"], result["valid"]) == (0, "py", False)
    assert (result["errors"][0]["line"], result["details"]["syntax"]["passed"]) == (1, False)
    (shown,) = mine.read(pad)["cells"]
    assert shown["content"] == sent["content"]
    assert shown["validation"]["valid"] is False
    assert shown["validation"]["stale"] is False


def test_cells_that_do_not_ask_are_not_validated(mine: Caller) -> None:
    answer = mine.ok("scratch_create", cells=[cell("{", "json"), cell("{", "json", validate=True)])
    assert [result["cell_index"] for result in answer["validation"]] == [1]
    shown = mine.read(answer["scratchpad"]["scratch_id"])["cells"]
    assert "validation" not in shown[0]


def test_schemas_of_the_pad_count_from_the_very_next_validation(mine: Caller) -> None:
    metadata = {"schemas": {"pair": {"schema": PAIR}}}
    by_name = cell("[1]", "json", validate=True, json_schema="scratchpad://schemas/pair")
    answer = mine.ok("scratch_create", metadata=metadata, cells=[by_name])
    (result,) = answer["validation"]
    assert result["valid"] is False
    assert result["details"]["schema"]["name"] == "pair"
    pad = answer["scratchpad"]["scratch_id"]
    entry = mine.read(pad)["metadata"]["schemas"]["pair"]
    by_id = cell("[1]", "yaml", json_schema=f"scratchpad://schemas/{entry['id']}")
    mine.ok("scratch_append_cell", scratch_id=pad, cell=by_id)
    results = mine.ok("scratch_validate", scratch_id=pad)["results"]
    assert [result["valid"] for result in results] == [False, False]
    looser = {"id": entry["id"], "name": "pair", "schema": {"minItems": 1}}
    mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=looser)
    results = mine.ok("scratch_validate", scratch_id=pad)["results"]
    assert [result["valid"] for result in results] == [True, True]


def test_a_reference_to_a_schema_that_is_not_there_is_a_warning(mine: Caller) -> None:
    pad = mine.pad()
    sent = cell("[1]", "json", validate=True, json_schema="scratchpad://schemas/nothing")
    (result,) = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)["validation"]
    assert result["valid"] is True
    assert [warning["code"] for warning in result["warnings"]] == ["SCHEMA_REFERENCE_MISSING"]


def test_an_inline_schema_may_be_an_object_or_its_text(mine: Caller) -> None:
    pad = mine.pad()
    for schema in (PAIR, '{"type": "array", "minItems": 2}', "false"):
        sent = cell("[1]", "json", validate=True, json_schema=schema)
        (result,) = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)["validation"]
        assert result["valid"] is False


def test_validating_stored_cells_changes_nothing(mine: Caller) -> None:
    pad = mine.pad()
    ids = [mine.append(pad, text, "json") for text in ("{}", "{", "[")]
    before = mine.read(pad)
    results = mine.ok("scratch_validate", scratch_id=pad)["results"]
    assert [(r["cell_id"], r["cell_index"], r["valid"]) for r in results] == [
        (ids[0], 0, True),
        (ids[1], 1, False),
        (ids[2], 2, False),
    ]
    some = mine.ok("scratch_validate", scratch_id=pad, indices=[2, 0])["results"]
    assert some == [results[2], results[0]]
    named = mine.ok("scratch_validate", scratch_id=pad, cell_ids=[ids[1]])["results"]
    assert named == [results[1]]
    assert mine.code("scratch_validate", scratch_id=pad, indices=[3]) == "INVALID_INDEX"
    assert mine.read(pad) == before


def test_a_result_is_stale_after_the_content_or_the_validator_changed(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    pad = mine.pad()
    one = mine.append(pad, "{}", "json", validate=True)

    def stale() -> bool:
        return mine.read(pad)["cells"][0]["validation"]["stale"]

    assert stale() is False
    monkeypatch.setattr("rolltop.toolsets.scratch.service.read_response.VERSION", "later")
    assert stale() is True
    monkeypatch.undo()
    unchecked = cell("[]", "json")
    mine.ok("scratch_replace_cell", scratch_id=pad, cell_id=one, cell=unchecked)
    assert stale() is True


@pytest.mark.parametrize(
    ("language", "changed"),
    [
        ("json", {"json_schema": {"type": "array"}}),
        ("json", {}),
        ("yaml", {"json_schema": PAIR}),
        ("txt", {}),
    ],
)
def test_a_result_is_stale_after_the_language_or_the_schema_changed(
    mine: Caller, language: str, changed: dict[str, Any]
) -> None:
    pad = mine.pad()
    one = mine.append(pad, "[1]", "json", validate=True, json_schema=PAIR)
    named = {"scratch_id": pad, "cell_id": one}
    assert mine.read(pad)["cells"][0]["validation"]["stale"] is False
    unchecked = cell("[1]", "json", json_schema=PAIR)
    mine.ok("scratch_replace_cell", **named, cell=unchecked)
    assert mine.read(pad)["cells"][0]["validation"]["stale"] is False
    mine.ok("scratch_replace_cell", **named, cell=cell("[1]", language, **changed))
    (shown,) = mine.read(pad)["cells"]
    assert shown["validation"] == {"valid": False, "errors": 1, "warnings": 0, "stale": True}
    (broken,) = answer_of(mine.desk, mine.scope, "desk_resume")["broken"]
    assert "changed since" in broken["problem"]


def test_a_limit_on_time_stores_the_cell_and_ends_an_explicit_validation(
    database: Database, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller(make_desk(database, settings={"scratch.validation_timeout": 1}), me)
    validation = caller.desk.service(ScratchService).validation
    monkeypatch.setattr(validation, "validator", _Late())
    pad = caller.pad()
    sent = cell("{}", "json", validate=True)
    (result,) = caller.ok("scratch_append_cell", scratch_id=pad, cell=sent)["validation"]
    assert (result["valid"], result["warnings"][0]["code"]) == (True, "VALIDATION_TIMEOUT")
    assert result["details"]["syntax"]["checked"] is False
    (shown,) = caller.read(pad)["cells"]
    assert shown["content"] == "{}"
    assert "validation" not in shown  # nobody knows whether it is valid
    assert caller.code("scratch_validate", scratch_id=pad) == "VALIDATION_TIMEOUT"


class _Late:
    """A validator whose limit has always passed."""

    async def check(self, cells: list[Any]) -> list[Any]:
        return [timeout_result(1.0)] * len(cells)


def test_failed_validations_are_logged_without_content(
    mine: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="rolltop")
    mine.ok("scratch_create", cells=[cell('{"wholly private"', "json", validate=True)])
    lines = [record for record in caplog.records if record.message == "validation failed"]
    assert len(lines) == 1
    assert "wholly private" not in str(vars(lines[0]))


def test_the_schema_of_a_cell_is_read_back_as_it_was_sent(mine: Caller) -> None:
    reference = f"{models.SCHEMA_URI}x"
    pad = mine.pad()
    for schema in (PAIR, reference):
        mine.append(pad, "[]", "yml", json_schema=schema)
    assert [shown["json_schema"] for shown in mine.read(pad)["cells"]] == [PAIR, reference]


REFERENCES: dict[str, Any] = {
    "address": "scratchpad://schemas/a%20%2F%20pair%231",
    "reference": {"$ref": "scratchpad://schemas/a%20%2F%20pair%231"},
    "part of a schema": {"$ref": "scratchpad://schemas/a%20%2F%20pair%231#/$defs/two"},
    "bare name": " a / pair#1 ",
}


@pytest.mark.parametrize("given", REFERENCES.values(), ids=REFERENCES)
def test_the_schema_applied_is_named_however_it_is_referred_to(mine: Caller, given: Any) -> None:
    metadata = {"schemas": {"a / pair#1": {"schema": {**PAIR, "$defs": {"two": PAIR}}}}}
    sent = cell("[1]", "json", validate=True, json_schema=given)
    (result,) = mine.ok("scratch_create", metadata=metadata, cells=[sent])["validation"]
    assert [one["details"]["schema"] for one in result["errors"]] == ["a / pair#1"]
    assert result["details"]["schema"]["name"] == "a / pair#1"


def test_a_bare_id_names_a_schema_and_broken_json_does_not(mine: Caller) -> None:
    pad = mine.pad(metadata={"schemas": {"pair": {"schema": PAIR}}})
    schema_id = mine.read(pad)["metadata"]["schemas"]["pair"]["id"]
    sent = cell("[1]", "json", validate=True, json_schema=schema_id)
    (result,) = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)["validation"]
    assert result["details"]["schema"]["name"] == "pair"
    for broken in ('{"type": ', "[1]", '"pair"', "null"):
        code = mine.code(
            "scratch_append_cell", scratch_id=pad, cell={**sent, "json_schema": broken}
        )
        assert code == "VALIDATION_ERROR"


def schema_calls(pad: str, cell_id: str, schema: object) -> dict[str, dict[str, Any]]:
    """The calls that store a JSON Schema, by what they store it as."""
    of_cell = cell("[]", "json", json_schema=schema)
    of_pad = {"schemas": {"one": {"schema": schema}}}
    return {
        "create, cells": {"tool": "scratch_create", "cells": [of_cell]},
        "create": {"tool": "scratch_create", "metadata": of_pad},
        "update": {"tool": "scratch_update", "scratch_id": pad, "metadata": of_pad},
        "append": {"tool": "scratch_append_cell", "scratch_id": pad, "cell": of_cell},
        "replace": {
            "tool": "scratch_replace_cell",
            "scratch_id": pad,
            "cell_id": cell_id,
            "cell": of_cell,
        },
        "upsert": {
            "tool": "scratch_schema",
            "action": "upsert",
            "scratch_id": pad,
            "schema": {"schema": schema},
        },
    }


def test_patterns_of_schemas_are_compiled_where_they_hold_nobody_up(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[object] = []

    def compile_here(*given: Any, **_: Any) -> None:
        here.append(given)

    monkeypatch.setattr("jsonschema_rs.validator_for", compile_here)
    pad = mine.pad()
    one = mine.append(pad, "[]", "json")
    before = mine.read(pad)
    for name, call in schema_calls(pad, one, {"items": {"pattern": "(a"}}).items():
        error = mine.fails(call.pop("tool"), **call)
        assert error["code"] == "VALIDATION_ERROR", name
        assert "/items/pattern is not a regular expression" in error["message"]
    assert mine.read(pad)["cells"] == before["cells"]
    assert mine.listed() == [pad]
    for call in schema_calls(pad, one, {"patternProperties": {r"^([\w-.]+)$": {}}}).values():
        mine.ok(call.pop("tool"), **call)
    assert not here


def test_plain_patterns_need_no_other_process(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        raise AssertionError("a process was asked")

    plain = {"pattern": r"^[^@\s]+@[a-z.]{1,60}$", "properties": {"pattern": {"type": "string"}}}
    pad = mine.pad()
    monkeypatch.setattr("rolltop.toolsets.scratch.syntax.validator.Validator.check", refuse)
    mine.ok("scratch_update", scratch_id=pad, metadata={"schemas": {"one": {"schema": plain}}})


def test_a_schema_that_takes_too_long_to_judge_is_not_stored(
    database: Database, me: Principal
) -> None:
    hurried = Caller(make_desk(database, settings={"scratch.validation_timeout": 1}), me)
    slow = {"properties": {str(at): {"pattern": rf"(\pL{{1,20}}){{1,10}}{at}"} for at in range(99)}}
    error = hurried.fails("scratch_create", cells=[cell("[]", "json", json_schema=slow)])
    assert error["code"] == "VALIDATION_TIMEOUT"
    assert hurried.listed() == []
    hurried.desk.service(ScratchService).close()


def test_json_text_of_a_schema_holds_no_more_than_a_message(mine: Caller) -> None:
    text = f'{{"enum": [{"1, " * 50_000}1]}}'
    error = mine.fails("scratch_create", cells=[cell("1", "json", json_schema=text)])
    assert error["code"] == "VALIDATION_ERROR"
    assert "too large for JSON text" in error["message"]
