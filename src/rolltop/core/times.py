"""Times as callers write them: dates, and dates with a time, in ISO 8601."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument

_INSTANT: Final = timedelta(microseconds=1)
_MINUTE: Final = re.compile(r".*[T ]\d{2}:?\d{2}(?:Z|[+-]\d{2}(?::?\d{2})?)?", re.IGNORECASE)


class Span(NamedTuple):
    """The first and the last moment, in UTC, of what a text calls a time: a day, a minute."""

    start: datetime
    end: datetime

    @property
    def is_day(self) -> bool:
        """Whether it is a whole day."""
        return self.end - self.start > timedelta(hours=1)


def moment_of(seconds: float) -> datetime:
    """Return the moment, in UTC, so long after 1970; where no date has its year, the nearest."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return last if seconds > 0 else first


def parse_span(text: str, name: str, now: datetime) -> Span:
    """Read ISO 8601, in UTC unless it says. Raises InvalidArgument, which tells the time of now."""
    try:
        return _parse_iso(text.strip())
    except (ValueError, OverflowError):
        raise InvalidArgument(
            f"{name}: {value_preview(text)} is no date and time",
            hint=f"It is {now:%Y-%m-%dT%H:%MZ}; send {name} as {now:%Y-%m-%d} or"
            f" {now:%Y-%m-%dT%H:%MZ}, say.",
        ) from None


def _parse_iso(text: str) -> Span:
    with suppress(ValueError):
        day = date.fromisoformat(text)
        start = datetime.combine(day, time(tzinfo=UTC))
        return Span(start, datetime.combine(day, time.max, tzinfo=UTC))
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    is_minute = _MINUTE.fullmatch(text) is not None
    return Span(moment, moment + (timedelta(minutes=1) - _INSTANT) * is_minute)
