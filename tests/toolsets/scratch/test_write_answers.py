"""What writes answer: little, unless more is asked for, and within any budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import pagination, token_counter
from tests.desks import make_desk
from tests.toolsets.scratch.caller import Caller, cell

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_TOKENS = 120
METADATA = {"title": "Ledger", "description": "of the harbour", "owner": ["me", None]}


def tokens_beyond_ids(answer: dict[str, Any]) -> int:
    """Count an answer's tokens but those of its ids."""
    return token_counter.count(ID.sub("", pagination.compact_json(answer)))


def test_a_write_answers_what_it_wrote_and_the_version(mine: Caller) -> None:
    created = mine.ok("scratch_create", metadata=METADATA, tags=["pad"])
    pad = created["scratchpad"]["scratch_id"]
    named = {"scratch_id": pad, "uri": f"rolltop://pad/{pad[:8]}"}
    head = {**named, "namespace": "default", "title": "Ledger"}
    assert created == {"ok": True, "scratchpad": {**head, "version": 1, "cell_count": 0}}
    sent = cell("[1]", "json", tags=["a"], validate=True)
    added = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)
    one = added["cell_id"]
    shown = {"cell_id": one, "uri": f"rolltop://cell/{one[:8]}", "index": 0, "language": "json"}
    result = {"cell_index": 0, "cell_id": one, "language": "json"}
    assert added == {
        "ok": True,
        "scratchpad": {
            **head,
            "version": 2,
            "cell_count": 1,
            "cells": [{**shown, "version": 1, "tags": ["a"], "validate": True}],
        },
        "cell_id": one,
        "validation": [{**result, "valid": True, "errors": [], "warnings": []}],
    }
    edits = [{"old": "1", "new": "2"}]
    edited = mine.ok("scratch_edit_cell", scratch_id=pad, cell_id=one, edits=edits)
    assert edited["scratchpad"]["cells"][0]["version"] == 2
    mine.append(pad, "other")
    replaced = mine.ok("scratch_replace_cell", scratch_id=pad, index=0, cell=cell("x", "txt"))
    # Tags stay, and the other cell is not listed.
    (now,) = replaced["scratchpad"]["cells"]
    assert now == {**shown, "language": "txt", "version": 3, "tags": ["a"]}
    updated = mine.ok("scratch_update", scratch_id=pad, tags=[])
    assert updated == {"ok": True, "scratchpad": {**head, "version": 6, "cell_count": 2}}
    deleted = mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=one)
    assert deleted == {
        "ok": True,
        "scratchpad": {**head, "version": 7, "cell_count": 1},
        "cell_id": one,
        "deleted": True,
    }
    mine.ok("scratch_delete", scratch_id=pad)
    restored = mine.ok("scratch_restore", scratch_id=pad)
    assert restored == {"ok": True, "scratchpad": {**head, "version": 9, "cell_count": 1}}
    for answer in (created, added, edited, replaced, updated, deleted, restored):
        assert tokens_beyond_ids(answer) <= MAX_TOKENS


def test_a_result_says_what_is_wrong_and_nothing_that_is_empty(mine: Caller) -> None:
    pad = mine.pad(metadata={"schemas": {"pair": {"schema": {"minItems": 2}}}})

    def result(content: str, language: str, **fields: Any) -> dict[str, Any]:
        sent = cell(content, language, validate=True, **fields)
        (found,) = mine.ok("scratch_append_cell", scratch_id=pad, cell=sent)["validation"]
        return found

    wrong = result("{", "json")
    assert wrong["valid"] is False
    assert "details" not in wrong["errors"][0]
    assert set(wrong["details"]) == {"syntax"}
    broken = result("[1]", "json", json_schema="pair")
    assert broken["details"]["schema"] == {"performed": True, "passed": False, "name": "pair"}
    assert "details" not in result("[1, 2]", "json", json_schema="pair")
    assert result("a", "txt")["details"].keys() == {"syntax"}
    # Asked for, a validation says all.
    checked = mine.ok("scratch_validate", scratch_id=pad)["results"]
    assert all(set(one["details"]) == {"syntax", "schema", "analysis"} for one in checked)


