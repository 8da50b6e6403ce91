"""One call of one tool, from its arguments to its answer: everything that happens to every call."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from rolltop.core import budget, logs
from rolltop.core.call import Call, Report, silent
from rolltop.core.errors import (
    Invalid,
    InvalidText,
    RolltopError,
    Stopping,
    StoreRefused,
    TimedOut,
    Unavailable,
    UserGone,
)
from rolltop.core.scope import ACT_AS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.desk import Desk
    from rolltop.core.registry import Offer
    from rolltop.core.scope import Scope
    from rolltop.core.toolset import JsonObject, Toolset

_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FAULT = "Something failed here, not in your arguments"


@dataclass(frozen=True)
class Answer:
    """What a call answers: a JSON object, the same as compact text, and whether it failed."""

    structured: JsonObject
    text: str
    is_error: bool
    code: str | None = None


async def invoke(
    desk: Desk,
    name: str,
    scope: Scope,
    arguments: object,
    *,
    report: Report = silent,
    request_id: str = "",
) -> Answer:
    """Return the answer of the tool `name`, within its budget and its deadline.

    Raises:
        UnknownTool: no tool of that name is offered to this caller.

    """
    offer = desk.registry.find(name, scope)
    started = perf_counter()
    outcome, error = "cancelled", None
    result: JsonObject = {}
    try:
        answer = await _run(desk, offer, scope, arguments, report)
    except RolltopError as failure:
        outcome, error = "error", _known(desk, scope, failure)
        return failed(desk, offer.toolset, error, _asked(arguments))
    except Exception as failure:  # noqa: BLE001  # the one guard of every tool
        outcome, error = "fault", unexpected(failure, request_id)
        return failed(desk, offer.toolset, error, _asked(arguments))
    else:
        outcome, result = "ok", answer.structured
        return answer
    finally:
        logs.call(
            tool=offer.tool.name,
            user=scope.user_id,
            duration_ms=(perf_counter() - started) * 1000,
            outcome=outcome,
            code=_code(offer.toolset, error) if error else "",
            request_id=request_id,
            ids=_ids(arguments, result, result.get("data")),
        )


def unexpected(failure: Exception, request_id: str = "") -> RolltopError:
    """Return what a caller may see of a fault of ours: a reference to the line in the log."""
    reference = logs.fault(failure, request_id=request_id)
    return RolltopError(
        f"{_FAULT} (reference {reference})",
        hint="Try again; if it happens again, give the reference to whoever runs this server.",
        data={"reference": reference},
    )


def failed(
    desk: Desk, toolset: Toolset, error: RolltopError, max_tokens: int | None = None
) -> Answer:
    """Return an error as an answer in the toolset's own shape, within the budget.

    Its texts are cut where they are too long for that, then its details left out.
    """
    code = _code(toolset, error)
    limit = _limit(desk.settings["max_result_tokens"], max_tokens)
    shaped: JsonObject = {}
    for data in (error.data, None):
        hint = desk.registry.as_listed(error.hint)
        shown = RolltopError(error.message, hint=hint, code=code, data=data)
        shaped = toolset.shape_error(shown)
        if budget.within(shaped, limit):
            break
        if shorter := budget.shorten(shaped, limit):
            shaped = shorter
            break
    return _answer(shaped, is_error=True, code=code)


def _known(desk: Desk, scope: Scope, failure: RolltopError) -> RolltopError:
    """Return the failure; that a user is gone says whether there will be another one."""
    if not isinstance(failure, UserGone):
        return failure
    # Who came with a token or is named by the settings is never made by a call.
    return UserGone(renewed=ACT_AS in scope.rights and not desk.settings["user"])


async def _run(desk: Desk, offer: Offer, scope: Scope, arguments: object, report: Report) -> Answer:
    """Return the tool's result within its budget."""
    if desk.stopping:
        raise Stopping
    given = offer.parameters.check(arguments)
    checked: dict[str, Any] = {**given, **offer.fixed}
    limit = _limit(desk.settings["max_result_tokens"], checked.pop("max_tokens", None))
    call = Call(desk, scope, offer.tool.name, limit, checked.pop("cursor", None), report)
    allowed = desk.settings["call_timeout"]
    deadline = asyncio.timeout(allowed)
    desk.deadlines.add(deadline)
    try:
        async with deadline:
            result = await offer.tool.function(call, **checked)
    except TimeoutError:
        if not deadline.expired():
            raise
        if desk.stopping:
            raise Stopping(begun=True) from None
        raise TimedOut(
            f"{offer.name} passed its limit of {allowed:g} s",
            hint="Ask for less, or call again."
            if offer.tool.reads
            else "Ask for less, or read back what a write may already have kept.",
        ) from None
    finally:
        desk.deadlines.discard(deadline)
    return _answered(desk, result, offer, given, limit)


