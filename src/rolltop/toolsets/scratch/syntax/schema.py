"""JSON Schema by jsonschema-rs, offline, with formats asserted.

References are resolved from the registry given and nowhere else. One that cannot be resolved is
reported as missing and stands for a schema that fits everything; the rest of the schema still
counts. What breaks it only so, as under `not` or in `oneOf`, is not known to break it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import chain, filterfalse, islice
from operator import getitem
from typing import Any, Final
from urllib.parse import quote, unquote

import jsonschema_rs

from .json_text import is_array, is_object
from .results import MAX_DIAGNOSTICS, DataDocument, Diagnostic, LineColumn, Path, schema_not_applied

DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
REGISTRY_ADDRESS: Final = "scratchpad://schemas/"
_UNRESOLVED: Final = re.compile(
    r"(?:Pointer|Anchor) '(?P<fragment>.*?)' does not exist|Invalid URI reference '(?P<bad>.*?)'"
    r"|Resource '(?P<resource>.*?)' is not present|Unknown meta-schema: '(?P<dialect>.*?)'",
    re.DOTALL,
)
_MAX_MISSING: Final = 50
# In allOf, so that no usual reference into a schema that is missing finds a part of these.
_FITS_ALL: Final[Mapping[str, Any]] = {"allOf": [{"additionalProperties": {}, "items": {}}]}
"""What a reference that is missing stands for, so that nothing of a value is left unevaluated."""
_FITS_NOTHING: Final[Mapping[str, Any]] = {
    "allOf": [{"additionalProperties": {"not": {}}, "items": {"not": {}}, "not": {}}]
}
"""The reverse, with all parts of the other."""
# The backtracking engine serves only patterns a linear one cannot (lookaround, back references).
PATTERNS: Final = jsonschema_rs.FancyRegexOptions(backtrack_limit=200_000)
_ESCAPE_OR_SET: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*", re.DOTALL)
_IN_SET: Final = re.compile(r"(\\[wdsWDS])-(?=.)|\\.|(?<!\[)(?<!\[\^)-(?=\\[wdsWDS])", re.DOTALL)
_VIOLATION: Final = "SCHEMA_VIOLATION"
_UNDECIDED: Final = "SCHEMA_PATTERN_UNDECIDED"
_NOT_APPLIED: Final = "SCHEMA_NOT_APPLIED"
_NO_POSITION: Final = "The document does not fit the schema; it is nested too deeply to say where"
_DATA_KEYWORDS: Final = frozenset({"const", "enum", "default", "examples"})
_SCHEMAS_BY_NAME: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
"""Keywords whose value holds schemas under names of any kind, those of keywords too."""
_ADDITIONAL: Final = "additionalProperties"
_MAX_MESSAGE_LENGTH: Final = 120

_MESSAGES: Final[dict[str, str]] = {
    "additionalItems": "has more than {limit} items",
    "additionalProperties": "has members that are not allowed: {unexpected}",
    "anyOf": "fits none of the alternatives",
    "const": "must be {expected_value}",
    "contains": "holds no item of the kind asked for",
    "contentEncoding": "is not encoded as {content_encoding}",
    "contentMediaType": "is not of media type {content_media_type}",
    "enum": "must be one of {options}",
    "exclusiveMaximum": "must be less than {limit}",
    "exclusiveMinimum": "must be greater than {limit}",
    "falseSchema": "is not allowed here",
    "format": "is not a valid {format}",
    "maxItems": "has more than {limit} items",
    "maximum": "must be at most {limit}",
    "maxLength": "is longer than {limit} characters",
    "maxProperties": "has more than {limit} members",
    "minItems": "has fewer than {limit} items",
    "minimum": "must be at least {limit}",
    "minLength": "is shorter than {limit} characters",
    "minProperties": "has fewer than {limit} members",
    "multipleOf": "must be a multiple of {multiple_of}",
    "not": "fits a schema it must not fit",
    "pattern": "does not match the pattern {pattern}",
    "propertyNames": "has a member whose name is not allowed",
    "required": "lacks the member {property}",
    "type": "must be of type {types}",
    "unevaluatedItems": "has items that are not allowed: {unexpected}",
    "unevaluatedProperties": "has members that are not allowed: {unexpected}",
    "uniqueItems": "holds an item twice",
}
_UNDECIDED_MESSAGE: Final = "could not be matched against a pattern: it takes too many steps"
_ONE_OF_MESSAGE: Final = "fits several of the alternatives, and may fit only one"


class UnusableSchema(Exception):
    """The schema cannot be applied; the message says why."""


class _UnresolvedReference(Exception):
    """A reference cannot be resolved; the message is the library's."""


