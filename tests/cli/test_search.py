"""`rolltop search`, and how answers look to a person."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from rolltop.cli import render

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell with a wheel in every toolset that searches."""
    (shell.folder / "mill.md").write_text("# Mill\n\nThe water wheel turns.\n")
    cell = {"language": "md", "content": "a wheel in a cell"}
    for tool, arguments in (
        ("add_task", {"title": "Grease the wheel"}),
        ("note_save", {"text": "Wheels\nof many kinds, one wheel"}),
        ("scratch_create", {"metadata": {"title": "Plans"}, "cells": [cell]}),
    ):
        assert shell("call", tool, "--json", json.dumps(arguments)).code == 0
    return shell


def test_all_that_search_are_asked_and_each_hit_says_where_it_is(filled: Shell) -> None:
    outcome = filled("search", "wheel")
    assert (outcome.code, outcome.err) == (0, "")
    lines = [re.split(r"  +", line) for line in outcome.out.splitlines()]
    where = dict(lines)
    assert where["code/mill.md:1-3"] == "Mill: The water wheel turns."
    short = {re.sub(r"[0-9a-f]{8}.*", "", key): text for key, text in where.items()}
    assert short["note "] == "Wheels of many kinds, one wheel"
    assert short["task "] == "Grease the wheel"
    assert short["cell "] == "Plans: a wheel in a cell"
    [task] = [key.split()[1] for key in where if key.startswith("task ")]
    assert filled("call", "get_task", f"task_id={task}").code == 0


def test_programs_get_whole_ids(filled: Shell) -> None:
    found = json.loads(filled("search", "wheel", "--json").out)
    assert found["failed"] == {}
    assert {hit["kind"] for hit in found["hits"]} == {"file", "note", "cell", "task"}
    ids = [hit["where"].split()[1] for hit in found["hits"] if hit["kind"] != "file"]
    assert all(len(one) == 36 for one in ids)
    few = json.loads(filled("search", "wheel", "--json", "--toolsets", "tasks").out)
    assert [hit["kind"] for hit in few["hits"]] == ["task"]
    assert filled("search", "wheel", "--limit", "0").code == 1


def test_one_that_fails_does_not_hide_the_others(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.home)  # no project: there is nothing to read
    outcome = filled("search", "wheel")
    assert outcome.code == 0
    assert "No root" not in outcome.out
    assert "Grease the wheel" in outcome.out
    refused = filled("search", "wheel", "--toolsets", "retrieval")
    assert (refused.code, refused.out) == (2, "")
    assert "No root is configured. Set" in refused.err
    assert filled("search", "xylophone", "--toolsets", "notes").out == "Nothing was found.\n"


def test_what_other_projects_keep_is_told_and_found_with_all(filled: Shell) -> None:
    cell = {"language": "md", "content": "a walrus in a cell"}
    for tool, given in (
        ("add_task", {"title": "Feed the walrus"}),
        ("scratch_create", {"metadata": {"title": "Zoo"}, "cells": [cell]}),
    ):
        assert filled("call", tool, "--project", "zoo", "--json", json.dumps(given)).code == 0
    outcome = filled("search", "walrus")
    assert outcome.code == 0
    assert outcome.out.startswith("Nothing was found.\n")
    assert outcome.out.endswith(
        "→ Other projects have more. "
        "--all searches the tasks and pads of all projects and namespaces.\n"
    )
    [hint] = json.loads(filled("search", "walrus", "--json").out)["hints"]
    assert "--all" in hint
    outcome = filled("search", "walrus", "--all")
    assert "Feed the walrus" in outcome.out
    assert "a walrus in a cell" in outcome.out
    assert "--all" not in outcome.out


