"""YAML 1.2 by yaml-rs, with documents as JSON sees them; places of values by libyaml's events."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final, cast

import yaml_rs

from .json_values import is_array, is_object
from .results import (
    MOST_DIAGNOSTICS,
    Diagnostic,
    Document,
    Syntax,
    place,
    place_of_line,
    repeated_key,
)
from .yaml_places import Places

# A document of our own in front makes the parser return a list of all documents, always.
_FIRST: Final = "--- 0\n...\n"
_FIRST_LINES: Final = 2
_PLACE: Final = re.compile(r"\AYAML parse error at line (\d+), column (\d+)\n")
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff\ufeff]"
)
_BLOCK_NESTING: Final = re.compile(r"(?:[-?:][ \t]+){256}")
_REPEATED: Final = "duplicate mapping key"
_MOST_REPLAYED: Final = 1_000_000


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the YAML text `content`, and its documents."""
    del language
    refused = _refused_characters(content)
    if refused is not None:
        return Syntax(errors=[refused])
    text = _FIRST + content.removeprefix("\ufeff")
    try:
        loaded, keys_repeat = _loaded(text)
    except yaml_rs.YAMLDecodeError as error:
        return Syntax(errors=[_diagnostic(error, content)])
    values: list[Any] = loaded[1:] if is_array(loaded) else [None]
    places = Places(content)
    documents = [
        Document(_as_json(value), places.of(number)) for number, value in enumerate(values)
    ]
    warnings: list[Diagnostic] = []
    if keys_repeat:
        places.paths_are_unique = False
        warnings = _repeated_keys(places)
    return Syntax(warnings=warnings, documents=documents)


def _loaded(text: str) -> tuple[Any, bool]:
    """Return the documents, and whether a key repeats; only then is the text read again."""
    try:
        return _load(text, yaml_rs.DuplicateKeyPolicy.Error), False
    except yaml_rs.YAMLDecodeError as error:
        if _REPEATED not in str(error):
            raise
    return _load(text, yaml_rs.DuplicateKeyPolicy.LastWins), True


def _load(text: str, policy: yaml_rs.DuplicateKeyPolicy) -> Any:  # noqa: ANN401  # any document
    limits = yaml_rs.AliasLimits(max_total_replayed_events=_MOST_REPLAYED)
    return yaml_rs.loads(
        text, parse_datetime=False, alias_limits=limits, duplicate_key_policy=policy
    )


def _refused_characters(content: str) -> Diagnostic | None:
    """Return what is wrong where the text must not even be given to the parser."""
    found = _UNPRINTABLE.search(content)
    if found is not None:
        message = f"Character U+{ord(found.group()):04X} is not allowed in YAML"
        return Diagnostic(message, "YAML_SYNTAX", *place(content, found.start()))
    nested = _BLOCK_NESTING.search(content)
    if nested is not None:
        return Diagnostic("Nested too deeply", "YAML_TOO_DEEP", *place(content, nested.end()))
    return None


def _diagnostic(error: Exception, content: str) -> Diagnostic:
    said = str(error)
    found = _PLACE.match(said)
    message = said.rstrip().rsplit("\n", 1)[-1] if found else said
    code = "YAML_ALIASES" if "alias replay" in message else "YAML_SYNTAX"
    if "recursion limit" in message:
        code = "YAML_TOO_DEEP"
    shown = message[:1].upper() + message[1:300]
    if found is None:
        return Diagnostic(shown, code)
    line = max(int(found.group(1)) - _FIRST_LINES, 1)
    return Diagnostic(shown, code, *place_of_line(content, line, int(found.group(2))))


def _repeated_keys(places: Places) -> list[Diagnostic]:
    """Return a warning for each repeated key; one without a place where libyaml cannot tell."""
    found = [repeated_key(key, at) for key, at in islice(places.repeated(), MOST_DIAGNOSTICS)]
    return found or [Diagnostic("A key is given twice; the last value counts", "DUPLICATE_KEY")]


def _as_json(value: Any) -> Any:  # noqa: ANN401  # any document
    """Return the value with text keys and merge keys (`<<`) merged, as JSON Schema sees it."""
    if is_object(value):
        members: dict[str, Any] = {}
        for key, member in value.items():
            converted = _as_json(member)
            if key == "<<" and _is_merge(converted):
                sources = converted if is_array(converted) else [converted]
                merged = {name: one for source in reversed(sources) for name, one in source.items()}
                members = {**merged, **members}
            else:
                members[_as_key(key)] = converted
        return members
    if is_array(value):
        return [_as_json(member) for member in value]
    if isinstance(value, set):
        return {_as_key(member): None for member in cast("set[Any]", value)}
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value


def _is_merge(value: Any) -> bool:  # noqa: ANN401  # any value
    sources = value if is_array(value) else [value]
    return all(is_object(source) for source in sources)


def _as_key(key: Any) -> str:  # noqa: ANN401  # any value may be a key
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    return str(key)
