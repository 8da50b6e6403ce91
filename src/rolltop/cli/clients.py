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

from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Iterator
else:
    tomllib = lazy("tomllib")

NAME: Final = "rolltop"
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TABLES: Final = ("mcpServers", "servers", "mcp_servers")


@dataclass(frozen=True)
class Entry:
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

    def read(self) -> list[Entry]:
        """Return what the file says about Rolltop; nothing if it is not there or does not."""
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return []
        if NAME not in text:
            return []
        try:
            document = _parsed(text, self.path.suffix)
        except (ValueError, RecursionError):
            return [Entry(self.client, self.path, "", "mentions Rolltop but cannot be parsed")]
        commands = dict.fromkeys(_commands(document))
        return [Entry(self.client, self.path, command) for command in commands]


def files(working_directory: Path) -> list[ClientFile]:
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
    if started.name == NAME and started.exists():
        return (str(started.absolute()),)
    found = shutil.which(NAME)
    return (found,) if found else (sys.executable, "-m", NAME)


def _support_directory() -> Path:
    """Return the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home()))
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _parsed(text: str, suffix: str) -> object:
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
        if key in _TABLES and isinstance(part, dict):
            for name, server in cast("dict[str, Any]", part).items():
                yield from _of_server(name, server)
        else:
            yield from _commands(part)


def _of_server(name: str, server: object) -> Iterator[str]:
    if isinstance(server, dict):
        command = cast("dict[str, Any]", server).get("command")
        if isinstance(command, str) and (NAME in name.lower() or Path(command).stem == NAME):
            yield command
