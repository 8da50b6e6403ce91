"""Where a server over stdio reads with no configuration: a real client in temporary folders."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import ListRootsResult, jsonrpc_message_adapter

from tests.forks import Forked
from tests.server.processes import (
    LEGACY,
    MODERN,
    PATIENCE,
    HttpServer,
    StdioServer,
    handshake,
    modern_meta,
)
from tests.workspace.trees import git

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])
FOUND = "water turns the wheel"


@asynccontextmanager
async def connect(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> AsyncGenerator[Any]:
    """Start a server as a client does, and yield the streams that the SDK's client talks over."""
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](10)

    async def read() -> None:
        async with received:
            while line := await anyio.to_thread.run_sync(process.stdout.readline):
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                await received.send(SessionMessage(message))

    async def write() -> None:
        async with sent:
            async for item in sent:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
        process.stdin.close()

    with Forked(arguments, folder=folder, environment=environment) as process:
        async with anyio.create_task_group() as tasks, outgoing:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield incoming, outgoing


class Desktop:
    """A person's home with two projects, and a client that starts servers anywhere in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.mill = self.home / "mill"
        self.dam = self.home / "dam"
        for project in (self.mill, self.dam):
            (project / "src").mkdir(parents=True)
            (project / "src" / "notes.md").write_text(f"# {project.name}\n\n{FOUND}\n")
        git(self.mill, "init", "-q")
        self.asked = 0
        self.offered: list[list[str]] = []
        self.log = folder / "log"

    def talk(
        self,
        era: str,
        start: Path,
        conversation: Callable[[Client], Awaitable[Any]],
        *,
        arguments: Sequence[str] = ("serve",),
        **environment: str,
    ) -> Any:
        """Return what a conversation with a server that is started there came to."""
        own = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LOG_FILE_PATH": str(self.log),
            "ROLLTOP_DATA_DIR": str(self.home.parent / "data"),
        }
        server = connect(["-m", "rolltop", *arguments], start, {**own, **environment})
        mode: Any = "legacy" if era == LEGACY else MODERN

        async def meet() -> Any:
            asked = self._answer if self.offered else None
            async with (
                asyncio.timeout(PATIENCE),
                Client(server, mode=mode, list_roots_callback=asked) as client,
            ):
                [outcome] = await asyncio.gather(conversation(client), return_exceptions=True)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        return asyncio.run(meet())

    async def _answer(self, context: Any) -> ListRootsResult:
        del context
        self.asked += 1
        offered = self.offered[min(self.asked, len(self.offered)) - 1]
        return ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in offered]})


@pytest.fixture
def desktop(tmp_path: Path) -> Desktop:
    return Desktop(tmp_path)


async def search(client: Client) -> Any:
    """Return the content of a search's answer."""
    answer = await client.call_tool("repo_search", {"query": FOUND})
    return answer.structured_content


async def read(client: Client) -> Any:
    """Return the content that the reader finds in a file of the project."""
    answer = await client.call_tool("smart_read", {"file_path": "src/notes.md"})
    return answer.structured_content


async def search_and_read(client: Client) -> tuple[Any, Any]:
    """Return both, and see to it that a resource of the root is there as well."""
    found, text = await search(client), await read(client)
    if "result" in found:
        listed = await client.read_resource("rolltop://file/code/src/notes.md")
        assert FOUND in str(listed.contents[0])
    return found, text


@ERAS
@pytest.mark.parametrize("folder", ["mill/src", "dam"])
def test_the_project_the_server_was_started_in_is_the_root_code(
    desktop: Desktop, era: str, folder: str
) -> None:
    desktop.offered = [[desktop.dam.as_uri()]]
    found, text = desktop.talk(era, desktop.home / folder, search_and_read)
    assert [(hit["repo"], hit["path"]) for hit in found["result"]] == [("code", "src/notes.md")]
    name = folder.partition("/")[0]
    assert f"# {name}" in text["content"]
    assert desktop.asked == 0
    assert f"code is {desktop.home / name} (" in desktop.log.read_text()


@ERAS
def test_a_client_is_asked_for_its_root_where_the_start_gave_none(
    desktop: Desktop, era: str
) -> None:
    desktop.offered = [[desktop.home.as_uri(), "file:///gone", desktop.dam.as_uri()]]

    async def conversation(client: Client) -> Any:
        await client.list_tools()
        await client.call_tool("list_tasks", {})
        assert desktop.asked == 0
        return [await search_and_read(client) for _ in range(2)]

    for found, text in desktop.talk(era, desktop.home, conversation):
        if era == LEGACY:
            assert [hit["path"] for hit in found["result"]] == ["src/notes.md"]
            assert "# dam" in text["content"]
        else:
            assert found["error"]["details"] == {"reason": "MISSING_ROOT"}
            assert "CODE_ROOT" in found["error"]["hint"]
            assert text["code"] in {"FILE_NOT_FOUND", "PATH_OUT_OF_ROOT"}
    assert desktop.asked == (era == LEGACY)
    assert "roots=none" in desktop.log.read_text()
    assert str(desktop.dam) not in desktop.log.read_text()


