"""The tools by name, and one call of one of them: everything that happens to every call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, cast

from rolltop.core import logging, pagination
from rolltop.core.addresses import as_seeds_answer
from rolltop.core.argument_names import suggest_name, suggest_tools
from rolltop.core.arguments import Parameters, value_preview
from rolltop.core.context import AppContext, CallContext, ProgressCallback, ignore_progress
from rolltop.core.errors import (
    IncompatibleStore,
    InvalidArgument,
    InvalidConfig,
    InvalidText,
    RolltopError,
    ShuttingDown,
    Unavailable,
)
from rolltop.core.principal import WRITE, Principal
from rolltop.core.tools import ACTION, JsonObject, Tool, Toolset

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INTERNAL_ERROR_MESSAGE = "Something failed here, not in your arguments"


class UnknownTool(LookupError):
    """No tool of that name is listed; `suggestion` names the closest that are, if any.

    `exists` says that there is such a tool, which the settings or the caller's rights leave out;
    `denied` says why the caller may not use it, if that is known.
    """

    def __init__(
        self, name: str, suggestion: str | None, *, exists: bool = False, denied: str = ""
    ) -> None:
        super().__init__(name)
        self.name = name
        self.suggestion = suggestion
        self.exists = exists
        self.denied = denied

    @property
    def message(self) -> str:
        """What to tell the caller."""
        name = value_preview(self.name)
        if self.denied:
            return f"Tool {name} writes, and {self.denied}"
        if self.exists:
            return f"Tool {name} is not offered here: tools/list has those that are"
        guess = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        return f"Unknown tool {name}{guess}"


@dataclass(frozen=True)
class RegisteredTool:
    """A tool under one of its names."""

    name: str
    tool: Tool
    toolset: Toolset
    parameters: Parameters
    title: str
    description: str
    fixed_arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    actions: Sequence[str] | None = None
    """What it is offered for, where that is less than all the tool does."""

    @property
    def is_read_only(self) -> bool:
        """Whether the tool, with what it is offered for, changes nothing."""
        if self.tool.is_read_only or self.parameters.read_only:
            return True
        return self.actions is not None and {*self.actions} <= {*self.tool.reading_actions}


@dataclass(frozen=True)
class ToolSelection:
    """What narrows the list of tools; None is no narrowing. `read_only` wins over all."""

    toolsets: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    read_only: bool = False
    use_aliases: bool = False


class ToolRegistry:
    """The tools of the selected toolsets by name. It never changes after it is made."""

    def __init__(self, toolsets: Sequence[Toolset], selection: ToolSelection | None = None) -> None:
        """Register the tools for callers who may write and for those who may not.

        Raises InvalidConfig: the selection names a toolset or tool that does not exist.
        """
        self._selection = _canonical_selection(toolsets, selection or ToolSelection())
        _check_names("toolsets", self._selection.toolsets, [t.name for t in toolsets])
        tools = [tool for toolset in toolsets for tool in toolset.tools]
        names = [
            *(tool.name for tool in tools),
            *(name for t in tools for name in _action_aliases(t)),
        ]
        _check_names("tools", self._selection.tools, names)
        _check_names("exclude_tools", self._selection.exclude, names)
        self.uses_aliases = self._selection.use_aliases
        chosen = self._selection.toolsets
        self._known_names = {
            name
            for toolset in toolsets
            for tool in toolset.tools
            for name in (tool.name, *(seed.name for seed in tool.aliases))
        }
        self._other_names = {
            other: tool.aliases[0].name if self._selection.use_aliases else tool.name
            for tool in tools
            for other in tool.other_names
        }
        self.toolsets = tuple(t for t in toolsets if chosen is None or t.name in chosen)
        self._read_only_tools = self._register_tools(read_only=True)
        self._all_tools = (
            self._read_only_tools
            if self._selection.read_only
            else self._register_tools(read_only=False)
        )
        self._listed_names = _alias_names(self._all_tools.values()) if self.uses_aliases else {}
        longest_first = sorted(self._listed_names, key=len, reverse=True)
        names = "|".join(longest_first)
        # Not in paths and addresses, which are the user's.
        self._name_pattern = re.compile(rf"(?<![\w./\"'-])({names})(?![\w/\"'-]|\.\w)")

    def list_tools(self, principal: Principal) -> tuple[RegisteredTool, ...]:
        """Return the tools to list for this caller, one name each, in declared order."""
        registered_tools = self._tools_for(principal).values()
        if not self._selection.use_aliases:
            return tuple(
                registered
                for registered in registered_tools
                if registered.name == registered.tool.name
            )
        return tuple(
            registered
            for registered in registered_tools
            if registered.name != registered.tool.name or not registered.tool.other_aliases
        )

    def use_listed_names(self, text: str) -> str:
        """Return a text of ours, such as a hint, with its tools called by their listed names."""
        if not self._listed_names:
            return text
        return self._name_pattern.sub(lambda found: self._listed_names[found[0]], text)

    def offered_sentences(self, sentences: Iterable[str]) -> list[str]:
        """Return those sentences of ours that name no tool but offered ones, by listed names."""
        return [
            self.use_listed_names(sentence)
            for sentence in sentences
            if self.has_tools(self._known_names.intersection(re.findall(r"\w+_\w+", sentence)))
        ]

    @property
    def all_tools(self) -> tuple[RegisteredTool, ...]:
        """Every tool under every name, as callers who may write get it."""
        return tuple(self._all_tools.values())

    def has_tools(self, names: Iterable[str]) -> bool:
        """Return whether every tool of these names is offered to callers who may write."""
        return all(name in self._all_tools for name in names)

    def find(self, name: str, principal: Principal) -> RegisteredTool:
        """Return the tool of that canonical or seed name.

        Raises UnknownTool: it is not offered to this caller.
        """
        registered_tools = self._tools_for(principal)
        name = self._other_names.get(name, name)
        if name in registered_tools:
            return registered_tools[name]
        close = suggest_name(name, registered_tools)
        tool = registered_tools[close].tool if close else None
        listed = self.list_tools(principal)
        names = [registered.name for registered in listed if registered.tool is tool]
        if close not in names:
            close = names[0] if names else None
        if close is None:
            known = {each.name: each.title for each in listed}
            hints = {each.name: each.tool.search_hint for each in listed}
            alike = suggest_tools(name, known, hints)
            close = " or ".join(alike) or None
        denied = principal.viewer_reason if name in self._all_tools else ""
        raise UnknownTool(name, close, exists=name in self._known_names, denied=denied)

    def _tools_for(self, principal: Principal) -> dict[str, RegisteredTool]:
        return self._all_tools if WRITE in principal.permissions else self._read_only_tools

    def _register_tools(self, *, read_only: bool) -> dict[str, RegisteredTool]:
        registered_tools: dict[str, RegisteredTool] = {}
        for toolset in self.toolsets:
            for tool in toolset.tools:
                if self._is_selected(tool) and (
                    tool.is_read_only or tool.reading_actions or not read_only
                ):
                    actions = self._selected_actions(tool, read_only=read_only)
                    for registered in self._register_names(
                        toolset, tool, actions, read_only=read_only
                    ):
                        registered_tools[registered.name] = registered
        return registered_tools

    def _register_names(
        self, toolset: Toolset, tool: Tool, actions: Sequence[str] | None, *, read_only: bool
    ) -> Iterable[RegisteredTool]:
        """Return a tool under its canonical name and its seed names; `actions` None are all."""
        if actions == []:
            return
        code = toolset.argument_code
        own = [seed for seed in tool.aliases if seed.name == tool.name]
        listed = own[0] if own and self._selection.use_aliases else None
        parameters = Parameters(
            tool, code=code, only_reading=read_only, actions=actions, listed=listed
        )
        yield RegisteredTool(
            tool.name, tool, toolset, parameters, tool.title, tool.description, actions=actions
        )
        named = _action_aliases(tool)
        for seed in tool.other_aliases:
            if seed.name in named and not parameters.allows_action(named[seed.name]):
                continue
            title, description = seed.title or tool.title, seed.description or tool.description
            fewer = Parameters(tool, code=code, only_reading=read_only, seed=seed)
            done = [named[seed.name]] if seed.name in named else None
            yield RegisteredTool(
                seed.name, tool, toolset, fewer, title, description, seed.fixed_arguments, done
            )

    def _is_selected(self, tool: Tool) -> bool:
        selection = self._selection
        names = {tool.name, *_action_aliases(tool)}
        wanted = selection.tools is None or not names.isdisjoint(selection.tools)
        return wanted and tool.name not in selection.exclude

    def _selected_actions(self, tool: Tool, *, read_only: bool) -> list[str] | None:
        """Return the actions that are left where names of single ones were given, else None."""
        selection, named = self._selection, _action_aliases(tool)
        chosen, excluded = selection.tools or (), selection.exclude
        if not tool.reading_actions or named.keys().isdisjoint([*chosen, *excluded]):
            return None
        whole = selection.tools is None or tool.name in chosen
        wanted = {action for name, action in named.items() if name in chosen}
        dropped = {action for name, action in named.items() if name in excluded}
        parameter = Parameters(tool, code="").schema["properties"][ACTION]
        return [
            action
            for action in parameter["enum"]
            if (whole or action in wanted)
            and action not in dropped
            and (not read_only or action in tool.reading_actions)
        ]


def _action_aliases(tool: Tool) -> dict[str, str]:
    """Return the names a tool has for its actions, with these."""
    return {
        seed.name: str(seed.fixed_arguments[ACTION])
        for seed in (tool.aliases if tool.reading_actions else ())
        if ACTION in seed.fixed_arguments
    }


def _canonical_selection(toolsets: Sequence[Toolset], selection: ToolSelection) -> ToolSelection:
    """Return the selection with canonical names for seed names that stand for a whole tool."""
    tools = [tool for toolset in toolsets for tool in toolset.tools if len(tool.aliases) == 1]
    known = {tool.aliases[0].name: tool.name for tool in tools}
    wanted = selection.tools and [known.get(name, name) for name in selection.tools]
    exclude = [known.get(name, name) for name in selection.exclude]
    return replace(selection, tools=wanted, exclude=exclude)


def _alias_names(registered_tools: Iterable[RegisteredTool]) -> dict[str, str]:
    """Return the seed names by what hints call them: a tool, or a tool `with` an action."""
    names: dict[str, str] = {}
    for registered in registered_tools:
        if registered.name != registered.tool.name:
            fixed = registered.fixed_arguments.items() if len(registered.tool.aliases) > 1 else ()
            said = "".join(f" with {key} {value}" for key, value in fixed)
            names[registered.tool.name + said] = registered.name
    return names


def _check_names(key: str, given: Sequence[str] | None, known: Sequence[str]) -> None:
    for name in given or ():
        if name not in known:
            close = suggest_name(name, known)
            guess = f"; did you mean {close}?" if close else ""
            raise InvalidConfig(
                f"{key}: unknown name {value_preview(name)}{guess}",
                hint=f"Allowed: {', '.join(known)}.",
            )


@dataclass(frozen=True)
class Answer:
    """What a call answers: a JSON object, the same as compact text, and whether it failed."""

    structured: JsonObject
    text: str
    is_error: bool
    code: str | None = None


async def dispatch(
    app: AppContext,
    name: str,
    principal: Principal,
    arguments: object,
    *,
    report: ProgressCallback = ignore_progress,
    request_id: str = "",
    max_result_tokens: int | None = None,
) -> Answer:
    """Return the answer of the tool `name`, within its budget and its deadline.

    `max_result_tokens` is the largest answer of this caller's host; None is the setting. Raises
    UnknownTool: no tool of that name is offered to this caller.
    """
    registered = app.registry.find(name, principal)
    most: int = app.settings["max_result_tokens"]
    if max_result_tokens is not None:
        most = max_result_tokens
    started = perf_counter()
    outcome, error = "cancelled", None
    result: JsonObject = {}
    try:
        answer = await _run_tool(app, registered, principal, arguments, report, most)
    except RolltopError as failure:
        outcome, error = "error", _explain_budget(failure, most)
        limit = _effective_budget(most, _requested_budget(arguments))
        return error_answer(app, registered.toolset, error, limit)
    except Exception as failure:  # noqa: BLE001  # the one guard of every tool
        outcome, error = "fault", internal_error(failure, request_id)
        limit = _effective_budget(most, _requested_budget(arguments))
        return error_answer(app, registered.toolset, error, limit)
    else:
        outcome, result = "ok", answer.structured
        return answer
    finally:
        seconds = perf_counter() - started
        code = _toolset_code(registered.toolset, error) if error else ""
        for observe in app.call_observers:
            observe(registered.tool.name, code or outcome, seconds)
        logging.call(
            tool=registered.tool.name,
            user=principal.member_id or principal.user_id,
            duration_ms=seconds * 1000,
            outcome=outcome,
            code=code,
            request_id=request_id,
            ids=_record_ids(registered.parameters.names, arguments, result)
            | logging.caller_ids(principal)
            | {"reason": error.log_reason if error else ""},
        )


def internal_error(failure: Exception, request_id: str = "") -> RolltopError:
    """Log an unexpected exception; return the error that callers see, with its reference."""
    reference = logging.fault(failure, request_id=request_id)
    return RolltopError(
        f"{_INTERNAL_ERROR_MESSAGE} (reference {reference})",
        hint="Try again; if it happens again, give the reference to whoever runs this server.",
        data={"reference": reference},
    )


def error_answer(
    app: AppContext, toolset: Toolset, error: RolltopError, limit: int | None = None
) -> Answer:
    """Return an error as an answer in the toolset's own shape, within `limit`, else the setting.

    Its texts are cut where they are too long for that, then its details left out.
    """
    code = _toolset_code(toolset, error)
    most: int = app.settings["max_result_tokens"]
    limit = most if limit is None else limit
    shaped: JsonObject = {}
    as_seed = app.registry.uses_aliases and toolset.has_seed
    for data in (pagination.without_addresses(error.data) if as_seed else error.data, None):
        hint = app.registry.use_listed_names(error.hint)
        shown = RolltopError(error.message, hint=hint, code=code, data=data)
        shaped = toolset.shape_error(shown)
        if pagination.fits_budget(shaped, limit):
            break
        if shorter := pagination.truncate_texts(shaped, limit):
            shaped = shorter
            break
    return _answer(shaped, is_error=True, code=code)


def _explain_budget(failure: RolltopError, most: int) -> RolltopError:
    """Return the failure; a budget over `most` is nothing that a caller can ask for."""
    if not isinstance(failure, pagination.BudgetTooSmall) or not 0 < most < failure.needed:
        return failure
    return InvalidArgument(
        f"No answer to this fits max_result_tokens: it takes at least {failure.needed}",
        hint=f"Whoever runs this server can set max_result_tokens, {most} now, to "
        f"{failure.needed} or more.",
    )


async def _run_tool(
    app: AppContext,
    registered: RegisteredTool,
    principal: Principal,
    arguments: object,
    report: ProgressCallback,
    most: int,
) -> Answer:
    """Return the tool's result within its budget, which is never over `most`."""
    if app.is_stopping:
        raise ShuttingDown
    given = registered.parameters.validate(arguments)
    checked: dict[str, Any] = {**given, **registered.fixed_arguments}
    limit = _effective_budget(most, checked.pop("max_tokens", registered.tool.default_budget))
    name = registered.tool.name
    caller = principal if registered.is_read_only else principal.during(name)
    call = CallContext(app, caller, name, limit, checked.pop("cursor", None), report, most)
    after = "read back what a write may already have kept"
    hint = f"Ask for less, or {'call again' if registered.tool.is_read_only else after}."
    async with app.deadline(registered.name, hint):
        result = await call.run(registered.tool.function, checked)
    return _fit_result(app, result, registered, given, (limit, most))


