"""The resources rolltop://pad/<id> and rolltop://cell/<id>, completions, prompt, listeners."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from rolltop.core.context import CallContext
from rolltop.core.errors import NotFound
from rolltop.toolsets.scratch import TOOLSET
from tests.desks import wait_for
from tests.toolsets.scratch.caller import UNKNOWN, Caller, cell

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from tests.databases import Clock

PAD, CELL = TOOLSET.resource_templates


def resource(caller: Caller, kind: Any, wanted: str, budget: int = 20_000) -> Any:
    """Return a resource's JSON, which keeps to the budget."""
    text = wait_for(
        kind.read(CallContext(caller.desk, caller.scope, "resource", budget), id=wanted)
    )
    assert token_counter.count(text) <= budget
    return json.loads(text)


def completed(caller: Caller, kind: Any, typed: str) -> list[str]:
    """Return the ids offered for what was typed."""
    call = CallContext(caller.desk, caller.scope, "completion", 0)
    return wait_for(kind.complete(call, "id", typed, {}))


def test_a_pad_is_what_a_read_answers(mine: Caller, theirs: Caller) -> None:
    pad = mine.pad("a", "b", metadata={"title": "t"})
    assert resource(mine, PAD, pad) == mine.read(pad)
    for caller, wanted in ((theirs, pad), (mine, UNKNOWN)):
        with pytest.raises(NotFound):
            resource(caller, PAD, wanted)


def test_a_cell_is_what_a_read_answers_of_it(mine: Caller, theirs: Caller) -> None:
    pad = mine.pad("a", "b")
    shown = mine.read(pad)["cells"][1]
    assert resource(mine, CELL, shown["cell_id"]) == {"scratch_id": pad, **shown}
    mine.ok("scratch_delete", scratch_id=pad)
    for caller, wanted in ((theirs, shown["cell_id"]), (mine, UNKNOWN), (mine, shown["cell_id"])):
        with pytest.raises(NotFound):
            resource(caller, CELL, wanted)


def test_a_resource_over_the_budget_is_cut_and_names_the_call_that_goes_on(mine: Caller) -> None:
    pad = mine.pad(*["line of text\n" * 400] * 3)
    for kind, wanted in ((PAD, pad), (CELL, mine.cell_ids(pad)[0])):
        cut = resource(mine, kind, wanted, 700)
        assert cut["truncated"] is True
        assert mine.ok(cut["next"]["tool"], **cut["next"]["arguments"])["ok"]


@pytest.mark.parametrize("content", ["small", "", "line of text\n" * 400])
def test_a_cell_shows_whatever_its_pad_says_about_itself(mine: Caller, content: str) -> None:
    said = {"title": "t" * 9000, "x": "v " * 15_000, "y": [1] * 9000}
    pad = mine.pad(content, "other", metadata=said, tags=["t" * 200] * 30)
    (one, _other) = mine.ok("scratch_list_cells", scratch_id=pad)["cells"]
    shown = resource(mine, CELL, one["cell_id"], 1000)
    assert (shown["cell_id"], shown["scratch_id"]) == (one["cell_id"], pad)
    seen = shown["content"]
    if "next" in shown:
        going = shown["next"]
        for answer in mine.followed(going["tool"], 1000, **going["arguments"]):
            seen += answer["scratchpad"]["cells"][0]["content"]
    assert seen == content


@pytest.mark.parametrize(("digits", "least"), [("1", 300), ("a1", 350)])
def test_a_cell_with_long_fields_is_shown_whole_or_in_parts(
    mine: Caller, digits: str, least: int
) -> None:
    # What ids cost differs by two thirds, and decides whether all of this cell fits into 300.
    pad, one = (str(uuid.UUID(((first + digits) * 32)[:32])) for first in "12")
    fields = {"metadata": {"why": "because " * 34}, "tags": [f"tag {n}" for n in range(20)]}
    sent = {"cell_id": one, **cell("line of text\n" * 9, "txt", **fields)}
    mine.ok("scratch_create", scratch_id=pad, cells=[cell("other", "txt"), sent])
    complete = resource(mine, CELL, one)
    assert fields.items() <= complete.items()
    for limit in (250, 300, 350, 1000):
        shown = resource(mine, CELL, one, limit)
        if limit >= least:
            assert shown == complete
            continue
        assert (shown["cell_id"], shown["scratch_id"], shown["truncated"]) == (one, pad, True)
        seen, going = [shown], shown["next"]["arguments"]
        while going.get("max_tokens", limit) == limit:
            answer = mine.ok("scratch_read", **{**going, "max_tokens": limit})
            seen += answer["scratchpad"]["cells"]
            going = answer.get("next", {"arguments": {"max_tokens": 0}})["arguments"]
        assert "".join(part["content"] for part in seen) == complete["content"]
        assert all(part.keys() >= fields.keys() or shown["truncated"] for part in seen)


def test_ids_are_completed_from_the_begin_of_id_or_title(
    mine: Caller, theirs: Caller, clock: Clock
) -> None:
    ids: dict[str, str] = {}
    for title in ("Straße", "strasse", "other"):
        ids[title] = mine.pad("x", metadata={"title": title})
        clock.advance(seconds=1)
    theirs.pad("x", metadata={"title": "strasse"})
    assert completed(mine, PAD, "STRASSE") == [ids["strasse"], ids["Straße"]]
    assert completed(mine, PAD, ids["other"][:13].upper()) == [ids["other"]]
    assert completed(mine, PAD, "%") == []
    one = mine.cell_ids(ids["other"])[0]
    assert completed(mine, CELL, one[:13]) == [one]
    assert len(completed(mine, CELL, "")) == 3


def test_listeners_are_told_of_each_write(desk: AppContext, mine: Caller) -> None:
    told: list[str] = []
    desk.change_listeners.append(lambda _scope, uri: told.append(uri))
    pad = mine.pad()
    one = mine.append(pad)
    mine.code("scratch_append_cell", scratch_id=UNKNOWN, cell={"language": "txt", "content": ""})
    mine.ok("scratch_list")
    mine.ok("scratch_delete", scratch_id=pad)
    at = f"rolltop://pad/{pad}"
    assert told == [at, at, f"rolltop://cell/{one}", at]


def test_the_prompt_names_only_tools_that_exist() -> None:
    text = TOOLSET.prompts[0].render({"goal": "draw a map"})
    assert "draw a map" in text
    names = {tool.name for tool in TOOLSET.tools}
    named = {word.strip(".,;") for word in text.split() if word.startswith("scratch_")}
    assert named
    assert named <= names
