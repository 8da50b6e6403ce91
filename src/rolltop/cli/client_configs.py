"""Where MCP clients keep their configuration, what starts Rolltop there, and how it is changed."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from rolltop.cli import jsonc, toml_tables
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import require_home

SERVER_NAME: Final = "rolltop"
_SERVER_TABLES: Final = ("mcpServers", "servers", "mcp_servers", "context_servers")
_TOML: Final = ".toml"
_DESK_OPTIONS: Final = frozenset({"--user", "--workspace", "--project", "--config", "--set"})
_CODEX_EVENTS: Final = MappingProxyType(
    {"session-start": "SessionStart", "pre-compact": "PreCompact"}
)
_CODEX_ADVICE: Final = (
    "Codex runs no hook before you trust it: choose that when it next starts, or under /hooks. "
    "Until then `codex exec` passes over them and says nothing."
)
_CLAUDE_EVENTS: Final = MappingProxyType({**_CODEX_EVENTS, "session-end": "SessionEnd"})
_GEMINI_EVENTS: Final = MappingProxyType(
    {"session-start": "SessionStart", "session-end": "SessionEnd"}
)
"""Its PreCompress comes before each request to the model, whether or not it compresses."""


@dataclass(frozen=True)
class Client:
    """An MCP client: where its user's servers are configured, and what an entry needs there.

    `in_project` is the file of a project that it reads as well. Most clients start servers in the
    project that is open, or tell its folder when asked; `knows_project` is False for the others.
    `skills` is the folder of its user's skills; `actor` the name that it gives itself to servers.
    """

    name: str
    title: str
    path: Path
    table: str = "mcpServers"
    in_project: str = ""
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    knows_project: bool = True
    hooks: ClientHooks | None = None
    skills: Path | None = None
    actor: str = ""

    def make_entry(
        self, environment: Mapping[str, str], old: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the entry that starts this program; what an old one says besides is kept."""
        command, *prefix = own_command()
        known = _entry(self, self.path, {"command": command, **(old or {})})
        options = known.args[known.args.index("serve") + 1 :] if "serve" in known.args else ()
        variables = {**known.environment, **environment}
        made = {**self.fields, "command": command, "args": [*prefix, "serve", *options]}
        made |= {"env": variables} if variables else {}
        return made | {key: value for key, value in (old or {}).items() if key not in made}

    def find_entry(self, text: str) -> dict[str, Any] | None:
        """Return the entry of Rolltop's own name. Raises InvalidConfig."""
        table = self._parse(text).get(self.table)
        entry = cast("dict[str, Any]", table).get(SERVER_NAME) if isinstance(table, dict) else None
        return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None

    def read_entry(self) -> ClientEntry:
        """Read the user's entry of Rolltop's own name; one that starts nothing if there is none."""
        try:
            found = self.find_entry(self.path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, InvalidConfig):  # the client has no use for it either
            found = None
        return _entry(self, self.path, {"command": "", **(found or {})})

    def set_entry(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return the configuration with this entry. Raises InvalidConfig."""
        if self.find_entry(text) == entry:
            return text
        return self._set_member(text, SERVER_NAME, dict(entry))

    def remove_entry(self, text: str) -> str:
        """Return the configuration without that entry. Raises InvalidConfig."""
        return text if self.find_entry(text) is None else self._set_member(text, SERVER_NAME, None)

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            document = _parse_document(text, self.path.suffix)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        if not isinstance(document, dict):
            raise self._refusal("is no object")
        return cast("dict[str, Any]", document)

    def _set_member(self, text: str, name: str, value: Any) -> str:  # noqa: ANN401  # as JSON has it
        """Return the text with a member of the table, None for without, and nothing else changed.

        Raises InvalidConfig.
        """
        wanted = self._parse(text)
        form = toml_tables if self.path.suffix == _TOML else jsonc
        try:
            if value is None:
                text = form.remove_member(text, self.table, name)
            else:
                text = form.set_member(text, self.table, name, value)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        changed = self._parse(text)
        members = wanted.setdefault(self.table, {})
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
        if _without_empty_table(changed, self.table) != _without_empty_table(wanted, self.table):
            raise self._refusal("is written in a way that this command cannot edit")
        return text

    def _refusal(self, problem: str) -> InvalidConfig:
        return InvalidConfig(
            f"{self.path} {problem}, so it was left as it is",
            hint=f"Fix it, or edit it by hand: `rolltop install {self.name} --print` shows the "
            "entry.",
        )


@dataclass(frozen=True)
class ClientHooks(Client):
    """Where a client keeps what it runs by itself; `events` are its names of ours.

    `timeout` is what a command may take, in the client's unit; `advice` says what is left to do.
    """

    table: str = "hooks"
    events: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: int = 10
    advice: str = ""

    def set_hooks(self, text: str) -> str:
        """Return the configuration with our hooks beside others. Raises InvalidConfig.

        What they do is done as the client's entry says then: what that holds may be secret.
        """
        added: dict[str, object] = {}
        for ours, theirs in self.events.items():
            command = [*own_command(), "hook", ours, "--for", self.name]
            hook = {
                "type": "command",
                "command": shlex.join(command),
                "timeout": self.timeout,
            }
            added[theirs] = {"hooks": [hook]}
        return self._change_hooks(text, added)

    def has_hooks(self, text: str) -> bool:
        """Return whether a configuration has hooks of ours."""
        try:
            return self.remove_hooks(text) != text
        except InvalidConfig:
            return False

    def remove_hooks(self, text: str) -> str:
        """Return the configuration without our hooks. Raises InvalidConfig."""
        return self._change_hooks(text, {})

    def _change_hooks(self, text: str, added: Mapping[str, object]) -> str:
        """Return the configuration with these groups of ours, by event, in place of all others."""
        table = self._parse(text).get(self.table, {})
        known = cast("dict[str, Any]", table) if isinstance(table, dict) else None
        if known is None or not all(isinstance(known.get(event, []), list) for event in added):
            raise self._refusal("has hooks in another form")
        ours = re.compile(rf"\bhook (?:{'|'.join(_CLAUDE_EVENTS)}) --for {self.name}\b")
        for event in {**known, **added}:
            groups = known.get(event, [])
            if not isinstance(groups, list):  # a setting, as `enabled` once was
                continue
            kept = (_without_command(group, ours) for group in cast("list[Any]", groups))
            wanted = [group for group in (*kept, added.get(event)) if group is not None]
            if wanted != groups:
                text = self._set_member(text, event, wanted or None)
        return text


def _without_command(group: object, ours: re.Pattern[str]) -> object | None:
    """Return a group of hooks without the commands that match; None where nothing else is in it."""
    table: object = cast("dict[str, Any]", group).get("hooks") if isinstance(group, dict) else None
    hooks = cast("list[object]", table) if isinstance(table, list) else []
    left = [hook for hook in hooks if not ours.search(_command_of(hook))]
    if len(left) == len(hooks):
        return cast("object", group)
    return {**cast("dict[str, Any]", group), "hooks": left} if left else None


def _command_of(hook: object) -> str:
    return str(cast("dict[str, Any]", hook).get("command")) if isinstance(hook, dict) else ""


def desk_options(arguments: Sequence[str]) -> Iterator[str]:
    """Yield of a server's options those that say whose desk it is."""
    waiting = False
    for argument in arguments:
        if waiting:
            yield argument
        name, equals, _value = argument.partition("=")
        is_kept = not waiting and name in _DESK_OPTIONS
        if is_kept:
            yield argument
        waiting = is_kept and not equals


@require_home()
def clients() -> list[Client]:
    """Return the clients that can be set up, with their paths here. Raises InvalidConfig."""
    home, support = Path.home(), _support_directory()
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home)
    claude_settings = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    zed = support if sys.platform == "win32" else _config_directory()
    stdio = {"type": "stdio"}
    desktop = support / "Claude" / "claude_desktop_config.json"
    code = support / "Code" / "User" / "mcp.json"
    settings = zed / ("Zed" if sys.platform == "win32" else "zed") / "settings.json"
    gemini = home / ".gemini" / "settings.json"
    claude_hooks = ClientHooks(
        "claude-code", "Claude Code", claude_settings / "settings.json", events=_CLAUDE_EVENTS
    )
    codex_hooks = ClientHooks(
        "codex", "Codex", codex / "hooks.json", events=_CODEX_EVENTS, advice=_CODEX_ADVICE
    )
    gemini_hooks = ClientHooks(
        "gemini", "Gemini CLI", gemini, events=_GEMINI_EVENTS, timeout=10_000
    )
    return [
        Client(
            "claude-code",
            "Claude Code",
            claude / ".claude.json",
            "mcpServers",
            ".mcp.json",
            stdio,
            hooks=claude_hooks,
            skills=claude_settings / "skills",
            actor="claude-code",
        ),
        Client("claude-desktop", "Claude Desktop", desktop, knows_project=False),
        Client("cursor", "Cursor", home / ".cursor" / "mcp.json", "mcpServers", ".cursor/mcp.json"),
        Client("vscode", "VS Code", code, "servers", ".vscode/mcp.json", stdio),
        Client(
            "codex",
            "Codex",
            codex / "config.toml",
            "mcp_servers",
            ".codex/config.toml",
            hooks=codex_hooks,
            skills=codex / "skills",
            actor="codex-mcp-client",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            gemini,
            "mcpServers",
            ".gemini/settings.json",
            hooks=gemini_hooks,
            skills=gemini.parent / "skills",
            actor="gemini-cli-mcp-client",
        ),
        Client(
            "zed", "Zed", settings, "context_servers", ".zed/settings.json", {"source": "custom"}
        ),
    ]