def _fit_result(
    app: AppContext,
    result: object,
    registered: RegisteredTool,
    given: Mapping[str, Any],
    budgets: tuple[int, int],
) -> Answer:
    """Return the result whole where it fits, else cut to its budget, with how it goes on."""
    if not isinstance(result, dict | pagination.Page | pagination.TextPage):
        raise TypeError(f"{registered.tool.name} answered {type(result).__name__}, not an object")
    made = cast("JsonObject | pagination.Page | pagination.TextPage", result)
    if app.registry.uses_aliases and registered.toolset.has_seed:
        made = as_seeds_answer(made)
    limit, most = budgets

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        arguments = {**given, **changed}
        continuation = pagination.Continuation(registered.name, arguments, cursor)
        answer = registered.toolset.with_continuation(part, continuation)
        enough = changed.get("max_tokens", 0)
        again = enough and "char_start" in given and "char_start" not in changed
        # No answer holds more, or a text's end came twice.
        is_end = again or (isinstance(enough, int) and enough > most > 0)
        return _drop_continuation(answer, "next") if is_end else answer

    def larger(tokens: int) -> JsonObject | None:
        if "max_tokens" not in registered.parameters.names or (most and tokens > most):
            return None
        return {"tool": registered.name, "arguments": {**given, "max_tokens": tokens}}

    if isinstance(made, dict) and isinstance(onward := made.get("next"), dict):
        named = cast("JsonObject", onward)  # another tool, by its canonical name
        made = {**made, "next": {**named, "tool": app.registry.use_listed_names(named["tool"])}}
    whole = pagination.serialize_whole(made, limit, finish)
    if whole is not None:
        return Answer(*whole, is_error=False)
    if isinstance(made, dict):
        kept = not _is_read_only(registered, given)
        part = pagination.truncate_object(made, limit, is_committed=kept, larger=larger)
    else:
        part = _fit_part(made, limit, finish)
    return _answer(part, is_error=False)


