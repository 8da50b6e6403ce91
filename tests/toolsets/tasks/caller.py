"""One user at a desk, calling tools by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.desks import call_tool

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal

UNKNOWN = "00000000-0000-0000-0000-000000000007"
"""The id of no task and no user."""


@dataclass(frozen=True)
class Caller:
    """Calls tools for one scope."""

    desk: AppContext
    scope: Principal

    def ok(self, name: str, **arguments: Any) -> Any:
        """Return the data of a call that must succeed."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert not answer.is_error, answer.text
        assert answer.structured["success"] is True
        return answer.structured["data"]

    def whole(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return all of the answer of a call that must succeed."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert not answer.is_error, answer.text
        return answer.structured

    def fails(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that must fail; every error says what to do next."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert answer.is_error, answer.text
        assert answer.structured["success"] is False
        assert answer.structured["hint"]
        return answer.structured

    def code(self, name: str, **arguments: Any) -> str:
        """Return the code of a call that must fail."""
        return self.fails(name, **arguments)["code"]

    def add(self, title: str = "a task", **fields: Any) -> str:
        """Return the id of a new task."""
        return self.ok("add_task", title=title, **fields)["task_id"]

    def task(self, task_id: str) -> dict[str, Any]:
        """Return a task as list_tasks shows it."""
        found = [t for t in self.ok("list_tasks", limit=200) if t["task_id"] == task_id]
        assert len(found) == 1, f"{len(found)} tasks {task_id}"
        return found[0]

    def titles(self, **filters: Any) -> list[str]:
        """Return the titles that list_tasks shows."""
        return [task["title"] for task in self.ok("list_tasks", **filters)]
