"""Documents against a JSON Schema: by jsonschema-rs, offline, with formats asserted.

References are looked up in the registry given and nowhere else. One that cannot be resolved is
taken out, reported as missing, and the rest of the schema still counts.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import jsonschema_rs

from .json_values import is_array, is_object
from .results import MOST_DIAGNOSTICS, Diagnostic, Document, Path, Place, not_performed
from .schema_messages import is_undecided, violated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REGISTRY_ADDRESS: Final = "scratchpad://schemas/"
_UNRESOLVED: Final = re.compile(
    r"(?:Pointer|Anchor) '(?P<fragment>.*?)' does not exist|Invalid URI reference '(?P<bad>.*?)'"
    r"|Resource '(?P<resource>.*?)' is not present|Unknown meta-schema: '(?P<dialect>.*?)'",
    re.DOTALL,
)
_MOST_MISSING: Final = 50
# The backtracking engine serves only patterns a linear one cannot (lookaround, back references).
PATTERNS: Final = jsonschema_rs.FancyRegexOptions(backtrack_limit=200_000)
_VIOLATION: Final = "SCHEMA_VIOLATION"
_UNDECIDED: Final = "SCHEMA_PATTERN_UNDECIDED"
_NOT_APPLIED: Final = "SCHEMA_NOT_APPLIED"
_NO_PLACE: Final = "The document does not fit the schema; it is nested too deeply to say where"
DATA_KEYWORDS: Final = frozenset({"const", "enum", "default", "examples"})


class Unusable(Exception):
    """The schema cannot be applied; the message says why."""


class _Unresolved(Exception):
    """A reference leads nowhere; the message is the library's."""


class _TooDeep(Exception):
    """The value is nested too deeply for the engine to say what is wrong with it."""


class Applied:
    """A compiled schema, and the references that had to be taken out of it."""

    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:  # noqa: ANN401  # any JSON
        """Compile the schema; raises Unusable when it is not a schema."""
        self._registry = {_address(uri): one for uri, one in registry.items()}
        self._registry |= _identified(registry.values())
        self._schema = schema
        self._validator, missing = self._compiled()
        self.missing = sorted(missing)

    def errors(self, value: Any) -> Iterable[Any]:  # noqa: ANN401  # any JSON value
        """Yield the library's errors for one value."""
        try:
            yield from self._validator.iter_errors(value)
        except UnicodeEncodeError:
            yield from self._validator.iter_errors(_storable(value))
        except ValueError:
            # The engine found an error but cannot show a value nested so deeply.
            if not self._validator.is_valid(value):
                raise _TooDeep from None

    def _compiled(self) -> tuple[Any, set[str]]:
        """Return the validator and the references it goes without."""
        taken: set[str] = set()
        while True:
            try:
                validator, absent = self._built(taken)
            except _Unresolved as error:
                culprits = self._culprits(str(error), taken)
                if not culprits or len(taken) >= _MOST_MISSING:
                    raise Unusable(str(error)) from None
                taken |= culprits
            else:
                return validator, {unquote(one) for one in (*taken, *absent)}

    def _built(self, taken: set[str]) -> tuple[Any, set[str]]:
        """Return the validator with `taken` taken out, and the addresses that were not found."""
        absent: set[str] = set()

        def retrieve(uri: str) -> Any:  # noqa: ANN401  # any schema
            if uri in self._registry:
                return _without(self._registry[uri], taken)
            absent.add(uri)
            return {}

        try:
            validator = jsonschema_rs.validator_for(
                _without(self._schema, taken),
                validate_formats=True,
                retriever=retrieve,
                pattern_options=PATTERNS,
            )
        except jsonschema_rs.ValidationError as error:
            raise (_Unresolved if error.kind.name == "$ref" else Unusable)(error.message) from None
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise Unusable(str(error)) from None
        return validator, absent

    def _culprits(self, said: str, taken: set[str]) -> set[str]:
        """Return the references that the failure is about."""
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
            one for one in fitting if len(fitting) == 1 or self._same(said, taken | fitting - {one})
        }
        return alone or fitting

    def _same(self, said: str, taken: set[str]) -> bool:
        """Whether the failure is the same when `taken` are taken out."""
        try:
            self._built(taken)
        except _Unresolved as error:
            return str(error) == said
        return False


