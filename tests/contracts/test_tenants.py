"""Two tenants: nothing of one is seen, changed or even known to exist by the other.

Every parameter that takes an id, of every tool, is tried with an id of the other tenant. And
every statement that touches a table with a `user_id` is read: it must bind the caller's.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from rolltop.core.arguments import Parameters
from rolltop.core.db import SYSTEM
from rolltop.core.db.schema import metadata
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from tests.contracts.samples import SAMPLES, Stage, write_long_document
from tests.contracts.statements import is_owned, unbound, watched
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal

# How another tenant's id is made for each parameter that takes one.
FOREIGN: dict[str, Callable[[Stage], Any]] = {
    "user_id": lambda stage: stage.scope.user_id,
    "task_id": lambda stage: stage.task(),
    "parent_id": lambda stage: stage.task(),
    "blocked_by": lambda stage: [stage.task()],
    "scratch_id": lambda stage: stage.pad(),
    "cell_id": lambda stage: stage.cell()["cell_id"],
    "cell_ids": lambda stage: [stage.cell()["cell_id"]],
    "schema_id": lambda stage: stage.schema()["schema_id"],
    "id": lambda stage: stage.note(),
}
# What else is given, so that the id matters.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("scratch_schema", "schema_id"): {"action": "get"},
    ("note_manage", "id"): {"action": "restore", "version": 1, "local_version": 2},
}
# Where an id that is nobody's is no error: free to be taken, or gone already.
NO_ERROR = {("scratch_create", "scratch_id"), ("scratch_delete", "scratch_id")}
NOBODY_S = str(uuid.UUID(int=0xDEAD))
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|rolltop://\w+/[0-9a-f]{8}")


def takes_an_id(name: str) -> bool:
    """Whether a parameter's name says that it takes an id of something a tenant owns."""
    return name in FOREIGN or re.search(r"(^|_)ids?$", name) is not None


TAKING = [
    (tool.name, name)
    for toolset in TOOLSETS
    for tool in toolset.tools
    for name in Parameters(tool, code=toolset.argument_code).schema["properties"]
    if takes_an_id(name)
]


@pytest.fixture
def mine(database: Database, me: Principal, tmp_path: Path) -> Stage:
    desk = make_desk(database, roots=Roots.open({"docs": tmp_path}, base=tmp_path))
    write_long_document(tmp_path / "huge.md")
    return Stage(desk, me, tmp_path)


@pytest.fixture
def theirs(mine: Stage, them: Principal) -> Stage:
    return Stage(mine.desk, them, mine.folder)


def everything_of(stage: Stage) -> dict[str, list[Any]]:
    """Return every row that belongs to a stage's user."""

    def rows(tx: Tx) -> dict[str, list[Any]]:
        return {
            name: sorted(
                tx.execute(select(table).where(table.c.user_id == stage.scope.user_id)).all(),
                key=str,
            )
            for name, table in metadata.tables.items()
            if is_owned(name)
        }

    return stage.desk.database.read_sync(SYSTEM, rows)


def alike(nothing: Any, foreign: Any) -> Any:
    """Return an id of nobody's in the shape of a foreign one."""
    return [nothing] if isinstance(foreign, list) else nothing


def test_every_parameter_that_takes_an_id_is_tried() -> None:
    assert {name for _, name in TAKING} <= set(FOREIGN)
    assert TAKING


@pytest.mark.parametrize(("tool", "parameter"), TAKING)
def test_anothers_id_is_answered_exactly_like_one_that_does_not_exist(
    mine: Stage, theirs: Stage, tool: str, parameter: str
) -> None:
    foreign = FOREIGN[parameter](theirs)
    arguments = {**SAMPLES[tool](mine), **BESIDE.get((tool, parameter), {})}
    before = everything_of(theirs)
    answers = [
        call_tool(mine.desk, mine.scope, tool, **{**arguments, parameter: value})
        for value in (foreign, alike(NOBODY_S, foreign))
    ]
    refused = (tool, parameter) not in NO_ERROR
    assert all(answer.is_error == refused for answer in answers), answers[0].text
    tried, missing = (ID.sub("ID", answer.text) for answer in answers)
    assert tried == missing
    assert everything_of(theirs) == before


@pytest.mark.parametrize("tool", sorted(SAMPLES))
def test_every_statement_on_a_tenants_table_binds_the_caller(
    mine: Stage, theirs: Stage, tool: str
) -> None:
    theirs.task()
    arguments = SAMPLES[tool](mine)
    calls = [arguments]
    for name, parameter in TAKING:
        if name == tool and parameter != "user_id":
            own = FOREIGN[parameter](mine)
            calls.append({**arguments, parameter: own})
    with watched() as statements:
        for call in calls:
            call_tool(mine.desk, mine.scope, tool, **call)
    wrong = [unbound(*sent, mine.scope.user_id) for sent in statements.sent]
    assert [text for text in wrong if text] == []


def test_a_statement_without_its_owner_is_found() -> None:
    user = str(uuid.uuid4())
    good = "SELECT 1 FROM tasks WHERE tasks.user_id = ?"
    assert unbound(good, [user.replace("-", "")], user) == ""
    assert unbound(good, [str(uuid.uuid4())], user)
    assert unbound("DELETE FROM tasks WHERE id = ?", [user], user)
    joined = "SELECT 1 FROM tasks JOIN task_tags ON task_tags.task_id = tasks.id WHERE user_id = ?"
    assert unbound(joined, [user], user)
    assert unbound("INSERT INTO tasks (id, user_id) VALUES (?, ?)", [1, user], user) == ""
    assert unbound("SELECT 1 FROM users", [], user) == ""
