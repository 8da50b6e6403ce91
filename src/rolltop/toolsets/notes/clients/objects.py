"""Simplenote's note objects: what they say, and back without touching what we don't know."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.toolsets.notes.models import ID_LENGTH, Content

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN: Final = frozenset(
    {"content", "tags", "systemTags", "deleted", "creationDate", "modificationDate"}
)
_DEEPEST: Final = 100
_NO_VERSION: Final = 1 << 31
_LATEST: Final = 1e11
"""Seconds; a greater date is not one."""


def storable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value, both ways
    """Return a JSON value as both databases can keep it.

    NUL and lone surrogates become U+FFFD; numbers that are none become null. Raises ValueError
    for one that is nested too deeply to be kept.
    """
    if depth > _DEEPEST:
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
        return [storable(item, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            storable(key): storable(item, depth + 1)
            for key, item in cast("dict[str, Any]", value).items()
        }
    return value


def is_id(value: object) -> bool:
    """Whether a value can be a note's id here."""
    return isinstance(value, str) and 0 < len(value) <= ID_LENGTH and storable(value) == value


def is_version(value: object) -> bool:
    """Whether a value can be a note's version here."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _NO_VERSION


def is_note(data: object) -> bool:
    """Whether an object is a note of the form this program knows."""
    if not isinstance(data, dict):
        return False
    note = cast("dict[str, Any]", data)
    return isinstance(note.get("content", ""), str) and isinstance(note.get("tags") or [], list)


def content_of(data: Mapping[str, Any]) -> Content:
    """Return what an object says; what is missing is empty."""
    return Content(
        text=data.get("content", ""),
        tags=_texts(data.get("tags")),
        trash=bool(data.get("deleted")),
        modified=_moment(data.get("modificationDate")),
        created=_moment(data.get("creationDate")),
        system_tags=_texts(data.get("systemTags")),
        extra={key: value for key, value in data.items() if key not in KNOWN},
    )


def object_of(content: Content, base: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the whole object of a note that was `base` at the backend.

    What did not change stays spelled as the backend spells it (`deleted` may be 0 there).
    """
    said = {
        "content": content.text,
        "tags": list(content.tags),
        "systemTags": list(content.system_tags),
        "deleted": content.trash,
        "creationDate": content.created,
        "modificationDate": content.modified,
    }
    if base is None:
        return {**content.extra, **said}
    before = content_of(base)
    same = {
        "content": before.text == content.text,
        "tags": before.tags == content.tags,
        "systemTags": before.system_tags == content.system_tags,
        "deleted": before.trash == content.trash,
        "creationDate": before.created == content.created,
        "modificationDate": before.modified == content.modified,
    }
    kept = {key: base[key] for key in same if same[key] and key in base}
    return {**content.extra, **said, **kept}


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item for item in cast("list[object]", value) if isinstance(item, str))


def _moment(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) < _LATEST else 0.0