def apply(
    documents: Sequence[Document],
    schema: Any,  # noqa: ANN401  # any JSON
    name: str | None,
    registry: Mapping[str, Any],
) -> tuple[list[Diagnostic], list[Diagnostic], dict[str, Any]]:
    """Return errors, warnings and `details.schema` for the documents of one cell."""
    details: dict[str, Any] = not_performed(name)
    try:
        applied = Applied(as_schema(schema), registry)
    except Unusable as error:
        message = f"The schema cannot be applied: {error}"
        return [Diagnostic(message[:500], "SCHEMA_INVALID")], [], details
    details["missing"] = applied.missing
    warnings = [_missing(reference) for reference in applied.missing]
    if isinstance(schema, str) and applied.missing == [unquote(schema)]:
        return [], warnings, details
    found: list[Diagnostic] = []
    for document in documents:
        try:
            found += _located(applied, document, name, MOST_DIAGNOSTICS - len(found))
        except _TooDeep:
            found.append(Diagnostic(_NO_PLACE, _VIOLATION, details={"schema": name}))
        except ValueError as error:
            found.append(_not_applied(error))
            break
    errors = [one for one in found if one.code == _VIOLATION]
    undecided = [one for one in found if one.code != _VIOLATION]
    details["performed"] = not any(one.code == _NOT_APPLIED for one in undecided)
    if details["performed"]:
        details["passed"] = False if errors else None if undecided else True
    return errors, warnings + undecided, details


def as_schema(schema: Any) -> Any:  # noqa: ANN401  # any JSON
    """Return a schema; an address becomes a schema that refers to it."""
    return {"$ref": _address(schema)} if isinstance(schema, str) else schema


def _missing(reference: str) -> Diagnostic:
    message = f"The schema refers to {reference[:200]}, which is not here; the rest was checked"
    return Diagnostic(message, "SCHEMA_REFERENCE_MISSING", details={"reference": reference[:200]})


def _not_applied(error: ValueError) -> Diagnostic:
    message = f"The schema was not applied to the end: {str(error)[:200]}"
    return Diagnostic(message, _NOT_APPLIED)


def _located(applied: Applied, document: Document, name: str | None, most: int) -> list[Diagnostic]:
    found = list(islice(applied.errors(document.value), max(most, 0)))
    paths: list[Path] = [tuple(error.instance_path) for error in found]
    places: Mapping[Path, Place] = document.places(paths) if paths else {}
    diagnostics: list[Diagnostic] = []
    for error, path in zip(found, paths, strict=True):
        line, column = places.get(path, (1, 1))
        keyword, said = violated(error, document.value)
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
    """Return the steps as a JSON Pointer (RFC 6901); "" is the whole document."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _address(uri: str) -> str:
    """Return a registry address as a URI: names may hold any character."""
    if not uri.startswith(REGISTRY_ADDRESS):
        return uri
    name, mark, fragment = uri.removeprefix(REGISTRY_ADDRESS).partition("#")
    return REGISTRY_ADDRESS + quote(unquote(name), safe="") + mark + fragment


def _identified(schemas: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas that name themselves with an absolute `$id`, by it."""
    named = ((one.get("$id"), one) for one in schemas if is_object(one))
    return {
        address.removesuffix("#"): one
        for address, one in named
        if isinstance(address, str) and ":" in address
    }


def _without(schema: Any, taken: set[str]) -> Any:  # noqa: ANN401  # any JSON
    """Return a copy with registry addresses as URIs and the references in `taken` left out."""
    if is_array(schema):
        return [_without(one, taken) for one in schema]
    if not is_object(schema):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            if _address(value) not in taken:
                copy[key] = _address(value)
        else:
            copy[key] = value if key in DATA_KEYWORDS else _without(value, taken)
    return copy


def _references(schema: Any) -> set[str]:  # noqa: ANN401  # any JSON
    """Return all references in a schema, as they are looked up."""
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
            pending.extend(value for key, value in one.items() if key not in DATA_KEYWORDS)
    return found


def _storable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return the value with lone surrogates replaced, which no UTF-8 engine can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if is_array(value):
        return [_storable(one) for one in value]
    if is_object(value):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return value