def test_the_order_is_that_of_desk_search_and_what_lacks_the_word_is_left_out(
    shell: Shell,
) -> None:
    for name in ("table", "store", "index"):
        text = f"# {name}\n\nto rehash a {name}\n" + "other lines\n" * len(name)
        (shell.folder / f"{name}.md").write_text(text)
    (shell.folder / "set.py").write_text("class Set:\n    def rehash(self):\n        pass\n")
    for tool, given in (
        ("scratch_create", {"cells": [{"language": "txt", "content": "hello world"}]}),
        ("note_save", {"text": "Hash tables\n\nwhen to rehash"}),
        ("add_task", {"title": "Hash tables", "description": "measure a rehash"}),
    ):
        assert shell("call", tool, "--json", json.dumps(given)).code == 0
    told = json.loads(shell("call", "desk_search", "query=rehash", "--json").out)["hits"]
    found = json.loads(shell("search", "rehash", "--json").out)["hits"]
    assert [hit["kind"] for hit in found] == [hit["kind"] for hit in told]
    assert {hit["kind"] for hit in found} == {"file", "note", "task"}
    names = [hit["where"].split()[-1].partition(":")[0].removeprefix("code/") for hit in found]
    assert all(name[:8] in hit["uri"] for name, hit in zip(names, told, strict=True))
    assert len(json.loads(shell("search", "rehash", "--json", "--limit", "2").out)["hits"]) == 2
    assert "hello" not in shell("search", "rehash").out


def test_a_word_that_nothing_has_is_answered_with_the_nearest(filled: Shell) -> None:
    assert "→ Did you mean water?" in filled("search", "watar").out


@pytest.mark.parametrize("words", [[""], [" ", "\t"]])
def test_blank_words_are_wrong_usage(filled: Shell, words: list[str]) -> None:
    outcome = filled("search", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "blank" in outcome.err


def test_on_a_terminal_answers_are_for_people_and_json_is_for_the_asking(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", Mock(return_value=True))
    listed = filled("call", "list_tasks").out
    assert re.search(
        r"^  - task_id: ([0-9a-f]{8})[0-9a-f-]{28}\n    uri: rolltop://task/\1\n    title: Grease",
        listed,
        re.MULTILINE,
    )
    read = filled("call", "smart_read", "file_path=mill.md").out
    assert "content:\n  # Mill\n\n  The water wheel turns.\n" in read
    refused = filled("call", "note_get", "note_id=none")
    assert refused.code == 1
    assert re.match(r"NOTE_NOT_FOUND: .*\n→ note_list", refused.out)
    for arguments in (["--json"], ["--json", "{}"]):
        assert json.loads(filled("call", "list_tasks", *arguments).out)["success"] is True
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[36mtitle\x1b[0m: Grease" in filled("call", "list_tasks").out
    assert "\x1b[32mok" in filled("doctor").out


def test_no_control_character_of_stored_text_reaches_a_terminal() -> None:
    evil = "\x1b]0;title\x07\x9b31m\u202e\r\u2028x"
    for line in (
        *render.answer_lines({evil: evil, "b": [{evil: f"{evil}\n{evil}"}], "c": [evil]}),
        *render.error_lines({"error": {"code": evil, "message": evil, "hint": evil}}),
        render.one_line(evil, 200),
    ):
        assert line.isprintable(), line
    assert render.one_line("a  b\nc", 4) == "a b…"
    assert [
        *render.answer_lines(
            {"a": None, "b": [], "t": True, "n": [1, 2], "e": [{"a": None}, {"a": 1, "b": 2}]}
        )
    ] == [
        "t: yes",
        "n: 1, 2",
        "e:",
        "  - ",
        "  - a: 1",
        "    b: 2",
    ]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_words_behind_a_double_dash_may_begin_with_one(filled: Shell, options: list[str]) -> None:
    (filled.folder / "mill.md").write_text("# Mill\n\nStart it with --turn-wheel.\n")
    outcome = filled("search", *options, "--", "--turn-wheel")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Start it with --turn-wheel" in outcome.out
    outcome = filled("search", "--all", "Start", *options, "--", "--turn-wheel")
    assert (outcome.code, outcome.err, "mill.md" in outcome.out) == (0, "", True)
    outcome = filled("search", *options, "--", "--turn-wheel", "--limit", "0")
    assert (outcome.code, outcome.err, "mill.md" in outcome.out) == (0, "", True)
    outcome = filled("search", *options, "--limit", "--", "-5")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--limit: expected one argument" in outcome.err
    assert "invalid choice: '-x'" in filled("completion", "--", "-x").err
    outcome = filled("search", *options, "--", "wheel", "-turn")
    assert (outcome.code, "mill.md" in outcome.out, "Grease" in outcome.out) == (0, False, True)
