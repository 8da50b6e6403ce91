"""The jobs that the desk is measured by, replayed: what they cost, and that they get done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.recorded_sessions import FIGURES, ROOTS, TRACES, arguments, figures, sum_up

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

MAX_QUESTION_TOKENS = 1600
MAX_RESUME_TOKENS = 800
MAX_CONFIGURATION_CALLS = 6
MAX_CONFIGURATION_TOKENS = 1500


def tokens(cost: dict[str, Any]) -> int:
    return sum_up({"count": 1, **cost})["tokens"]


@pytest.mark.parametrize("session", ROOTS)
def test_a_session_costs_what_it_did_and_no_more_than_promised(shell: Shell, session: str) -> None:
    outcome = shell(*arguments(session, shell.folder.parent))
    assert outcome.code == 0, outcome.out  # every call answered what the session expects
    trace: dict[str, Any] = json.loads(outcome.out)
    calls, total = trace["calls"], tokens(trace["total"])
    if session.startswith("question"):
        assert total <= MAX_QUESTION_TOKENS
        assert total < tokens(trace["whole_files"])
    elif session == "plan":
        work = [call["name"] for call in calls].index("desk_resume", 1)
        assert tokens(calls[work]) <= MAX_RESUME_TOKENS
    else:
        assert len(calls) <= MAX_CONFIGURATION_CALLS
        assert total <= MAX_CONFIGURATION_TOKENS
    known = json.loads(FIGURES.read_text())[session]
    assert figures(trace) == known, "`make traces` writes the figures anew"


def test_the_second_session_of_the_plan_is_back_at_work_by_its_first_call() -> None:
    lines = [json.loads(line) for line in (TRACES / "plan.jsonl").read_text().splitlines()]
    second = max(number for number, line in enumerate(lines) if "client" in line)
    back = lines[second + 1]
    assert back["tool"] == "desk_resume"
    assert back["expect"] == "Rehearse the migration on staging"


def test_every_recorded_session_is_replayed() -> None:
    assert {path.stem for path in TRACES.glob("*.jsonl")} == set(ROOTS)
