"""A tool's parameters: the schema the model sees, and the strict check of what it sends."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from keyword import iskeyword
from typing import Annotated, Any, Final, cast, get_type_hints
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from rolltop.core import pagination
from rolltop.core.argument_names import (
    FIELD_SYNONYMS,
    PARAMETER_SYNONYMS,
    canonical_names,
    suggest_field,
)
from rolltop.core.argument_values import UnreadableValue, ValueReader, list_hint
from rolltop.core.errors import InvalidArgument, InvalidText
from rolltop.core.tool_schema import (
    describe_schema,
    resolve_reference,
    shorten_schema,
    simplify_schema,
)
from rolltop.core.tools import ACTION, MISSING, TYPE, VALUE, Alias, JsonObject, Tool

_MAX_PREVIEW_CHARACTERS = 60
_MODEL_CACHE_SIZE = 256  # more than there are tools, under all their names


# Parsing what to search for takes the interpreter's lock, so all other callers wait meanwhile.
MAX_QUERY_CHARACTERS: Final = 100_000


MAX_KEY_LENGTH: Final = 64


def _require_length(most: int, text: str | None) -> str | None:
    # Pydantic's own `max_length` refuses lone surrogates with it.
    if text and len(text) > most:
        raise ValueError(text[:100])
    return text


QueryText = Annotated[
    str,
    AfterValidator(partial(_require_length, MAX_QUERY_CHARACTERS)),
    Field(json_schema_extra={"maxLength": MAX_QUERY_CHARACTERS}),
]
"""A query or a glob, as a parameter of a tool."""

_ADDED: Final[Mapping[str, tuple[str, Any]]] = {
    "cursor": ("accepts_cursor", str | None),
    "max_tokens": ("accepts_max_tokens", Annotated[int | None, Field(ge=pagination.MIN_BUDGET)]),
    "idempotency_key": (
        "accepts_idempotency_key",
        Annotated[
            str | None,
            AfterValidator(partial(_require_length, MAX_KEY_LENGTH)),
            Field(json_schema_extra={"maxLength": MAX_KEY_LENGTH}),
        ],
    ),
}
"""The parameters that core adds to what a tool's function takes, by the field that asks for it."""


def parse_timestamp(value: object) -> datetime:
    """Return the moment that ISO 8601 text means, in UTC unless it says. Raises InvalidArgument."""
    try:
        moment = datetime.fromisoformat(str(value))
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{value_preview(value)} is no date and time") from None


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


