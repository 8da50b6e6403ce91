"""YAML 1.2 by yaml-rs; positions of values by libyaml's events.

libyaml refuses some rare texts that are valid YAML 1.2; their values have the position 1, 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Final, cast

import yaml
import yaml_rs

from .json_text import clamp_float, clamp_integer, is_array, is_object
from .positions import DataValue, Event, find_positions, walk
from .results import (
    MAX_DIAGNOSTICS,
    DataDocument,
    Diagnostic,
    SyntaxResult,
    duplicate_key,
    position_at,
    position_of_line,
)

# A document of our own in front makes the parser return a list of all documents, always.
_PREAMBLE: Final = "--- 0\n...\n"
_PREAMBLE_LINES: Final = 2
_POSITION: Final = re.compile(r"\AYAML parse error at line (\d+), column (\d+)\n")
_UNPRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff\ufeff]"
)
_BLOCK_NESTING: Final = re.compile(r"(?:[-?:][ \t]+){256}")
_NAMED_TAG: Final = re.compile(r"!![\w:/.-]+")
_TAB_AFTER_KEY: Final = re.compile(r"^([ -]*+[\w.][\w.-]*+:)\t", re.MULTILINE)
_LEADING_TAB: Final = re.compile(r"^[ ?:-]*+\t", re.MULTILINE)
_NO_KEY_PROBLEMS: Final = ("did not find expected key", "did not find expected node content")
"""What libyaml says where it wants a key; a key on a line of its own has another."""
_NO_KEY: Final = re.compile(r"(?<![^\s\[{,]):(?=[\s\]},]|\Z)")
_INDENTING_TAB: Final = "Tabs disallowed within this context (block indentation)"
# A type of YAML 1.1 that yaml-rs does not have; its values are texts to a schema anyway.
_TIMESTAMP: Final = re.compile(r"(?<![^\s\[{,])!!timestamp(?=\s)")
_NO_SPACE: Final = "must be followed by a valid YAML whitespace"
_NOT_INDENTED: Final = "invalid indentation in multiline quoted scalar"
_GOES_ON: Final = re.compile(r"(?:\r\n?|\n)( *+)(?=[ \t]*+[^\s])")
_TAGS: Final = "tag:yaml.org,2002:"
_TYPED_SCALAR: Final = re.compile(
    r"~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?\.?[0-9][\w.+-]*"
)
_KINDS: Final = {
    yaml.DocumentStartEvent: "document",
    yaml.MappingStartEvent: "mapping",
    yaml.SequenceStartEvent: "sequence",
    yaml.MappingEndEvent: "end",
    yaml.SequenceEndEvent: "end",
    yaml.ScalarEvent: "scalar",
    yaml.AliasEvent: "scalar",
}
_REPEATED: Final = "duplicate mapping key"
_REPEATED_SOMEWHERE: Final = "A key is given twice; the last value counts"
_UNUSABLE_KEYS: Final = (
    "JSON has no such keys (a collection, or 1 beside true); no schema was applied"
)
_MAX_REPLAYED: Final = 1_000_000  # values that all aliases of a text may stand for


def check(content: str, _language: str) -> SyntaxResult:
    """Parse a YAML text into its documents, as JSON Schema sees them."""
    refused = _find_unprintable(content)
    if refused is not None:
        return SyntaxResult(errors=[refused])
    text = content.removeprefix("\ufeff")
    try:
        syntax = _read_leniently(text)
    except yaml_rs.YAMLDecodeError as error:
        said, tab = _diagnostic(error, content), _find_indenting_tab(text)
        return SyntaxResult(errors=[tab if tab and tab.line < said.line else said])
    refused = _find_indenting_tab(text)
    if refused:
        return SyntaxResult(errors=[refused])
    syntax.warnings += _find_missing_key(text)
    return syntax


def _read_leniently(text: str) -> SyntaxResult:
    """Read the documents, of YAML too that yaml-rs refuses. Raises its error for another text."""
    try:
        return _read(text)
    except yaml_rs.YAMLDecodeError as error:
        # YAML lets a tab stand between a key and its value; yaml-rs does not.
        gap, instead = _TAB_AFTER_KEY, r"\1 "
        if "'!!timestamp'" in str(error):
            gap, instead = _TIMESTAMP, "!!str".ljust(len("!!timestamp"))
        elif _NO_SPACE not in str(error):
            raise
        return _read(gap.sub(instead, text))


def _read(text: str) -> SyntaxResult:
    """Read the documents. Raises yaml-rs's error for a text that is not YAML."""
    syntax = SyntaxResult()
    try:
        try:
            values = _load(text, yaml_rs.DuplicateKeyPolicy.Error)
        except yaml_rs.YAMLDecodeError as error:
            if _REPEATED not in str(error):
                raise
            syntax.warnings = _find_duplicate_keys(text)
            values = _load(text, yaml_rs.DuplicateKeyPolicy.LastWins)
        find = partial(find_positions, text, _values, paths_are_unique=not syntax.warnings)
        syntax.documents = [
            DataDocument(_as_json(value), partial(find, at)) for at, value in enumerate(values)
        ]
    except TypeError:  # it is YAML, but Python cannot hold every key of it
        syntax.remarks = [Diagnostic(_UNUSABLE_KEYS, "SCHEMA_NOT_APPLIED")]
    return syntax


