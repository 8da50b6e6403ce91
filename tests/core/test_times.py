"""Times as callers write them, read on one Wednesday."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rolltop.core.errors import InvalidArgument
from rolltop.core.times import parse_span

NOW = datetime(2026, 11, 25, 14, 30, 15, tzinfo=UTC)  # a Wednesday


def shown(text: str, *, ahead: bool = False) -> str:
    """A day, a minute or a moment, as short as it can be said."""
    span = parse_span(text, "since", NOW, ahead=ahead)
    if span.is_day:
        assert f"{span.end:%Y-%m-%d %H:%M:%S.%f}" == f"{span.start:%Y-%m-%d} 23:59:59.999999"
        return f"{span.start:%m-%d}"
    if span.end == span.start:
        return f"{span.start:%m-%d %H:%M:%S}"
    assert (span.end - span.start).total_seconds() == 59.999999
    return f"{span.start:%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-20", "11-20"),
        (" 2026-11-20T09:00 ", "11-20 09:00"),
        ("2026-11-20T09:00Z", "11-20 09:00"),
        ("2026-11-20 09:00+01:00", "11-20 08:00"),
        ("2026-11-20T09:00:05Z", "11-20 09:00:05"),
        ("2026-11-20 09:00 UTC", "11-20 09:00"),
        ("2026-11-20 gmt", "11-20"),
        ("2026-11-20 09:00:05 +0100", "11-20 08:00:05"),
        ("2026-11-20 09:00 -01:00", "11-20 10:00"),
        ("9999-12-31T23:59Z", "12-31 23:59"),
        ("90 mins ago", "11-25 13:00:15"),
        ("now", "11-25 14:30:15"),
        ("today", "11-25"),
        ("Tomorrow", "11-26"),
        ("yesterday", "11-24"),
        ("yesterday at 17:05", "11-24 17:05"),
        ("tomorrow 5pm", "11-26 17:00"),
        ("tomorrow 17:00 UTC", "11-26 17:00"),
        ("today, 12 am", "11-25 00:00"),
        ("in 3 days", "11-28"),
        ("in a week", "12-02"),
        ("2 weeks from now", "12-09"),
        ("in 2 hours", "11-25 16:30:15"),
        ("in 90 minutes", "11-25 16:00:15"),
        ("+3d", "11-28"),
        ("2 hours ago", "11-25 12:30:15"),
        ("an hour ago", "11-25 13:30:15"),
        ("3  days ago", "11-22 14:30:15"),
        ("2h", "11-25 12:30:15"),
        ("3d", "11-22 14:30:15"),
        ("next week", "12-02"),
        ("last week", "11-18"),
        ("next friday", "11-27"),
        ("next Wednesday", "12-02"),
        ("this wed", "11-25"),
        ("last friday", "11-20"),
        ("last wednesday", "11-18"),
        ("last tuesday", "11-24"),
    ],
)
def test_a_time_is_the_same_before_or_after(text: str, meant: str) -> None:
    assert shown(text) == meant


@pytest.mark.parametrize(
    ("text", "back", "ahead"),
    [
        ("friday", "11-20", "11-27"),
        ("Fri 9:30", "11-20 09:30", "11-27 09:30"),
        ("wednesday", "11-25", "11-25"),
        ("thurs", "11-19", "11-26"),
        ("on monday", "11-23", "11-30"),
        ("this monday", "11-23", "11-30"),
        ("3 days", "11-22 14:30:15", "11-28"),
    ],
)
def test_a_time_alone_is_the_next_on_the_way(text: str, back: str, ahead: str) -> None:
    assert (shown(text), shown(text, ahead=True)) == (back, ahead)


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "tomorrow morning", "next tomorrow", "week", "this week", "friday at 25:00",
        "friday 13pm", "friday 9", "in 3 days ago", "3", "in months", "999999 weeks ago",
        "2026-02-30", "3M", "3m", "5ms", "2 hs ago", "2026-11-25T24:30", "fridays", "x" * 100_000,
        "2026-12-01T17:00+02:00 UTC", "2026-12-01 17:00 +0200 UTC", "2026-12-01T17:00+02 GMT",
        "2026-12-01T17:00Z UTC",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_the_present_one(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_span(text, "since", NOW)
    assert refused.value.message.startswith("since: ")
    assert len(refused.value.message) < 120
    assert "It is 2026-11-25T14:30Z; send since as 2026-11-24, " in refused.value.hint
    with pytest.raises(InvalidArgument) as refused:
        parse_span(text, "due_at", NOW, ahead=True)
    assert '2026-11-26T14:30Z, "tomorrow"' in refused.value.hint
