"""Values of arguments as their schema means them, where hosts and models send them otherwise."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.argument_names import FIELD_SYNONYMS, canonical_names

if TYPE_CHECKING:
    from rolltop.core.tools import JsonObject

_MAX_DEPTH: Final = 100
_MAX_JSON_VALUES: Final = 50_000
"""Values and levels that JSON text in arguments may have, as many as a message itself."""
_MAX_ENTRIES: Final = 15_000
"""Of a list whose entries are checked one by one: more take too long, and no tool means so many."""
_MAX_CHOICE_LENGTH: Final = 60
"""Of a text that is compared with choices: a longer one is none of them."""
_MAX_HINT_LENGTH: Final = 200


class UnreadableValue(ValueError):
    """A value that no argument may hold; the text says why."""


class ValueReader:
    """Reads the arguments of one call as their schema means them.

    Some hosts and models send what is no text as text: "5", "true", a list or an object as JSON;
    one value for a list of one, or several with commas between; and a choice in another case or
    number. Nothing else is changed; what does not fit is left for the check to refuse.
    """

    def __init__(self) -> None:
        """Begin with no JSON text read."""
        self._json_values = 0

    def read(self, value: Any, part: JsonObject, name: str = "", depth: int = 0) -> Any:  # noqa: ANN401  # any JSON value
        """Read the value of an argument or a field as its part of the schema wants it.

        Raises:
            UnreadableValue: a number in it is not finite, or it is too large for JSON text.
            RecursionError: it is nested too deeply.

        """
        if depth > _MAX_DEPTH:
            raise RecursionError
        if isinstance(value, str):
            value = _read_choice(self.from_text(value, part), part)
        if part.get("type") == "array" and not isinstance(value, list):
            value = self._read_list(value, part.get("items", {}), name)
        if isinstance(value, float):
            return _read_number(value, part)
        if isinstance(value, list):
            items = _alternative(part, "array").get("items", {})
            entries = cast("list[Any]", value)
            if items:
                _require_few_entries(len(entries))
            return [self.read(entry, items, depth=depth + 1) for entry in entries]
        if isinstance(value, dict):
            whole = _alternative(part, "object")
            return self._read_object(cast("dict[str, Any]", value), whole, depth + 1)
        return value

    def _read_list(self, value: object, items: JsonObject, name: str) -> object:
        """Return a list for what can only be meant as its one entry, or as its entries."""
        kind = items.get("type")
        if isinstance(value, str) and kind != "string":
            value = self.from_text(value, items)
        if isinstance(value, str):
            plain = value.strip() and not _SEVERAL.search(_BRACES.sub("", value))
            return [value] if plain and kind == "string" else self._split(value, items, name)
        fits = isinstance(value, _JSON_TYPES.get(str(kind), ()))
        return [value] if fits and not isinstance(value, bool) else value

    def _split(self, text: str, items: JsonObject, name: str) -> list[str] | str:
        """Return the entries that a text names, the text where they are not plainly told apart."""
        kind = items.get("type")
        _require_few_entries(sum(map(text.count, ",;\n")) + 1)
        if kind == "string" and name in _PATHS and not _NOTATION.match(text):
            return [text]
        parts = _parts(text)
        if kind == "string":
            are_links = all(map(_is_link, parts))
            if _is_link(text.strip()) and not are_links:
                return [text]
            is_plain = "enum" in items or name in _WITHOUT_COMMAS or are_links
        else:
            is_plain = not any(isinstance(self.from_text(one, items), str) for one in parts)
        return parts if parts and is_plain else text

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
            read = self.read(value, fields.get(own, {}), own, depth)
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


_NOTATION: Final = re.compile(r"""\s*(?:\[|\{\s*["']|(["']).*\1\s*$)""")
"""The beginning of a list in JSON or in a notation of somebody's own, or a text in quotes."""
_SEVERAL: Final = re.compile(rf"^{_NOTATION.pattern}|[,;\n]")
"""A text that may be meant as a list."""
_BRACES: Final = re.compile(r"\{[^{}\"']*\}")
"""The alternatives of a glob, whose commas separate no entries."""
_WITHOUT_COMMAS: Final = frozenset({"tags", "namespaces", "blocked_by", "cell_ids"})
"""Lists of ids and short names: in a text commas separate them."""
_PATHS: Final = frozenset({"file_paths"})
"""Lists whose entries may have commas: which of them separate, the reading of globs tells."""
_SEPARATOR: Final = re.compile(r"[,;\n]")
_QUOTED: Final = re.compile(r"""(["'])([^"']+)\1""")
_BULLET: Final = re.compile(r"[-*]\s+")
_STRAY: Final = re.compile(r"""["'{}\[\]]""")
"""What an entry without quotes does not hold: it belongs to another notation."""
_LINK: Final = re.compile(r"[a-z]+://\S+", re.IGNORECASE)
_NOT_COMPARED: Final = re.compile(r"[\s_-]+")
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


def _require_few_entries(count: int) -> None:
    if count > _MAX_ENTRIES:
        raise UnreadableValue(f"holds a list of {count} entries; at most {_MAX_ENTRIES} are taken")


def list_hint(text: object, part: JsonObject) -> str:
    """Write the lists that a text may be meant as, in JSON; nothing where none of texts is asked.

    Nor where the text is long.
    """
    items = part.get("items", {})
    if not isinstance(text, str) or items.get("type") != "string" or "enum" in items:
        return ""
    if len(text) > _MAX_HINT_LENGTH:
        return ""
    parts = _parts(text)
    lists = [[text.strip()], parts] if len(parts) > 1 else [parts or [text.strip()]]
    shown = " or ".join(json.dumps(one, ensure_ascii=False) for one in lists)
    return shown if len(shown) <= _MAX_HINT_LENGTH else ""


def split_names(text: str) -> list[str]:
    """Return the names that a text stands for where a list of them is asked: tags, for example."""
    return _parts(text) or [text]


def _parts(text: str) -> list[str]:
    """Return the entries of a list that is written with commas; none where it is not plain."""
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1]
    found: list[str] = []
    for part in filter(None, map(str.strip, _SEPARATOR.split(inner))):
        entry = _BULLET.sub("", part, count=1) if _BULLET.match(part) else part
        quoted = _QUOTED.fullmatch(entry)
        if quoted is None and _STRAY.search(entry):
            return []
        found.append(quoted[2] if quoted else entry)
    return found


def _is_link(text: str) -> bool:
    return _LINK.fullmatch(text) is not None


def _read_choice(value: Any, part: JsonObject) -> Any:  # noqa: ANN401  # any JSON value
    """Return the one choice that a text means in another case or number, else the value."""
    choices: Sequence[Any] = part.get("enum", ())
    if not isinstance(value, str) or value in choices or len(value) > _MAX_CHOICE_LENGTH:
        return value
    folded = [(one, _fold(one)) for one in choices if isinstance(one, str)]
    given = _fold(value)
    alike = [one for one, fold in folded if fold == given]
    alike = alike or [one for one, fold in folded if {fold, f"{fold}s"} & {given, f"{given}s"}]
    return alike[0] if len(alike) == 1 else value


def _fold(text: str) -> str:
    return _NOT_COMPARED.sub("", text).casefold()


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
