"""Processes forked for the tests end as others do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.forks import Forked

if TYPE_CHECKING:
    import pytest


def test_a_signal_to_a_process_whose_end_is_not_yet_told_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Forked(["-c", "pass"]) as process:
        assert process.wait() == 0
        monkeypatch.setattr(process, "poll", lambda: None)
        process.kill()
        monkeypatch.undo()
