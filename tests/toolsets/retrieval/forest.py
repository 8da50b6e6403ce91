"""Trees of files with a desk over them, and what its tools answer, checked for what all keep to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolltop.core import token_counter
from rolltop.core.db import Database
from rolltop.core.principal import Principal
from rolltop.workspace import Roots
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext

SOMEBODY = Principal.for_user("00000000-0000-4000-8000-000000000001")


@dataclass
class Forest:
    """Roots below one folder, each in a folder of its name, and the tools over them."""

    top: Path
    desk: AppContext

    def put(self, name: str, content: str | bytes = "") -> Path:
        """Write the file `root/path` and return where it is."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a call that must succeed, within its budget and its envelope."""
        answer = call_tool(self.desk, SOMEBODY, tool, **arguments)
        assert not answer.is_error, answer.text
        assert token_counter.count(answer.text) <= arguments.get("max_tokens", 20_000)
        assert set(answer.structured) == {"result", "meta"}
        meta = answer.structured["meta"]
        assert meta["truncated"] is ("next" in meta or "next_cursor" in meta)
        assert meta["duration_ms"] >= 0
        assert str(self.top) not in answer.text
        return answer.structured

    def fails(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that must fail, which says what to do and shows no folder."""
        answer = call_tool(self.desk, SOMEBODY, tool, **arguments)
        assert answer.is_error, answer.text
        assert set(answer.structured) == {"error"}
        error = answer.structured["error"]
        assert set(error) == {"code", "message", "details", "hint"}
        assert error["message"]
        assert error["hint"]
        assert str(self.top) not in answer.text
        return error

    def code(self, tool: str, /, **arguments: Any) -> str:
        """Return the code of a call that must fail."""
        return self.fails(tool, **arguments)["code"]

    def pages(self, tool: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """Return all the answers that `next` leads to."""
        answers = [self.ok(tool, **arguments)]
        while (following := answers[-1]["meta"].get("next")) is not None:
            assert following["tool"] == tool
            answers.append(self.ok(tool, **following["arguments"]))
            assert len(answers) < 10_000
        return answers


def make_forest(
    top: Path, *names: str, settings: dict[str, Any] | None = None, allow_hidden: bool = False
) -> Forest:
    """Return a forest with roots of these names, on a store that is never opened."""
    for name in names:
        (top / name).mkdir(parents=True, exist_ok=True)
    roots = Roots.open({name: top / name for name in names}, base=top, allow_hidden=allow_hidden)
    store = Database(f"sqlite:///{top / 'unopened' / 'desk.db'}")
    own = {"data_dir": top / "data", **(settings or {})}
    return Forest(top, make_desk(store, roots=roots, settings=own))


def spoil(index: Path, damage: str) -> None:
    """Damage an index's file that nobody has open."""
    for ending in ("-wal", "-shm"):
        index.with_name(index.name + ending).unlink(missing_ok=True)
    data = index.read_bytes()
    spoilt = {
        "overwritten": data[:100] + b"\xa5" * (len(data) - 100),
        "cut": data[: len(data) // 2],
        "empty": b"",
    }
    index.write_bytes(spoilt[damage])
