"""A tool's parameters: the schema the model sees, and the strict check of what it sends."""

from __future__ import annotations

import inspect
import json
import re
from copy import deepcopy
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from rolltop.core import pagination
from rolltop.core.errors import InvalidArgument, InvalidText
from rolltop.core.tools import MISSING, TYPE, VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from rolltop.core.tools import JsonObject, Tool, Toolset

PARAMETER_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "limit": ("max_results", "top_k", "page_size", "count", "n"),
    "path": ("file", "file_path", "filename", "filepath"),
    "file_path": ("path", "file", "filename", "filepath"),
    "file_paths": ("paths", "files"),
    "query": ("q", "search", "search_query"),
    "q": ("query", "search", "search_query"),
    "id": ("note_id",),
    "text_patch": ("patch", "edits"),
    "text": ("content", "body"),
    "cursor": ("next_cursor", "page_token"),
    "max_tokens": ("token_limit", "max_result_tokens"),
    "section_heading": ("section", "heading", "section_id", "id"),
    "task_id": ("id", "task"),
    "title": ("name", "summary"),
    "due_at": ("due", "due_date", "deadline"),
    "tags": ("labels",),
    "blocked_by": ("depends_on", "dependencies"),
    "parent_id": ("parent",),
    "if_version": ("version", "expected_version"),
    "scratch_id": ("scratchpad_id", "pad_id", "id"),
    "cell_id": ("id",),
    "schema_id": ("id",),
    "start_line": ("line_start", "from_line"),
    "end_line": ("line_end", "to_line"),
    "line_start": ("start_line", "from_line", "offset"),
    "range_line_start": ("start_line", "line_start", "from_line"),
    "range_line_count": ("line_count",),
    "regex": ("is_regex", "use_regex"),
    "file_glob": ("glob", "include", "file_pattern"),
    "namespace": ("ns",),
    "status": ("state",),
}
"""Names other servers use for a parameter; accepted, never listed."""
_FIELD_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "old": ("old_string", "old_str", "old_text", "oldText", "find", "search"),
    "new": ("new_string", "new_str", "new_text", "newText", "replace", "replacement"),
    "all": ("replace_all", "replaceAll"),
    "line_start": ("start_line", "line"),
    "line_end": ("end_line",),
    "content": ("text", "body", "code", "source"),
}
"""Names other servers use for a field of an object; suggested, not accepted."""

_MAX_PREVIEW_CHARACTERS = 60
_CHARACTERS_PER_EDIT = 5
"""Characters of a name for each one that may be wrong: more make another word."""
_MIN_PREFIX_LENGTH = 3
"""Characters of a name that may be the beginning of another."""
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+")
_FILLERS = frozenset({"by", "is", "use"})
_GENERIC_WORDS = frozenset({"count", "end", "id", "include", "max", "min", "new", "start"})
"""Words that names of quite different things have."""
_ALL_SYNONYMS = frozenset(PARAMETER_SYNONYMS).union(*PARAMETER_SYNONYMS.values())
_MAX_DESCRIBED_DEPTH = 2  # an object in a list, and its fields
_MODEL_CACHE_SIZE = 256  # more than there are tools, under all their names
_TYPE_NAMES = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
}


