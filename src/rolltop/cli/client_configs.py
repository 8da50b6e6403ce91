"""Where MCP clients keep their configuration, and whether it starts Rolltop."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Iterator
else:
    tomllib = lazy("tomllib")

SERVER_NAME: Final = "rolltop"
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_SERVER_TABLES: Final = ("mcpServers", "servers", "mcp_servers")


@dataclass(frozen=True)
class ClientEntry:
    """A client that is told to start Rolltop, or whose configuration cannot be read."""

    client: str
    path: Path
    command: str
    problem: str = ""


@dataclass(frozen=True)
class ClientFile:
    """One configuration file of one client; it need not exist."""

    client: str
    path: Path

    def read(self) -> list[ClientEntry]:
        """Return the file's entries about Rolltop, if any."""
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return []
        if SERVER_NAME not in text:
            return []
        try:
            document = _parse_document(text, self.path.suffix)
        except (ValueError, RecursionError):
            return [
                ClientEntry(self.client, self.path, "", "mentions Rolltop but cannot be parsed")
            ]
        commands = dict.fromkeys(_commands(document))
        return [ClientEntry(self.client, self.path, command) for command in commands]


def client_files(working_directory: Path) -> list[ClientFile]:
    """Return the files in which known clients look for servers, here and for the user."""
    home, support = Path.home(), _support_directory()
    return [
        ClientFile("Claude Code", home / ".claude.json"),
        ClientFile("Claude Code", working_directory / ".mcp.json"),
        ClientFile("Claude Desktop", support / "Claude" / "claude_desktop_config.json"),
        ClientFile("Cursor", home / ".cursor" / "mcp.json"),
        ClientFile("Cursor", working_directory / ".cursor" / "mcp.json"),
        ClientFile("VS Code", support / "Code" / "User" / "mcp.json"),
        ClientFile("VS Code", working_directory / ".vscode" / "mcp.json"),
        ClientFile("Codex", home / ".codex" / "config.toml"),
        ClientFile("Gemini CLI", home / ".gemini" / "settings.json"),
    ]


def own_command() -> tuple[str, ...]:
    """Return this program as a client would have to start it."""
    started = Path(sys.argv[0])
    if started.name == SERVER_NAME and started.exists():
        return (str(started.absolute()),)
    found = shutil.which(SERVER_NAME)
    return (found,) if found else (sys.executable, "-m", SERVER_NAME)


def _support_directory() -> Path:
    """Return the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home()))
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _parse_document(text: str, suffix: str) -> object:
    """Return the document; comments in JSON are allowed, as some clients write them."""
    if suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(_COMMENT.sub(lambda found: found[1] or "", text))


def _commands(document: object) -> Iterator[str]:
    """Yield the command of each server that is Rolltop, wherever the document lists servers."""
    if isinstance(document, list):
        for part in cast("list[object]", document):
            yield from _commands(part)
    if not isinstance(document, dict):
        return
    for key, part in cast("dict[str, Any]", document).items():
        if key in _SERVER_TABLES and isinstance(part, dict):
            for name, server in cast("dict[str, Any]", part).items():
                yield from _server_command(name, server)
        else:
            yield from _commands(part)


def _server_command(name: str, server: object) -> Iterator[str]:
    if isinstance(server, dict):
        command = cast("dict[str, Any]", server).get("command")
        if isinstance(command, str) and (
            SERVER_NAME in name.lower() or Path(command).stem == SERVER_NAME
        ):
            yield command
