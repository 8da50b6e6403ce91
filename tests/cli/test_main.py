"""The command line's door: help, versions, wrong usage and exit codes."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

import rolltop
from rolltop.cli import COMMANDS, main
from rolltop.cli.options import print_line
from tests.cli.conftest import SOURCE
from tests.forks import PATIENCE, Forked

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_help_and_version_answer_on_stdout(shell: Shell) -> None:
    helped = shell.interpreter("--help")
    assert (helped.code, helped.err) == (0, "")
    assert all(name in helped.out for name in COMMANDS)
    assert shell.interpreter("--version").out == f"rolltop {rolltop.__version__}\n"


def test_help_and_version_load_nothing_heavy() -> None:
    program = (
        "import contextlib, sys\n"
        "from rolltop.cli import main\n"
        "for argv in (['--help'], ['--version'], ['serve', '--help'], ['call', '--help']):\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main(argv)\n"
        "print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
        env={"PYTHONPATH": str(SOURCE)},
    )
    heavy = {
        "mcp",
        "pydantic",
        "sqlalchemy",
        "sqlcipher3",
        "sqlite3",
        "asyncio",
        "anyio",
        "platformdirs",
    }
    assert not heavy & set(ended.stderr.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(shell: Shell, command: str) -> None:
    outcome = shell(*command.split(), "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"usage: rolltop {command}")
    assert COMMANDS[command][1] in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage: rolltop"),
        (["srve"], "did you mean `rolltop serve`?"),
        (["usr"], "did you mean `rolltop user`?"),
        (["user"], "user delete"),
        (["user", "ad"], "did you mean `rolltop user add`?"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["tools", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["tools", "--tool", "x"], "unrecognized arguments: --tool"),
        (["config", "max_result_token"], "did you mean max_result_tokens? `rolltop config`"),
        (["serve", "--http", "a:b:c"], "Write HOST:PORT"),
        (["serve", "--http", "localhost:99999"], "http.port (command line) cannot be '99999'"),
        (["serve", "--socket", "/x"], "--socket needs --http"),
        (["serve", "--adopt-default", "x@y"], "--adopt-default needs --http"),
        (["serve", "--names", "odd"], "one of canonical, seed"),
        (["tools", "--set", "threads"], "--set key=value"),
        (["tools", "--toolsets", "task"], "any of"),
        (["tools", "--tools", "add_tsk"], "did you mean add_task?"),
        (["tools", "--config", "nowhere.toml"], "nowhere.toml does not exist"),
        (["tools", "--config", "~nosuch/x.toml"], "~nosuch/x.toml is in the home of nobody"),
    ],
)
def test_wrong_usage_teaches_and_exits_2(shell: Shell, arguments: list[str], said: str) -> None:
    outcome = shell(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.out == ""


def test_exit_codes_of_a_real_process(shell: Shell) -> None:
    assert shell.process("call", "list_tasks").code == 0
    assert shell.process("call", "complete_task", "task_id=nope").code == 1
    assert shell.process("call", "no_such_tool").code == 2
    shell.set("ROLLTOP_THREADS", "many")
    refused = shell.process("serve")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "rolltop: threads (environment ROLLTOP_THREADS) cannot be 'many': it must be a whole"
        " number, at least 1, at most 256. `rolltop config` lists every setting and what it may"
        " be.\n"
    )


def test_a_command_ends_with_its_own_code_whatever_libraries_do_at_an_ordinary_exit(
    shell: Shell,
) -> None:
    program = (
        "import atexit, os, sys\n"
        "atexit.register(os.abort)\n"
        "sys.argv = ['rolltop', 'config']\n"
        "from rolltop.__main__ import main\n"
        "sys.exit(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ended = Forked(["-c", program], folder=shell.folder, environment=environment)
    printed, complaint = ended.communicate()
    assert (ended.wait(), complaint) == (0, "")
    assert printed == shell("config").out


def test_a_store_that_is_none_exits_1(shell: Shell) -> None:
    shell.data.mkdir()
    (shell.data / "desk.db").write_bytes(b"this is no database " * 100)
    outcome = shell.process("call", "list_tasks")
    assert outcome.code == 1
    assert "desk.db" in outcome.err
    assert outcome.out == ""


def test_a_reader_that_leaves_early_is_no_accident(shell: Shell) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "from rolltop.cli import main; main(['config'])"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(SOURCE), "HOME": str(shell.home)},
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(timeout=PATIENCE)
    assert said == b""


@pytest.mark.parametrize(
    ("redirected", "arguments", "code", "said"),
    [
        (">/dev/full", "config", 1, "stdout cannot be written: No space left on device"),
        (">/dev/full", "call add_task title=x", 1, "stdout cannot be written: No space left"),
        (">/dev/full", "user add ada@example.org", 1, "stdout cannot be written: No space left"),
        (">&-", "config", 2, "stdout is closed, so nothing was done"),
        (">&-", "call add_task title=x", 2, "stdout is closed, so nothing was done"),
        (">&-", "serve", 1, "stdin or stdout is closed"),
        ("<&-", "call list_tasks --json -", 2, "stdin is closed"),
        ("<&-", "notes login", 1, "A question was asked and stdin has ended"),
        ("</dev/null", "notes login", 1, "A question was asked and stdin has ended"),
    ],
)
def test_streams_that_are_of_no_use_are_named(
    shell: Shell, redirected: str, arguments: str, code: int, said: str
) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m rolltop {arguments} {redirected}', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (code, 1), ended.stderr
    assert said in ended.stderr
    if redirected == ">&-":
        assert json.loads(shell("call", "list_tasks").out)["data"] == []


def test_a_full_disk_is_named_however_long_the_answer_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for lines in range(1, 300):

        def answer(_arguments: object, lines: int = lines) -> int:
            for _ in range(lines):
                print_line("a line of the answer, as long as many are")
            return 0

        monkeypatch.setattr("rolltop.cli.config.run", answer)
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            monkeypatch.setattr("sys.stdout", full)
            assert main(["config"]) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1, (lines, said)
        assert "stdout cannot be written: No space left on device" in said


@pytest.mark.parametrize("arguments", ["call add_task title=x", "config", "notes import ."])
def test_without_stderr_a_command_does_what_was_asked(shell: Shell, arguments: str) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m rolltop {arguments} 2>&-', sys.executable],
        stdout=subprocess.PIPE,
        check=False,
        timeout=PATIENCE,
        cwd=shell.folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert ended.returncode == 0
    assert ended.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["user", "--help"], ["token", "--help"], []])
def test_help_is_shown_in_any_encoding(shell: Shell, arguments: list[str]) -> None:
    shell.set("LC_ALL", "C")
    shell.set("PYTHONUTF8", "0")
    shell.set("PYTHONCOERCECLOCALE", "0")
    shell.set("PYTHONIOENCODING", "ascii")
    outcome = shell.interpreter(*arguments)
    assert outcome.code == (0 if arguments else 2)
    assert f"{outcome.out}{outcome.err}".startswith("usage: rolltop")
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "command", ["config", "install cursor", "completion bash", "hook pre-compact"]
)
def test_a_user_without_a_home_is_told_what_to_set(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("pwd.getpwuid", Mock(side_effect=KeyError))  # as some containers' users
    outcome = shell(*command.split())
    assert (outcome.code, outcome.err.count("\n")) == (1 if "hook" in command else 2, 1)
    assert "Set HOME" in outcome.err


@pytest.mark.parametrize("name", ["XDG_DATA_HOME", "ROLLTOP_DATA_DIR"])
def test_a_data_directory_that_is_no_utf_8_is_named(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("ROLLTOP_DATA_DIR")
    shell.set(name, os.fsdecode(b"/tmp/\xff"))
    outcome = shell("call", "list_tasks")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "is no UTF-8" in outcome.err
    shell.set("DATABASE_URL", "sqlite:////tmp/walrus.db")
    assert shell("config", "database_url").code == 0
    shell.set("DATABASE_URL", os.fsdecode(b"sqlite:////tmp/\xff/walrus.db"))
    assert "is no UTF-8" in shell("call", "list_tasks").err


def test_an_unexpected_failure_is_one_line_with_a_reference(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_arguments: object) -> int:
        raise LookupError("somebody's text")

    monkeypatch.setattr("rolltop.cli.tools.run", fail)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    outcome = shell("tools")
    assert outcome.code == 1
    assert "LookupError at cli/test_main.py" in outcome.err
    assert "something failed here (reference " in outcome.err
    assert "somebody's text" not in outcome.err