@pytest.mark.parametrize("by", ["argument", "setting"])
def test_a_verbose_write_answers_the_whole_head(database: Database, me: Principal, by: str) -> None:
    settings = {"scratch.write_answers": "full"} if by == "setting" else {}
    caller = Caller(make_desk(database, settings=settings), me)
    more = {"verbose": True} if by == "argument" else {}
    schemas = {"pair": {"schema": {"minItems": 2}}}
    created = caller.ok("scratch_create", metadata={**METADATA, "schemas": schemas}, **more)
    pad = created["scratchpad"]["scratch_id"]
    caller.append(pad, "other", tags=["o"])
    answer = caller.ok("scratch_append_cell", scratch_id=pad, cell=cell(tags=["t"]), **more)
    shown = answer["scratchpad"]
    read = caller.read(pad)
    assert [one["cell_id"] for one in shown.pop("cells")] == [answer["cell_id"]]
    assert "content" not in str(answer)
    del read["cells"]
    assert {**read, "last_access_at": None} == {**shown, "last_access_at": None}
    assert shown["metadata"]["schemas"]["pair"]["schema"] == {"minItems": 2}
    for tool, arguments in (
        ("scratch_update", {"tags": ["x"]}),
        ("scratch_delete_cell", {"cell_id": answer["cell_id"]}),
    ):
        shown = caller.ok(tool, scratch_id=pad, **arguments, **more)["scratchpad"]
        assert shown["metadata"]["owner"] == ["me", None]


def test_under_the_seeds_names_a_write_answers_the_whole_pad(
    database: Database, me: Principal
) -> None:
    caller = Caller(make_desk(database, settings={"names": "seed"}), me)
    pad = caller.pad("a", "b", metadata=METADATA)
    answer = caller.ok("scratch_append_cell", scratch_id=pad, cell=cell("c", "txt", validate=True))
    shown, read = answer["scratchpad"], caller.read(pad)
    assert {**read, "last_access_at": None} == {**shown, "last_access_at": None}
    assert [one["content"] for one in shown["cells"]] == ["a", "b", "c"]
    assert set(answer["validation"][0]["details"]) == {"syntax", "schema", "analysis"}
    assert caller.ok("scratch_create")["scratchpad"]["cells"] == []
    for _ in range(3):
        caller.append(pad, "line\n" * 5000)
    small = Caller(make_desk(database, settings={"names": "seed", "max_result_tokens": 650}), me)
    cut = small.ok("scratch_append_cell", scratch_id=pad, cell=cell("d", "txt"))
    assert pagination.count_tokens(cut) <= 650
    assert [one["content"] for one in cut["scratchpad"]["cells"]] == ["a", "b", "c"]
    assert cut["truncated"] is True
    assert cut["next"] == {"tool": "scratch_read", "arguments": {"scratch_id": pad}}


TAGS = [f"{n} " + "t" * 150 for n in range(60)]


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("limit", [200, 300, 1000])
def test_an_answer_to_a_write_fits_any_budget_and_invents_nothing(
    database: Database, me: Principal, limit: int, verbose: Any
) -> None:
    caller = Caller(make_desk(database, settings={"max_result_tokens": limit}), me)
    whole = Caller(make_desk(database, settings={"max_result_tokens": 0}), me)
    labels = {"title": "t " * 2000, "numbers": list(range(5000))}
    pad = whole.pad(metadata=labels, tags=TAGS)
    sent = cell('{"a": [' + "1 " * 300, "json", tags=TAGS, validate=True)
    answers = [
        caller.ok("scratch_append_cell", scratch_id=pad, cell=sent, verbose=verbose),
        caller.ok("scratch_update", scratch_id=pad, metadata={"x": 1}, verbose=verbose),
        caller.ok("scratch_create", cells=[sent] * 30, tags=TAGS, verbose=verbose),
    ]
    for answer in answers:
        assert pagination.count_tokens(answer) <= limit
        assert answer["truncated"] is True
        assert whole.ok(answer["next"]["tool"], **answer["next"]["arguments"])["ok"]
        assert not re.search(r"\d more|\"…\"\]", pagination.compact_json(answer))
        shown = answer["scratchpad"]
        for part in (shown, *shown.get("cells", [])):
            tags = part.get("tags", TAGS)
            begun = [tag.startswith(one.rstrip("…")) for tag, one in zip(TAGS, tags, strict=True)]
            assert all(begun)
    added = answers[0]
    assert (added["cell_id"], added["scratchpad"]["version"]) == (whole.cell_ids(pad)[0], 2)