def _find_duplicate_keys(text: str) -> list[Diagnostic]:
    """Find repeated keys. Raises TypeError if keys differ that Python takes for one: 1 and true."""
    repeated = (value for value in walk(_events(text), _key_of) if value.repeats)
    try:
        found = [
            duplicate_key(value.path[-1], position_at(text, value.key_at or 0))
            for value in islice(repeated, MAX_DIAGNOSTICS)
        ]
    except yaml.YAMLError:
        return [Diagnostic(_REPEATED_SOMEWHERE, "DUPLICATE_KEY")]
    if not found:
        raise TypeError("keys that Python cannot tell apart")
    return found


def _values(text: str) -> Iterator[DataValue]:
    """Yield the values in order, as far as libyaml reads the text."""
    with suppress(yaml.YAMLError):
        yield from walk(_events(text), _key_of)


def _events(text: str) -> Iterator[Event]:
    event: Any  # PyYAML's events are untyped
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        kind = _KINDS.get(event.__class__)
        if kind:
            yield kind, event.start_mark.index, event


def _key_of(event: Any) -> str:  # noqa: ANN401  # as above
    """Render a key as JSON can have it; what a plain scalar means is left to yaml-rs."""
    if isinstance(event, yaml.AliasEvent):
        return ""
    text: str = event.value
    if event.style or (event.tag or "").startswith(_TAGS) or not _TYPED_SCALAR.fullmatch(text):
        return text or "null" if not event.style else text
    return _key_text(yaml_rs.loads(text, parse_datetime=False))


def _key_text(key: object) -> str:
    """Render a key as JSON can have it. Raises TypeError for a collection."""
    if isinstance(key, tuple | frozenset):
        raise TypeError("a key is a collection")
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    return str(clamp_integer(key)) if isinstance(key, int) else str(key)


def _load(text: str, policy: yaml_rs.DuplicateKeyPolicy) -> list[Any]:
    """Load the values of all documents. Raises TypeError for a key that Python cannot hold."""
    limits = yaml_rs.AliasLimits(max_total_replayed_events=_MAX_REPLAYED)
    load: Callable[[str], Any] = partial(
        yaml_rs.loads, parse_datetime=False, alias_limits=limits, duplicate_key_policy=policy
    )
    try:
        loaded = load(_PREAMBLE + text)
    except yaml_rs.YAMLDecodeError as error:
        if _NOT_INDENTED not in str(error):
            raise
        loaded = load(_PREAMBLE + _indent_quoted(text))
    return loaded[1:] if is_array(loaded) else [None]


def _indent_quoted(text: str) -> str:
    """Indent by one more the lines of quoted texts that are right of their collection.

    yaml-rs wants those of a mapping's value to be two columns right of it.
    """
    columns, parts, at = [-1], list[str](), 0
    event: Any
    with suppress(yaml.YAMLError):
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            start, end = event.start_mark.index, event.end_mark.index
            column = event.start_mark.column
            if isinstance(event, yaml.NodeEvent):  # its properties may stand before its first key
                columns[-1] = min(columns[-1], column)
            if isinstance(event, yaml.CollectionStartEvent):
                columns.append(columns[-1] if event.flow_style else column)
            elif isinstance(event, yaml.CollectionEndEvent):
                columns.pop()
            elif (
                isinstance(event, yaml.ScalarEvent)
                and event.style in ("'", '"')
                and all(len(one) > columns[-1] for one in _GOES_ON.findall(text, start, end))
            ):
                parts += text[at:start], _GOES_ON.sub(r"\g<0> ", text[start:end])
                at = end
    return "".join([*parts, text[at:]])


