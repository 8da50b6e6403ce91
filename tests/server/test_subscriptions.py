"""Who is told of a change, and by which address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.core.principal import Principal
from tests.server.apps import make_app
from tests.server.processes import MODERN
from tests.server.test_mcp_server import talk

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client


def test_changes_of_another_user_are_not_told(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    uri = "rolltop://thing/one"

    async def ask(client: Client) -> list[Any]:
        seen = await client.call_tool("who_am_i", {})
        caller: dict[str, str] = seen.structured_content
        own = Principal.for_user(caller["user"])
        async with client.listen(resource_subscriptions=[uri]) as stream:
            app.context.notify_changed(Principal.for_user("somebody else"), uri)
            app.context.notify_changed(own, uri)
            app.context.notify_changed(own, "rolltop://thing/other")
            told: list[Any] = [await anext(aiter(stream))]
            app.subscriptions.close()
            return [*told, *[event async for event in stream]]

    assert len(talk(app, MODERN, ask)) == 1


def test_changes_are_told_by_the_address_that_answers_show(tmp_path: Path) -> None:
    app = make_app(tmp_path)

    async def ask(client: Client) -> list[str]:
        saved = await client.call_tool("note_save", {"text": "one"})
        note: dict[str, Any] = saved.structured_content
        uri = f"rolltop://note/{note['id'][:8]}"
        async with client.listen(resource_subscriptions=[uri]) as stream:
            await client.call_tool(
                "note_save", {"id": note["id"], "local_version": 1, "text": "two"}
            )
            told: Any = await anext(aiter(stream))
            return [uri, str(told.uri)]

    uri, told = talk(app, MODERN, ask)
    assert told == uri