def value_preview(value: object) -> str:
    """Return a value as an error may show it: compact JSON of at most 60 characters."""
    try:
        text = json.dumps(
            pagination.replace_surrogates(value), ensure_ascii=False, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return (
        text if len(text) <= _MAX_PREVIEW_CHARACTERS else text[: _MAX_PREVIEW_CHARACTERS - 1] + "…"
    )


def require_storable(text: str, name: str = "text") -> str:
    """Return the text; raise InvalidText where the store could not keep it as it is."""
    if "\x00" in text:
        raise InvalidText(
            f"{name} holds a NUL character", hint=f"Remove U+0000 from {name} and call again."
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidText(
                f"{name} holds a lone surrogate at character {error.start}",
                hint=f"Send {name} as well-formed Unicode.",
            ) from None
    return text


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a slip or two of the keys make into the one given, if any.

    Another word, however like it, is never one: a wrong guess costs more than none.
    """
    given = _fold_name(name[:_MAX_PREVIEW_CHARACTERS])
    found = min(((_edit_distance(given, _fold_name(own)), own) for own in known), default=(0, None))
    is_slip = found[0] <= max(1, len(given) // _CHARACTERS_PER_EDIT) and found[0] < max(
        1, len(given)
    )
    return found[1] if is_slip else None


def suggest_field(name: str, known: Iterable[str]) -> str | None:
    """Return the known field that is meant: by a slip, by its beginning, or by words of its name.

    So `desc` is description, `style` summary_style and `order_by` order, each where it can be of
    one field alone.
    """
    fields = list(known)
    asked = _significant_words(name[:_MAX_PREVIEW_CHARACTERS])
    singular = frozenset(
        word.removesuffix("s") if len(word) > _MIN_PREFIX_LENGTH else word for word in asked
    )
    ways: tuple[Callable[[str], bool], ...] = (
        lambda own: _is_abbreviation(name, own),
        lambda own: asked <= _significant_words(own),
        lambda own: singular <= _significant_words(own),
    )
    close = suggest_name(name, fields)
    for fits in ways if not close and asked - _GENERIC_WORDS else ():
        found = [own for own in fields if fits(own)]
        if found:
            return found[0] if len(found) == 1 else None
    return close


def _is_abbreviation(name: str, own: str) -> bool:
    """Return whether a name is the beginning of another, and no name for something else."""
    return (
        len(name) >= _MIN_PREFIX_LENGTH
        and name not in _ALL_SYNONYMS
        and own.startswith(name.lower())
    )


def _significant_words(name: str) -> frozenset[str]:
    """Return the words of a name, `foo_bar` or `fooBar`, that tell it from others."""
    return frozenset(word.lower() for word in _WORD.findall(name)) - _FILLERS


def _fold_name(name: str) -> str:
    """Return a name as words are told apart by nothing: `fooBar` and `foo-bar` are one."""
    return name.lower().replace("_", "").replace("-", "")


def _edit_distance(one: str, other: str) -> int:
    """Return how many letters are missing, too many, wrong or changed places.

    The optimal string alignment distance: Boytsov, Indexing methods for approximate dictionary
    searching (2011), 2.2.
    """
    above, row = list[int](), list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, above, row = above, row, [at]
        for to, opposite in enumerate(other, 1):
            least = min(above[to] + 1, row[-1] + 1, above[to - 1] + (letter != opposite))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == opposite:
                least = min(least, before[to - 2] + 1)
            row.append(least)
    return row[-1]


class Parameters:
    """The parameters of one tool, with `max_tokens` and `cursor` where core adds them."""

    def __init__(
        self,
        tool: Tool,
        *,
        code: str,
        only_reading: bool = False,
        actions: Sequence[str] | None = None,
        fixed: Mapping[str, object] | None = None,
        name: str = "",
    ) -> None:
        """Read nothing yet: the schema is made when it is first asked for.

        `actions` are those that are offered, None is all, or with `only_reading` those that read.
        `fixed` arguments belong to the `name` the tool is called by: they are not listed.
        """
        self._tool = tool
        self._name = name or tool.name
        self._code = code
        self.read_only = only_reading
        if only_reading and tool.actions and actions is None:
            actions = tool.actions.read_only
        self._actions = actions
        self._fixed_arguments = dict(fixed or {})

    @cached_property
    def _model(self) -> type[BaseModel]:
        tool = self._tool
        fixed = frozenset(self._fixed_arguments)
        return _argument_model(
            tool.function,
            tool.name,
            fixed,
            continues=tool.accepts_cursor,
            bounded=tool.accepts_max_tokens,
        )

    def build_model(self) -> None:
        """Build now what the first check would wait for."""
        _ = self._model, self.schema

    @cached_property
    def _fields(self) -> dict[str, FieldInfo]:
        """The declared parameters by the names a caller uses, in order."""
        return {field.alias or name: field for name, field in self._model.model_fields.items()}

    @cached_property
    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments, without titles, nulls and defaults of null."""
        cleaned = deepcopy(_schema(self._model))
        for part in (cleaned, *cleaned.get("$defs", {}).values()):
            part.pop("description", None)  # a docstring; the tool and its arguments have their own
        actions = self._tool.actions
        if self._actions is not None and actions and actions.parameter not in self._fixed_arguments:
            allowed = cleaned["properties"][actions.parameter]
            allowed["enum"] = [name for name in allowed["enum"] if name in self._actions]
        return {**cleaned, "additionalProperties": False}

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self._fields)

    def allows_action(self, action: str) -> bool:
        """Return whether the action is one of those that are offered."""
        return self._actions is None or action in self._actions

    def validate(self, given: object) -> dict[str, Any]:
        """Return the arguments by name, those left out missing.

        Raises:
            InvalidArgument: names the argument, what was given, what is allowed, the nearest name.

        """
        if not isinstance(given, dict):
            raise self._error(f"arguments must be an object; got {value_preview(given)}")
        arguments = self._canonicalize_names(cast("dict[str, Any]", given))
        self._check_missing(arguments)
        try:
            self._model.model_validate(arguments)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_context=False)[0]
            raise self._validation_error(detail) from None
        except RecursionError:
            raise self._error("arguments are nested too deeply") from None
        self._check_action(arguments)
        return arguments

    def _canonicalize_names(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments under their own names, nulls of optional ones left out."""
        fields = self._fields
        arguments: dict[str, Any] = {}
        for name, value in given.items():
            own = name if name in fields else self._canonical_name(name, given)
            if value is not None:
                if own in arguments:
                    raise self._duplicate_error(own, name)
                arguments[own] = value
        return arguments

    def _canonical_name(self, name: str, given: Mapping[str, Any]) -> str:
        fields = self._fields
        owns = [
            own for own, others in PARAMETER_SYNONYMS.items() if own in fields and name in others
        ]
        for own in owns:
            if given.get(own) is None:
                return own
        if owns:
            raise self._duplicate_error(owns[0], name)
        advice = self._tool.argument_hints.get(name, "")
        close = None if advice else suggest_field(name, fields)
        guess = f"; did you mean {close}?" if close else ""
        takes = ", ".join(fields) or "no arguments"
        raise self._error(
            f"Unknown argument {value_preview(name)} for {self._name}{guess}",
            hint=f"{advice} {self._name} takes: {takes}.".lstrip(),
        )

    def _check_missing(self, arguments: Mapping[str, Any]) -> None:
        for name, field in self._fields.items():
            if field.is_required() and name not in arguments:
                fault = self._tool.argument_errors.get(name)
                if fault and MISSING in fault.when:
                    raise self._error(
                        fault.message or f"{name} is required", code=fault.code, name=name
                    )
                raise self._error(f"{name} is required ({self._describe_allowed(name)})", name=name)

    def _check_action(self, arguments: Mapping[str, Any]) -> None:
        actions = self._tool.actions
        if self._actions is None or not actions or actions.parameter in self._fixed_arguments:
            return
        chosen = arguments.get(actions.parameter)
        if chosen not in self._actions:
            refused = self.read_only and chosen not in actions.read_only
            why = "this connection is read-only" if refused else "it is not offered here"
            raise self._error(
                f"{actions.parameter} {value_preview(chosen)} is not available: {why}",
                hint=f"Available here: {', '.join(self._actions)}.",
            )

    def _validation_error(self, detail: ErrorDetails) -> InvalidArgument:
        name = str(detail["loc"][0])
        place, part = self._locate(detail["loc"])
        allowed = describe_schema(part, self.schema)
        kind = TYPE if detail["type"].endswith("_type") else VALUE
        fault = self._tool.argument_errors.get(name)
        code = self._code
        message = f"{place} must be {allowed}; got {value_preview(detail['input'])}"
        if detail["type"] == "missing":
            message = f"{place} is required ({allowed})"
        elif detail["type"] == "extra_forbidden":
            field = str(detail["loc"][-1])
            fields = part["properties"]
            synonyms = (own for own, others in _FIELD_SYNONYMS.items() if field in others)
            close = next((own for own in synonyms if own in fields), None)
            close = close or suggest_field(field, fields)
            guess = f"; did you mean {close}?" if close else ""
            message = f"Unknown field {value_preview(field)} of {place}{guess}"
        if fault and kind in fault.when:
            code, message = fault.code, fault.message or message
        return self._error(message, code=code, name=name)

    def _locate(self, steps: Sequence[str | int]) -> tuple[str, JsonObject]:
        """Return how a caller writes the way to a part of an argument, and the part's schema."""
        place = str(steps[0])
        part = _resolve_reference(self.schema["properties"][place], self.schema)
        for step in steps[1:]:
            if isinstance(step, int):
                place, part = f"{place}[{step}]", part.get("items", part)
            elif step in part.get("properties", ()):
                place, part = f"{place}.{step}", part["properties"][step]
            part = _resolve_reference(part, self.schema)
        return place, part

    def _duplicate_error(self, own: str, name: str) -> InvalidArgument:
        return self._error(f"{own} is given twice, once as {value_preview(name)}")

    def _describe_allowed(self, name: str) -> str:
        """Describe a parameter's values."""
        return describe_schema(self.schema["properties"][name], self.schema)

    def _error(
        self, message: str, *, code: str | None = None, hint: str = "", name: str = ""
    ) -> InvalidArgument:
        if name and not hint:
            hint = f"Call {self._name} again with {name} as {self._describe_allowed(name)}."
        if not hint:
            hint = f"{self._name} takes: {', '.join(self._fields)}."
        return InvalidArgument(message, code=code or self._code, hint=hint)


@lru_cache(maxsize=_MODEL_CACHE_SIZE)
def _argument_model(
    function: Callable[..., object],
    name: str,
    fixed: frozenset[str],
    *,
    continues: bool,
    bounded: bool,
) -> type[BaseModel]:
    """Build the model of a function's arguments, once for all of the tool's names."""
    declared = list(inspect.signature(function).parameters.values())[1:]
    parameters = [parameter for parameter in declared if parameter.name not in fixed]
    names = {parameter.name for parameter in parameters}
    annotations = {k: v for k, v in function.__annotations__.items() if k in names}
    holder = type("Holder", (), {"__annotations__": annotations})
    hints = get_type_hints(holder, globalns=_annotation_namespace(function), include_extras=True)
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in parameters
    }
    for own in [field for field in fields if hasattr(BaseModel, field)]:
        kind, default = fields.pop(own)  # a model's own attribute would be shadowed
        fields[f"{own}_"] = (Annotated[kind, Field(alias=own)], default)
    if continues:
        fields["cursor"] = (str | None, None)
    if bounded:
        fields["max_tokens"] = (Annotated[int | None, Field(ge=pagination.MIN_BUDGET)], None)
    config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    return create_model(name, __config__=config, **fields)