class _TooDeep(Exception):
    """The value is nested too deeply for the engine to say what is wrong with it."""


class CompiledSchema:
    """A compiled schema, and the references that had to be removed."""

    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:  # noqa: ANN401  # any JSON
        """Compile the schema. Raises UnusableSchema if it is none."""
        self._registry = {_address(uri): one for uri, one in registry.items()}
        self._registry |= _schemas_by_id(registry.values())
        self._schema = schema
        self._validator, taken, absent = self._compile()
        self.missing = sorted({unquote(one) for one in (*taken, *absent)})
        # What is wrong whatever is missing is wrong whether that fits everything or nothing.
        self._strict = self._build_without(taken, _FITS_NOTHING)[0] if self.missing else None

    def errors(self, value: Any, most: int) -> tuple[list[Any], bool]:  # noqa: ANN401  # any JSON value
        """Return the first errors for one value, and whether more depend on what is missing."""
        errors = _iter_errors(self._validator, value)
        found = list(islice(errors, max(most, 0)))
        if self._strict is None or not found:
            return found, False
        also = {hash(_identify(error)) for error in _iter_errors(self._strict, value)}
        certain: list[Any] = []
        is_more = False
        for error in chain(found, errors):
            if hash(_identify(error)) not in also:
                is_more = True
            elif len(certain) < most:
                certain.append(error)
        return certain, is_more

    def _compile(self) -> tuple[Any, set[str], set[str]]:
        """Build the validator; return it, the references taken out and the URIs not found."""
        taken: set[str] = set()
        while True:
            try:
                validator, absent = self._build_without(taken)
            except _UnresolvedReference as error:
                culprits = self._unresolved_references(str(error), taken)
                if not culprits or len(taken) >= _MAX_MISSING:
                    raise UnusableSchema(str(error)) from None
                taken |= culprits
            else:
                return validator, taken, absent

    def _build_without(
        self, taken: set[str], instead: Mapping[str, Any] = _FITS_ALL
    ) -> tuple[Any, set[str]]:
        """Build the validator without the references `taken`, and the set of URIs not found."""
        absent: set[str] = set()

        def retrieve(uri: str) -> Any:  # noqa: ANN401  # any schema
            if uri in self._registry:
                return _without(self._registry[uri], taken, instead)
            absent.add(uri)
            return instead

        try:
            validator = jsonschema_rs.validator_for(
                _without(self._schema, taken, instead),
                validate_formats=True,
                retriever=retrieve,
                pattern_options=PATTERNS,
            )
        except jsonschema_rs.ValidationError as error:
            raise (_UnresolvedReference if error.kind.name == "$ref" else UnusableSchema)(
                error.message
            ) from None
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise UnusableSchema(str(error)) from None
        return validator, absent

    def _unresolved_references(self, said: str, taken: set[str]) -> set[str]:
        """Find the references that a failure is about."""
        found = _UNRESOLVED.search(said)
        if found is None:
            return set()
        named = found.group("bad") or found.group("resource")
        references = _references([self._schema, *self._registry.values()]) - taken
        if named is not None:
            return {one for one in references if one == named or one.startswith(named)}
        fragment = found.group("fragment") or ""
        fitting = {one for one in references if unquote(one.partition("#")[2]) == fragment}
        alone = {
            one
            for one in fitting
            if len(fitting) == 1 or self._fails_alike(said, taken | fitting - {one})
        }
        return alone or fitting

    def _fails_alike(self, said: str, taken: set[str]) -> bool:
        """Whether the failure is the same without the references `taken`."""
        try:
            self._build_without(taken)
        except _UnresolvedReference as error:
            return str(error) == said
        return False


