"""`rolltop trace`: sessions are made again, and what they cost is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Outcome, Shell

MARKER = "zebra-crossing"
PLAN: list[dict[str, Any]] = [
    {"client": "planner", "about": "plans, and starts"},
    {
        "tool": "add_task",
        "arguments": {"tasks": [{"title": MARKER}, {"title": "Paint it", "blocked_by": [0]}]},
        "as": "plan",
    },
    {"tool": "claim_task", "arguments": {"task_id": "${plan.data.0.task_id}"}, "as": "claim"},
    {
        "tool": "desk_read",
        "arguments": {"uri": "rolltop://task/${plan.data.1.task_id}"},
        "expect": "Paint it",
    },
    {
        "tool": "complete_task",
        "arguments": {
            "task_id": "${plan.data.0.task_id}",
            "token": "${claim.data.claim.token}",
        },
    },
    {"client": "painter"},
    {"tool": "desk_resume", "expect": "Paint it"},
]


@pytest.fixture
def record(shell: Shell) -> Any:
    """A function that writes lines to a file beside the folder, and returns its path."""

    def write(*lines: object) -> str:
        path = shell.folder.parent / "session.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return str(path)

    return write


def replay(shell: Shell, file: str, *options: str) -> Any:
    """Return what a session that must succeed cost."""
    outcome = shell("trace", file, "--json", *options)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return json.loads(outcome.out)


def without_times(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in call.items() if k != "ms"} for call in trace["calls"]]


def test_later_calls_use_earlier_answers_and_clients_have_sessions(
    shell: Shell, record: Any
) -> None:
    trace = replay(shell, record(*PLAN))
    calls = [(call["client"], call["name"]) for call in trace["calls"]]
    assert calls == [
        ("planner", "add_task"),
        ("planner", "claim_task"),
        ("planner", "desk_read"),
        ("planner", "complete_task"),
        ("painter", "desk_resume"),
    ]
    for name in ("sent", "answered"):
        assert trace["total"][name] == sum(call[name] for call in trace["calls"])
    assert trace["total"]["count"] == 5


def test_two_replays_cost_the_same_and_leave_nothing_behind(shell: Shell, record: Any) -> None:
    file = record(*PLAN)
    assert without_times(replay(shell, file)) == without_times(replay(shell, file))
    assert not shell.data.exists()
    assert list(shell.folder.iterdir()) == []


def test_the_persons_own_store_user_roots_and_account_are_left_alone(
    shell: Shell, record: Any, tmp_path: Path
) -> None:
    shell("call", "add_task", "title=mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "secret.md").write_text(MARKER)
    for name, value in {
        "DATABASE_URL": f"sqlite:///{shell.data / 'desk.db'}",
        "ROLLTOP_USER": "ada@example.org",
        "ROLLTOP_WORKSPACE": "harbour",
        "CODE_ROOT": str(tmp_path / "mine"),
        "SIMPLENOTE_USERNAME": "ada@example.org",
        "SIMPLENOTE_PASSWORD": "secret",
    }.items():
        shell.set(name, value)
    replay(
        shell,
        record(
            {"tool": "list_tasks", "arguments": {"project": "*"}, "expect": '"data":[]'},
            {"tool": "repo_search", "arguments": {"query": MARKER}, "expect": '"result":[]'},
            {"tool": "note_save", "arguments": {"text": MARKER}, "expect": '"sync_state":"local"'},
        ),
    )


def test_a_store_that_is_named_is_kept(shell: Shell, record: Any, tmp_path: Path) -> None:
    file = record({"tool": "add_task", "arguments": {"title": MARKER}})
    replay(shell, file, "--data-dir", str(tmp_path / "kept"))
    shell.set("ROLLTOP_DATA_DIR", str(tmp_path / "kept"))
    assert MARKER in shell("call", "list_tasks", "project=*").out


def test_commands_and_whole_files_are_counted_by_what_they_print(
    shell: Shell, record: Any, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "text.md").write_text("# Tides\n\nThe moon pulls.\n")
    file = record(
        {"tool": "repo_search", "arguments": {"query": "moon"}, "expect": "The moon pulls"},
        {"shell": "cat text.md; touch ran"},
        {"files": ["text.md"]},
    )
    trace = replay(shell, file, "--root", str(root))
    cost = token_counter.count("# Tides\n\nThe moon pulls.\n")
    assert trace["whole_files"]["answered"] == cost
    assert "commands" not in trace
    assert not (root / "ran").exists()
    assert "--shell" in shell("trace", file, "--root", str(root)).out
    trace = replay(shell, file, "--root", str(root), "--shell")
    commands = trace["commands"]
    assert (commands["count"], commands["answered"]) == (1, cost)
    assert commands["sent"] == token_counter.count("cat text.md; touch ran")
    assert (root / "ran").exists()


def test_a_person_reads_a_table(shell: Shell, record: Any) -> None:
    lines = shell("trace", record(*PLAN)).out.splitlines()
    assert lines[0].split() == ["client", "tool", "sent", "answered", "ms"]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["planner", "add_task"],
        ["planner", "claim_task"],
        ["planner", "desk_read"],
        ["planner", "complete_task"],
        ["painter", "desk_resume"],
        ["calls:", "5"],
    ]


def test_a_call_that_fails_or_answers_something_else_is_told(shell: Shell, record: Any) -> None:
    outcome = shell(
        "trace",
        record(
            {"tool": "get_task", "arguments": {"task_id": "12345678"}},
            {"tool": "list_tasks", "expect": "Paint it"},
            {"tool": "list_tasks"},
        ),
    )
    assert outcome.code == 1
    ends = [line.split()[-1] for line in outcome.out.splitlines()[1:4]]
    assert ends[:2] == ["NOT_FOUND", "UNEXPECTED_ANSWER"]
    assert ends[2].isdigit()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "session.jsonl:1 is no JSON"),
        ("[]", "session.jsonl:1 has none of tool, client, shell, files"),
        ('{"tool": "list_tasks", "argument": {}}', "session.jsonl:1: argument is unknown"),
        ('{"tool": 5}', "session.jsonl:1: tool is unknown or of another type"),
        ('{"tool": "list_tsks"}', "did you mean list_tasks?"),
        ('{"tool": "get_task", "arguments": {"task_id": "${a.b}"}}', "${a.b} refers to nothing"),
        ('{"files": ["none.md"]}', "none.md cannot be read"),
    ],
)
def test_what_is_no_session_is_refused(shell: Shell, line: str, said: str) -> None:
    path = shell.folder.parent / "session.jsonl"
    path.write_text(line)
    outcome: Outcome = shell("trace", str(path))
    assert outcome.code != 0
    assert said in outcome.err
    assert outcome.out == ""


def test_no_text_of_a_session_reaches_the_log(shell: Shell, record: Any) -> None:
    log = shell.folder.parent / "rolltop.log"
    shell.set("LOG_FILE_PATH", str(log))
    shell.set("LOG_LEVEL", "trace")
    assert shell("trace", record(*PLAN)).code == 0
    written = log.read_text()
    assert "tool=add_task" in written
    assert MARKER not in written
