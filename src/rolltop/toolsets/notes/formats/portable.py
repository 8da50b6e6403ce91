"""A note on its way between a store and a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from rolltop.core.arguments import storable
from rolltop.core.errors import Invalid
from rolltop.toolsets.notes.models import ID_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.toolsets.notes.models import Content

_LATEST = 1e11  # seconds; a greater date is not one


@dataclass(frozen=True)
class Portable:
    """A note with the id it has elsewhere, None where it has none; `name` says where it is from."""

    content: Content
    id: str | None = None
    name: str = ""


class NotReadable(Invalid):
    """A file does not hold notes in the form it should."""


def written_moment(seconds: float) -> str | float:
    """Return a moment in ISO 8601, or its seconds where that would not be the same moment."""
    try:
        text = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return seconds
    return text if read_moment(text, 0.0) == seconds else seconds


def read_moment(value: object, otherwise: float) -> float:
    """Return the seconds of a moment as files write them; `otherwise` for what is none."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= _LATEST else otherwise
    text = str(value) if value is not None else ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def read_texts(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts, each once; a single text may hold several with commas between.

    Raises NotReadable for anything else.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, list):
        raise NotReadable(f"{name} is not a list")
    entries = cast("list[Any]", value)
    texts = [str(entry) for entry in entries if entry is not None and str(entry)]
    return tuple(dict.fromkeys(storable(text, name) for text in texts))


def read_id(value: object) -> str | None:
    """Return an id that a note can have here, None for any other value."""
    if isinstance(value, str) and 1 <= len(value) <= ID_LENGTH:
        return storable(value, "id")
    return None


def read_extra(value: object, name: str) -> Mapping[str, Any]:
    """Return fields that only their own program knows; none for a value that holds none.

    Raises NotReadable where they could not be kept as they are.
    """
    if not isinstance(value, dict):
        return {}
    fields = cast("dict[str, Any]", value)
    try:
        kept = json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise NotReadable(f"{name} holds what JSON in UTF-8 cannot") from None
    return json.loads(kept)
