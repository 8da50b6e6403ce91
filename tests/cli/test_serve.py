"""`rolltop serve` as hosts start it: a process of its own, over pipes and over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from tests.cli.conftest import SOURCE
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.cli.conftest import Shell

HELLO: Mapping[str, object] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY: Mapping[str, object] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, **params: object) -> dict[str, object]:
    """Return a request of the legacy era."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def lines(*messages: Mapping[str, object]) -> str:
    """Return messages as a client writes them."""
    return "".join(json.dumps(message) + "\n" for message in messages)


def converse(
    messages: Sequence[Mapping[str, object]], *options: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """Return a server's results by id, and its log; its stdin ends once all are answered."""
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "serve", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines(*messages))
        process.stdin.flush()
        wanted = [message for message in messages if "id" in message]
        answers = [json.loads(process.stdout.readline()) for _ in wanted]
        rest, log = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest) == (0, "")
    return {answer["id"]: answer["result"] for answer in answers}, log


def test_stdio_carries_the_protocol_and_stderr_the_log(shell: Shell) -> None:
    shell.set("ROLLTOP_TOOLSETS", "tasks")
    add = request(3, "tools/call", name="add_task", arguments={"title": "kept"})
    asked = (HELLO, READY, request(2, "tools/list"), add)
    results, log = converse(asked, "--exclude-tools", "delete_task")
    names = {tool["name"] for tool in results[2]["tools"]}
    assert "add_task" in names
    assert not names & {"delete_task", "smart_read"}
    assert " started " in log
    assert re.search(r" call .* request_id=3 tool=add_task user_id=\S+ .* outcome=ok", log)
    listed = json.loads(shell.process("call", "list_tasks").out)
    assert [task["title"] for task in listed["data"]] == ["kept"]


def test_typed_in_a_terminal_it_says_what_it_waits_for(shell: Shell) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "serve"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        cwd=shell.folder,
    ) as process:
        os.close(theirs)
        said = b""
        while b" started " not in said:
            said += os.read(ours, 4096)
        os.write(ours, b"\x04")
        out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert (process.returncode, out) == (0, b"")
    assert said.startswith(b"rolltop serve waits for an MCP client")
    assert b"rolltop install CLIENT" in said
    assert b"waits" not in shell.process("serve").err.encode()


def test_read_only_wins(shell: Shell) -> None:
    del shell
    results, _log = converse((HELLO, READY, request(2, "tools/list")), "--read-only")
    listed = results[2]["tools"]
    assert {tool["name"] for tool in listed} >= {"list_tasks"}
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed)


def test_a_user_that_is_not_known_stops_the_start(shell: Shell) -> None:
    outcome = shell.process("serve", "--user", "ada@example.org", stdin=lines(HELLO))
    assert (outcome.code, outcome.out) == (2, "")
    assert "`rolltop user add ada@example.org`" in outcome.err