def _answered(
    desk: Desk, result: object, offer: Offer, given: Mapping[str, Any], limit: int
) -> Answer:
    """Return the result whole where it fits, else cut to its budget, with how it goes on."""
    if not isinstance(result, dict | budget.Page | budget.Text):
        raise TypeError(f"{offer.tool.name} answered {type(result).__name__}, not an object")
    made = cast("JsonObject | budget.Page | budget.Text", result)
    most: int = desk.settings["max_result_tokens"]

    def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        arguments = {**given, **changed}
        continuation = budget.Continuation(offer.name, arguments, cursor)
        answer = offer.toolset.continued(part, continuation)
        enough = changed.get("max_tokens", 0)
        again = enough and "char_start" in given and "char_start" not in changed
        if again or (isinstance(enough, int) and enough > most > 0):
            return _without(answer, "next")  # no answer holds more, or a text's end came twice
        return answer

    def larger(tokens: int) -> JsonObject | None:
        if not offer.tool.bounded or (most and tokens > most):
            return None
        return {"tool": offer.name, "arguments": {**given, "max_tokens": tokens}}

    if isinstance(made, dict) and isinstance(onward := made.get("next"), dict):
        named = cast("JsonObject", onward)  # another tool, by its canonical name
        made = {**made, "next": {**named, "tool": desk.registry.as_listed(named["tool"])}}
    whole = budget.whole(made, limit, finish)
    if whole is not None:
        return Answer(*whole, is_error=False)
    if isinstance(made, dict):
        kept = not _reads(offer, given)
        part = budget.fit_shortened(made, limit, was_kept=kept, larger=larger)
    else:
        part = _fitted(made, limit, most, finish)
    return _answer(part, is_error=False)


def _fitted(
    made: budget.Page | budget.Text, limit: int, most: int, finish: budget.Finish
) -> JsonObject:
    """Return what fits of a list or a text; `most` is the largest budget a caller may name.

    Where the cursor is too long to be there twice, it is in `next` alone, before an item is reduced
    for it; where the arguments are too long to be repeated in `next`, the cursor goes on without.
    """

    def without(name: str) -> budget.Finish:
        def shorter(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
            given = changed.get("cursor")
            onward = cursor or (given if isinstance(given, str) else None)  # a text's, in arguments
            answer = finish(part, changed, onward)
            return answer if onward is None else _without(answer, name)

        return shorter

    def unreduced(_item: JsonObject) -> JsonObject:
        raise budget.TooSmall(limit)

    whole = made
    if isinstance(made, budget.Page) and made.reduced:
        whole = replace(made, reduced=unreduced)
    once = without("next_cursor")
    try:
        for cut, onward in ((whole, finish), (whole, once), (made, once)):
            with suppress(budget.TooSmall):
                return budget.fit_part(cut, limit, onward)
        return budget.fit_part(made, limit, without("next"))
    except budget.TooSmall as small:
        if not most or small.needed <= most:
            raise
        raise Invalid(
            f"No answer to this fits max_result_tokens: it takes at least {small.needed}",
            hint=f"Whoever runs this server can set max_result_tokens, {most} now, to "
            f"{small.needed} or more.",
        ) from None


def _without(answer: JsonObject, name: str) -> JsonObject:
    """Return the answer without what it says of how it goes on under that name."""
    kept = {key: value for key, value in answer.items() if key != name}
    if isinstance(meta := kept.get("meta"), dict):
        kept["meta"] = {k: v for k, v in cast("JsonObject", meta).items() if k != name}
    return kept


def _reads(offer: Offer, given: Mapping[str, Any]) -> bool:
    """Return whether the call changed nothing: the tool never does, or this action does not."""
    actions = offer.tool.actions
    chosen = {**given, **offer.fixed}.get(actions.parameter) if actions else None
    return offer.tool.reads or (actions is not None and chosen in actions.reading)


def _asked(arguments: object) -> int | None:
    """Return the budget that a call named, None where it named none that may be."""
    given = cast("JsonObject", arguments).get("max_tokens") if isinstance(arguments, dict) else None
    return given if type(given) is int and given >= budget.MINIMUM else None


def _limit(setting: int, asked: int | None) -> int:
    """Return the budget of a call in tokens; 0 is none."""
    if asked is None:
        return setting
    return min(asked, setting) if setting else asked


def _answer(result: JsonObject, *, is_error: bool, code: str | None = None) -> Answer:
    return Answer(*budget.sent(result), is_error, code)


def _code(toolset: Toolset, error: RolltopError) -> str:
    """Return the error's code in the toolset's own words for what core itself refuses."""
    own = {
        InvalidText.default_code: toolset.text_code,
        Invalid.default_code: toolset.argument_code,
        Unavailable.default_code: toolset.unavailable_code,
        StoreRefused.default_code: toolset.unavailable_code,
        TimedOut.default_code: toolset.timeout_code,
    }
    return own.get(error.code, error.code)


def _ids(*objects: object) -> dict[str, str]:
    """Return the ids of stored things among the objects' fields: UUIDs and nothing else."""
    return {
        name: value.lower()
        for entry in objects
        if isinstance(entry, dict)
        for name, value in cast("dict[str, object]", entry).items()
        if name.endswith("_id") and name != "user_id" and isinstance(value, str)
        if _UUID.fullmatch(value)
    }
