"""Checks of what a caller sends, before anything is looked up: pure functions."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.arguments import meant, shown, storable
from rolltop.core.errors import Invalid
from rolltop.toolsets.scratch.models import MOST_TAGS, NAME_LENGTH
from rolltop.toolsets.scratch.models.records import LineEdit, Replacement, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.toolsets.scratch.models import JsonObject
    from rolltop.toolsets.scratch.models.records import Edit

DEEPEST: Final = 100
"""Levels of nesting of metadata and schemas."""
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_OTHER_NAMES: Final = {
    **dict.fromkeys(("old_string", "old_str", "old_text", "oldText", "find", "search"), "old"),
    **dict.fromkeys(("new_string", "new_str", "new_text", "newText", "replace"), "new"),
    **dict.fromkeys(("replacement", "replace_with"), "new"),
    **dict.fromkeys(("replace_all", "replaceAll"), "all"),
    **dict.fromkeys(("start_line", "line"), "line_start"),
    "end_line": "line_end",
    **dict.fromkeys(("text", "body", "code", "source"), "content"),
}
"""What other tools call the fields of edits and cells."""


def identifier(text: str, name: str = "scratch_id") -> str:
    """Return a UUID in lower case. Raises Invalid (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        raise Invalid(
            f"{name} must be a UUID; got {shown(text)}",
            code="INVALID_ID",
            hint=f"Send {name} as the scratch tools answer it: 8-4-4-4-12 hexadecimal digits.",
        )
    return text.lower()


def name(text: str, what: str) -> str:
    """Return a trimmed name of 1 to 200 characters."""
    trimmed = storable(text, what).strip()
    if not 1 <= len(trimmed) <= NAME_LENGTH:
        raise wrong(f"{what} must have 1 to {NAME_LENGTH} characters; got {shown(text)}")
    return trimmed


def names(texts: object, what: str) -> tuple[str, ...]:
    """Return at most 100 names, trimmed, each once, in the order given."""
    given = tuple(dict.fromkeys(name(text, what) for text in strings(texts, what)))
    if len(given) > MOST_TAGS:
        raise wrong(f"{what} has {len(given)} entries; at most {MOST_TAGS} are allowed")
    return given


def wanted(
    cell_ids: Sequence[str] | None = None,
    indices: Sequence[int] | None = None,
    tags: Sequence[str] | None = None,
    namespaces: Sequence[str] | None = None,
) -> Wanted:
    """Return which cells of which pads a caller wants; empty lists are no conditions."""
    ids = tuple(dict.fromkeys(identifier(text, "cell_ids") for text in cell_ids or ()))
    places = tuple(dict.fromkeys(indices or ()))
    return Wanted(
        ids or None,
        places or None,
        names(list(tags or ()), "tags"),
        names(list(namespaces or ()), "namespaces"),
    )


def fields(given: object, what: str, known: Mapping[str, type | tuple[type, ...]]) -> JsonObject:
    """Return an object's entries that are not null; strict about names and kinds.

    `known` gives each name its kind or kinds; a kind of `object` takes any value.
    """
    entries = mapping(given, what)
    for key, value in entries.items():
        if key not in known:
            close = _OTHER_NAMES.get(key)
            close = close if close in known else meant(key, known)
            guess = f"; did you mean {close}?" if close else ""
            raise wrong(
                f"Unknown field {shown(key)} in {what}{guess}",
                f"{what} takes: {', '.join(known)}.",
            )
        kinds = known[key]
        if value is not None and not _is_of(value, kinds):
            raise wrong(f"{what}.{key} must be {_in_words(kinds)}; got {shown(value)}")
    return {key: value for key, value in entries.items() if value is not None}


def required(entries: Mapping[str, Any], key: str, what: str) -> Any:  # noqa: ANN401  # of the field's kind
    """Return an entry that must be there."""
    if key not in entries:
        raise wrong(f"{what}.{key} is required", f"Call again with {key} in {what}.")
    return entries[key]


def mapping(given: object, what: str) -> JsonObject:
    """Return an object."""
    if not isinstance(given, dict):
        raise wrong(f"{what} must be an object; got {shown(given)}")
    return cast("JsonObject", given)


def strings(given: object, what: str) -> list[str]:
    """Return a list of texts."""
    entries: object = cast("list[object]", given) if isinstance(given, list) else None
    if isinstance(entries, list) and all(isinstance(entry, str) for entry in entries):
        return cast("list[str]", entries)
    raise wrong(f"{what} must be a list of text; got {shown(cast('object', given))}")


def document(value: Any, what: str) -> Any:  # noqa: ANN401  # any JSON value
    """Return a JSON value the store can keep: its texts storable, its nesting bounded."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        if not level:
            return value
        level = [below for part in level for below in _below(part, what)]
    raise wrong(f"{what} is nested deeper than {DEEPEST} levels")


def edits(given: Sequence[object]) -> tuple[Edit, ...]:
    """Return edits of a cell, checked."""
    if not given:
        raise wrong("edits is empty", 'Send edits such as {"old": "…", "new": "…"}.')
    return tuple(_edit(entry, f"edits[{at}]") for at, entry in enumerate(given))


def wrong(message: str, hint: str = "") -> Invalid:
    """Return the error of a value that is not allowed."""
    return Invalid(message, code="VALIDATION_ERROR", hint=hint or "Mend the value and call again.")


def _edit(given: object, what: str) -> Edit:
    kinds = {"old": str, "new": str, "all": bool, "line_start": int, "line_end": int, "text": str}
    entries = fields(given, what, kinds)
    if "line_start" in entries or "text" in entries:
        mixed = {"old", "new", "all"} & entries.keys()
        first: int = required(entries, "line_start", what)
        last: int = entries.get("line_end", first)
        if mixed or first < 1 or last < first - 1:
            raise wrong(
                f"{what} must be {{old, new, all?}} or {{line_start, line_end, text}}, lines "
                "counted from 1; line_end may be one less than line_start, to insert before it"
            )
        return LineEdit(first, last, storable(required(entries, "text", what), what))
    old: str = required(entries, "old", what)
    if not old:
        raise wrong(f"{what}.old is empty", "Name the text to replace, or lines by their numbers.")
    new = storable(required(entries, "new", what), what)
    return Replacement(old, new, entries.get("all", False))


def _below(part: object, what: str) -> Iterable[object]:
    if isinstance(part, str):
        storable(part, what)
    elif isinstance(part, float) and not math.isfinite(part):
        raise wrong(f"{what} holds {part}, which JSON has no number for")
    elif isinstance(part, dict):
        for key, value in cast("dict[str, object]", part).items():
            storable(key, what)
            yield value
    elif isinstance(part, list):
        yield from cast("list[object]", part)


def _is_of(value: object, kinds: type | tuple[type, ...]) -> bool:
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, bool):
        return bool in allowed or object in allowed
    return isinstance(value, kinds)


def _in_words(kinds: type | tuple[type, ...]) -> str:
    words = {str: "text", bool: "true or false", int: "an integer", list: "a list"}
    listed = kinds if isinstance(kinds, tuple) else (kinds,)
    return " or ".join(words.get(kind, "an object") for kind in listed)