def apply(
    documents: Sequence[DataDocument],
    schema: Any,  # noqa: ANN401  # any JSON
    name: str | None,
    registry: Mapping[str, Any],
) -> tuple[list[Diagnostic], list[Diagnostic], dict[str, Any]]:
    """Validate the documents of one cell; return errors, warnings and `details.schema`."""
    details: dict[str, Any] = schema_not_applied(name)
    try:
        referring = {"$ref": _address(schema)} if isinstance(schema, str) else schema
        applied = CompiledSchema(referring, registry)
    except UnusableSchema as error:
        message = f"The schema cannot be applied: {error}"
        return [Diagnostic(message[:500], "SCHEMA_INVALID")], [], details
    details["missing"] = applied.missing
    warnings = [_missing_reference(reference) for reference in applied.missing]
    if isinstance(schema, str) and applied.missing == [unquote(schema)]:
        return [], warnings, details
    found: list[Diagnostic] = []
    is_known = True
    for document in documents:
        try:
            some, more = applied.errors(document.value, MAX_DIAGNOSTICS - len(found))
            found += _locate_errors(some, document, name)
            is_known = is_known and not more
        except _TooDeep:
            found.append(Diagnostic(_NO_POSITION, _VIOLATION, details={"schema": name}))
        except ValueError as error:
            found.append(_not_applied(error))
            break
    errors = [one for one in found if one.code == _VIOLATION]
    undecided = [one for one in found if one.code != _VIOLATION]
    details["performed"] = not any(one.code == _NOT_APPLIED for one in undecided)
    if details["performed"]:
        details["passed"] = False if errors else None if undecided or not is_known else True
    return errors, warnings + undecided, details


def _missing_reference(reference: str) -> Diagnostic:
    message = f"The schema refers to {reference[:200]}, which is not here; the rest was checked"
    return Diagnostic(message, "SCHEMA_REFERENCE_MISSING", details={"reference": reference[:200]})


def _not_applied(error: ValueError) -> Diagnostic:
    message = f"The schema was not applied to the end: {str(error)[:200]}"
    return Diagnostic(message, _NOT_APPLIED)


def _locate_errors(
    found: Sequence[Any], document: DataDocument, name: str | None
) -> list[Diagnostic]:
    paths: list[Path] = [tuple(error.instance_path) for error in found]
    places: Mapping[Path, LineColumn] = document.find_positions(paths) if paths else {}
    diagnostics: list[Diagnostic] = []
    for error, path in zip(found, paths, strict=True):
        line, column = places.get(path, (1, 1))
        keyword, said = describe_violation(error, document.value)
        details = {
            "instance_path": pointer(path),
            "schema_path": pointer(error.schema_path),
            "keyword": keyword,
            "schema": name,
        }
        message = f"{pointer(path) or 'The document'} {said}"
        code = _UNDECIDED if is_undecided(error) else _VIOLATION
        diagnostics.append(Diagnostic(message, code, line, column, details))
    return sorted(diagnostics, key=lambda one: (one.line, one.column))


def pointer(path: Sequence[Any]) -> str:
    """Render steps as a JSON Pointer (RFC 6901); "" is the whole document."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _address(uri: str) -> str:
    """Escape a URI of the registry: names may hold any character."""
    if not uri.startswith(REGISTRY_ADDRESS):
        return uri
    name, mark, fragment = uri.removeprefix(REGISTRY_ADDRESS).partition("#")
    return REGISTRY_ADDRESS + quote(unquote(name), safe="") + mark + fragment


def _schemas_by_id(schemas: Iterable[Any]) -> dict[str, Any]:
    """Select the schemas with an absolute `$id`, by it."""
    named = ((one.get("$id"), one) for one in schemas if is_object(one))
    return {
        address.removesuffix("#"): one
        for address, one in named
        if isinstance(address, str) and ":" in address
    }


def parts_of(schema: Mapping[Any, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the values of a schema in which schemas may stand, each with the steps to it."""
    for key, value in schema.items():
        if key in _SCHEMAS_BY_NAME and is_object(value):
            yield from (((key, name), one) for name, one in value.items())
        elif key not in _DATA_KEYWORDS:
            yield (key,), value


def runnable_pattern(pattern: str) -> str:
    r"""Return a pattern as the engine takes it: with the dash escaped in `[\w-.]`, no range."""
    return _ESCAPE_OR_SET.sub(lambda found: _IN_SET.sub(_escape_dash, found.group()), pattern)


def _escape_dash(found: re.Match[str]) -> str:
    if found.group(1):
        return rf"{found.group(1)}\-"
    return r"\-" if found.group() == "-" else found.group()


def dialect_of(given: str) -> str:
    """Return the address of a dialect that is written with http for https or the other way round.

    Any other is returned as it is.
    """
    bare = given.rstrip("#").partition("://")[2]
    own = next((one for one in DIALECTS if one.partition("://")[2] == bare), given)
    return given if given.startswith(own) else own


