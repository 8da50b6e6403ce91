"""`rolltop install` and `uninstall` in a home of the tests' own."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from rolltop.cli import client_configs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

USER_FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "zed": ".config/zed/settings.json",
}
TABLES = {"vscode": "servers", "codex": "mcp_servers", "zed": "context_servers"}
CLIENTS = pytest.mark.parametrize("client", USER_FILES)


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program as an installer leaves it."""
    path = tmp_path / "bin" / "rolltop"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "UV", "UV_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return path


def config(shell: Shell, client: str) -> Path:
    path = shell.home / USER_FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def servers(path: Path, client: str) -> dict[str, Any]:
    parse = tomllib.loads if path.suffix == ".toml" else json.loads
    return parse(path.read_text())[TABLES.get(client, "mcpServers")]


@CLIENTS
def test_a_client_without_a_configuration_gets_one(
    shell: Shell, client: str, program: Path
) -> None:
    path = config(shell, client)
    nothing = shell("uninstall", client, "--yes")
    assert (nothing.code, "Nothing was changed" in nothing.out) == (0, True), nothing.err
    outcome = shell("install", client, "--yes")
    assert outcome.code == 0, outcome.err
    entry = servers(path, client)["rolltop"]
    assert (entry["command"], entry["args"]) == (str(program), ["serve"])
    # Claude Desktop starts servers in no project and tells no folder.
    assert ("env" in entry) == (client == "claude-desktop")
    assert str(path) in outcome.out
    assert path.stat().st_mode & 0o777 == 0o600
    assert "not in the entry: ROLLTOP_DATA_DIR." in outcome.out
    again = shell("install", client, "--yes")
    assert "Nothing was changed" in again.out
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert shell("doctor").out.count(f" starts {program}") == 1


@CLIENTS
def test_what_else_is_in_the_file_stays_and_uninstall_gives_it_back(
    shell: Shell, client: str, program: Path
) -> None:
    path = config(shell, client)
    table = TABLES.get(client, "mcpServers")
    text = f'{{\n    "theme": "dark",\n    "{table}": {{"other": {{"command": "x"}}}}\n}}\n'
    if client in {"vscode", "zed"}:
        text = "// mine\n" + text.replace('"dark",', '"dark", // at night')
    if client == "codex":
        text = 'model = "o9" # the best\n\n[mcp_servers.other]\ncommand = "x"\n'
    path.write_bytes(text.encode())
    path.chmod(0o640)
    outcome = shell("install", client, "--yes")
    assert outcome.code == 0, outcome.err
    changed = path.read_text()
    assert json.dumps(str(program)) in changed
    assert all(line in changed for line in text.splitlines() if "//" in line or "#" in line)
    assert any(line.startswith("+") and "rolltop" in line for line in outcome.out.splitlines())
    [copy] = path.parent.glob("*.bak")
    assert (copy.read_text(), str(copy) in outcome.out) == (text, True)
    assert shell("uninstall", client, "--yes").code == 0
    assert path.read_bytes() == text.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert "Nothing was changed" in shell("uninstall", client, "--yes").out


def test_it_asks_and_takes_no_for_an_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config(shell, "cursor")
    refused = shell("install", "cursor")
    assert (refused.code, path.exists()) == (1, False)
    assert "--yes" in refused.err
    monkeypatch.setattr("rolltop.cli.options.is_terminal", Mock(return_value=True))
    answers = ["n", "y"]

    def answer(_question: str) -> str:
        if not answers:
            path.write_text("{}")
        return answers.pop(0) if answers else "y"

    monkeypatch.setattr("builtins.input", answer)
    assert shell("install", "cursor").code == 1
    assert not path.exists()
    assert shell("install", "cursor").code == 0
    assert "changed meanwhile" in shell("uninstall", "cursor").err


