"""How large an answer is allowed to be where a project has settings of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import Implementation

from tests.server.apps import make_app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "limit"), [("codex-mcp-client", 2_400), ("claude-ai", 20_000), ("", 9_000)]
)
def test_a_projects_file_lowers_what_a_host_gets_and_never_raises_it(
    tmp_path: Path, name: str, limit: int
) -> None:
    async def ask(**settings: Any) -> Any:
        app = make_app(tmp_path, tmp_path, **settings)
        info = Implementation(name=name, version="1")
        async with Client(app.server, client_info=info) as client:
            answer = await client.call_tool("who_am_i", {})
        app.context.database.close()
        content: Any = answer.structured_content
        return content["budget"]

    for file, text in (
        ("rolltop.toml", "max_result_tokens = {}"),
        (".env", "ROLLTOP_MAX_RESULT_TOKENS={}"),
    ):
        for wanted in (20_000, 1_000):
            (tmp_path / file).write_text(text.format(wanted))
            assert asyncio.run(ask()) == min(limit, wanted)
    assert asyncio.run(ask(max_result_tokens=12_345)) == 12_345
