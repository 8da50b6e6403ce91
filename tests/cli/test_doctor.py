"""`rolltop doctor`: what is in order, what is not, and what to do."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tests.postgresql import OWNER, SUPERUSER
from tests.workspace.test_sandbox import NOBODY, unprivileged
from tests.workspace.trees import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Outcome, Shell


def findings(out: str) -> dict[str, list[str]]:
    """Return the lines of a report by what they are about."""
    marks = ("ok ", "note ", "wrong ")
    lines = [line.split(maxsplit=2) for line in out.splitlines() if line.startswith(marks)]
    about: dict[str, list[str]] = {}
    for line in lines:
        about.setdefault(line[1].rstrip(":"), []).append(f"{line[0]} {line[2]}")
    return about


@pytest.fixture
def kept(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell with a store that its user owns, also where the tests are run by root."""
    with TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder))
        top.chmod(0o755)
        monkeypatch.chdir(top)
        shell.data = top / "data"
        for name in ("HOME", "XDG_CONFIG_HOME"):
            shell.set(name, str(top))
        shell.set("ROLLTOP_DATA_DIR", str(shell.data))
        assert shell("call", "add_task", "title=walrus").code == 0
        assert shell("doctor").code == 0
        if os.geteuid() == 0:
            for place in (shell.data, *shell.data.rglob("*")):
                os.chown(place, NOBODY, NOBODY)
        yield shell
        shell.data.chmod(0o700)