def _without(schema: Any, taken: set[str], instead: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any JSON
    """Copy a schema with `instead` for the references `taken`, and addresses as they are known."""
    if is_array(schema):
        return [_without(one, taken, instead) for one in schema]
    if not is_object(schema):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            copy[key] = _address(value)
        elif key == "$schema" and isinstance(value, str):
            copy[key] = dialect_of(value)
        elif key == "pattern" and isinstance(value, str):
            copy[key] = runnable_pattern(value)
        elif key in _SCHEMAS_BY_NAME and is_object(value):
            name_of = runnable_pattern if key == "patternProperties" else str
            copy[key] = {
                name_of(name): _without(one, taken, instead) for name, one in value.items()
            }
        else:
            copy[key] = value if key in _DATA_KEYWORDS else _without(value, taken, instead)
    if taken.intersection([copy["$ref"]] if isinstance(copy.get("$ref"), str) else ()):
        del copy["$ref"]
        others = copy.get("allOf")
        copy["allOf"] = [*(others if is_array(others) else ()), instead]
    if instead is _FITS_NOTHING and "maxContains" in copy and _references(schema.get("contains")):
        copy["minContains"] = 0  # too few are told as too many are
    return copy


def _references(schema: Any) -> set[str]:  # noqa: ANN401  # any JSON
    """Collect all references in a schema, escaped."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        one = pending.pop()
        if is_array(one):
            pending.extend(one)
        elif is_object(one):
            reference = one.get("$ref")
            if isinstance(reference, str):
                found.add(_address(reference))
            pending.extend(part for _, part in parts_of(one))
    return found


def _storable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Replace lone surrogates, which no UTF-8 engine can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if is_array(value):
        return [_storable(one) for one in value]
    if is_object(value):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return value


def _iter_errors(validator: Any, value: Any) -> Iterator[Any]:  # noqa: ANN401  # the library's, any JSON value
    """Yield the library's errors for one value."""
    try:
        yield from filterfalse(_is_false, validator.iter_errors(value))
    except UnicodeEncodeError:
        yield from filterfalse(_is_false, validator.iter_errors(_storable(value)))
    except ValueError:
        # The engine found an error but cannot show a value nested so deeply.
        if not validator.is_valid(value):
            raise _TooDeep from None


def _identify(error: Any) -> tuple[Any, ...]:  # noqa: ANN401  # the library's error
    """Tell an error from others, also where several or none of `oneOf` fit."""
    said = error.message if error.kind.name == "oneOf" else ""
    return *error.instance_path, None, *error.schema_path, said


def _is_false(error: Any) -> bool:  # noqa: ANN401  # the library's error
    """Whether the engine calls a member missing that is there.

    It does where the one name required is of no member that `properties` lists, and others are not
    allowed: of which there is an error of its own.
    """
    kind = error.kind
    return kind.name == "required" and kind.as_dict()["property"] in error.instance


def is_undecided(error: Any) -> bool:  # noqa: ANN401  # the library's error
    """Whether the engine gave up on a pattern, so that nobody knows if the value matches."""
    return error.kind.name == "pattern" and "pattern" not in error.kind.as_dict()


def describe_violation(error: Any, document: Any) -> tuple[str, str]:  # noqa: ANN401  # the library's error, any JSON value
    """Return the keyword, and a message that follows the value's path."""
    keyword = error.kind.name
    if keyword == "falseSchema" and error.schema_path[-1:] == [_ADDITIONAL]:
        # Where a schema names no members, the engine says this of the first, at their object.
        # Keys with lone surrogates are not found as it saw them.
        with suppress(LookupError, TypeError, RecursionError):
            value = reduce(getitem, error.instance_path, document)
            if is_object(value) and error.instance != value:
                return _ADDITIONAL, _MESSAGES[_ADDITIONAL].format(
                    unexpected=_format_value(list(value))
                )
    return keyword, message_of(error)


def message_of(error: Any) -> str:  # noqa: ANN401  # the library's error
    """Describe a violation, to follow the value's path."""
    keyword = error.kind.name
    if is_undecided(error):
        return _UNDECIDED_MESSAGE
    if keyword == "propertyNames":
        name = error.kind.as_dict()["error"]
        return f"{_MESSAGES[keyword]}: {_format_value([name.instance])} {message_of(name)}"
    if keyword == "oneOf":
        return _ONE_OF_MESSAGE if "more than one" in error.message else _MESSAGES["anyOf"]
    said = _MESSAGES.get(keyword)
    if said is None:
        return f"could not be checked against {keyword}"
    values = {key: _format_value(value) for key, value in error.kind.as_dict().items()}
    try:
        return said.format_map(values)
    except KeyError:
        return f"breaks {keyword}"


def _format_value(value: Any) -> str:  # noqa: ANN401  # any JSON value
    if is_array(value) and value and all(isinstance(one, str) for one in value):
        text = ", ".join(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_MESSAGE_LENGTH else text[: _MAX_MESSAGE_LENGTH - 1] + "…"
