"""`make demo`: the whole story, by a real client on a real server."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import REPOSITORY, SOURCE, Outcome
from tests.forks import Forked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

TOOLS = (
    "list_sections",
    "smart_read",
    "read_section",
    "read_plan",
    "repo_smart_search",
    "repo_get_snippet",
    "repo_search",
    "add_task",
    "next_task",
    "claim_task",
    "complete_task",
    "list_tasks",
    "scratch_create",
    "scratch_append_cell",
    "scratch_edit_cell",
    "scratch_search",
    "note_save",
    "note_list",
    "note_manage",
)
TOLD = (
    "2  replicas: twelve",
    "line 2: /replicas must be of type integer",
    "line 3: /port must be at most 65535",
    "valid: true",
    "service: billing replicas: 3 port: 8080",
    "local_version: 3, rebased",
    "- [ ] tell the others",
    "VERSION_CONFLICT: ",
    "version 1: ",
)
"""A cell that breaks its schema, what it is told, and where it is found once it is mended; a note
that two change, of which nothing is lost."""


def start_demo(folder: Path) -> Forked:
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{REPOSITORY}"}
    return Forked(["-m", "examples.demo"], folder=folder, environment=environment)


def run_demo(folder: Path) -> Outcome:
    demo = start_demo(folder)
    out, err = demo.communicate(b"")
    return Outcome(demo.wait(), out, err)


def test_a_reader_of_the_story_may_leave_early(shell: Shell) -> None:
    with start_demo(shell.folder) as demo:
        assert demo.stdout.readline()
        demo.stdout.close()
        assert demo.wait() == 1
        assert demo.stderr.read() == b""


def test_the_story_is_told_where_there_is_no_repository(shell: Shell) -> None:
    shell.set("ROLLTOP_THREADS", "nonsense")  # one's own settings do not disturb it
    shell.set("SIMPLENOTE_USERNAME", "ada@example.org")
    outcome = run_demo(shell.folder)
    assert outcome.err == ""
    assert outcome.code == 0
    for tool in TOOLS:
        assert f"→ {tool}(" in outcome.out
    for line in TOLD:
        assert line in outcome.out
    assert "did you mean title?" in outcome.out
    assert "\x1b" not in outcome.out
    paid, whole = (
        int(found.replace(",", ""))
        for found in re.findall(r"cost ([\d,]+)", outcome.out.split("calls and the list")[1])
    )
    assert paid < whole
    found = re.search(
        r"lines cost ([\d,]+) tokens, \S+ whole ([\d,]+):\n +(\d+)% saved", outcome.out
    )
    assert found is not None
    searched, file = (int(figure.replace(",", "")) for figure in found.groups()[:2])
    assert 0 < int(found[3]) == round(100 * (1 - searched / file))
    assert re.search(r"← \S+\.py:\d+: .*O_NOFOLLOW", outcome.out)
    assert not shell.data.exists()
    assert list(shell.folder.iterdir()) == []


@pytest.mark.usefixtures("shell")
def test_the_story_is_told_on_the_repositorys_own_documents() -> None:
    outcome = run_demo(REPOSITORY)
    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(r"list_sections\(file_path=…/[\w-]+\.md\)", outcome.out)
