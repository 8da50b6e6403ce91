"""The resource rolltop://task/<id>, its completions, the prompt, and what listeners are told."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.context import CallContext
from rolltop.core.errors import NotFound
from rolltop.core.principal import IMPERSONATE, READ, WRITE, Principal
from rolltop.toolsets.tasks import TOOLSET
from rolltop.toolsets.tasks.jobs import purge_trash
from rolltop.toolsets.tasks.models import MAX_LIST_LENGTH
from tests.desks import wait_for
from tests.toolsets.tasks.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from tests.databases import Clock

REFERENCE = TOOLSET.resource_templates[0]


def read(caller: Caller, task: str) -> object:
    """Return the resource's JSON."""
    call = CallContext(caller.desk, caller.scope, "resources/read", 0)
    found = wait_for(REFERENCE.read(call, id=task))
    assert isinstance(found, str)
    return json.loads(found)


def complete(caller: Caller, typed: str) -> list[str]:
    """Return the ids offered for what was typed."""
    call = CallContext(caller.desk, caller.scope, "completion/complete", 0)
    return wait_for(REFERENCE.complete(call, "id", typed, {}))


def test_the_resource_of_a_task_is_its_task_data(mine: Caller, theirs: Caller) -> None:
    task = mine.ok("add_task", title="Grüße 😀", tags=["x"])
    assert read(mine, task["task_id"]) == task
    for caller, wanted in ((theirs, task["task_id"]), (mine, theirs.scope.user_id)):
        with pytest.raises(NotFound):
            read(caller, wanted)
    mine.ok("delete_task", task_id=task["task_id"])
    with pytest.raises(NotFound):
        read(mine, task["task_id"])


def test_ids_are_completed_from_the_begin_of_title_or_id_newest_first(
    mine: Caller, theirs: Caller, clock: Clock
) -> None:
    ids: dict[str, str] = {}
    for title in ("Straße fegen", "strasse", "other"):
        ids[title] = mine.add(title)
        clock.advance(seconds=1)
    theirs.add("strasse")
    assert complete(mine, "STRASSE") == [ids["strasse"], ids["Straße fegen"]]
    assert complete(mine, ids["other"][:13].upper()) == [ids["other"]]
    assert complete(mine, "") == [ids["other"], ids["strasse"], ids["Straße fegen"]]
    assert complete(mine, "%") == []
    mine.ok("delete_task", task_id=ids["other"])
    assert complete(mine, "other") == []


def test_listeners_are_told_of_each_write_under_the_owner_s_scope(
    desk: AppContext, mine: Caller, theirs: Caller
) -> None:
    told: list[tuple[str, str]] = []
    desk.change_listeners.append(lambda scope, uri: told.append((scope.user_id, uri)))
    task = mine.add()
    mine.code("complete_task", task_id=theirs.scope.user_id)
    mine.ok("list_tasks")
    mine.ok("delete_task", task_id=task.upper())
    rights = frozenset({READ, WRITE, IMPERSONATE})
    anyone = Caller(desk, Principal.for_user(mine.scope.user_id, permissions=rights))
    other = anyone.add(user_id=theirs.scope.user_id.upper())
    assert told == [
        (mine.scope.user_id, f"rolltop://task/{task}"),
        (mine.scope.user_id, f"rolltop://task/{task}"),
        (theirs.scope.user_id, f"rolltop://task/{other}"),
    ]


def test_the_job_empties_the_trash(desk: AppContext, mine: Caller, clock: Clock) -> None:
    task = mine.add()
    mine.ok("delete_task", task_id=task)
    clock.advance(days=29)
    asyncio.run(purge_trash(desk))
    mine.ok("restore_task", task_id=task)
    mine.ok("delete_task", task_id=task)
    clock.advance(days=30)
    assert [job.name for job in TOOLSET.jobs] == ["tasks.purge_trash", "tasks.reopen_changed"]
    wait_for(TOOLSET.jobs[0].run(desk))
    clock.advance(days=-1)
    assert mine.code("restore_task", task_id=task) == "NOT_FOUND"


def test_the_prompt_names_the_goal_and_only_tools_that_exist() -> None:
    text = TOOLSET.prompts[0].render({"goal": "ship 1.0"})
    assert "ship 1.0" in text
    names = {tool.name for tool in TOOLSET.tools}
    assert {
        word.strip(".,;") for word in text.split() if word.strip(".,;").endswith("_task")
    } <= names


@pytest.mark.parametrize("steps", [2, MAX_LIST_LENGTH - 1])
def test_work_planned_as_the_prompt_says_comes_step_by_step_and_the_goal_last(
    mine: Caller, steps: int
) -> None:
    text = TOOLSET.prompts[0].render({"goal": "ship 1.0"})
    assert f"One call takes {MAX_LIST_LENGTH}." in text
    plan: list[dict[str, Any]] = [{"title": "step 0"}]
    plan += [{"title": f"step {n}", "blocked_by": [n - 1]} for n in range(1, steps)]
    plan.append({"title": "ship 1.0", "blocked_by": list(range(steps))})
    mine.ok("add_task", tasks=plan)
    for one in plan:
        ready = mine.ok("next_task")
        assert ready["title"] == one["title"]
        token = mine.ok("claim_task", task_id=ready["task_id"])["claim"]["token"]
        mine.ok("complete_task", task_id=ready["task_id"], token=token)
    assert mine.ok("next_task") is None
