"""Days of a list of notes as they may be said from today."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.databases import Clock
    from tests.toolsets.notes.caller import Caller


def test_a_day_may_be_said_from_today(mine: Caller, clock: Clock) -> None:
    mine.note("early")
    clock.advance(days=1)
    mine.note("late")
    assert mine.titles("before:yesterday") == mine.titles(dt_before="Yesterday") == ["early"]
    assert mine.titles("after:today") == mine.titles(dt_after="today") == ["late"]
    assert mine.titles('after:"2 days ago"') == ["early", "late"]
    assert mine.titles(dt_before="last saturday") == ["early"]
    for hour in ("2 hours ago", "today at 9:30"):
        assert mine.code("note_list", dt_before=hour) == "INVALID_DATE"
