"""What the server makes of a change to an older version: its differences, laid on the newest."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = dict[str, Any]


def merge(base: Json, current: Json, posted: Json) -> Json:
    """Return `current` with what `posted` changed of `base`; where both changed, `posted` stays."""
    merged: Json = {}
    for key in {**current, **posted}:
        was, now, sent = (side.get(key) for side in (base, current, posted))
        if key not in posted or sent == was:
            if key in current:
                merged[key] = now
        elif now in (was, sent):
            merged[key] = sent
        else:
            merged[key] = _both(was, now, sent)
    return merged


def _both(was: Any, now: Any, sent: Any) -> Any:
    if isinstance(was, str) and isinstance(now, str) and isinstance(sent, str):
        return merge_text(was, now, sent)
    if all(isinstance(side, list) for side in (was, now, sent)):
        return _merge_lists(list(was), list(now), list(sent))
    return sent


def _merge_lists(was: list[Any], now: list[Any], sent: list[Any]) -> list[Any]:
    kept = [item for item in now if item in sent or item not in was]
    return kept + [item for item in sent if item not in was and item not in kept]


def merge_text(was: str, now: str, sent: str) -> str:
    """Return `now` with the lines that `sent` changed of `was`."""
    base, current, posted = (text.splitlines(keepends=True) for text in (was, now, sent))
    places = SequenceMatcher(None, base, current, autojunk=False).get_opcodes()
    changes = SequenceMatcher(None, base, posted, autojunk=False).get_opcodes()
    merged = list(current)
    limit = len(current)
    for kind, start, end, posted_start, posted_end in reversed(changes):
        if kind == "equal":
            continue
        first = min(_place(places, start, at_end=False), limit)
        last = max(first, min(_place(places, end, at_end=True), limit))
        merged[first:last] = posted[posted_start:posted_end]
        limit = first
    return "".join(merged)


def _place(opcodes: Sequence[tuple[str, int, int, int, int]], line: int, *, at_end: bool) -> int:
    """Return where a line of the base is in the current text; a changed part counts whole."""
    for kind, start, end, now_start, now_end in opcodes:
        inside = start < line <= end if at_end else start <= line < end
        if inside:
            if kind == "equal":
                return now_start + line - start
            return now_end if at_end else now_start
    return 0 if at_end and line == 0 else opcodes[-1][4] if opcodes else 0
