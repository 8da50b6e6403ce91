"""What somebody wrote to hold a server does not: other calls go on, and signals end it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.server.processes import StdioServer

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS: Final = {
    "tag.html": "<h1>Page</h1>\n<img" + ' a="v"' * 48,
    "data.html": "<![CDATA[" * 50_000 + "<h1>Page</h1>",
    "expressions.js": "/[" * 100_000,
    "comments.rb": "=begin\n" * 30_000,
    "strings.toml": '"\\' * 100_000,
    "stops.md": "# A\n\na " + "." * 200_000 + "\n",
}
CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    *(("list_sections", {"file_path": name}) for name in DOCUMENTS),
    *(("smart_read", {"file_path": name}) for name in DOCUMENTS),
    ("repo_smart_search", {"query": "page"}),
    ("repo_search", {"query": "page"}),
)


@pytest.fixture
def server(tmp_path: Path) -> StdioServer:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text)
    return StdioServer(tmp_path, retrieval__roots__docs=str(documents))


def test_all_calls_are_answered_and_a_signal_ends_the_server(server: StdioServer) -> None:
    with server:
        server.initialize()
        for number, (tool, arguments) in enumerate(CALLS):
            server.send("tools/call", {"name": tool, "arguments": arguments}, id=f"call {number}")
            server.send("ping", id=f"ping {number}")
        answers = [server.answer() for _ in range(2 * len(CALLS))]
        found = {answer["id"]: answer["result"] for answer in answers}
        assert len(found) == 2 * len(CALLS)
        refused = {key: result for key, result in found.items() if result.get("isError")}
        assert not refused
        assert found["call 0"]["structuredContent"]["outline"][0]["title"] == "Page"
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == 0
