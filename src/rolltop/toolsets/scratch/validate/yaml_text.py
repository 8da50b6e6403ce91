"""YAML 1.2 by yaml-rs, with documents as JSON sees them; places of values by libyaml's events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

import yaml_rs

from .json_values import bounded, finite, is_array, is_object
from .results import (
    MOST_DIAGNOSTICS,
    Diagnostic,
    Document,
    Syntax,
    place,
    place_of_line,
    repeated_key,
)
from .yaml_events import MOST_REPLAYED, Composition, TooManyAliases, key_text
from .yaml_places import Places

if TYPE_CHECKING:
    from .results import Place

# A document of our own in front makes the parser return a list of all documents, always.
_FIRST: Final = "--- 0\n...\n"
_FIRST_LINES: Final = 2
_PLACE: Final = re.compile(r"\AYAML parse error at line (\d+), column (\d+)\n")
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff\ufeff]"
)
_BLOCK_NESTING: Final = re.compile(r"(?:[-?:][ \t]+){256}")
_REPEATED: Final = "duplicate mapping key"
_REPEATED_SOMEWHERE: Final = "A key is given twice; the last value counts"
_NO_DOCUMENTS: Final = (
    "A key is a collection, not a text as in JSON, and the text is too unusual to go on without it"
)


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the YAML text `content`, and its documents."""
    del language
    refused = _refused_characters(content)
    if refused is not None:
        return Syntax(errors=[refused])
    text = content.removeprefix("\ufeff")
    try:
        return _read(text)
    except yaml_rs.YAMLDecodeError as error:
        return Syntax(errors=[_diagnostic(error, content)])
    except TooManyAliases:
        message = f"The aliases stand for more than {MOST_REPLAYED:,} values"
        return Syntax(errors=[Diagnostic(message, "YAML_ALIASES")])


def _read(text: str) -> Syntax:
    """Return the documents, and warnings; raises yaml-rs's error for what is not YAML."""
    try:
        return _documents(_load(text, yaml_rs.DuplicateKeyPolicy.Error), Places(text))
    except yaml_rs.YAMLDecodeError as error:
        if _REPEATED not in str(error):
            raise
        keys_repeat = True
    except TypeError:  # it is YAML, but Python cannot hold every key of it
        keys_repeat = False
    return _composed(text) or _without_composing(text, keys_repeat=keys_repeat)


def _documents(values: list[Any], places: Places) -> Syntax:
    """Return the documents; raises TypeError for a key that is a collection."""
    return Syntax(
        documents=[Document(_as_json(value), places.of(at)) for at, value in enumerate(values)]
    )


def _composed(text: str) -> Syntax | None:
    """Return the documents with every key as a text; None where libyaml refuses the text."""
    composition = Composition(text)
    warnings, remarks = list[Diagnostic](), list[Diagnostic]()
    for found in composition.values():
        if found.key_at is None or len(warnings) + len(remarks) >= MOST_DIAGNOSTICS:
            continue
        if found.repeats:
            warnings.append(repeated_key(found.path[-1], place(text, found.key_at)))
        if found.is_collection:
            remarks.append(_key_as_text(found.path[-1], place(text, found.key_at)))
    if not composition.is_whole:
        return None
    places = Places(text, paths_are_unique=not warnings)
    syntax = _documents(composition.documents or [None], places)
    syntax.warnings, syntax.remarks = warnings, remarks
    return syntax


def _without_composing(text: str, *, keys_repeat: bool) -> Syntax:
    """Return what there is of a text that libyaml refuses."""
    try:
        if keys_repeat:
            values = _load(text, yaml_rs.DuplicateKeyPolicy.LastWins)
            syntax = _documents(values, Places(text, paths_are_unique=False))
            syntax.warnings = [Diagnostic(_REPEATED_SOMEWHERE, "DUPLICATE_KEY")]
            return syntax
    except TypeError:
        pass
    return Syntax(remarks=[Diagnostic(_NO_DOCUMENTS, "SCHEMA_NOT_APPLIED")])


def _load(text: str, policy: yaml_rs.DuplicateKeyPolicy) -> list[Any]:
    """Return the values of all documents; raises TypeError for a key Python cannot hold."""
    limits = yaml_rs.AliasLimits(max_total_replayed_events=MOST_REPLAYED)
    loaded: Any = yaml_rs.loads(
        _FIRST + text, parse_datetime=False, alias_limits=limits, duplicate_key_policy=policy
    )
    return loaded[1:] if is_array(loaded) else [None]


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


def _key_as_text(key: str, at: Place) -> Diagnostic:
    message = f"The key {key[:80]} is a collection, not a text as in JSON; the schema sees its text"
    return Diagnostic(message, "YAML_KEY_AS_TEXT", *at)


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
    if isinstance(value, float):
        return finite(value)
    return bounded(value) if isinstance(value, int) else value


def _is_merge(value: Any) -> bool:  # noqa: ANN401  # any value
    sources = value if is_array(value) else [value]
    return all(is_object(source) for source in sources)


def _as_key(key: Any) -> str:  # noqa: ANN401  # any value may be a key
    if isinstance(key, tuple | frozenset):
        raise TypeError("a key is a collection")
    return key_text(key)
