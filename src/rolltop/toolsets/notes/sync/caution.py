"""When a sync stops and asks, and how long it waits after it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.toolsets.notes.models import GUARDED_LENGTH, GUARDED_SHARE

if TYPE_CHECKING:
    from rolltop.toolsets.notes.models import Content

_ALWAYS_ALLOWED: Final = 10
_SHARE: Final = 10
_LONGEST_PAUSE: Final = 1800.0


def is_harm(before: Content, after: Content) -> bool:
    """Whether a change puts a note into the trash, or cuts it to under a fifth."""
    if after.trash and not before.trash:
        return True
    was, now = len(before.text), len(after.text)
    return was > GUARDED_LENGTH and now * GUARDED_SHARE < was


def allowance(notes: int) -> int:
    """Return how many of that many notes one sync may trash or cut without being asked."""
    return max(_ALWAYS_ALLOWED, notes // _SHARE)


def pause_after(failures: int, interval: float) -> float:
    """Return the seconds until the next sync after so many failed ones in a row."""
    if failures == 0:
        return interval
    return max(interval, min(interval * 2.0 ** min(failures, 16), _LONGEST_PAUSE))
