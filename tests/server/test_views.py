"""The views of answers, for hosts that say they show such: the extension MCP Apps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.server.processes import LEGACY, MODERN, StdioServer, handshake, modern_meta

if TYPE_CHECKING:
    from pathlib import Path

VIEWS = {
    "desk_search": "ui://rolltop/search",
    "desk_history": "ui://rolltop/diff",
    "list_tasks": "ui://rolltop/board",
}
EXTENSION = "io.modelcontextprotocol/ui"
MEDIA_TYPE = "text/html;profile=mcp-app"
SHOWS_VIEWS = {"extensions": {EXTENSION: {"mimeTypes": ["text/plain", MEDIA_TYPE]}}}
SHOWS_NONE: tuple[dict[str, Any], ...] = (
    {},
    {"extensions": {"io.modelcontextprotocol/skills": {}}},
    {"extensions": {EXTENSION: {}}},
    {"extensions": {EXTENSION: {"mimeTypes": ["text/html"]}}},
    {"extensions": {EXTENSION: {"mimeTypes": MEDIA_TYPE}}},
)
MAX_BYTES = 30_000


class Client:
    """A client of one era with these capabilities."""

    def __init__(self, server: StdioServer, era: str, capabilities: dict[str, Any]) -> None:
        self._server = server
        self._meta = {}
        if era == MODERN:
            name = "io.modelcontextprotocol/clientCapabilities"
            self._meta = {"_meta": modern_meta(**{name: capabilities})}
        else:
            server.request("initialize", {**handshake(), "capabilities": capabilities})
            server.send("notifications/initialized")

    def ask(self, method: str, **params: Any) -> Any:
        return self._server.request(method, {**self._meta, **params})["result"]

    def tools(self) -> list[dict[str, Any]]:
        return self.ask("tools/list")["tools"]

    def resources(self) -> list[str]:
        return [one["uri"] for one in self.ask("resources/list")["resources"]]

    def look(self) -> tuple[list[dict[str, Any]], list[str], Any]:
        """Return the tools, the resources, and what a tool with a view answers."""
        answer = self.ask("tools/call", name="list_tasks", arguments={})
        return self.tools(), self.resources(), answer


def check(told: Any, others: list[Any]) -> None:
    """Who shows views is told of them; what else there is, all others get to the letter."""
    tools, resources, answer = told
    views = {tool["name"]: tool["_meta"].pop("ui", None) for tool in tools if "_meta" in tool}
    assert {name: ui["resourceUri"] for name, ui in views.items() if ui} == VIEWS
    assert sorted(uri for uri in resources if uri.startswith("ui:")) == sorted(VIEWS.values())
    left = [uri for uri in resources if not uri.startswith("ui:")]
    assert others == [(tools, left, answer)] * len(others)


def test_a_host_of_today_is_told_of_views_if_it_shows_them(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        told = Client(server, MODERN, SHOWS_VIEWS).look()
        check(told, [Client(server, MODERN, one).look() for one in SHOWS_NONE])


def test_a_host_that_shakes_hands_is_told_of_views_if_it_shows_them(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as shows, StdioServer(tmp_path) as other:
        told = Client(shows, LEGACY, SHOWS_VIEWS).look()
        check(told, [Client(other, LEGACY, {}).look()])


def test_a_view_is_one_small_document_that_loads_nothing(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        client = Client(server, MODERN, SHOWS_VIEWS)
        for uri in VIEWS.values():
            [view] = client.ask("resources/read", uri=uri)["contents"]
            assert (view["uri"], view["mimeType"]) == (uri, MEDIA_TYPE)
            # No domain is declared, so the host lets it load nothing.
            assert "csp" not in view["_meta"]["ui"]
            text = view["text"]
            assert 5_000 < len(text.encode()) <= MAX_BYTES
            assert text.startswith("<!doctype html>")
            assert text.count("<script") == text.count("</script") == 1
            assert not re.search(r"https?://|\b(src|href)=|@import|url\(", text), uri
            assert not re.search(r"HTML\b|document\.write|\beval\b|new Function", text), uri


def test_without_its_tool_there_is_no_view(tmp_path: Path) -> None:
    with StdioServer(tmp_path, toolsets="tasks") as server:
        client = Client(server, MODERN, SHOWS_VIEWS)
        assert client.resources() == ["ui://rolltop/board"]
        missing = {"uri": "ui://rolltop/search", "_meta": modern_meta()}
        assert server.request("resources/read", missing)["error"]["code"] == -32602
    with StdioServer(tmp_path, toolsets="desk") as server:
        tools = Client(server, MODERN, SHOWS_VIEWS).tools()
        assert [tool["name"] for tool in tools if "ui" in tool.get("_meta", {})] == []
