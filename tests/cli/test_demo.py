"""`make demo`: the whole story, by a real client on a real server."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING

import pytest

from examples.demo import tell_story
from tests.cli.conftest import REPOSITORY, SOURCE, Outcome
from tests.forks import Forked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

TOLD = (
    "src/rolltop/workspace/project.py:",
    "def _is_project_folder(",
    "2  replicas: twelve",
    "line 2: /replicas must be of type integer",
    "line 3: /port must be at most 65535",
    "valid: true",
    "3 tasks",
    "Back up the store: completed",
    "← Rehearse on staging",
    "← The backup is in /backups",
    "← service: billing replicas: 3 port: 8080",
    "rolltop install claude-code",
)
"""A place that answers, a cell that is mended, a plan, and what a second client finds."""


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


def test_a_reader_who_left_is_no_failure_though_the_server_ends_badly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise ExceptionGroup("both", [TimeoutError("the server"), BrokenPipeError()])

    monkeypatch.setattr("examples.demo._connect", connect)
    with pytest.raises(BrokenPipeError):
        asyncio.run(tell_story(tmp_path))


def test_the_story_is_told_wherever_it_is_started(shell: Shell) -> None:
    shell.set("ROLLTOP_THREADS", "nonsense")  # one's own settings do not disturb it
    shell.set("SIMPLENOTE_USERNAME", "ada@example.org")
    outcome = run_demo(shell.folder)
    assert outcome.err == ""
    assert outcome.code == 0
    places = [outcome.out.find(line) for line in TOLD]
    assert -1 not in places
    assert places == sorted(places)
    assert "\x1b" not in outcome.out
    costs = re.search(r"Both calls: ([\d,]+) tokens\..* whole: ([\d,]+)\.", outcome.out)
    assert costs is not None
    spent, whole = (int(cost.replace(",", "")) for cost in costs.groups())
    assert spent < whole
    assert not shell.data.exists()
    assert list(shell.folder.iterdir()) == []