def _fit_part(
    made: pagination.Page | pagination.TextPage,
    limit: int,
    finish: pagination.AttachContinuation,
) -> JsonObject:
    """Truncate a list or a text.

    Where the cursor is too long to be there twice, it is in `next` alone; where the arguments are
    too long to be repeated there, the cursor goes on without.
    """

    def finish_without(
        name: str, part: JsonObject, changed: dict[str, object], cursor: str | None
    ) -> JsonObject:
        given = changed.get("cursor")
        onward = cursor or (given if isinstance(given, str) else None)  # a text's, in arguments
        answer = finish(part, changed, onward)
        return answer if onward is None else _drop_continuation(answer, name)

    for onward in (finish, partial(finish_without, "next_cursor")):
        with suppress(pagination.BudgetTooSmall):
            return pagination.truncate_part(made, limit, onward)
    return pagination.truncate_part(made, limit, partial(finish_without, "next"))


def _drop_continuation(answer: JsonObject, name: str) -> JsonObject:
    """Return the answer without what it says of how it goes on under that name."""
    kept = {key: value for key, value in answer.items() if key != name}
    if isinstance(meta := kept.get("meta"), dict):
        kept["meta"] = {k: v for k, v in cast("JsonObject", meta).items() if k != name}
    return kept


def _is_read_only(registered: RegisteredTool, given: Mapping[str, Any]) -> bool:
    """Return whether the call changed nothing: the tool never does, or this action does not."""
    chosen = {**given, **registered.fixed_arguments}.get(ACTION)
    return registered.tool.is_read_only or chosen in registered.tool.reading_actions