def test_http_serves_until_it_is_told_to_stop(shell: Shell) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "serve", "--http", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "ROLLTOP_DATA_DIR": str(shell.data)},
    ) as process:
        assert process.stderr is not None
        found = re.search(r"url=(\S+)", process.stderr.readline())
        assert found is not None
        with urlopen(found[1].replace("/mcp", "/health"), timeout=PATIENCE) as answer:  # noqa: S310  # our own
            assert json.load(answer) == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_what_was_kept_without_a_token_becomes_a_users_who_is_named(shell: Shell) -> None:
    email = "ada@example.org"
    command = ("serve", "--http", "127.0.0.1:0", "--adopt-default", email)
    shell("call", "add_task", "title=kept")
    needless = shell.process(*command)
    assert (needless.code, f"`rolltop token create {email}`" in needless.err) == (2, True)
    shell("user", "add", "bob@example.org")
    shell("token", "create", "bob@example.org")
    unknown = shell.process(*command)
    assert (unknown.code, f"`rolltop user add {email}`" in unknown.err) == (2, True)
    former = str(uuid.uuid4())
    shell("user", "add", email, "--id", former)
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", *command],
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "ROLLTOP_DATA_DIR": str(shell.data)},
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert re.search(
        '"what the default user owned was moved" .*moved="journal 1, tasks 1"'
        rf" user_id=\S+ former_user_id={former}$",
        said[0],
    )
    assert " started " in said[1]
    assert "kept" in shell("call", "list_tasks", "--user", email).out
    assert f"{email} owns what default@localhost did" in shell("audit").out


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("user", ""),
        ("workspace", ""),
        ("http.bearer_token", ""),
        ("notes.simplenote.username", 'notes.simplenote.password = "secret"'),
    ],
)
def test_nothing_is_moved_away_from_a_user_whom_the_settings_still_mean(
    shell: Shell, name: str, more: str
) -> None:
    email = "ann@example.org"
    shell("call", "add_task", "title=kept")
    shell("user", "add", email)
    shell("token", "create", email)
    shell.user_file(f'{name} = "default@localhost"\n{more}\n')
    outcome = shell.process("serve", "--http", "127.0.0.1:0", "--adopt-default", email)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"--adopt-default: {name} would still mean default@localhost" in outcome.err
    assert f"Set user to {email}" in outcome.err
    shell.user_file("")
    assert "kept" in shell("call", "list_tasks").out


def test_a_start_that_fails_moves_nothing(shell: Shell) -> None:
    email = "ann@example.org"
    shell("call", "add_task", "title=kept")
    shell("user", "add", email)
    shell.set("ROLLTOP_HTTP_AUTH", "token")
    none = shell.process("serve", "--http", "127.0.0.1:0", "--adopt-default", email)
    assert (none.code, "a token is needed and the store holds none" in none.err) == (2, True)
    shell("token", "create", "default@localhost")
    only = shell.process("serve", "--http", "127.0.0.1:0", "--adopt-default", email)
    assert (only.code, f"`rolltop token create {email}`" in only.err) == (2, True)
    shell("token", "create", email)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        outcome = shell.process("serve", "--http", place, "--adopt-default", email)
    assert (outcome.code, "cannot listen" in outcome.err) == (1, True)
    assert "kept" in shell("call", "list_tasks").out
    assert "owns what" not in shell("audit").out


def test_an_open_address_without_names_is_refused(shell: Shell) -> None:
    outcome = shell.process("serve", "--http", "0.0.0.0:0")
    assert (outcome.code, outcome.out) == (2, "")
    assert "http.allowed_hosts" in outcome.err


def serve_without(closed: int) -> subprocess.Popen[str]:
    """Return a server that is started with one standard stream closed."""
    program = (
        f"import os, sys; os.close({closed}); "
        "os.execv(sys.executable, [sys.executable, '-m', 'rolltop', 'serve'])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


@pytest.mark.parametrize("closed", [0, 1])
@pytest.mark.usefixtures("shell")
def test_without_stdin_or_stdout_it_says_so(closed: int) -> None:
    with serve_without(closed) as server:
        _, said = server.communicate(timeout=PATIENCE)
    assert server.returncode == 1
    assert said.startswith("rolltop: stdin or stdout is closed.")


@pytest.mark.usefixtures("shell")
def test_without_stderr_it_serves_and_stdout_carries_protocol_only() -> None:
    with serve_without(2) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines(HELLO, READY, request(2, "tools/list")))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        rest, _ = server.communicate(timeout=PATIENCE)
    assert [answer["id"] for answer in answers] == [1, 2]
    assert (server.returncode, rest) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_server_is_still_being_imported_ends_it_well(
    tmp_path: Path, number: signal.Signals
) -> None:
    # The program asks for the signal itself, at the first import that comes after its own.
    source = (
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'mcp': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['rolltop', 'serve']\n"
        "from rolltop.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        check=False,
        capture_output=True,
        stdin=subprocess.PIPE,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, b"")