def client(path: Path, servers: dict[str, Any], *, key: str = "mcpServers") -> None:
    """Write a client's configuration."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({key: servers}))


def look_at_entry(shell: Shell, args: list[str], environment: dict[str, str]) -> Outcome:
    """Run the doctor beside an entry that starts a server on this store."""
    shell("call", "list_tasks")
    start: dict[str, Any] = {"command": sys.executable, "args": ["-m", "rolltop", "serve", *args]}
    entry = {**start, "env": {"ROLLTOP_DATA_DIR": str(shell.data), **environment}}
    client(shell.home / ".cursor" / "mcp.json", {"rolltop": entry})
    return shell("doctor")


def test_a_fresh_user_is_told_how_to_start_and_nothing_is_made(shell: Shell) -> None:
    outcome = shell("doctor")
    found = findings(outcome.out)
    assert outcome.code == 0
    assert "the first start makes it" in found["store"][0]
    assert found["clients"] == ["note none is set up to start Rolltop"]
    assert "`rolltop install CLIENT`" in outcome.out
    assert found["roots"] == [f"ok code is {shell.folder} (the project it was started in)"]
    assert found["tools"][0].startswith("ok ")
    assert not shell.data.exists()


def test_the_project_is_named_as_tasks_are_filed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = shell.folder / "src"
    below.mkdir()
    git(shell.folder, "init", "-q")
    monkeypatch.chdir(below)
    found = findings(shell("doctor").out)["project"]
    assert found == [f"ok {shell.folder.name}, by the folder this was started in"]
    assert shell("call", "add_task", "title=walrus").code == 0
    listed = json.loads(shell("call", "list_tasks", f"project={shell.folder.name}", "--json").out)
    assert [task["title"] for task in listed["data"]] == ["walrus"]
    named = findings(shell("doctor", "--project", "zoo").out)["project"]
    assert named == ["ok zoo, by the settings"]
    monkeypatch.chdir(shell.home)
    assert findings(shell("doctor").out)["project"] == [
        "ok none, by the folder this was started in"
    ]


def test_programs_read_it_as_json(shell: Shell) -> None:
    outcome = shell("doctor", "--json")
    found = json.loads(outcome.out)
    assert outcome.code == 0
    assert {"status": "ok", "about": "settings"}.items() <= found[0].items()
    assert {finding["status"] for finding in found} <= {"ok", "note", "wrong"}
    shell.set("ROLLTOP_OUTPUT", "xml")
    assert shell("doctor", "--json").code == 1


def test_how_far_back_the_history_goes_is_told(shell: Shell) -> None:
    assert "history" not in findings(shell("doctor").out)
    assert shell("call", "add_task", "title=walrus").code == 0
    (found,) = findings(shell("doctor").out)["history"]
    assert re.fullmatch(r"ok kept since \d{4}-\d\d-\d\dT\d\d:\d\dZ", found)


def test_a_store_in_use(shell: Shell) -> None:
    shell.set("DOCS_ROOT", str(shell.folder))
    shell("user", "add", "ada@example.org")
    shell("token", "create", "ada@example.org")
    outcome = shell("doctor", "--user", "ada@example.org")
    found = findings(outcome.out)
    assert outcome.code == 0
    assert "opens; its schema is core_" in found["store"][0]
    assert found["account"] == ["ok ada@example.org"]
    assert "callers over HTTP need one" in found["tokens"][0]
    assert found["roots"] == [f"ok docs is {shell.folder}"]


def test_what_is_wrong_is_named_and_exits_1(shell: Shell) -> None:
    shell.data.mkdir()
    (shell.data / "desk.db").write_bytes(b"this is no database " * 100)
    outcome = shell("doctor")
    assert outcome.code == 1
    assert findings(outcome.out)["store"][0].startswith("wrong ")
    assert "to mend." in outcome.out
    assert (shell.data / "desk.db").read_bytes() == b"this is no database " * 100


def test_damage_that_no_call_has_come_across_is_found(shell: Shell) -> None:
    for number in range(3):
        assert shell("call", "note_save", f"text={number} {'text ' * 10_000}").code == 0
    file = shell.data / "desk.db"
    assert shell("doctor").code == 0
    with file.open("r+b") as store:
        store.seek(-16 * 4096, os.SEEK_END)
        store.write(b"\xff" * 8 * 4096)
    outcome = shell("doctor")
    assert outcome.code == 1
    (said,) = [line for line in findings(outcome.out)["store"] if line.startswith("wrong")]
    assert f"{file} is damaged" in said
    assert "`rolltop restore FILE`" in outcome.out


def test_a_log_without_its_store(shell: Shell) -> None:
    shell.data.mkdir()
    (shell.data / "desk.db-wal").write_bytes(b"what was acknowledged")
    outcome = shell("doctor")
    assert outcome.code == 1
    assert findings(outcome.out)["store"][0].startswith("wrong ")
    assert "desk.db-wal" in shell("backup", "walrus.db").err
    assert (shell.data / "desk.db-wal").read_bytes() == b"what was acknowledged"


def test_a_setting_that_is_wrong(shell: Shell) -> None:
    shell.set("ROLLTOP_OUTPUT", "xml")
    outcome = shell("doctor")
    assert outcome.code == 1
    assert "output (environment ROLLTOP_OUTPUT) cannot be 'xml'" in outcome.out


@pytest.mark.parametrize("url", ["postgres://ada:secret@127.0.0.1:bad/desk", "sqlite:////"])
def test_an_address_of_no_store(shell: Shell, url: str) -> None:
    shell.set("DATABASE_URL", url)
    outcome = shell("doctor")
    assert outcome.code == 1
    assert "DATABASE_URL" in findings(outcome.out)["settings"][-1]
    for command in (("call", "list_tasks"), ("user", "list"), ("serve",)):
        outcome = shell(*command)
        assert (outcome.code, outcome.err.count("\n")) == (2, 1)
        assert "Allowed are" in outcome.err
        assert "secret" not in outcome.err


def test_a_root_that_is_not_there(shell: Shell) -> None:
    shell.set("DOCS_ROOT", str(shell.folder / "missing"))
    outcome = shell("doctor")
    assert outcome.code == 1
    assert "missing" in outcome.out


def test_a_user_that_is_not_known(shell: Shell) -> None:
    for _ in range(2):
        outcome = shell("doctor", "--user", "ada@example.org")
        assert outcome.code == 1
        assert "`rolltop user add ada@example.org`" in outcome.out
        shell("call", "list_tasks")


def test_the_workspace_that_is_worked_in_is_looked_at(shell: Shell) -> None:
    user = ("--user", "ada@example.org")
    shell("user", "add", user[1])
    shell("workspace", "create", "harbour", "--owner", user[1])
    assert shell("call", "note_save", "text=tides", *user, "--workspace", "harbour").code == 0
    found = findings(shell("doctor", *user, "--workspace", "harbour").out)
    assert found["account"] == ["ok ada@example.org in harbour, as owner"]
    assert found["notes"] == ["ok 1, kept here only"]
    assert findings(shell("doctor", *user).out)["notes"] == ["ok 0, kept here only"]
    for options in ((*user, "--workspace", "elsewhere"), ("--workspace", "harbour")):
        outcome = shell("doctor", *options)
        assert (outcome.code, shell("call", "list_tasks", *options).code) == (1, 2)
        assert findings(outcome.out)["account"][0].startswith("wrong ")


@pytest.mark.parametrize(
    ("args", "environment", "said"),
    [
        (["--user", "gone@example.org"], {}, "no user 'gone@example.org'"),
        ([], {"ROLLTOP_WORKSPACE": "elsewhere"}, "no workspace 'elsewhere'"),
    ],
)
def test_an_entry_for_whom_the_store_does_not_know_is_wrong(
    shell: Shell, args: list[str], environment: dict[str, str], said: str
) -> None:
    outcome = look_at_entry(shell, args, environment)
    (found,) = findings(outcome.out)["clients"]
    assert (outcome.code, found.startswith("wrong Cursor"), said in found) == (1, True, True)
    shell("user", "add", "gone@example.org")
    shell("workspace", "create", "elsewhere", "--owner", "default@localhost")
    assert shell("doctor").code == 0


@pytest.mark.parametrize(
    ("args", "environment"),
    [(["--user", "${env:MAIL}"], {}), ([], {"ROLLTOP_WORKSPACE": "$TEAM"})],
)
def test_for_whom_an_entry_starts_by_a_variable_is_left_to_the_client(
    shell: Shell, args: list[str], environment: dict[str, str]
) -> None:
    outcome = look_at_entry(shell, args, environment)
    assert (outcome.code, findings(outcome.out)["clients"][0][:9]) == (0, "ok Cursor")


def test_clients_that_start_it(shell: Shell) -> None:
    start = ["-m", "rolltop", "serve"]
    entry = {"command": sys.executable, "args": start}
    client(shell.home / ".claude.json", {"rolltop": entry})
    client(shell.home / ".cursor" / "mcp.json", {"desk": {"command": "/gone/rolltop"}})
    client(shell.folder / ".vscode" / "mcp.json", {"other": {"command": "x"}}, key="servers")
    (shell.home / ".gemini").mkdir()
    (shell.home / ".gemini" / "settings.json").write_text('{"mcpServers": {"rolltop": ')
    (shell.home / ".codex").mkdir()
    (shell.home / ".codex" / "config.toml").write_text(
        f"[mcp_servers.rolltop]\ncommand = '{sys.executable}'\nargs = {start}\n"
    )
    outcome = shell("doctor")
    assert outcome.code == 1
    clients = [line for line in findings(outcome.out)["clients"] if not line.startswith("note")]
    assert [line.split()[:2] for line in clients] == [
        ["ok", "Claude"],
        ["wrong", "Cursor"],
        ["ok", "Codex"],
        ["wrong", "Gemini"],
    ]
    assert "starts /gone/rolltop, which is not there" in clients[1]
    assert "cannot be parsed" in clients[3]


def test_what_a_client_will_see_is_read_from_its_entry(shell: Shell) -> None:
    docs = shell.folder / "docs"
    docs.mkdir()
    shell.set("DOCS_ROOT", str(shell.home))  # a variable of this shell, which no client has
    start: dict[str, Any] = {"command": sys.executable, "args": ["-m", "rolltop", "serve"]}
    entries: dict[str, dict[str, Any]] = {
        ".claude.json": start,
        ".cursor/mcp.json": {**start, "env": {"CODE_ROOT": str(docs), "ROLLTOP_TOKEN": "x"}},
        ".gemini/settings.json": {**start, "env": {"DOCS_ROOT": "/gone", "CODE_ROOT": "${x}"}},
        ".config/Claude/claude_desktop_config.json": start,
        ".config/Code/User/mcp.json": {**start, "cwd": str(docs)},
    }
    for name, entry in entries.items():
        key = "servers" if "Code" in name else "mcpServers"
        client(shell.home / name, {"rolltop": entry}, key=key)
    outcome = shell("doctor")
    found = findings(outcome.out)["clients"]
    for said in (
        f"ok Claude Code starts {sys.executable} ({shell.home}/.claude.json); code is the project",
        f"note Claude Code keeps its data in sqlite:///{shell.home}",
        f"ok Cursor starts {sys.executable} ({shell.home}/.cursor/mcp.json); code is {docs}",
        "note Cursor: Ignored: ",
        "wrong Gemini CLI",
        "note Claude Desktop tells servers no folder",
        f"ok VS Code starts {sys.executable} ({shell.home}/.config/Code/User/mcp.json); code is",
    ):
        assert any(line.startswith(said) for line in found), (said, found)
    assert "`rolltop install claude-desktop --code FOLDER`" in outcome.out
    assert "'docs' is set to '/gone', which does not exist" in outcome.out
    assert str(shell.data) in outcome.out


@pytest.mark.parametrize(
    ("args", "environment", "said"),
    [
        ([], {}, "without `serve`"),
        (["serve", "--nonsense"], {}, "its arguments are refused"),
        (["serve", "--set", "output=xml"], {}, "cannot be 'xml'"),
        (["serve"], {"ROLLTOP_OUTPUT": "xml"}, "cannot be 'xml'"),
    ],
)
def test_an_entry_that_starts_no_server_is_wrong(
    shell: Shell, args: list[str], environment: dict[str, str], said: str
) -> None:
    entry = {"command": sys.executable, "args": args, "env": environment}
    client(shell.home / ".cursor" / "mcp.json", {"rolltop": entry})
    outcome = shell("doctor")
    assert outcome.code == 1
    assert said in findings(outcome.out)["clients"][0]


def test_a_command_in_a_cache_is_wrong(shell: Shell) -> None:
    program = shell.home / ".cache" / "uv" / "archive-v0" / "x" / "bin" / "rolltop"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    entry = {"command": str(program), "args": ["serve"]}
    client(shell.home / ".cursor" / "mcp.json", {"rolltop": entry})
    outcome = shell("doctor")
    assert outcome.code == 1
    assert "in a cache" in outcome.out
    assert "`rolltop install cursor` mends it" in outcome.out


@pytest.mark.parametrize(("place", "name"), [("home", "desk"), ("folder", "rolltop")])
def test_what_install_would_not_change_is_not_said_to_be_mended_by_it(
    shell: Shell, place: str, name: str
) -> None:
    path = getattr(shell, place) / ".cursor" / "mcp.json"
    client(path, {name: {"command": "/gone/rolltop", "args": ["serve"]}})
    outcome = shell("doctor")
    assert (outcome.code, "which is not there" in outcome.out) == (1, True)
    assert ("rolltop install" in outcome.out, str(path) in outcome.out) == (False, True)


def test_comments_in_a_clients_file_are_allowed(shell: Shell) -> None:
    path = shell.folder / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(
        '{ // mine\n"servers": {"rolltop": {"command": "'
        + sys.executable
        + '", "args": ["serve"], "url": "http://x"} /* ok */ }}'
    )
    assert findings(shell("doctor").out)["clients"][0].startswith("ok VS Code starts")


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("HOST", "0.0.0.0", "List the server's public names in http.allowed_hosts."),  # noqa: S104  # what is looked at
        ("AUTH", "token", "`rolltop token create EMAIL` makes one."),
        ("AUTH", "jwt", "Set http.oauth_issuer and http.public_url."),
        ("ALLOWED_HOSTS", "https://desk.example.org", "Write desk.example.org"),
        ("PROBE_ADDRESSES", "pod", "Write 10.0.0.7"),
        ("TRACES_ENDPOINT", "ftp://x", "Send one as http://127.0.0.1:4318"),
    ],
)
def test_what_keeps_a_server_over_http_from_starting_is_told(
    shell: Shell, name: str, value: str, advice: str
) -> None:
    shell("user", "add", "ann@example.org")
    shell.set(f"ROLLTOP_HTTP_{name}", value)
    outcome = shell("doctor")
    (said,) = findings(outcome.out)["http"]
    assert (outcome.code, said.split()[:2]) == (1, ["wrong", f"http.{name.lower()}:"])
    assert f"→ {advice}" in outcome.out


def test_settings_of_a_server_over_http_are_looked_at_where_there_are_any(shell: Shell) -> None:
    shell.set("ROLLTOP_HTTP_AUTH", "token")
    assert "http" not in findings(shell("doctor").out)
    assert not shell.data.exists()
    shell("user", "add", "ann@example.org")
    shell("token", "create", "ann@example.org")
    outcome = shell("doctor")
    (said,) = findings(outcome.out)["http"]
    assert (outcome.code, said.split()[0]) == (0, "ok")
    shell.set("ROLLTOP_HTTP_AUTH", "")
    assert "http" not in findings(shell("doctor").out)
    shell.set("ROLLTOP_HTTP_AUTH", "token")
    (shell.data / "desk.db").write_bytes(b"no store at all" * 100)
    found = findings(shell("doctor").out)
    assert ("http" in found, [line.split()[0] for line in found["store"]]) == (False, ["wrong"])


def test_a_folder_that_may_not_be_written_to(shell: Shell) -> None:
    shell.set("ROLLTOP_DATA_DIR", "/proc/rolltop")
    outcome = shell("doctor")
    refused = not os.access("/proc", os.W_OK)
    assert (outcome.code == 1) == refused


@pytest.mark.parametrize(("name", "mode"), [("desk.db", 0o444), (".", 0o555)])
def test_a_store_that_may_not_be_written_to(kept: Shell, name: str, mode: int) -> None:
    (kept.data / name).chmod(mode)
    with unprivileged():
        assert kept("call", "add_task", "title=sealion").code == 1
        outcome = kept("doctor")
    assert outcome.code == 1
    assert any(line.startswith("wrong ") for line in findings(outcome.out)["store"])
    assert str(kept.data / "desk.db") in outcome.out


def test_an_index_that_cannot_be_used_is_named(kept: Shell) -> None:
    assert findings(kept("doctor").out)["index"][0].startswith("ok ")
    damaged, unusable = (kept.data / "code-index" / f"{name}-1-1.db" for name in ("a", "b"))
    damaged.parent.mkdir()
    damaged.write_bytes(b"this is no database " * 100)
    outcome = kept("doctor")
    assert (outcome.code, findings(outcome.out)["index"][0].startswith("note ")) == (0, True)
    unusable.touch(mode=0o444)
    with unprivileged():
        outcome = kept("doctor")
    last = findings(outcome.out)["index"][-1]
    assert (outcome.code, last.startswith(f"wrong {unusable}: ")) == (1, True)
    kept.set("ROLLTOP_RETRIEVAL_INDEX", "off")
    assert findings(kept("doctor").out)["index"] == ["ok off by retrieval.index"]


def test_extras_that_are_not_installed_are_named(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "rolltop-1.dist-info" / "METADATA"
    about.parent.mkdir()
    needs = ("no-such-thing", "pytest ; extra == 'semantic'", "no-such>=1 ; extra == 'documents'")
    lines = ("Metadata-Version: 2.1", "Name: rolltop", *(f"Requires-Dist: {one}" for one in needs))
    about.write_text("\n".join(lines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    outcome = shell("doctor")
    assert findings(outcome.out)["extras"] == ["note not installed: documents"]
    assert "rolltop[documents]" in outcome.out


def test_a_store_that_may_not_be_looked_at(kept: Shell) -> None:
    for name in ("cli.backups", "cli.users", "core.db.restore"):
        import_module(f"rolltop.{name}")  # the other user may be kept from where they lie
    kept.data.chmod(0o000)
    with unprivileged():
        outcome = kept("doctor")
        others = [
            kept(*command)
            for command in (("backup", "b.db"), ("restore", __file__, "--yes"), ("user", "list"))
        ]
    assert outcome.code == 1
    assert findings(outcome.out)["store"][0].startswith("wrong ")
    for other in others:
        assert (other.code, "something failed" in other.err) == (1, False), other


def test_a_role_that_passes_policies_is_told(shell: Shell, migrated_url: str) -> None:
    shell.set("DATABASE_URL", migrated_url)
    assert "isolation" not in findings(shell("doctor").out)
    shell.set("DATABASE_URL", migrated_url.replace(OWNER, SUPERUSER, 1))
    outcome = shell("doctor")
    assert findings(outcome.out)["isolation"][0].startswith("note the role of database_url passes")
    assert "no superuser" in outcome.out