def _requested_budget(arguments: object) -> int | None:
    """Return the budget that a call asks for, or None if it asks for no valid one."""
    given = cast("JsonObject", arguments).get("max_tokens") if isinstance(arguments, dict) else None
    return given if type(given) is int and given >= pagination.MIN_BUDGET else None


def _effective_budget(setting: int, asked: int | None) -> int:
    """Return the budget of a call in tokens; 0 is none."""
    if asked is None:
        return setting
    return min(asked, setting) if setting else asked


def _answer(result: JsonObject, *, is_error: bool, code: str | None = None) -> Answer:
    return Answer(*pagination.serialize(result), is_error, code)


def _toolset_code(toolset: Toolset, error: RolltopError) -> str:
    """Return the error's code in the toolset's own words for what core itself refuses."""
    own = {
        InvalidText.default_code: toolset.text_code,
        InvalidArgument.default_code: toolset.argument_code,
        IncompatibleStore.default_code: Unavailable.default_code,
    }
    return own.get(error.code, error.code)


def _record_ids(declared: Sequence[str], arguments: object, result: JsonObject) -> dict[str, str]:
    """Return the ids of stored things in a result and in declared arguments: UUIDs, nothing else.

    Other arguments have names that the caller chose.
    """
    sent = cast("JsonObject", arguments) if isinstance(arguments, dict) else {}
    known = {name: sent[name] for name in declared if name in sent}
    return {
        name: value.lower()
        for entry in (known, result, result.get("data"))
        if isinstance(entry, dict)
        for name, value in cast("dict[str, object]", entry).items()
        if name.endswith("_id") and name != "user_id" and isinstance(value, str)
        if _UUID.fullmatch(value)
    }
