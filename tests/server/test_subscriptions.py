"""Who is told of a change, and by which address."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mcp_types import SubscriptionFilter

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.principal import Principal
from rolltop.server.subscriptions import Subscriptions
from tests.forks import PATIENCE
from tests.server.apps import make_app
from tests.server.processes import MODERN, StdioServer
from tests.server.test_mcp_server import talk

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
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


def test_a_stream_that_just_opens_hears_though_the_one_before_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(tmp_path).context
    anne = Principal.for_user(app.database.write_sync(SYSTEM, add_user, "anne@example.org").id)
    uri = "rolltop://thing/one"
    told: asyncio.Queue[str] = asyncio.Queue()
    asked, answering, read = asyncio.Semaphore(0), asyncio.Event(), app.database.read

    async def identify(*_: Any, **__: Any) -> Principal:
        return anne

    async def tell(note: Any, **_: Any) -> None:
        told.put_nowait(note.method)

    async def read_late(*given: Any) -> Any:
        asked.release()
        await answering.wait()
        return await read(*given)

    async def run() -> list[str]:
        subscriptions = Subscriptions(app, identify)
        session: Any = SimpleNamespace(send_notification=tell)
        context: Any = SimpleNamespace(request_id=1, session=session)
        params: Any = SimpleNamespace(
            notifications=SubscriptionFilter(resource_subscriptions=[uri])
        )
        monkeypatch.setattr(app.database, "read", read_late)
        left, stays = [asyncio.create_task(subscriptions.listen(context, params)) for _ in "ab"]
        for _ in "ab":
            await asked.acquire()
        left.cancel()
        await asyncio.wait([left])
        answering.set()
        heard = [await told.get()]
        app.notify_changed(anne, uri)
        subscriptions.close()
        await stays
        return [*heard, *(told.get_nowait() for _ in range(told.qsize()))]

    first, *others = asyncio.run(run())
    app.close()
    assert first.endswith("acknowledged")
    assert others == ["notifications/resources/updated"]


def test_a_stream_that_opens_while_the_server_stops_ends_in_order(tmp_path: Path) -> None:
    app = make_app(tmp_path).context
    anne = Principal.for_user(app.database.write_sync(SYSTEM, add_user, "anne@example.org").id)
    told: list[str] = []

    async def identify(*_: Any, **__: Any) -> Principal:
        return anne

    async def tell(note: Any, **_: Any) -> None:
        told.append(note.method)
        await asyncio.sleep(0)

    async def run() -> Any:
        subscriptions = Subscriptions(app, identify)
        subscriptions.close()
        context: Any = SimpleNamespace(
            request_id=1, session=SimpleNamespace(send_notification=tell)
        )
        params: Any = SimpleNamespace(
            notifications=SubscriptionFilter(resource_subscriptions=["rolltop://thing/one"])
        )
        async with asyncio.timeout(PATIENCE):
            return await subscriptions.listen(context, params)

    ended = asyncio.run(run())
    app.close()
    assert list(ended.meta.values()) == [1]
    assert [name.rpartition("/")[2] for name in told] == ["acknowledged"]


def test_what_another_process_changes_is_told_once_as_ones_own_is(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server, StdioServer(tmp_path) as other:
        server.initialize()
        other.initialize()

        def write(tool: str, **arguments: Any) -> Any:
            return other.call(tool, **arguments)["structuredContent"]

        def told() -> str:
            message = server.answer()
            assert message["method"] == "notifications/resources/updated", message
            return message["params"]["uri"]

        note = write("note_save", text="one")
        task = write("add_task", title="one")["data"]
        cell = {"language": "md", "content": "one"}
        pads: list[str] = []
        cells: list[dict[str, str]] = []
        for title in ("more", "other", "less"):
            made = write("scratch_create", metadata={"title": title}, cells=[cell])["scratchpad"]
            pads.append(f"rolltop://pad/{made['scratch_id']}")
            cells.append({"cell_id": made["cells"][0]["cell_id"], "scratch_id": made["scratch_id"]})
        short = [thing["uri"].partition("@")[0] for thing in (note, task)]
        for uri in (*short, *pads):
            assert server.request("resources/subscribe", {"uri": uri})["result"] == {}
        write("note_save", id=note["id"], local_version=1, text="two")
        write("update_task", task_id=task["task_id"], title="two")
        write("scratch_append_cell", scratch_id=cells[0]["scratch_id"], cell=cell)
        write("scratch_edit_cell", **cells[1], edits=[{"old": "one", "new": "two"}])
        write("scratch_delete_cell", **cells[2])
        assert sorted(told() for _ in range(5)) == sorted([*short, *pads])
        arguments = {"id": note["id"], "local_version": 2, "text": "three"}
        server.send("tools/call", {"name": "note_save", "arguments": arguments}, id="own")
        own = [server.answer(), server.answer()]
        assert [m["params"]["uri"] for m in own if "method" in m] == [short[0]]
        write("update_task", task_id=task["task_id"], title="three")
        assert told() == short[1]


def test_a_modern_stream_tells_what_another_process_changes_for_the_same_user(
    tmp_path: Path,
) -> None:
    app, other = make_app(tmp_path), make_app(tmp_path)

    async def ask(client: Client) -> list[str]:
        seen = await client.call_tool("who_am_i", {})
        caller: dict[str, str] = seen.structured_content
        stranger = other.context.database.write_sync(SYSTEM, add_user, "bob@example.org").id

        async def add(user_id: str, title: str) -> Any:
            arguments = {"title": title, "idempotency_key": title}
            principal = Principal.for_user(user_id)
            return (await dispatch(other.context, "add_task", principal, arguments)).structured

        async def change(user_id: str, task: Any) -> None:
            arguments = {"task_id": task["data"]["task_id"], "title": "changed"}
            await dispatch(other.context, "update_task", Principal.for_user(user_id), arguments)

        his, own = await add(stranger, "his"), await add(caller["user"], "own")
        uris = [task["data"]["uri"].partition("@")[0] for task in (his, own)]
        async with client.listen(resource_subscriptions=uris) as stream:
            await change(stranger, his)
            await change(caller["user"], own)
            first: Any = await anext(aiter(stream))
            return [uris[1], str(first.uri)]

    try:
        uri, told = talk(app, MODERN, ask)
    finally:
        other.context.close()
    assert told == uri
