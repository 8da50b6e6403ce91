"""`rolltop notes`, against a server on this machine."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import keyring.backends.fail
import keyring.core
import pytest

from rolltop.cli import options
from rolltop.core.accounts import DEFAULT_EMAIL
from rolltop.toolsets.notes.clients.token_store import FILE_NAME
from tests import forks
from tests.cli.conftest import SOURCE
from tests.server.processes import PATIENCE, Lines
from tests.simperium import Simperium
from tests.simperium.http import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Shell
    from tests.simperium.server import Reply, Request

ADA = "ada@example.org"
PASSWORD = "correct horse"  # noqa: S105  # of nobody


@pytest.fixture
def served(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A Simplenote of one user, which the shell's settings name; without a keyring."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", keyring.backends.fail.Keyring())
    simperium = Simperium()
    simperium.add_user(ADA, PASSWORD)
    with Served(simperium) as listening:
        shell.set("SIMPERIUM_AUTH_URL", f"{listening.url}/1")
        shell.set("SIMPERIUM_API_URL", f"{listening.url}/1")
        shell.set("SIMPLENOTE_ACCOUNT_URL", f"{listening.url}/account")
        yield listening


def log_in(shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch, *options_: str) -> str:
    """Log in with the code that was mailed; return what was said."""

    def answer(question: str = "") -> str:
        return served.simperium.codes[ADA].lower() if question.startswith("Code") else ADA

    monkeypatch.setattr("builtins.input", answer)
    outcome = shell("notes", "login", *options_)
    assert outcome.code == 0, outcome.err
    return outcome.out


def texts(served: Served) -> set[str]:
    """Return what the notes at the server say."""
    return {data["content"] for data in served.simperium.notes(ADA).live().values()}


def test_a_login_by_mailed_code_connects_and_syncs(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.simperium.notes(ADA).post("n", {"content": "from Simplenote"}, None, None)
    assert "Connected ada@example.org" in log_in(shell, served, monkeypatch)
    assert shell("audit").out.split()[-4:] == ["notes", "login", f"{DEFAULT_EMAIL}:", ADA]
    assert shell("notes", "sync").out == "Pulled 1, pushed 0, conflicts 0.\n"
    assert json.loads(shell("call", "note_get", "id=n").out)["text"] == "from Simplenote"
    status = shell("notes", "status").out
    assert ADA in status
    assert "idle" in status
    saved = shell("call", "note_save", "text=from here")
    assert json.loads(saved.out)["sync_state"] == "synced"
    assert texts(served) == {"from Simplenote", "from here"}


def test_the_token_lies_in_a_file_that_only_its_owner_can_read_and_is_never_shown(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = log_in(shell, served, monkeypatch)
    file = shell.data / FILE_NAME
    (token,) = json.loads(file.read_text()).values()
    assert served.simperium.tokens[token] == ADA
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for shown in (said, shell("notes", "status").out, shell("config").out):
        assert token not in shown
    for path in shell.data.iterdir():
        assert path == file or token.encode() not in path.read_bytes()


def test_a_long_sync_shows_a_bar_on_a_terminal_and_takes_it_away(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(150):
        served.simperium.notes(ADA).post(f"n{n}", {"content": f"text {n}"}, None, None)
    log_in(shell, served, monkeypatch)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    first = shell("notes", "sync")
    assert first.err.count("\r\x1b[K") > 1
    assert first.err.endswith("\r\x1b[K")
    assert first.out == "Pulled 150, pushed 0, conflicts 0.\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert shell("notes", "sync").err == ""


def test_each_user_logs_in_to_an_account_of_their_own(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.simperium.notes(ADA).post("n", {"content": "from Simplenote"}, None, None)
    user = ("--user", "grace@example.org")
    assert shell("user", "add", user[1]).code == 0
    log_in(shell, served, monkeypatch, *user)
    assert shell("notes", "sync", *user).out == "Pulled 1, pushed 0, conflicts 0.\n"
    assert json.loads(shell("call", "note_list", *user).out)["total_items"] == 1
    assert json.loads(shell("call", "note_list").out)["total_items"] == 0


def test_a_login_goes_with_the_user_or_the_workspace_that_made_it(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = ("--user", "grace@example.org")
    shell("user", "add", user[1])
    shell("workspace", "create", "harbour", "--owner", user[1])
    for whose in ((), user, (*user, "--workspace", "harbour")):
        log_in(shell, served, monkeypatch, *whose)
    file = shell.data / FILE_NAME
    tokens = list(json.loads(file.read_text()).items())
    assert len(tokens) == 3
    deleted = shell("workspace", "delete", "harbour", "--yes")
    assert (deleted.code, "note accounts (1)" in deleted.out) == (0, True)
    assert json.loads(file.read_text()) == dict(tokens[:2])
    assert shell("user", "delete", user[1], "--yes").code == 0
    assert json.loads(file.read_text()) == dict(tokens[:1])
    assert shell("notes", "sync").code == 0


def test_a_login_that_cannot_be_removed_is_told_where_it_lies(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = ("--user", "grace@example.org")
    shell("user", "add", user[1])
    log_in(shell, served, monkeypatch, *user)
    (shell.data / FILE_NAME).write_text("{damaged")
    deleted = shell("user", "delete", user[1], "--yes")
    assert (deleted.code, deleted.out.startswith("Deleted grace")) == (1, True)
    assert str(shell.data / FILE_NAME) in deleted.err


def test_local_notes_go_up_only_when_that_was_said(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("call", "note_save", "text=mine")
    unasked = shell("notes", "login", ADA)
    assert unasked.code == 1
    assert "1 local note: should" in unasked.err
    assert "--with-local" in unasked.err
    assert not served.simperium.codes
    assert "1 local note is sent" in log_in(shell, served, monkeypatch, ADA, "--with-local")
    assert shell("notes", "sync").out == "Pulled 0, pushed 1, conflicts 0.\n"
    assert texts(served) == {"mine"}


def test_local_notes_that_stay_are_not_the_account_s(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("call", "note_save", "text=mine")
    monkeypatch.setattr(options, "is_terminal", lambda: True)
    asked = iter(["n"])
    monkeypatch.setattr(
        "builtins.input",
        lambda question="": next(asked) if "[y/N]" in question else served.simperium.codes[ADA],
    )
    assert shell("notes", "login", ADA).code == 0
    assert shell("notes", "sync").out == "Pulled 0, pushed 0, conflicts 0.\n"
    assert json.loads(shell("call", "note_list").out)["total_items"] == 0
    assert "local notes beside it    1" in shell("notes", "status").out


def test_a_wrong_code_connects_nothing(
    shell: Shell, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _question="": "WRONG1")
    outcome = shell("notes", "login", ADA)
    assert outcome.code == 1
    assert "does not accept this code" in outcome.err
    assert not (shell.data / FILE_NAME).exists()
    assert "none: local notes" in shell("notes", "status").out
    assert served.simperium.served["login"] == 2


def test_a_dry_run_lists_and_accept_does_what_a_sync_asks_about(
    shell: Shell, served: Served
) -> None:
    bucket = served.simperium.notes(ADA)
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", PASSWORD)
    for number in range(12):
        bucket.post(f"n{number}", {"content": f"note {number}"}, None, None)
    assert shell("notes", "sync").out == "Pulled 12, pushed 0, conflicts 0.\n"
    for number in range(12):
        bucket.post(f"n{number}", {"deleted": True}, None, None)
    bucket.post("new\x1b[2J", {"content": "\x1b]0;mine\x07 note"}, None, None)
    plan = shell("notes", "sync", "--dry-run").out
    assert plan.count("into the trash") == 12
    assert "note 7 [n7]" in plan
    assert r"new from Simplenote: \u001b]0;mine\u0007 note [new\u001b[2J]" in plan
    assert "unless --accept is given" in plan
    stopped = shell("notes", "sync")
    assert stopped.code == 1
    assert "12 notes" in stopped.err
    assert "needs_accept" in shell("notes", "status").out
    assert json.loads(shell("call", "note_list").out)["total_items"] == 12
    assert shell("notes", "sync", "--accept").out == "Pulled 13, pushed 0, conflicts 0.\n"
    assert json.loads(shell("call", "note_list").out)["total_items"] == 1


def test_a_sync_waits_for_one_under_way_and_for_none_that_was_killed(
    shell: Shell, served: Served
) -> None:
    simperium = served.simperium
    simperium.notes(ADA).post("n", {"content": "from Simplenote"}, None, None)
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", PASSWORD)
    answer, is_asked = simperium.answer, threading.Event()

    def answering(request: Request) -> Reply:
        if "/index" in request.target:
            is_asked.set()
        return answer(request)

    simperium.answer = answering  # pyright: ignore[reportAttributeAccessIssue]  # as it tells so
    simperium.faults.add("silent", "index")
    with forks.Forked(["-m", "rolltop", "notes", "sync"]) as other:
        assert is_asked.wait(PATIENCE)
        assert shell("notes", "sync").out == "Another process is syncing these notes now.\n"
        other.kill()
        other.wait()
    assert shell("notes", "sync").out == "Pulled 1, pushed 0, conflicts 0.\n"


def test_without_an_account_there_is_nothing_to_sync(shell: Shell) -> None:
    outcome = shell("notes", "sync")
    assert outcome.code == 1
    assert "`rolltop notes login`" in outcome.err


def test_a_server_that_does_not_answer_is_told(shell: Shell, served: Served) -> None:
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", "wrong")
    outcome = shell("notes", "sync")
    assert outcome.code == 1
    assert "does not accept this e-mail and password" in outcome.err
    assert "LOGIN_FAILED" in shell("notes", "status").out
    assert PASSWORD not in outcome.err
    assert served.simperium.served["login"] == 1


def test_reads_go_on_and_writes_tell_why_not_while_simplenote_is_away(
    shell: Shell, served: Served
) -> None:
    served.simperium.notes(ADA).post("n", {"content": "kept"}, None, None)
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", PASSWORD)
    shell("notes", "sync")
    served.simperium.faults.add("html", times=9)
    assert json.loads(shell("call", "note_get", "id=n").out)["text"] == "kept"
    failed = shell("call", "note_save", "text=new")
    assert failed.code == 1
    error = json.loads(failed.out or failed.err)["error"]
    assert (error["category"], error["code"]) == ("BACKEND_API", "BACKEND_UNAVAILABLE")
    assert error["http_status"] == 502
    served.simperium.faults.clear()
    assert texts(served) == {"kept"}


@pytest.mark.parametrize(
    "given",
    [{"SIMPLENOTE_USERNAME": ADA}, {"SIMPLENOTE_PASSWORD": "p"}, {"SIMPLENOTE_TOKEN": "t"}],
)
def test_half_an_account_stops_the_start(shell: Shell, given: dict[str, str]) -> None:
    for name, value in given.items():
        shell.set(name, value)
    for command in (("serve",), ("call", "note_list"), ("notes", "status")):
        outcome = shell(*command)
        assert outcome.code == 2
        assert "SIMPLENOTE_USERNAME" in outcome.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SYNC_INTERVAL_SECONDS", "59"),
        ("API_TIMEOUT_SECONDS", "4"),
        ("SYNC_INTERVAL_SECONDS", "x"),
        ("DB_ENCRYPTION_KDF_ITERATIONS", "9999"),
    ],
)
def test_a_number_below_its_least_value_stops_the_start(
    shell: Shell, name: str, value: str
) -> None:
    shell.set(name, value)
    outcome = shell("notes", "status")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert name in outcome.err


@pytest.mark.parametrize(
    "name", ["SIMPERIUM_API_URL", "SIMPERIUM_AUTH_URL", "SIMPLENOTE_ACCOUNT_URL"]
)
def test_an_address_that_is_none_stops_the_start(shell: Shell, name: str) -> None:
    shell.set(name, "http://[::1/1")
    for command in (("serve",), ("call", "note_list"), ("notes", "status")):
        outcome = shell(*command)
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        assert name in outcome.err


def test_doctor_tells_how_the_notes_are_doing(shell: Shell, served: Served) -> None:
    shell("call", "note_save", "text=mine")
    assert "notes: 1, kept here only" in shell("doctor").out
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", PASSWORD)
    shell("notes", "sync")
    assert f"notes: 0 of {ADA}, sync idle" in shell("doctor").out
    served.simperium.faults.add("status", None, times=2, status=401)
    shell("notes", "sync")
    found = shell("doctor")
    assert (found.code, "`rolltop notes login`" in found.out) == (1, True)


def test_a_server_syncs_at_its_start(shell: Shell, served: Served) -> None:
    served.simperium.notes(ADA).post("n", {"content": "from Simplenote"}, None, None)
    shell.set("SIMPLENOTE_USERNAME", ADA)
    shell.set("SIMPLENOTE_PASSWORD", PASSWORD)
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as server:
        assert server.stdin
        assert server.stderr
        log = Lines(server.stderr)
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        line = log.until("notes synced.*").group()
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
    assert "status=idle" in line
    assert "pulled=1" in line
    assert "Simplenote" not in "".join(log.seen)
    assert PASSWORD not in "".join(log.seen)
    assert json.loads(shell("call", "note_get", "id=n").out)["text"] == "from Simplenote"


def test_one_interrupt_ends_a_question(shell: Shell) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "notes", "login"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        cwd=shell.folder,
    ) as process:
        os.close(theirs)
        said = b""
        while not said.endswith(b"account: "):
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
    os.close(ours)