@CLIENTS
def test_a_file_that_cannot_be_parsed_is_left_alone(shell: Shell, client: str) -> None:
    path = config(shell, client)
    for text in (b'{"rolltop" ', b"\xff\xfe{}", b"[]"):
        path.write_bytes(text)
        for command in ("install", "uninstall"):
            if (path.suffix, text) == (".toml", b"[]"):
                continue
            outcome = shell(command, client, "--yes")
            assert (outcome.code, path.read_bytes()) == (2, text)
            assert str(path) in outcome.err
    assert len([*path.parent.glob("*.bak")]) == 0


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": []}\n'),
        ("codex", "mcp_servers = []\n"),
        ("codex", '[[mcp_servers]]\ncommand = "x"\n'),
    ],
)
def test_servers_in_another_form_are_left_alone(shell: Shell, client: str, text: str) -> None:
    path = config(shell, client)
    path.write_text(text)
    outcome = shell("install", client, "--yes")
    assert (outcome.code, path.read_text()) == (2, text)
    assert f"{path} has no" in outcome.err
    assert shell("uninstall", client, "--yes").code == 0


def test_an_entry_that_is_there_is_mended_and_keeps_the_users_own(
    shell: Shell, program: Path
) -> None:
    path = config(shell, "vscode")
    old = {
        "command": "/gone/rolltop",
        "args": ["serve", "--read-only"],
        "env": {"DOCS_ROOT": "/docs"},
        "disabled": True,
    }
    path.write_text(json.dumps({"servers": {"rolltop": old}}))
    assert shell("install", "vscode", "--yes", "--code", str(shell.folder)).code == 0
    assert servers(path, "vscode")["rolltop"] == {
        "type": "stdio",
        "command": str(program),
        "args": ["serve", "--read-only"],
        "env": {"DOCS_ROOT": "/docs", "CODE_ROOT": str(shell.folder)},
        "disabled": True,
    }
    for key in ("url", "httpUrl", "serverUrl"):
        entry = {key: "http://desk.example.org/mcp"}
        path.write_text(json.dumps({"servers": {"rolltop": entry}}))
        said = shell("install", "vscode", "--yes").err
        assert "over HTTP already, at http://desk.example.org/mcp" in said
        assert servers(path, "vscode") == {"rolltop": entry}


def test_a_place_that_cannot_be_written_is_named(shell: Shell) -> None:
    (shell.home / ".cursor").write_text("in the way")
    for home in (str(shell.home), "/proc"):
        shell.set("HOME", home)
        refused = shell("install", "cursor", "--yes")
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
        assert f"{home}/.cursor/mcp.json cannot be " in refused.err


