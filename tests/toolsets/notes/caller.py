"""One user at a desk, calling the tools of notes by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.desks import call_tool

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal


@dataclass(frozen=True)
class Caller:
    """Calls tools for one scope."""

    desk: AppContext
    scope: Principal

    def ok(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a call that must succeed."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert not answer.is_error, answer.text
        return answer.structured

    def fails(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that must fail; every error says what to do next."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert answer.is_error, answer.text
        error = answer.structured["error"]
        assert error["resolution_hint"]
        assert error["code"] == answer.code
        return error

    def code(self, name: str, **arguments: Any) -> str:
        """Return the code of a call that must fail."""
        return self.fails(name, **arguments)["code"]

    def note(self, text: str = "Title\n\nbody\n", **fields: Any) -> str:
        """Return the id of a new note."""
        return self.ok("note_save", text=text, **fields)["id"]

    def get(self, note: str, **arguments: Any) -> dict[str, Any]:
        """Return a note as note_get shows it."""
        return self.ok("note_get", id=note, **arguments)

    def patch(self, note: str, version: int, *operations: Any, **more: Any) -> dict[str, Any]:
        """Return what a save by patch answers; an operation is (op, ln) or (op, ln, val)."""
        sent = [dict(zip(("op", "ln", "val"), operation, strict=False)) for operation in operations]
        return self.ok("note_save", id=note, local_version=version, text_patch=sent, **more)

    def listed(self, **filters: Any) -> list[str]:
        """Return the ids that note_list shows."""
        return [item["id"] for item in self.ok("note_list", **filters)["items"]]

    def titles(self, q: str | None = None, **filters: Any) -> list[str]:
        """Return the titles that note_list shows, sorted."""
        items = self.ok("note_list", q=q, limit=100, **filters)["items"]
        return sorted(item["title_prev"] for item in items)

    def manage(self, action: str, **arguments: Any) -> dict[str, Any]:
        """Return what note_manage answers."""
        return self.ok("note_manage", action=action, **arguments)

    def versions(self, note: str) -> list[int]:
        """Return the versions that history lists."""
        found = self.manage("history", id=note)["versions"]
        return [version["local_version"] for version in found]