def test_a_client_that_opens_a_folder_later_is_asked_again(desktop: Desktop) -> None:
    desktop.offered = [[], [desktop.home.parent.as_uri()], [(desktop.mill / "src").as_uri()]]

    async def conversation(client: Client) -> Any:
        return [await search(client) for _ in range(4)]

    *nothing, first, second = desktop.talk(LEGACY, desktop.home, conversation)
    assert [answer["error"]["code"] for answer in nothing] == ["CONFIG_INVALID"] * 2
    for answer in (first, second):
        assert [hit["path"] for hit in answer["result"]] == ["notes.md"]  # no more than was offered
    assert desktop.asked == 3


def test_a_configured_root_is_the_only_one(desktop: Desktop) -> None:
    desktop.offered = [[desktop.mill.as_uri()]]
    found = desktop.talk(LEGACY, desktop.mill, search, DOCS_ROOT=str(desktop.dam))
    assert [(hit["repo"], hit["path"]) for hit in found["result"]] == [("docs", "src/notes.md")]
    assert desktop.asked == 0


@pytest.mark.parametrize("answer", ["silence", "refusal", "nonsense"])
def test_a_client_that_does_not_say_holds_nobody_up(tmp_path: Path, answer: str) -> None:
    limits = {"rolltop.server.client_roots:_TIMEOUT": 0.1} if answer == "silence" else {}
    with StdioServer(tmp_path, limits, data_dir=tmp_path) as server:
        server.request("initialize", {**handshake(), "capabilities": {"roots": {}}})
        server.send("notifications/initialized")
        asking = {"name": "repo_search", "arguments": {"query": "x"}}
        server.send("tools/call", asking, id="first")
        asked = server.answer()
        assert asked["method"] == "roots/list"
        if answer != "silence":
            refused = {"error": {"code": -32601, "message": "no"}}
            said = refused if answer == "refusal" else {"result": {"roots": [{"uri": "\0"}, 1]}}
            server.send_line(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}))
        first = server.answer()
        while "id" not in first:  # that the question was given up
            first = server.answer()
        assert first["id"] == "first"
        assert first["result"]["structuredContent"]["error"]["code"] == "CONFIG_INVALID"
        assert "error" in server.call("repo_search", query="x")["structuredContent"]


def test_a_root_that_is_no_folder_here_is_passed_over(tmp_path: Path) -> None:
    project = tmp_path / "the mill"
    project.mkdir()
    (project / "notes.md").write_text(FOUND)
    data = tmp_path / "data"
    data.mkdir()
    (project / ".git" / "hooks").mkdir(parents=True)
    uris = ["file://host/x", "file:///%00", "file:notes.md", "file:///" + "a" * 5000]
    refused = ("gone", "notes.md", "notes.md/x", ".git", ".git/hooks")
    uris += [(project / name).as_uri() for name in refused] + [project.as_uri()]
    with StdioServer(data, data_dir=data) as server:
        server.request("initialize", {**handshake(), "capabilities": {"roots": {}}})
        server.send("notifications/initialized")
        server.send("tools/call", {"name": "repo_search", "arguments": {"query": "wheel"}}, id="x")
        asked = server.answer()["id"]
        result = {"roots": [{"uri": uri} for uri in uris]}
        server.send_line(json.dumps({"jsonrpc": "2.0", "id": asked, "result": result}))
        found = server.answer()["result"]["structuredContent"]["result"]
        assert [hit["path"] for hit in found] == ["notes.md"]


def test_a_modern_client_is_never_asked(tmp_path: Path) -> None:
    with StdioServer(tmp_path, data_dir=tmp_path) as server:
        meta = modern_meta()
        meta["io.modelcontextprotocol/clientCapabilities"] = {"roots": {}}
        arguments = {"name": "repo_search", "arguments": {"query": "x"}, "_meta": meta}
        answer = server.request("tools/call", arguments)
        assert answer["result"]["structuredContent"]["error"]["code"] == "CONFIG_INVALID"


def test_over_http_the_folder_it_was_started_in_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(FOUND)
    with HttpServer(tmp_path) as server:
        for era in (LEGACY, MODERN):
            answer = server.call("repo_search", era=era, query="wheel")
            assert answer["structuredContent"]["error"]["details"] == {"reason": "MISSING_ROOT"}
