"""Simplenote's note objects to contents and back, without touching unknown keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast

from rolltop.toolsets.notes.models import MAX_ID_LENGTH, Content, Note

KNOWN_KEYS: Final = frozenset(
    {"content", "tags", "systemTags", "deleted", "creationDate", "modificationDate"}
)
_MAX_DEPTH: Final = 100
_VERSION_LIMIT: Final = 1 << 31
_MAX_TIMESTAMP: Final = 1e11  # seconds; a greater date is not one


def sanitize_json(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value, both ways
    """Make a JSON value storable in both databases.

    NUL and lone surrogates become U+FFFD; numbers that are none become null. Raises ValueError
    for a value that is nested too deeply.
    """
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return (
            value.replace("\0", "\ufffd")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
        )
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [sanitize_json(item, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            sanitize_json(key): sanitize_json(item, depth + 1)
            for key, item in cast("dict[str, Any]", value).items()
        }
    return value


def is_id(value: object) -> TypeGuard[str]:
    """Whether a value can be a note's id here."""
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_ID_LENGTH and sanitize_json(value) == value
    )


def is_version(value: object) -> TypeGuard[int]:
    """Whether a value can be a note's version here."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _VERSION_LIMIT


def is_note(data: object) -> bool:
    """Whether an object is a note of the form this program knows."""
    if not isinstance(data, dict):
        return False
    note = cast("dict[str, Any]", data)
    return isinstance(note.get("content", ""), str) and isinstance(note.get("tags") or [], list)


def parse_content(data: Mapping[str, Any]) -> Content:
    """Parse an object; what is missing is empty."""
    return Content(
        text=data.get("content", ""),
        tags=_text_items(data.get("tags")),
        trash=bool(data.get("deleted")),
        modified=_timestamp(data.get("modificationDate")),
        created=_timestamp(data.get("creationDate")),
        system_tags=_text_items(data.get("systemTags")),
        extra={key: value for key, value in data.items() if key not in KNOWN_KEYS},
    )


def build_object(content: Content, base: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build the whole object of a note that was `base` at the backend.

    What did not change stays spelled as the backend spells it (`deleted` may be 0 there).
    """
    values = {
        "content": content.text,
        "tags": list(content.tags),
        "systemTags": list(content.system_tags),
        "deleted": content.trash,
        "creationDate": content.created,
        "modificationDate": content.modified,
    }
    if base is None:
        return {**content.extra, **values}
    before = build_object(parse_content(base), None)
    unchanged = {key: base[key] for key in values if key in base and before[key] == values[key]}
    return {**content.extra, **values, **unchanged}


def _text_items(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item for item in cast("list[object]", value) if isinstance(item, str))


def _timestamp(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) < _MAX_TIMESTAMP else 0.0


def base_object(note: Note) -> dict[str, object] | None:
    """Build the backend's object that a note was made from, as far as it is known."""
    if note.base is not None:
        return dict(note.base)
    return build_object(note.content, None) if note.sync_state == "synced" else None