def test_a_copy_was_at_no_time_to_be_read_by_more_than_the_file(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config(shell, "cursor")
    path.write_text('{"secret": "walrus"}')
    path.chmod(0o600)
    made: list[int] = []
    opened = os.open

    def watched(name: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        if str(name).startswith(str(path)) and flags & os.O_CREAT:
            made.append(mode)
        return opened(name, flags, mode, **named)

    monkeypatch.setattr(os, "open", watched)
    assert shell("install", "cursor", "--yes").code == 0
    [copy] = path.parent.glob("*.bak")
    assert (copy.stat().st_mode & 0o777, made) == (0o600, [0o600, 0o600])


def test_a_link_stays_a_link(shell: Shell) -> None:
    real = shell.home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    path = config(shell, "cursor")
    path.symlink_to(real)
    assert shell("install", "cursor", "--yes").code == 0
    assert path.is_symlink()
    assert "rolltop" in real.read_text()


def test_printing_changes_nothing_and_serves_any_client(shell: Shell, program: Path) -> None:
    for client in ("", *USER_FILES, "cline"):
        outcome = shell("install", *([client] if client else []), "--print")
        assert outcome.code == 0, outcome.err
        assert str(program) in outcome.out
        if client != "codex":
            json.loads(outcome.out)
        assert (USER_FILES.get(client, "?") in outcome.err) == (client in USER_FILES)
    assert not (shell.home / ".cursor").exists()
    unknown = shell("install", "cline")
    assert (unknown.code, "--print" in unknown.err) == (1, True)
    assert "Did you mean claude-code" in shell("uninstall", "clade-code").err


def test_claude_desktop_is_told_the_project(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config(shell, "claude-desktop")
    monkeypatch.chdir(shell.home)
    outcome = shell("install", "claude-desktop", "--yes")
    assert "--code FOLDER" in outcome.out
    monkeypatch.chdir(shell.folder)
    assert shell("install", "claude-desktop", "--yes").code == 0
    entry = servers(path, "claude-desktop")["rolltop"]
    assert entry["env"] == {"CODE_ROOT": str(shell.folder)}
    assert shell("install", "cursor", "--docs", "gone").code == 1


def test_folders_that_an_entry_names_stay_wherever_it_is_renewed(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, docs = config(shell, "claude-desktop"), tmp_path / "manuals"
    docs.mkdir()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'kept.db'}")
    monkeypatch.chdir(shell.home)
    assert shell("install", "claude-desktop", "--docs", str(docs), "--yes").code == 0
    entry = json.loads(path.read_text())
    entry["mcpServers"]["rolltop"]["env"]["DATABASE_URL"] = "sqlite:////somewhere.db"
    path.write_text(json.dumps(entry))
    for folder in (shell.folder, shell.home):
        monkeypatch.chdir(folder)
        outcome = shell("install", "claude-desktop", "--yes")
        assert (outcome.code, "--code" in outcome.out) == (0, False)
        assert "DATABASE_URL" not in outcome.out
        assert json.loads(path.read_text()) == entry


def test_a_folder_whose_name_no_configuration_can_hold_is_refused(shell: Shell) -> None:
    folder = f"{shell.home}/\udcff"
    os.mkdir(folder)  # noqa: PTH102  # no name for a path as text
    outcome = shell("install", "claude-desktop", "--code", folder, "--yes")
    assert (outcome.code, "is no UTF-8" in outcome.err) == (1, True)
    assert not config(shell, "claude-desktop").exists()


def test_clients_that_were_moved_are_found(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, client, name in (
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / client))
        (tmp_path / client).mkdir()
        assert shell("install", client, "--yes").code == 0
        assert (tmp_path / client / name).exists()


@pytest.mark.parametrize(
    ("platform", "client", "path"),
    [
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("win32", "cursor", ".cursor/mcp.json"),
    ],
)
def test_where_other_systems_keep_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, platform: str, client: str, path: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("APPDATA", str(shell.home / "AppData" / "Roaming"))
    [found] = [one.path for one in client_configs.clients() if one.name == client]
    assert found == shell.home / path


@pytest.mark.parametrize(
    ("cache", "runner", "command", "beside"),
    [
        (".cache/uv/archive-v0/x1", "uvx", ["--from", "rolltop", "rolltop", "serve"], False),
        (".cache/uv/archive-v0/x1", "uvx", ["--from", "rolltop", "rolltop", "serve"], True),
        (".local/pipx/.cache/x1", "pipx", ["run", "--spec", "rolltop", "rolltop", "serve"], False),
        (".cache/uv/archive-v0/x1", "", [], False),
    ],
)
def test_a_caches_path_is_never_written(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    cache: str,
    runner: str,
    command: list[str],
    *,
    beside: bool,
) -> None:
    prefix = shell.home / cache
    programs = shell.home / "programs"
    for path in (prefix / "bin" / "rolltop", prefix / "bin" / "python", programs / (runner or "x")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(prefix / "bin" / "rolltop")])
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setenv("PATH", f"{prefix / 'bin'}:{programs}")
    if beside:  # as uv says it, while it is not on the path
        monkeypatch.setenv("PATH", str(prefix / "bin"))
        monkeypatch.setenv("UV", str(programs / "uv"))
    monkeypatch.setattr(client_configs, "install_source", Mock(return_value="rolltop"))
    path = config(shell, "cursor")
    outcome = shell("install", "cursor", "--yes")
    if runner:
        entry = servers(path, "cursor")["rolltop"]
        assert (entry["command"], entry["args"]) == (str(programs / runner), command)
    else:
        assert (outcome.code, path.exists()) == (2, False)
        assert "uv tool install" in outcome.err
    assert str(prefix) not in shell("doctor").out


def test_what_it_was_installed_from_is_named_as_installers_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directs: list[tuple[dict[str, Any] | None, str]] = [
        (None, "rolltop"),
        (
            {"url": "https://example.org/r.git", "vcs_info": {"vcs": "git"}},
            "git+https://example.org/r.git",
        ),
        ({"url": "file:///home/ann/rolltop", "dir_info": {}}, "file:///home/ann/rolltop"),
    ]
    for direct, source in directs:
        found = Mock(read_text=Mock(return_value=direct and json.dumps(direct)))
        monkeypatch.setattr("importlib.metadata.distribution", Mock(return_value=found))
        assert client_configs.install_source() == source


HOOK_FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
}
HOOK_EVENTS = {
    "claude-code": ["SessionStart", "PreCompact", "SessionEnd"],
    "codex": ["SessionStart", "PreCompact"],
    "gemini": ["SessionStart", "SessionEnd"],
}


@pytest.mark.parametrize("client", HOOK_FILES)
def test_hooks_are_set_beside_others_and_taken_out_again(
    shell: Shell, client: str, program: Path
) -> None:
    config(shell, client)
    path = shell.home / HOOK_FILES[client]
    path.parent.mkdir(exist_ok=True)
    config(shell, client)
    notify = {"type": "command", "command": "notify"}
    other = {"hooks": [notify]}
    text = json.dumps({"theme": "dark", "hooks": {"SessionStart": [other]}}, indent=4)
    path.write_text(text)
    outcome = shell("install", client, "--hooks", "--yes")
    assert outcome.code == 0, outcome.err
    again = shell("install", client, "--hooks", "--yes")
    assert f"{path}). Nothing was changed" in again.out
    hooks = json.loads(path.read_text())["hooks"]
    assert sorted(hooks) == sorted(HOOK_EVENTS[client])
    assert hooks["SessionStart"][0] == other
    [ours] = hooks["SessionStart"][1]["hooks"]
    assert ours["command"] == f"{program} hook session-start --for {client}"
    assert all(len(groups) == 1 for event, groups in hooks.items() if event != "SessionStart")
    hooks["SessionStart"][1]["hooks"].append(notify)  # a group that the user has made of ours
    path.write_text(json.dumps({"theme": "dark", **json.loads(path.read_text()), "hooks": hooks}))
    shared = {"hooks": [other, {"hooks": [notify]}]}
    assert shell("uninstall", client, "--yes").code == 0
    assert json.loads(path.read_text())["hooks"] == {"SessionStart": shared["hooks"]}


@pytest.mark.parametrize("client", HOOK_FILES)
def test_hooks_work_on_the_desk_that_the_entry_names(
    shell: Shell, program: Path, client: str
) -> None:
    here, there = str(shell.data), str(shell.folder / "my desk")
    shell.set("ROLLTOP_DATA_DIR", there)
    for arguments in (
        ("user", "add", "me@x.y"),
        ("workspace", "create", "crew", "--owner", "me@x.y"),
        ("call", "add_task", "title=walrus", "--user", "me@x.y", "--workspace", "crew"),
        ("call", "add_task", "title=sealion", "--user", "me@x.y"),
    ):
        assert shell(*arguments).code == 0
    shell.set("ROLLTOP_DATA_DIR", here)
    path = config(shell, client)
    assert shell("install", client, "--hooks", "--yes").code == 0
    text = path.read_text()
    if path.suffix == ".toml":
        text = text.replace('["serve"]', '["serve", "--user=me@x.y", "--workspace", "crew"]')
        text += f'[mcp_servers.rolltop.env]\nROLLTOP_DATA_DIR = "{there}"\n'
    else:
        document = json.loads(text)
        document["mcpServers"]["rolltop"] |= {
            "args": ["serve", "--user=me@x.y", "--workspace", "crew", "--toolsets", "desk,tasks"],
            "env": {"ROLLTOP_DATA_DIR": there},
        }
        text = json.dumps(document)
    path.write_text(text)
    assert shell("install", client, "--hooks", "--yes").code == 0
    hooks = json.loads((shell.home / HOOK_FILES[client]).read_text())["hooks"]
    # What the entry says may be secret, and anybody may read arguments of a process.
    [ours] = hooks["SessionStart"][0]["hooks"]
    assert ours["command"] == f"{program} hook session-start --for {client}"
    said = shell("hook", "session-start", "--for", client)
    assert ("walrus" in said.out, "sealion" in said.out) == (True, False), said
    assert not shell.data.exists()
    own = shell("hook", "session-start", "--for", client, "--workspace", "me@x.y")
    assert ("walrus" in own.out, "sealion" in own.out) == (False, True), own


def test_hooks_have_all_variables_of_the_entry(
    shell: Shell, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = str(shell.folder / "elsewhere")
    shell.set("ROLLTOP_DATA_DIR", str(shell.folder / "elsewhere" / "rolltop"))
    assert shell("call", "add_task", "title=walrus").code == 0
    path = config(shell, "claude-code")
    entry = {"command": str(program), "args": ["serve"], "env": {"XDG_DATA_HOME": elsewhere}}
    path.write_text(json.dumps({"mcpServers": {"rolltop": entry}}))
    monkeypatch.delenv("ROLLTOP_DATA_DIR")
    said = shell.process("hook", "session-start", "--for", "claude-code")
    assert "walrus" in said.out, said


def test_hooks_that_are_the_first_in_a_file_leave_none(shell: Shell) -> None:
    config(shell, "codex")
    assert shell("install", "codex", "--hooks", "--yes").code == 0
    assert shell("uninstall", "codex", "--yes").code == 0
    assert json.loads((shell.home / HOOK_FILES["codex"]).read_text()).get("hooks", {}) == {}


def test_hooks_that_are_no_longer_set_are_taken_out(shell: Shell) -> None:
    old = {"hooks": [{"type": "command", "command": "rolltop hook pre-compact --for gemini"}]}
    other = {"hooks": [{"type": "command", "command": "notify"}]}
    for command in (("install", "gemini", "--hooks"), ("uninstall", "gemini")):
        hooks = {"enabled": True, "PreCompress": [old, other]}
        config(shell, "gemini").write_text(json.dumps({"hooks": hooks}))
        assert shell(*command, "--yes").code == 0
        left = json.loads(config(shell, "gemini").read_text())["hooks"]
        assert (left["enabled"], left["PreCompress"]) == (True, [other])


def test_codex_users_are_told_that_they_have_to_trust_its_hooks(shell: Shell) -> None:
    config(shell, "codex")
    assert "/hooks" in shell("install", "codex", "--hooks", "--yes").out
    assert "/hooks" not in shell("install", "gemini", "--hooks", "--yes").out


def test_hooks_in_another_form_and_clients_without_are_refused(shell: Shell) -> None:
    config(shell, "gemini").write_text('{"hooks": {"SessionStart": {"command": "x"}}}')
    refused = shell("install", "gemini", "--hooks", "--yes")
    assert (refused.code, "another form" in refused.err) == (2, True)
    config(shell, "cursor")
    for option in ("hooks", "skill"):
        refused = shell("install", "cursor", f"--{option}", "--yes")
        assert (refused.code, f"takes no {option}" in refused.err) == (1, True)


@pytest.mark.parametrize("client", HOOK_FILES)
def test_the_skill_is_copied_renewed_and_taken_away(shell: Shell, client: str) -> None:
    config(shell, client)
    assert shell("install", client, "--skill", "--yes").code == 0
    [path] = shell.home.glob("*/skills/rolltop/SKILL.md")
    assert path.read_text().startswith("---\nname: rolltop\n")
    path.write_text("my own")
    assert "left as it is" in shell("uninstall", client, "--yes").out
    assert path.read_text() == "my own"
    assert shell("install", client, "--skill", "--yes").code == 0
    assert path.read_text().startswith("---\nname: rolltop\n")
    for copy in path.parent.glob("*.bak"):
        copy.unlink()
    assert shell("uninstall", client, "--yes").code == 0
    assert not path.parent.exists()


def test_a_hook_says_in_a_line_what_is_wrong_with_the_entry(shell: Shell, program: Path) -> None:
    path = config(shell, "claude-code")
    entry = {"command": str(program), "args": ["serve", "--user"]}
    path.write_text(json.dumps({"mcpServers": {"rolltop": entry}}))
    refused = shell("hook", "session-start", "--for", "claude-code")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "its arguments are refused" in refused.err