@dataclass(frozen=True)
class ClientEntry:
    """What tells a client to start Rolltop; with a `problem` its file cannot be read."""

    client: Client
    path: Path
    command: str = ""
    args: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    directory: str = ""
    problem: str = ""
    is_own: bool = False
    """Whether it is the one that `rolltop install` writes."""


def find_entries(working_directory: Path) -> Iterator[ClientEntry]:
    """Yield the entries about Rolltop in the configuration of the user and of a project."""
    for client in clients():
        yield from _read_entries(client, client.path)
        if client.in_project:
            yield from _read_entries(client, working_directory / client.in_project)


def own_command() -> tuple[str, ...]:
    """Return this program as a client has to start it, now and tomorrow.

    Raises InvalidConfig: it runs from a folder that somebody will delete.
    """
    started = Path(sys.argv[0])
    found = shutil.which(SERVER_NAME)
    for path in (
        started.absolute() if started.stem == SERVER_NAME else None,
        found and Path(found),
    ):
        if path and path.exists() and not is_temporary(path):
            return (str(path),)
    if not is_temporary(Path(sys.executable)):
        return (sys.executable, "-m", SERVER_NAME)
    runners = {"uv": ("uvx", "--from"), "pipx": ("pipx", "run", "--spec")}
    for cache, (runner, *arguments) in runners.items():
        # uv tells what it starts where it lies, which need not be on the path.
        beside = str(Path(os.environ.get("UV", "")).parent)
        program = shutil.which(runner) or shutil.which(runner, path=beside)
        if program is not None and cache in Path(sys.prefix).parts:
            return (program, *arguments, install_source(), SERVER_NAME)
    raise InvalidConfig(
        f"Rolltop runs from {sys.prefix}, which is not kept",
        hint="Install it to stay: `uv tool install` or `pipx install`, or make setup in a clone.",
    )


