"""Claude Code, Codex and Gemini CLI connect to Rolltop over stdio and HTTP, as they themselves say.

`make hosts` runs these where only the loopback exists; each has a home of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.settings import HOST_RESULT_TOKENS
from rolltop.toolsets import TOOLSETS
from tests.conformance.programs import ROLLTOP, free_port, listening
from tests.hosts.programs import CLAUDE, CODEX, GEMINI, Host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a server over HTTP."""
    folder, port = tmp_path / "server", free_port()
    folder.mkdir()
    command = [ROLLTOP, "serve", "--http", f"127.0.0.1:{port}"]
    with listening(command, port, folder) as address:
        yield address


def test_claude_code_connects(tmp_path: Path, url: str) -> None:
    claude = Host(CLAUDE, tmp_path)
    claude("mcp", "add", "rolltop", "--", *claude.recorded_server)
    claude("mcp", "add", "--transport", "http", "desk", url)
    assert re.findall(r"^(\w+): .*✔ Connected$", claude("mcp", "list"), re.MULTILINE) == [
        "rolltop",
        "desk",
    ]
    assert "Status: ✔ Connected" in claude("mcp", "get", "rolltop")
    assert claude.client_names() == {"claude-code"}
    assert "claude-code" in HOST_RESULT_TOKENS


def test_gemini_cli_connects(tmp_path: Path, url: str) -> None:
    gemini = Host(GEMINI, tmp_path)
    gemini("mcp", "add", "rolltop", str(ROLLTOP), "serve")
    gemini("mcp", "add", "--transport", "http", "desk", url)
    said = gemini("mcp", "list")
    assert re.findall(r"^✓ (\w+): .* - Connected$", said, re.MULTILINE) == ["rolltop", "desk"]


def test_codex_connects_and_lists_every_tool(tmp_path: Path, url: str) -> None:
    codex = Host(CODEX, tmp_path)
    codex("mcp", "add", "rolltop", "--", *codex.recorded_server)
    codex("mcp", "add", "desk", "--url", url)
    listed = json.loads(codex("mcp", "list", "--json"))
    assert {entry["name"]: entry["transport"]["type"] for entry in listed} == {
        "desk": "streamable_http",
        "rolltop": "stdio",
    }
    assert "enabled: true" in codex("mcp", "get", "rolltop")
    declared = {tool.name for toolset in TOOLSETS for tool in toolset.tools}
    for server in server_status(codex):
        assert server["serverInfo"]["name"] == "rolltop"
        assert set(server["tools"]) == declared
    (name,) = codex.client_names()
    assert any(name.startswith(host) for host in HOST_RESULT_TOKENS)


def server_status(codex: Host) -> list[dict[str, Any]]:
    """Return what Codex knows of its servers once it has connected to both."""
    client = {"clientInfo": {"name": "witness", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "mcpServerStatus/list", "params": {}},
    ]
    with subprocess.Popen(
        [*codex.program, "app-server"],
        cwd=codex.project,
        env=codex.variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for message in messages:
            program.stdin.write(json.dumps(message) + "\n")
        program.stdin.flush()
        for line in program.stdout:
            answer = json.loads(line)
            if answer.get("id") == 1:
                program.terminate()
                return answer["result"]["data"]
    raise AssertionError("Codex ended without an answer")