def _find_unprintable(content: str) -> Diagnostic | None:
    """Find what the parser must not even be given."""
    found = _UNPRINTABLE.search(content)
    if found is not None:
        message = f"Character U+{ord(found.group()):04X} is not allowed in YAML"
        return Diagnostic(message, "YAML_SYNTAX", *position_at(content, found.start()))
    nested = _BLOCK_NESTING.search(content)
    if nested is not None:
        return Diagnostic("Nested too deeply", "YAML_TOO_DEEP", *position_at(content, nested.end()))
    return None


def _find_indenting_tab(text: str) -> Diagnostic | None:
    """Find a tab before a block collection on its line, which yaml-rs takes for indentation.

    libyaml, which takes tabs there for nothing, tells where collections begin once they are spaces.
    """
    if not _LEADING_TAB.search(text):
        return None
    event: Any  # as above
    with suppress(yaml.YAMLError):
        for event in yaml.parse(text.replace("\t", " "), Loader=yaml.CSafeLoader):
            # One with a tag or an anchor of its own begins there, and its members on another line.
            is_collection = _KINDS.get(event.__class__) in {"mapping", "sequence"}
            if not is_collection or event.flow_style or event.tag or event.anchor:
                continue
            at = begin = event.start_mark.index
            while begin and text[begin - 1] in " \t":
                begin -= 1
            tab = text.find("\t", begin, at)
            if tab >= 0:
                return Diagnostic(_INDENTING_TAB, "YAML_SYNTAX", *position_at(text, tab))
    return None


def _find_missing_key(text: str) -> list[Diagnostic]:
    """Find a `:` with no key before it, which YAML 1.2 takes for null and libyaml refuses."""
    if not _NO_KEY.search(text):
        return []
    try:
        for _ in yaml.parse(text, Loader=yaml.CSafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.index if error.problem_mark else len(text)
        if error.problem in _NO_KEY_PROBLEMS and _NO_KEY.match(text, at):
            message = "No key is before this ':', which stands for null; most readers refuse that"
            return [Diagnostic(message, "YAML_NO_KEY", *position_at(text, at))]
    return []


def _diagnostic(error: Exception, content: str) -> Diagnostic:
    said = str(error)
    found = _POSITION.match(said)
    message = said.rstrip().rsplit("\n", 1)[-1] if found else said
    code = "YAML_ALIASES" if "alias replay" in message else "YAML_SYNTAX"
    if "recursion limit" in message:
        code = "YAML_TOO_DEEP"
    shown = message[:1].upper() + message[1:300]
    if found is None:
        named = _NAMED_TAG.search(message)
        at = content.find(named.group()) if named else -1
        return Diagnostic(shown, code, *position_at(content, max(at, 0)))
    line = max(int(found.group(1)) - _PREAMBLE_LINES, 1)
    if message.endswith("found a tab"):  # placed where the scalar begins that the tab is in
        for number, text in enumerate(content.split("\n")[line - 1 :], start=line):
            if text.lstrip(" ").startswith("\t"):
                return Diagnostic(shown, code, number, text.index("\t") + 1)
    return Diagnostic(shown, code, *position_of_line(content, line, int(found.group(2))))


def _as_json(value: Any) -> Any:  # noqa: ANN401  # any document
    """Convert keys to text and merge merge keys (`<<`), as JSON Schema sees the value."""
    if is_object(value):
        members: dict[str, Any] = {}
        for key, member in value.items():
            converted = _as_json(member)
            if key == "<<" and _is_merge(converted):
                sources = converted if is_array(converted) else [converted]
                merged = {name: one for source in reversed(sources) for name, one in source.items()}
                members = {**merged, **members}
            else:
                members[_key_text(key)] = converted
        return members
    if is_array(value):
        return [_as_json(member) for member in value]
    if isinstance(value, set):
        return {_key_text(member): None for member in cast("set[Any]", value)}
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float):
        return clamp_float(value)
    return clamp_integer(value) if isinstance(value, int) else value


def _is_merge(value: Any) -> bool:  # noqa: ANN401  # any value
    sources = value if is_array(value) else [value]
    return all(is_object(source) for source in sources)
