"""Calls of every tool with drawn arguments: those that succeed, and what is sent by mistake.

Each answer has its shape, fits its budget and is no INTERNAL_ERROR, whatever was sent. What answers
name (ids, addresses, cursors) is sent in later calls.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import pagination, token_counter
from rolltop.core.arguments import Parameters
from rolltop.core.dispatch import dispatch
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from tests import witnesses
from tests.campaign import examples, is_full
from tests.contracts.answer_shapes import output_schema
from tests.contracts.samples import LONG_DOCUMENT, SAMPLES, Stage, write_long_document
from tests.desks import make_desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from rolltop.core.tools import Tool, Toolset

CALLS = examples(1_000 if is_full() else 400)
TOOLS: dict[str, tuple[Toolset, Tool]] = {
    tool.name: (toolset, tool) for toolset in TOOLSETS for tool in toolset.tools
}
SCHEMAS: dict[str, dict[str, Any]] = {
    name: Parameters(tool, code=toolset.argument_code).schema
    for name, (toolset, tool) in TOOLS.items()
}
NAMED = re.compile(r'"(?:\w*(?:id|uri|cursor|operation|path|token))":"([^"\\]+)"')
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**63, -(10**30), 0.5, -0.0, 1e308),
    *(
        "",
        " ",
        "\n",
        "a",
        "*",
        "**/*",
        "%",
        "_",
        "'",
        '"',
        "\\",
        "\0",
        "\ud800",
        "\u202e",
        "😀" * 99,
    ),
    *("null", "true", "[]", "{}", '["a"]', "0", "-1", "1e9", "9" * 40, "NaN", "2026-13-45"),
    *("9999-12-31T23:59:59Z", "0001-01-01", "2026-02-30T25:61:00", "now", "tomorrow", "P1D"),
    *("00000000-0000-0000-0000-000000000000", "ffffffff", "deadbeef", "me", "docs", "code"),
    *("../../etc/passwd", "/etc/passwd", "docs/../..", "a/" * 200, "CON", "file:///etc/passwd"),
    *("rolltop://note/ffffffff", "rolltop://file/docs/x#L9-1", "rolltop://", "https://[::1"),
    *("(?<=a)+", "(a+)+$", "[", "\\A", "\\p{L}", "x" * 5_000, "a b " * 2_000, "SELECT 1; --"),
    *([], {}, [None], [[]], {"": None}, {"a": {"b": []}}, ["a", 1], [{"old": "", "new": ""}]),
)


class Caller:
    """Draws calls by a seed, and remembers what answers named."""

    def __init__(self, stage: Stage, seed: str) -> None:
        self._stage = stage
        self.random = random.Random(seed)  # noqa: S311  # the same each time
        self._named: list[str] = []

    def draw(self) -> tuple[str, dict[str, Any]]:
        """Return a tool and arguments for it."""
        name = self.random.choice(list(TOOLS))
        arguments: dict[str, Any] = SAMPLES[name](self._stage)
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            arguments = self._change(name, arguments)
        if "wait_seconds" in arguments:
            arguments["wait_seconds"] = 0
        return name, arguments

    def remember(self, text: str) -> None:
        """Keep some of what an answer names."""
        found = NAMED.findall(text)
        self._named = [*self._named, *found[:3], *found[-2:]][-200:]

    def _change(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        changed = deepcopy(arguments)
        declared: dict[str, Any] = SCHEMAS[name]["properties"]
        parameter = self.random.choice(list(declared))
        match self.random.randrange(5):
            case 0:
                changed.pop(parameter, None)
            case 1 if self._named:
                changed[parameter] = self.random.choice(self._named)
            case 2:
                self._change_inside(changed)
            case 3:
                changed[parameter] = self._plausible(declared[parameter])
            case _:
                changed[parameter] = self._odd()
        return changed

    def _change_inside(self, value: Any) -> None:
        """Put something odd somewhere below."""
        while True:
            keys: list[Any] = [*value] if hasattr(value, "keys") else [*range(len(value))]
            if not keys:
                return
            key = self.random.choice(keys)
            goes_on = hasattr(value[key], "append") or hasattr(value[key], "keys")
            if not goes_on or self.random.random() < 0.3:
                value[key] = self._odd()
                return
            value = value[key]

    def _plausible(self, schema: dict[str, Any]) -> Any:
        """Return a value that the declared type has."""
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        match schema.get("type"):
            case "integer":
                return self.random.choice((0, 1, 2, 5, 50, 1000))
            case "boolean":
                return self.random.random() < 0.5
            case "array":
                items = schema.get("items", {})
                return [self._plausible(items) for _ in range(self.random.randrange(4))]
            case "object":
                parts = schema.get("properties", {})
                return {
                    part: self._plausible(parts[part])
                    for part in parts
                    if self.random.random() < 0.6
                }
            case _:
                words = ["harbour", "storm", "md", "json", "pending", "a, b", "2027-01-31", "1d"]
                return self.random.choice([*words, *self._named[-20:]])

    def _odd(self) -> Any:
        return deepcopy(self.random.choice(ODD))


@pytest.fixture
def stage(database: Database, me: Principal, tmp_path: Path) -> Iterator[Stage]:
    folder = tmp_path / "docs"
    folder.mkdir()
    write_long_document(folder / LONG_DOCUMENT)
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "log.txt").write_text("storm\n" * 300)
    desk = make_desk(database, roots=Roots.open({"docs": folder}, base=folder))
    yield Stage(desk, me, folder)
    desk.close()


def test_any_call_gets_an_answer_of_its_shape(stage: Stage, database: Database) -> None:
    seed = f"1 {database.url_kind}"
    caller = Caller(stage, seed)
    succeeded = 0
    limit: int = stage.desk.settings["max_result_tokens"]

    async def call_all() -> None:
        nonlocal succeeded
        for number in range(CALLS):
            name, arguments = await asyncio.to_thread(caller.draw)
            answer = await dispatch(stage.desk, name, stage.scope, arguments)
            said = f"{seed}, call {number}: {name} {ascii(arguments)[:1500]}: {answer.text[:500]}"
            toolset, tool = TOOLS[name]
            assert answer.code != "INTERNAL_ERROR", said
            assert answer.code is None or answer.code in toolset.error_codes, said
            assert answer.text == pagination.compact_json(answer.structured), said
            assert json.loads(answer.text) == answer.structured, said
            assert token_counter.count(answer.text) <= limit, said
            try:
                witnesses.validate(answer.structured, output_schema(toolset, tool))
            except Exception as failure:
                raise AssertionError(said) from failure
            succeeded += not answer.is_error
            caller.remember(answer.text)

    asyncio.run(call_all())
    assert succeeded >= CALLS // 4
