"""An empty server on the SDK Rolltop uses: its low-level Server, its stdio, one tool."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool


async def _list(_context: Any, _parameters: Any) -> ListToolsResult:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    return ListToolsResult(
        tools=[Tool(name="nothing", description="Nothing.", input_schema=schema)]
    )


async def _call(_context: Any, _parameters: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="{}")], structured_content={})


async def _serve() -> None:
    server = Server("empty", version="1", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(_serve)
