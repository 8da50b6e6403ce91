"""The README's snippets, as they stand: each starts a server that finds something."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.cli import client_configs
from tests.cli.conftest import REPOSITORY
from tests.server.processes import LEGACY
from tests.server.test_client_roots import Desktop, search

if TYPE_CHECKING:
    from pathlib import Path

README = (REPOSITORY / "README.md").read_text("utf-8")
PROGRAM, PROJECT = "/path/to/rolltop", "/path/to/project"
TITLES = {client.title: client for client in client_configs.clients()}


def snippet(title: str) -> dict[str, Any]:
    """Return the entry under a client's name."""
    found = re.search(rf"\*\*{title}\*\*.*?```(\w+)\n(.*?)```", README, re.DOTALL)
    assert found is not None, title
    kind, text = found.groups()
    if kind == "sh":
        assert "claude mcp add" in text
        command, *arguments = shlex.split(text.partition(" -- ")[2])
        return {"type": "stdio", "command": command, "args": arguments}
    document = tomllib.loads(text) if kind == "toml" else json.loads(text)
    return document[TITLES[title].table]["rolltop"]


@pytest.mark.parametrize("title", TITLES)
def test_each_clients_snippet_starts_a_server_that_finds_something(
    title: str, tmp_path: Path
) -> None:
    desktop = Desktop(tmp_path)
    entry = snippet(title)
    assert entry["command"] == PROGRAM
    start = desktop.mill
    if title == "Claude Desktop":  # starts servers at the top of the disk
        start = tmp_path.parent.parent
    if title in {"Cursor", "VS Code"}:  # start them in the home
        start, desktop.offered = desktop.home, [[desktop.mill.as_uri()]]
    environment = {
        name: text.replace(PROJECT, str(desktop.mill))
        for name, text in entry.get("env", {}).items()
    }
    found = desktop.talk(LEGACY, start, search, arguments=entry["args"], **environment)
    assert [hit["path"] for hit in found["result"]] == ["src/notes.md"]


@pytest.mark.parametrize("title", TITLES)
def test_the_snippets_are_what_install_writes(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_configs, "own_command", lambda: (PROGRAM,))
    client = TITLES[title]
    roots = {} if client.knows_project else {"CODE_ROOT": PROJECT}
    assert snippet(title) == client.make_entry(roots)


def test_the_first_twenty_lines_connect_a_client() -> None:
    text = README.partition("## Start\n")[2].partition("\n## ")[0]
    assert len(text.strip().splitlines()) <= 20
    commands = re.findall(r"^\.venv/bin/rolltop (\S+) (\S+)", text, re.MULTILINE)
    assert commands == [("install", "claude-code")]
    assert all(client.name in text for client in client_configs.clients())
