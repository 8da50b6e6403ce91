"""Completions of every kind of address, as a client is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_types import ResourceTemplateReference

from tests.server.apps import make_app
from tests.server.processes import MODERN
from tests.server.test_mcp_server import talk

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

COUNT: Final = 103
FILE, SECTION = "rolltop://file/{root}/{+path}{#lines}", "rolltop://section/{root}/{+path}{#id}"
ASKED: Final[list[tuple[str, str, dict[str, str]]]] = [
    *((f"rolltop://{kind}/{{id}}", "id", {}) for kind in ("note", "pad", "cell", "task")),
    (FILE, "path", {"root": "docs"}),
    (SECTION, "path", {"root": "docs"}),
    (SECTION, "id", {"root": "docs", "path": "f0.md"}),
]


def test_completions_that_are_cut_say_how_many_there_are(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    for number in range(COUNT):
        (root / f"f{number}.md").write_text("".join(f"# Part {at}\n" for at in range(COUNT)))
    cells = [{"content": str(number), "language": "txt"} for number in range(COUNT)]

    async def ask(client: Client) -> None:
        for number in range(COUNT):
            await client.call_tool("note_save", {"text": f"note {number}"})
            await client.call_tool("add_task", {"title": f"task {number}"})
            await client.call_tool("scratch_create", {"cells": cells} if number > COUNT - 2 else {})
        for template, name, context in ASKED:
            kind, argument = ResourceTemplateReference(uri=template), {"name": name, "value": ""}
            found = (await client.complete(kind, argument, context)).completion
            assert len(found.values) == 100, template
            assert (found.total, found.has_more) == (COUNT, True), template

    talk(make_app(tmp_path, retrieval__roots={"docs": root}), MODERN, ask)
