"""One user at a desk, calling the scratch tools by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolltop.core import token_counter
from tests.desks import call_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal

UNKNOWN = "00000000-0000-0000-0000-000000000007"
"""The id of no pad, cell or schema."""


def cell(content: str = "x = 1\n", language: str = "py", **fields: Any) -> dict[str, Any]:
    """Return a cell as a caller sends it."""
    return {"language": language, "content": content, **fields}


@dataclass(frozen=True)
class Caller:
    """Calls tools for one scope."""

    desk: AppContext
    scope: Principal

    def ok(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a call that must succeed."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert not answer.is_error, answer.text
        assert answer.structured["ok"] is True
        return answer.structured

    def fails(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that must fail; every error says what to do next."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert answer.is_error, answer.text
        assert answer.structured["ok"] is False
        error = answer.structured["error"]
        assert error["hint"]
        assert error["error"] == error["message"]
        assert error["code"] == answer.code
        return error

    def code(self, name: str, **arguments: Any) -> str:
        """Return the code of a call that must fail."""
        return self.fails(name, **arguments)["code"]

    def followed(self, name: str, most: int, /, **arguments: Any) -> Iterator[dict[str, Any]]:
        """Yield the answers, each within its budget, of a call followed to its end."""
        sent = {**arguments, "max_tokens": most}
        while True:
            answer = call_tool(self.desk, self.scope, name, **sent)
            assert not answer.is_error, answer.text
            assert answer.structured["ok"] is True
            assert token_counter.count(answer.text) <= sent["max_tokens"]
            yield answer.structured
            if "next" not in answer.structured:
                return
            assert answer.structured["truncated"] is True
            following = answer.structured["next"]
            assert following["arguments"] != sent
            name, sent = following["tool"], following["arguments"]

    def pad(self, *contents: str, **fields: Any) -> str:
        """Return the id of a new pad with plain-text cells."""
        cells = [cell(content, "txt") for content in contents]
        created = self.ok("scratch_create", **{"cells": cells, **fields})
        return created["scratchpad"]["scratch_id"]

    def read(self, pad: str, **arguments: Any) -> dict[str, Any]:
        """Return a pad as scratch_read shows it."""
        return self.ok("scratch_read", scratch_id=pad, **arguments)["scratchpad"]

    def contents(self, pad: str) -> list[str]:
        """Return the contents of a pad's cells, in order; their indices count up from 0."""
        cells = self.read(pad)["cells"]
        assert [shown["index"] for shown in cells] == list(range(len(cells)))
        return [shown["content"] for shown in cells]

    def cell_ids(self, pad: str) -> list[str]:
        """Return the ids of a pad's cells, in order."""
        return [shown["cell_id"] for shown in self.read(pad)["cells"]]

    def listed(self, **filters: Any) -> list[str]:
        """Return the ids that scratch_list shows."""
        pads = self.ok("scratch_list", **filters)["scratchpads"]
        return [pad["scratch_id"] for pad in pads]

    def append(self, pad: str, content: str = "x", language: str = "txt", **fields: Any) -> str:
        """Return the id of a new cell."""
        sent = cell(content, language, **fields)
        return self.ok("scratch_append_cell", scratch_id=pad, cell=sent)["cell_id"]
