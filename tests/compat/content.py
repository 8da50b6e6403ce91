"""What a released store holds, put there and read back through the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.accounts import create_token, ensure_default_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rolltop.core.context import AppContext

Call = tuple[str, dict[str, Any]]
PASSING: Final = {"last_access_at", "stale", "score"}
"""When it was read, whether the validator is the same, how good a hit is."""

FILLING: Final[tuple[Call, ...]] = (
    ("add_task", {"title": "Water the plants"}),
    ("add_task", {"title": "Żółć 😀", "description": "Ein Satz.\nUnd noch einer."}),
    ("add_task", {"title": "Pay the rent", "priority": 0, "due_at": "2026-02-01T08:00:00Z"}),
    ("add_task", {"title": "Pack", "tags": ["home", "größe"], "links": ["rolltop://note/1"]}),
)
PAD: Final = "0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01"
TRASHED: Final = "0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e02"
CELL: Final = "0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03"
PADS: Final[tuple[Call, ...]] = (
    (
        "scratch_create",
        {
            "scratch_id": PAD,
            "namespace": "größe",
            "tags": ["home", "日本"],
            "metadata": {
                "title": "Żółć 😀",
                "kept": [1, None, {"deep": True}],
                "schemas": {"pair": {"schema": {"type": "array", "minItems": 2}}},
            },
            "cells": [
                {
                    "cell_id": CELL,
                    "language": "json",
                    "content": "[1]\n",
                    "validate": True,
                    "json_schema": "scratchpad://schemas/pair",
                    "tags": ["pairs"],
                    "metadata": {"from": "nowhere"},
                },
                {"language": "md", "content": "# Walrus\n\ncamelCase und Straße\n"},
                {"language": "txt", "content": ""},
            ],
        },
    ),
    ("scratch_create", {"scratch_id": TRASHED, "cells": [{"language": "txt", "content": "gone"}]}),
    ("scratch_delete", {"scratch_id": TRASHED}),
    ("scratch_namespace", {"action": "create", "namespace": "empty"}),
)
NOTES: Final[tuple[Call, ...]] = (
    ("note_save", {"text": "Shelf\nA walrus and Żółć 😀", "tags": ["größe"]}),
    ("note_save", {"text": " ".join(f"w{n}" for n in range(100))}),
)
QUESTIONS: Final[tuple[Call, ...]] = (
    ("list_tasks", {"status": "all"}),
    ("scratch_read", {"scratch_id": PAD}),
    ("scratch_validate", {"scratch_id": PAD}),
    ("scratch_list_tags", {}),
    ("scratch_restore", {}),
    ("scratch_namespace", {"action": "list"}),
    ("scratch_search", {"query": "walrus", "mode": "words"}),
    ("note_list", {"q": "walrus"}),
)


def fill(database: Database) -> None:
    """Put something into every part of the store that has a writing tool."""
    desk, scope = _default(database)
    for name, arguments in (*FILLING, *PADS, *NOTES):
        _data(desk, scope, name, arguments)
    (task, *_others) = _data(desk, scope, "list_tasks", {})
    _data(desk, scope, "complete_task", {"task_id": task["task_id"]})
    database.write_sync(SYSTEM, create_token, scope.user_id, "laptop", read_only=True)


def answers(database: Database, tools: Collection[str] | None = None) -> dict[str, Any]:
    """Return what the reading tools, all or some, say about the store."""
    desk, scope = _default(database)
    return {
        name: _settled(_data(desk, scope, name, arguments))
        for name, arguments in QUESTIONS
        if tools is None or name in tools
    }


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


def _default(database: Database) -> tuple[AppContext, Principal]:
    user = database.write_sync(SYSTEM, ensure_default_user)
    return make_desk(database), Principal.for_user(user.id)


def _data(desk: AppContext, scope: Principal, name: str, arguments: Mapping[str, Any]) -> Any:
    answer = call_tool(desk, scope, name, **arguments)
    assert not answer.is_error, answer.text
    return answer.structured.get("data", answer.structured)


def _settled(value: Any) -> Any:
    """Return an answer without what each call or each validator says anew."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {k: _settled(v) for k, v in entries.items() if k not in PASSING}
    return [_settled(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