def install_source() -> str:
    """Return what this program was installed from, as installers name it."""
    distribution = importlib.metadata.distribution(SERVER_NAME)
    direct = json.loads(distribution.read_text("direct_url.json") or "{}")
    version_control = direct.get("vcs_info", {}).get("vcs")
    url = direct.get("url", "")
    return f"{version_control}+{url}" if version_control else url or SERVER_NAME


@require_home()
def is_temporary(path: Path) -> bool:
    """Whether a program lies in a cache, as those that uvx and pipx run make."""
    caches = [
        os.environ.get("UV_CACHE_DIR"),
        os.environ.get("XDG_CACHE_HOME"),
        Path.home() / ".cache",
        Path.home() / "Library" / "Caches",
    ]
    local = os.environ.get("LOCALAPPDATA")
    caches += [Path(local) / "uv" / "cache"] if local else []
    real = Path(os.path.realpath(path.parent))
    places = [Path(os.path.realpath(cache)) for cache in caches if cache]
    return ".cache" in real.parts or any(real.is_relative_to(place) for place in places)


def _support_directory() -> Path:
    """Return the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home()))
    return _config_directory()


def _config_directory() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _read_entries(client: Client, path: Path) -> Iterator[ClientEntry]:
    try:
        text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return
    if SERVER_NAME not in text:
        return
    try:
        document = _parse_document(text, path.suffix)
    except ValueError:
        yield ClientEntry(client, path, problem="mentions Rolltop but cannot be parsed")
        return
    own = client.find_entry(text) if path == client.path else None
    seen: list[ClientEntry] = []
    for server in _servers(document):
        entry = replace(_entry(client, path, server), is_own=server == own)
        if entry not in seen:
            seen.append(entry)
            yield entry


def _parse_document(text: str, suffix: str) -> object:
    """Return what a configuration says, nothing for a blank one. Raises ValueError."""
    if suffix == _TOML:
        return toml_tables.parse(text)
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        return json.loads(text)  # some clients keep megabytes there
    except (ValueError, RecursionError):
        return jsonc.parse(text)


def _servers(document: object) -> Iterator[dict[str, Any]]:
    """Yield each server that is Rolltop, wherever the document lists servers."""
    if isinstance(document, list):
        for part in cast("list[object]", document):
            yield from _servers(part)
    if not isinstance(document, dict):
        return
    for key, part in cast("dict[str, Any]", document).items():
        if key in _SERVER_TABLES and isinstance(part, dict):
            for name, listed in cast("dict[str, object]", part).items():
                server = cast("dict[str, Any]", listed) if isinstance(listed, dict) else {}
                command = server.get("command")
                if isinstance(command, str) and (
                    SERVER_NAME in name.lower() or Path(command).stem == SERVER_NAME
                ):
                    yield server
        else:
            yield from _servers(part)


def _entry(client: Client, path: Path, server: Mapping[str, Any]) -> ClientEntry:
    args, variables, directory = server.get("args"), server.get("env"), server.get("cwd")
    return ClientEntry(
        client,
        path,
        server["command"],
        tuple(map(str, cast("list[object]", args))) if isinstance(args, list) else (),
        {name: str(value) for name, value in cast("dict[str, object]", variables).items()}
        if isinstance(variables, dict)
        else {},
        directory if isinstance(directory, str) else "",
    )


def _without_empty_table(document: Mapping[str, Any], table: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != table or value != {}}
