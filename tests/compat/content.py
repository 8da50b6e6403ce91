"""What a released store holds, put there and read back through the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.accounts import create_token, ensure_default
from rolltop.core.db import SYSTEM, Database
from rolltop.core.scope import Scope
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.desk import Desk

Call = tuple[str, dict[str, Any]]

FILLING: Final[tuple[Call, ...]] = (
    ("add_task", {"title": "Water the plants"}),
    ("add_task", {"title": "Żółć 😀", "description": "Ein Satz.\nUnd noch einer."}),
    ("add_task", {"title": "Pay the rent", "priority": 0, "due_at": "2026-02-01T08:00:00Z"}),
    ("add_task", {"title": "Pack", "tags": ["home", "größe"], "links": ["rolltop://note/1"]}),
)
QUESTIONS: Final[tuple[Call, ...]] = (("list_tasks", {"status": "all"}),)


def fill(database: Database) -> None:
    """Put something into every part of the store that has a writing tool."""
    desk, scope = _default(database)
    for name, arguments in FILLING:
        _data(desk, scope, name, arguments)
    (task, *_others) = _data(desk, scope, "list_tasks", {})
    _data(desk, scope, "complete_task", {"task_id": task["task_id"]})
    database.write_now(SYSTEM, create_token, scope.user_id, "laptop", read_only=True)


def answers(database: Database) -> list[Any]:
    """Return what the reading tools say about the store."""
    desk, scope = _default(database)
    return [_data(desk, scope, name, arguments) for name, arguments in QUESTIONS]


def missing(expected: Any, found: Any) -> list[str]:
    """Return what of `expected` is not in `found`; newer answers may say more than older ones."""
    if isinstance(expected, dict) and isinstance(found, dict):
        left, right = cast("dict[str, Any]", expected), cast("dict[str, Any]", found)
        lacks = {name: missing(value, right.get(name)) for name, value in left.items()}
        return [f"{name}: {lack}" for name, below in lacks.items() for lack in below]
    if isinstance(expected, list) and isinstance(found, list):
        before, now = cast("list[Any]", expected), cast("list[Any]", found)
        lacks = [missing(*pair) for pair in zip(before, now, strict=False)]
        shorter = [] if len(before) == len(now) else [f"{len(before)} became {len(now)} items"]
        return shorter + [lack for below in lacks for lack in below]
    return [] if expected == found else [f"{expected!r} became {found!r}"]


def _default(database: Database) -> tuple[Desk, Scope]:
    user = database.write_now(SYSTEM, ensure_default)
    return make_desk(database), Scope.of(user.id)


def _data(desk: Desk, scope: Scope, name: str, arguments: Mapping[str, Any]) -> Any:
    answer = call_tool(desk, scope, name, **arguments)
    assert not answer.is_error, answer.text
    return answer.structured["data"]
