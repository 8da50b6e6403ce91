"""`rolltop doctor`: what is in order, what is not, and what to do."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tests.workspace.test_sandbox import NOBODY, unprivileged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Shell


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


def test_a_fresh_user_is_told_how_to_start_and_nothing_is_made(shell: Shell) -> None:
    outcome = shell("doctor")
    found = findings(outcome.out)
    assert outcome.code == 0
    assert "the first start makes it" in found["store"][0]
    assert found["clients"] == ["note none is set up to start Rolltop"]
    assert "claude mcp add rolltop -- " in outcome.out
    assert found["roots"] == [f"ok code is {shell.folder} (the project it was started in)"]
    assert found["tools"][0].startswith("ok ")
    assert not shell.data.exists()


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


def test_clients_that_start_it(shell: Shell) -> None:
    client(shell.home / ".claude.json", {"rolltop": {"command": sys.executable}})
    client(shell.home / ".cursor" / "mcp.json", {"desk": {"command": "/gone/rolltop"}})
    client(shell.folder / ".vscode" / "mcp.json", {"other": {"command": "x"}}, key="servers")
    (shell.home / ".gemini").mkdir()
    (shell.home / ".gemini" / "settings.json").write_text('{"mcpServers": {"rolltop": ')
    (shell.home / ".codex").mkdir()
    (shell.home / ".codex" / "config.toml").write_text(
        f"[mcp_servers.rolltop]\ncommand = '{sys.executable}'\n"
    )
    outcome = shell("doctor")
    assert outcome.code == 1
    clients = findings(outcome.out)["clients"]
    assert [line.split()[:2] for line in clients] == [
        ["ok", "Claude"],
        ["wrong", "Cursor"],
        ["ok", "Codex"],
        ["wrong", "Gemini"],
    ]
    assert "starts /gone/rolltop, which is not there" in clients[1]
    assert "cannot be parsed" in clients[3]


def test_comments_in_a_clients_file_are_allowed(shell: Shell) -> None:
    path = shell.folder / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(
        '{ // mine\n"servers": {"rolltop": {"command": "'
        + sys.executable
        + '", "url": "http://x"} /* ok */ }}'
    )
    assert findings(shell("doctor").out)["clients"][0].startswith("ok VS Code starts")


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