@lru_cache(maxsize=_MODEL_CACHE_SIZE)
def _schema(model: type[BaseModel]) -> JsonObject:
    return simplify_schema(model.model_json_schema())


def _annotation_namespace(function: object) -> dict[str, Any]:
    """Return the names the function's annotations are written in."""
    return cast("dict[str, Any]", inspect.unwrap(cast("Any", function)).__globals__)


_IMPLIED = (("default", None), ("additionalProperties", True))
"""Keywords that say nothing with these values."""


def simplify_schema(schema: Any, *, nulls: bool = False) -> Any:  # noqa: ANN401  # any part of a schema
    """Return the JSON Schema without titles and null defaults; null alternatives if `nulls`."""
    if isinstance(schema, list):
        return [simplify_schema(part, nulls=nulls) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    whole = cast("dict[str, Any]", schema)
    cleaned = {
        key: {name: simplify_schema(part, nulls=nulls) for name, part in value.items()}
        if key in {"properties", "$defs"}
        else simplify_schema(value, nulls=nulls)
        for key, value in whole.items()
        if (key, value) not in _IMPLIED and key != "title"
    }
    if nulls:
        return cleaned
    choices = [part for part in cleaned.get("anyOf", []) if part != {"type": "null"}]
    if len(choices) == 1 and len(cleaned["anyOf"]) > 1:
        del cleaned["anyOf"]
        return {**choices[0], **cleaned}
    return cleaned


def output_schema(toolset: Toolset, tool: Tool) -> JsonObject:
    """Return the JSON Schema of a tool's structured answer.

    Its root is an object with both outcomes in `anyOf`: strict clients check errors too, and
    the legacy protocol refuses a root that is no object.
    """
    outcomes: list[JsonObject] = []
    definitions: JsonObject = {}
    for kind in (tool.output, toolset.error_output):
        schema = dict(_type_schema(kind))
        definitions.update(schema.pop("$defs", {}))
        outcomes.append(schema)
    whole: JsonObject = {"type": "object", "anyOf": outcomes}
    return {**whole, "$defs": definitions} if definitions else whole


@lru_cache(maxsize=256)
def _type_schema(kind: type) -> dict[str, Any]:
    return simplify_schema(TypeAdapter(kind).json_schema(), nulls=True)


def describe_schema(part: JsonObject, root: JsonObject, depth: int = 0) -> str:
    """Return in words what a part of a schema allows; `?` marks fields that may be left out.

    Objects that are `depth` 2 down or more are said without their fields.
    """
    part = _resolve_reference(part, root)
    if "enum" in part:
        return "one of: " + ", ".join(str(value) for value in part["enum"])
    if "const" in part:
        return f"{part['const']!r}"
    if "anyOf" in part:
        return " or ".join(describe_schema(choice, root, depth + 1) for choice in part["anyOf"])
    words = _TYPE_NAMES.get(str(part.get("type")), "any value")
    if part.get("type") == "array" and "items" in part:
        entry = describe_schema(part["items"], root, depth + 1)
        words = f"a list of {entry.replace('an object', 'objects', 1)}"
    elif "properties" in part and depth < _MAX_DESCRIBED_DEPTH:
        needed = part.get("required", ())
        fields = (
            f"{name}{'' if name in needed else '?'}: {describe_schema(field, root, depth + 1)}"
            for name, field in part["properties"].items()
        )
        words += f" {{{'; '.join(fields)}}}"
    return words + _describe_range(part)


def _resolve_reference(part: JsonObject, root: JsonObject) -> JsonObject:
    """Return a part of a schema, that which it refers to where it does."""
    while "$ref" in part:
        part = root["$defs"][part["$ref"].rsplit("/", 1)[1]]
    return part


def _describe_range(part: JsonObject) -> str:
    """Return the limits of a part of a schema in words."""
    low = part.get("minimum", part.get("minLength", part.get("minItems")))
    high = part.get("maximum", part.get("maxLength", part.get("maxItems")))
    unit = " characters" if "minLength" in part or "maxLength" in part else ""
    unit = " items" if "minItems" in part or "maxItems" in part else unit
    of = " of" if unit else ""
    if low is not None and high is not None:
        return f"{of or ' from'} {low} to {high}{unit}"
    if low is not None:
        return f"{of} {low}{unit} or more" if unit else f", {low} or more"
    return f"{of or ','} at most {high}{unit}" if high is not None else ""