class Parameters:
    """The parameters of one tool, and those that core adds.

    These are `max_tokens`, `cursor` and `idempotency_key`.
    """

    def __init__(
        self,
        tool: Tool,
        *,
        code: str,
        only_reading: bool = False,
        actions: Sequence[str] | None = None,
        seed: Alias | None = None,
        listed: Alias | None = None,
    ) -> None:
        """Read nothing yet: the schema is made when it is first asked for.

        `actions` are those that are offered, None is all, or with `only_reading` those that read.
        `seed` is the other name that the tool is called by: what it fixes is not listed. `listed`
        names the parameters to list where more are taken.
        """
        self._tool = tool
        self._seed = seed
        self._listed = Parameters(tool, code=code, seed=listed) if listed else self
        self._name = seed.name if seed else tool.name
        self._code = code
        self.read_only = only_reading
        if only_reading and tool.reading_actions and actions is None:
            actions = tool.reading_actions
        self._actions = actions
        self._fixed_arguments = dict(seed.fixed_arguments if seed else {})

    @cached_property
    def _model(self) -> type[BaseModel]:
        tool, seed = self._tool, self._seed
        return _argument_model(
            tool.function,
            tool.name,
            frozenset(self._fixed_arguments),
            seed.parameters if seed else None,
            seed.required if seed else (),
            tuple(name for name, (accepts, _) in _ADDED.items() if getattr(tool, accepts)),
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
        if self._actions is not None and ACTION in cleaned["properties"]:
            allowed = cleaned["properties"][ACTION]
            allowed["enum"] = [name for name in allowed["enum"] if name in self._actions]
        return {**cleaned, "additionalProperties": False}

    @cached_property
    def listed_schema(self) -> JsonObject:
        """The schema as hosts are sent it: no references, and nothing that a model can do without.

        What it leaves out is checked all the same, and a refusal says it.
        """
        return self._listed.short_schema

    @cached_property
    def short_schema(self) -> JsonObject:
        """The schema of all that is taken, in the same form."""
        short = shorten_schema(self.schema, self.schema.get("$defs", {}))
        if "max_tokens" in short["properties"]:
            short["properties"]["max_tokens"] = {"type": "integer"}
        return {**short, "additionalProperties": False}

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self._fields)

    def allows_action(self, action: str) -> bool:
        """Return whether the action is one of those that are offered."""
        return self._actions is None or action in self._actions

    def validate(self, given: object) -> dict[str, Any]:
        """Return the arguments by name, those left out missing.

        Raises InvalidArgument: names the argument, what was given, what is allowed, the nearest
        name.
        """
        if not isinstance(given, dict):
            raise self._error(f"arguments must be an object; got {value_preview(given)}")
        reader = ValueReader()
        try:
            sent = self._adapt(cast("dict[str, Any]", given), reader)
            arguments = self._read_values(self._canonicalize_names(sent), reader)
            self._check_missing(arguments)
            self._model.model_validate(arguments)
        except ValidationError as error:
            detail = error.errors(include_url=False, include_context=False)[0]
            raise self._validation_error(detail) from None
        except RecursionError:
            raise self._error("arguments are nested too deeply") from None
        self._check_action(arguments)
        return arguments

    def _adapt(self, given: dict[str, Any], reader: ValueReader) -> dict[str, Any]:
        """Return the arguments as the tool adapts them, which sees no JSON text of its objects."""
        if self._tool.adapt is None:
            return given
        declared = self.short_schema["properties"]
        return self._tool.adapt(
            {
                name: self._read(name, partial(reader.from_text, value, declared[name]))
                if isinstance(value, str) and name in declared
                else value
                for name, value in given.items()
            }
        )

    def _read(self, name: str, read: Callable[[], Any]) -> Any:  # noqa: ANN401  # a parameter's value
        """Read a parameter. Raises InvalidArgument."""
        try:
            return read()
        except UnreadableValue as failure:
            fault = self._tool.argument_errors.get(name)
            code = fault.code if fault and VALUE in fault.when else None
            raise self._error(f"{name} {failure}", code=code, name=name) from None

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

    def _read_values(self, named: Mapping[str, Any], reader: ValueReader) -> dict[str, Any]:
        """Return the values in the types that are declared, empty ones of optional ones left out.

        Raises RecursionError: they are nested too deeply.
        """
        declared = self.short_schema["properties"]
        arguments: dict[str, Any] = {}
        for name, value in named.items():
            optional = not self._fields[name].is_required()
            if value == "" and optional and name not in self._tool.blank_values:
                continue
            arguments[name] = _read_id(
                name, self._read(name, partial(reader.read, value, declared[name], name))
            )
        return arguments

    def _canonical_name(self, name: str, given: Mapping[str, Any]) -> str:
        fields = self._fields
        owns = canonical_names(name, fields, PARAMETER_SYNONYMS)
        for own in owns:
            if given.get(own) is None:
                return own
        if owns:
            raise self._duplicate_error(owns[0], name)
        advice = self._tool.argument_hints.get(name, "")
        close = None if advice else suggest_field(name, fields)
        guess = f"; did you mean {close}?" if close else ""
        takes = ", ".join(self._listed.names) or "no arguments"
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
        if self._actions is None or ACTION in self._fixed_arguments:
            return
        chosen = arguments.get(ACTION)
        if chosen not in self._actions:
            refused = self.read_only and chosen not in self._tool.reading_actions
            why = "this connection is read-only" if refused else "it is not offered here"
            raise self._error(
                f"{ACTION} {value_preview(chosen)} is not available: {why}",
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
            close = next(iter(canonical_names(field, fields, FIELD_SYNONYMS)), None)
            close = close or suggest_field(field, fields)
            guess = f"; did you mean {close}?" if close else ""
            message = f"Unknown field {value_preview(field)} of {place}{guess}"
        if fault and kind in fault.when:
            code, message = fault.code, fault.message or message
        example = list_hint(detail["input"], part)
        hint = f"Send {place} as {example}." if example else ""
        return self._error(message, code=code, hint=hint, name=name)

    def _locate(self, steps: Sequence[str | int]) -> tuple[str, JsonObject]:
        """Return how a caller writes the way to a part of an argument, and the part's schema."""
        place = str(steps[0])
        part = resolve_reference(self.schema["properties"][place], self.schema)
        for step in steps[1:]:
            if isinstance(step, int):
                place, part = f"{place}[{step}]", part.get("items", part)
            elif step in part.get("properties", ()):
                place, part = f"{place}.{step}", part["properties"][step]
            part = resolve_reference(part, self.schema)
        return place, part

    def _duplicate_error(self, own: str, name: str) -> InvalidArgument:
        return self._error(f"{own} is given twice, once as {value_preview(name)}")

    def _describe_allowed(self, name: str) -> str:
        return describe_schema(self.schema["properties"][name], self.schema)

    def _error(
        self, message: str, *, code: str | None = None, hint: str = "", name: str = ""
    ) -> InvalidArgument:
        if name and not hint:
            hint = f"Call {self._name} again with {name} as {self._describe_allowed(name)}."
        if not hint:
            hint = f"{self._name} takes: {', '.join(self._listed.names)}."
        return InvalidArgument(message, code=code or self._code, hint=hint)


_ADDRESS: Final = re.compile(r"rolltop://([a-z]+)/((?:[\w.~-]|%[0-9a-f]{2})+)", re.IGNORECASE)
_ADDRESSED: Mapping[str, str] = {
    "id": "note",
    "scratch_id": "pad",
    **dict.fromkeys(("cell_id", "cell_ids"), "cell"),
    **dict.fromkeys(("task_id", "parent_id", "blocked_by"), "task"),
}
"""Parameters for ids, with the kind of things whose address is taken for its id."""


def _read_id(name: str, value: Any) -> Any:  # noqa: ANN401  # a parameter's value
    """Return the id that an address without a version or lines has, in place of it."""
    if name not in _ADDRESSED:
        return value
    if isinstance(value, list):
        return [_read_id(name, entry) for entry in cast("list[Any]", value)]
    found = _ADDRESS.fullmatch(value.strip()) if isinstance(value, str) else None
    is_asked_for = found is not None and found[1].lower() == _ADDRESSED[name]
    return unquote(found[2]) if found is not None and is_asked_for else value


@lru_cache(maxsize=_MODEL_CACHE_SIZE)
def _argument_model(
    function: Callable[..., object],
    name: str,
    fixed: frozenset[str],
    chosen: tuple[str, ...] | None,
    required: tuple[str, ...],
    added: tuple[str, ...],
) -> type[BaseModel]:
    """Build the model of a function's arguments: all but the fixed ones, or the chosen ones.

    With those of `_ADDED` that the tool accepts.
    """
    declared = list(inspect.signature(function).parameters.values())[1:]
    parameters = [
        parameter
        for parameter in declared
        if parameter.name not in fixed and (chosen is None or parameter.name in chosen)
    ]
    names = {parameter.name for parameter in parameters}
    annotations = {k: v for k, v in function.__annotations__.items() if k in names}
    holder = type("Holder", (), {"__annotations__": annotations})
    names_there: dict[str, Any] = inspect.unwrap(cast("Any", function)).__globals__
    hints = get_type_hints(holder, globalns=names_there, include_extras=True)
    fields: dict[str, Any] = {
        p.name: (hints[p.name], ... if p.default is p.empty or p.name in required else p.default)
        for p in parameters
    }
    for own in [field for field in fields if hasattr(BaseModel, field)]:
        kind, default = fields.pop(own)  # a model's own attribute would be shadowed
        fields[f"{own}_"] = (Annotated[kind, Field(alias=own)], default)
    for own in [field for field in fields if iskeyword(field.removesuffix("_"))]:
        kind, default = fields[own]
        fields[own] = (Annotated[kind, Field(alias=own.removesuffix("_"))], default)
    for own in added:
        if chosen is None or own in chosen:
            fields[own] = (_ADDED[own][1], None)
    config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    return create_model(name, __config__=config, **fields)


@lru_cache(maxsize=_MODEL_CACHE_SIZE)
def _schema(model: type[BaseModel]) -> JsonObject:
    return simplify_schema(model.model_json_schema())
