"""Times as callers write them: dates, dates with a time, and those said from today."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument

_INSTANT: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_WEEK: Final = 7
_MAX_LENGTH: Final = 60
_MINUTE: Final = re.compile(r".*[T ]\d{2}:?\d{2}(?:Z|[+-]\d{2}(?::?\d{2})?)?", re.IGNORECASE)
# "2026-12-01 17:00 UTC", and "… 17:00:00 +0200" as git writes it.
_ZONE_GAP: Final = re.compile(
    r"(?<![+-]\d\d:\d\d)(?<![+-]\d{4})(?<!:\d\d[+-]\d\d)(?<!Z)\s(?:UTC|GMT)$"
    r"|(?<=:\d\d)\s(?=[+-]\d\d:?\d\d$)",
    re.IGNORECASE,
)
_UNITS: Final = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": _DAY,
    "w": timedelta(days=_WEEK),
}
# No "m" alone, which is a minute to one and a month to another.
_UNIT: Final = r"(?P<unit>mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
_NUMBER: Final = rf"(?P<number>\d{{1,6}}|an?|one)\s*{_UNIT}"
_FROM_NOW: Final = re.compile(rf"(?P<ahead>in\s+|\+)?{_NUMBER}(?P<end>\s+ago|\s+from\s+now)?")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_NAME: Final = re.compile(
    r"(?:(?P<which>next|last|this|on)\s+)?"
    r"(?P<day>today|tomorrow|yesterday|week|(?P<weekday>mon|tue|wed|thu|fri|sat|sun)"
    r"(?:|day|sday|s|nesday|rsday|rs|urday))"
    r"(?:(?:\s+at\s+|[\s,]+)(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>am|pm)?)?"
)
_RELATIVE: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}


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


def parse_span(text: str, name: str, now: datetime, *, ahead: bool = False) -> Span:
    """Read ISO 8601, in UTC unless it says, or a time said from `now`, as "tomorrow" is.

    A weekday alone is the last one, or with `ahead` the coming one, today included. Raises
    InvalidArgument.
    """
    said = _ZONE_GAP.sub("", text.strip())
    try:
        span = _parse_iso(said) or _parse_words(" ".join(said.lower().split()), now, ahead=ahead)
    except (ValueError, OverflowError):
        span = None
    if span is None:
        example = now + _DAY if ahead else now - _DAY
        words = '"tomorrow" or "in 3 days"' if ahead else '"yesterday" or "2 hours ago"'
        raise InvalidArgument(
            f"{name}: {value_preview(text)} is no date and time",
            hint=f"It is {now:%Y-%m-%dT%H:%MZ}; send {name} as {example:%Y-%m-%d},"
            f" {example:%Y-%m-%dT%H:%MZ}, {words}.",
        )
    return span


def _parse_iso(text: str) -> Span | None:
    try:
        return _day(date.fromisoformat(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return _minute(moment) if _MINUTE.fullmatch(text) else Span(moment, moment)


def _parse_words(text: str, now: datetime, *, ahead: bool) -> Span | None:
    if len(text) > _MAX_LENGTH:
        return None
    if text == "now":
        return Span(now, now)
    if (found := _FROM_NOW.fullmatch(text)) is not None:
        return _from_now(found, now, ahead=ahead)
    found = _DAY_NAME.fullmatch(text)
    day = None if found is None else _named_day(found, now.date(), ahead=ahead)
    return None if found is None or day is None else _at_hour(found, day)


def _from_now(found: re.Match[str], now: datetime, *, ahead: bool) -> Span | None:
    """Read "in 3 days", which is a day, "2 hours ago", and "3d": back, or with `ahead` on."""
    number, unit = found["number"], found["unit"][0]
    distance = (int(number) if number.isdecimal() else 1) * _UNITS[unit]
    back = (found["end"] or "").endswith("ago")
    if found["ahead"] and found["end"]:
        return None
    if back or not (found["ahead"] or found["end"] or ahead):
        return Span(now - distance, now - distance)
    moment = now + distance
    return _day(moment.date()) if unit in "dw" else Span(moment, moment)


def _named_day(found: re.Match[str], today: date, *, ahead: bool) -> date | None:
    which, name = found["which"], found["day"]
    if name in _RELATIVE:
        return None if which else today + _RELATIVE[name] * _DAY
    if name == "week":
        return {"next": today + _WEEK * _DAY, "last": today - _WEEK * _DAY}.get(which or "")
    onward = (_WEEKDAYS.index(found["weekday"]) - today.weekday()) % _WEEK
    if which == "last" or (which != "next" and not ahead):
        back = -onward % _WEEK
        return today - (back or (_WEEK if which == "last" else 0)) * _DAY
    return today + (onward or (_WEEK if which == "next" else 0)) * _DAY


def _at_hour(found: re.Match[str], day: date) -> Span | None:
    if found["hour"] is None:
        return _day(day)
    if found["minute"] is None and found["half"] is None:
        return None
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:  # noqa: PLR2004  # a half of the day
            return None
        hour = hour % 12 + 12 * (found["half"] == "pm")
    return _minute(datetime.combine(day, time(hour, int(found["minute"] or 0), tzinfo=UTC)))


def _day(day: date) -> Span:
    start = datetime.combine(day, time(tzinfo=UTC))
    return Span(start, datetime.combine(day, time.max, tzinfo=UTC))


def _minute(start: datetime) -> Span:
    return Span(start, start + (timedelta(minutes=1) - _INSTANT))
