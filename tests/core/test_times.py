"""Times as callers write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rolltop.core.errors import InvalidArgument
from rolltop.core.times import parse_span

NOW = datetime(2026, 11, 25, 14, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "seconds"),
    [
        ("2026-11-20", "11-20 00:00:00", 86399.999999),
        (" 2026-11-20T09:00 ", "11-20 09:00:00", 59.999999),
        ("2026-11-20T09:00Z", "11-20 09:00:00", 59.999999),
        ("2026-11-20 09:00+01:00", "11-20 08:00:00", 59.999999),
        ("2026-11-20T09:00:05Z", "11-20 09:00:05", 0),
        ("9999-12-31T23:59Z", "12-31 23:59:00", 59.999999),
    ],
)
def test_a_text_means_a_day_a_minute_or_a_moment(text: str, start: str, seconds: float) -> None:
    span = parse_span(text, "since", NOW)
    assert f"{span.start:%m-%d %H:%M:%S}" == start
    assert (span.end - span.start).total_seconds() == seconds
    assert span.is_day == (seconds > 3600)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "3", "2026-02-30", "2026-11-25T24:30", "tomorrow", "2 hours ago", "x" * 100_000],
)
def test_what_is_no_time_is_refused_with_the_present_one(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_span(text, "since", NOW)
    assert refused.value.message.startswith("since: ")
    assert len(refused.value.message) < 120
    assert "It is 2026-11-25T14:30Z; send since as 2026-11-25 or " in refused.value.hint
