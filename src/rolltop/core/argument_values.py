"""Values of arguments as their schema means them, where hosts and models send them otherwise."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.argument_names import FIELD_SYNONYMS, canonical_names

if TYPE_CHECKING:
    from rolltop.core.tools import JsonObject

_MAX_DEPTH: Final = 100
_MAX_JSON_VALUES: Final = 50_000
"""Values and levels that JSON text in arguments may have, as many as a message itself."""
_MAX_ENTRIES: Final = 15_000
"""Of a list whose entries are checked one by one: more take too long, and no tool means so many."""


class UnreadableValue(ValueError):
    """A value that no argument may hold; the text says why."""


class ValueReader:
    """Reads the arguments of one call as their schema means them.

    Some hosts and models send what is no text as text: "5", "true", a list or an object as JSON;
    and one value for a list of one. Nothing else is changed; what does not fit is left for the
    check to refuse.
    """

    def __init__(self) -> None:
        """Begin with no JSON text read."""
        self._json_values = 0

    def read(self, value: Any, part: JsonObject, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value
        """Read the value of an argument or a field as its part of the schema wants it.

        Raises:
            UnreadableValue: a number in it is not finite, or it is too large for JSON text.
            RecursionError: it is nested too deeply.

        """
        if depth > _MAX_DEPTH:
            raise RecursionError
        if isinstance(value, str):
            value = self.from_text(value, part)
        if part.get("type") == "array" and not isinstance(value, list):
            value = self._read_list(value, part.get("items", {}))
        if isinstance(value, float):
            return _read_number(value, part)
        if isinstance(value, list):
            items = _alternative(part, "array").get("items", {})
            entries = cast("list[Any]", value)
            if items and len(entries) > _MAX_ENTRIES:
                raise UnreadableValue(
                    f"holds a list of {len(entries)} entries; at most {_MAX_ENTRIES} are taken"
                )
            return [self.read(entry, items, depth + 1) for entry in entries]
        if isinstance(value, dict):
            whole = _alternative(part, "object")
            return self._read_object(cast("dict[str, Any]", value), whole, depth + 1)
        return value

    def _read_list(self, value: object, items: JsonObject) -> object:
        """Return a list for what can only be meant as its one entry."""
        kind = items.get("type")
        if isinstance(value, str) and kind != "string":
            value = self.from_text(value, items)
        if isinstance(value, str):
            is_one = (
                kind == "string" and value.strip() and not _SEVERAL.search(_BRACES.sub("", value))
            )
            return [value] if is_one else value
        fits = isinstance(value, _JSON_TYPES.get(str(kind), ()))
        return [value] if fits and not isinstance(value, bool) else value

    def _read_object(self, given: dict[str, Any], part: JsonObject, depth: int) -> JsonObject:
        fields: dict[str, JsonObject] = part.get("properties", {})
        required = part.get("required", ())
        values: JsonObject = {}
        for name, value in given.items():
            own = name
            if fields and name not in fields:
                meant = canonical_names(name, fields, FIELD_SYNONYMS)
                own = next((one for one in meant if one not in given), name)
            if own in fields and own not in required and _is_left_out(own, value, fields[own]):
                continue
            read = self.read(value, fields.get(own, {}), depth)
            values[own if own not in values else name] = read
        return values

    def from_text(self, text: str, part: JsonObject) -> Any:  # noqa: ANN401  # any JSON value
        """Read what a text stands for where a text is not what is asked for."""
        kinds = [choice.get("type", "string") for choice in part.get("anyOf", [part])]
        if "string" in kinds:
            return text
        if "boolean" in kinds and text.strip().lower() in {"true", "false"}:
            return text.strip().lower() == "true"
        begin = text.lstrip()[:1]
        wanted = next((kind for kind in kinds if begin in _JSON_BEGINS.get(kind, ())), None)
        if wanted is None:
            return text
        self._json_values += sum(map(text.count, ",[{"))
        if self._json_values > _MAX_JSON_VALUES:
            raise UnreadableValue("is too large for JSON text: send it as a value of its own type")
        try:
            value = json.loads(text)
        except ValueError:
            return text
        fits = isinstance(value, _JSON_TYPES[wanted]) and not isinstance(value, bool)
        return value if fits else text


_SEVERAL: Final = re.compile(r"""^\s*(?:\[|\{\s*["']|(["']).*\1\s*$)|[,;\n]""")
"""A text that may be meant as a list: in JSON or a notation of somebody's own, or in quotes."""
_BRACES: Final = re.compile(r"\{[^{}\"']*\}")
"""The alternatives of a glob, whose commas separate no entries."""
_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_JSON_BEGINS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("integer", "number"), frozenset("-0123456789")),
    "array": frozenset("["),
    "object": frozenset("{"),
}


def _read_number(value: float, part: JsonObject) -> float:
    """Return a whole number as an integer where one is asked for: 5.0 is one in JSON."""
    if part.get("type") == "integer" and value.is_integer():
        return int(value)
    if not math.isfinite(value) and part.get("type") not in {"integer", "number"}:
        raise UnreadableValue(f"holds {json.dumps(value)}, which is no number of JSON")
    return value


def _is_left_out(name: str, value: object, part: JsonObject) -> bool:
    """Return whether a field that is optional holds nothing; a text may be empty, no id is."""
    is_text = part.get("type") == "string" and not name.endswith("id")
    return value is None or (value == "" and not is_text)


def _alternative(part: JsonObject, kind: str) -> JsonObject:
    """Return the one of a part's alternatives that has the type, the part where it has none."""
    return next((choice for choice in part.get("anyOf", ()) if choice.get("type") == kind), part)
