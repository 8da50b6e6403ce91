"""`rolltop call`: arguments of every form, answers and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.cli.call import UsageError, parse_pairs

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome, Shell

SCHEMA = {
    "properties": {
        "title": {"type": "string"},
        "status": {"enum": ["all", "pending"], "type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "ready": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mixed": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "style": {"$ref": "#/$defs/Style"},
        "file_path": {"type": "string"},
    },
    "$defs": {"Style": {"enum": ["short"], "type": "string"}},
}


def answer(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON object a command printed as its one line."""
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("title=5", "5"),
        ("title=", ""),
        ("title=a=b", "a=b"),
        ('title="x"', '"x"'),
        ("title=null", "null"),
        ("status=pending", "pending"),
        ("style=short", "short"),
        ("mixed=7", "7"),
        ("file=README.md", "README.md"),
        ("limit=5", 5),
        ("limit=-1", -1),
        ('limit="5"', "5"),
        ("limit=null", None),
        ("ready=true", True),
        ("ready=True", True),
        ('tags=["a","b"]', ["a", "b"]),
        ("tags=a,b", "a,b"),
        ("tags=5", "5"),
        ("tags=null", None),
        ("unknown=word", "word"),
        ("unknown=3", 3),
    ],
)
def test_a_value_is_taken_as_its_parameter_wants_it(pair: str, value: object) -> None:
    (name,) = parse_pairs([pair], SCHEMA)
    assert parse_pairs([pair], SCHEMA)[name] == value


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["title"], "has no ="),
        (["title=a", "title=b"], "given twice"),
        (["limit=five"], "limit is an integer, 1 or more"),
        (["ready=yes"], "ready is true or false"),
    ],
)
def test_a_pair_that_cannot_be_sent(pairs: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_pairs(pairs, SCHEMA)


def test_a_task_from_the_shell_and_back(shell: Shell) -> None:
    added = answer(shell("call", "add_task", "title=42 → ü", "priority=1", 'tags=["a"]'))
    assert added["success"] is True
    assert (added["data"]["title"], added["data"]["priority"]) == ("42 → ü", 1)
    listed = answer(shell("call", "list_tasks", "--json", '{"limit": 1}'))
    assert [task["task_id"] for task in listed["data"]] == [added["data"]["task_id"]]
    again = answer(shell("call", "list_tasks", "--json", "-", stdin='{"status": "pending"}'))
    assert again["data"] == listed["data"]


def test_a_list_from_the_shell_goes_without_json(shell: Shell) -> None:
    added = answer(shell("call", "add_task", "title=x", "tags=bug,urgent"))
    assert added["data"]["tags"] == ["bug", "urgent"]
    alone = answer(shell("call", "add_task", "title=y", "label=7"))
    assert alone["data"]["tags"] == ["7"]
    refused = shell("call", "add_task", "title=z", "acceptance=It holds, fast")
    assert refused.code == 1
    hint = 'Send acceptance as ["It holds, fast"] or ["It holds", "fast"].'
    assert answer(refused)["hint"] == hint


def test_answers_are_utf8_whatever_the_locale(shell: Shell) -> None:
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        shell.set(name, value)
    outcome = shell.interpreter("call", "add_task", "--json", "-", stdin='{"title": "ü → 😀"}')
    assert answer(outcome)["data"]["title"] == "ü → 😀"


def test_options_may_stand_between_the_pairs(shell: Shell) -> None:
    outcome = shell("call", "add_task", "title=x", "--set", "output=text", "priority=2")
    assert answer(outcome)["data"]["priority"] == 2


def test_a_tools_error_is_its_answer_and_exits_1(shell: Shell) -> None:
    outcome = shell("call", "add_task", "titel=x")
    assert outcome.code == 1
    said = answer(outcome)
    assert (said["success"], said["code"]) == (False, "INVALID_ARGUMENT")
    assert "did you mean title?" in said["error"]
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["add_tsk"], "", "did you mean add_task"),
        (["add_task", "title"], "", "KEY=VALUE"),
        (["list_tasks", "limit=many"], "", "limit is an integer"),
        (["list_tasks", "limit=1", "--json", "{}"], "", "not both"),
        (["list_tasks", "--json", "{"], "", "--json got no JSON"),
        (["list_tasks", "--json", "-"], "", "--json got no JSON"),
        (["list_tasks", "--json", "[" * 100_000], "", "--json got no JSON"),
    ],
)
def test_wrong_usage_exits_2(shell: Shell, arguments: list[str], stdin: str, said: str) -> None:
    outcome = shell("call", *arguments, stdin=stdin)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.out == ""


def test_json_that_is_no_object_is_the_tools_own_error(shell: Shell) -> None:
    outcome = shell("call", "list_tasks", "--json", "[1]")
    assert outcome.code == 1
    assert "arguments must be an object" in answer(outcome)["error"]


def test_calls_work_for_the_user_who_is_named(shell: Shell) -> None:
    refused = shell("call", "list_tasks", "--user", "ada@example.org")
    assert refused.code == 2
    assert "rolltop user add ada@example.org" in refused.err
    shell("user", "add", "Ada@Example.org")
    added = answer(shell("call", "add_task", "title=hers", "--user", "ada@example.org"))
    assert answer(shell("call", "list_tasks"))["data"] == []
    shell.set("ROLLTOP_USER", "ada@example.org")
    assert answer(shell("call", "list_tasks"))["data"] == [added["data"]]


def test_calls_work_in_the_project_of_the_folder_or_the_one_that_is_named(shell: Shell) -> None:
    here = answer(shell("call", "add_task", "title=here"))["data"]
    assert here["project"] == "folder"
    there = answer(shell("call", "add_task", "title=there", "--project", "kite"))["data"]
    assert there["project"] == "kite"
    assert answer(shell("call", "list_tasks"))["data"] == [here]
    shell.set("ROLLTOP_PROJECT", "kite")
    assert answer(shell("call", "list_tasks"))["data"] == [there]
    none = answer(shell("call", "add_task", "title=none", "--project", ""))["data"]
    assert "project" not in none
    assert len(answer(shell("call", "list_tasks", "project=*"))["data"]) == 3


def test_a_project_that_cannot_be_is_wrong_usage(shell: Shell) -> None:
    for refused in (
        shell("call", "list_tasks", "--project", "*"),
        shell.process("serve", "--project", "*"),
    ):
        assert (refused.code, refused.out) == (2, "")
        assert "project: '*'" in refused.err


def test_text_never_reaches_the_log(shell: Shell) -> None:
    log = shell.folder / "rolltop.log"
    shell.set("LOG_FILE_PATH", str(log))
    shell.set("LOG_LEVEL", "trace")
    marker = "zebra-crossing"
    task = answer(shell("call", "add_task", f"title={marker}", f"description={marker}"))["data"]
    shell("call", "update_task", f"task_id={task['task_id']}", f"title={marker}\0")
    shell("call", "add_task", f"{marker}={marker}")
    shell("call", "list_tasks", "--json", json.dumps({"status": marker}))
    shell("call", "complete_task", f"task_id={marker}")
    shell("call", marker)
    written = log.read_text()
    assert marker not in written
    assert written.count(" call ") == 5
    assert written.count("outcome=error") == 4
    assert written.count(" user_id=") == 5
    assert "code=INVALID_STATUS" in written


def test_the_log_is_silent_at_a_shell_unless_asked(shell: Shell) -> None:
    assert shell("call", "list_tasks").err == ""
    shell.set("LOG_LEVEL", "info")
    assert " tool=list_tasks " in shell("call", "list_tasks").err
