"""The one guard around every handler: what a client may learn of a failure, in both eras."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PaginatedRequestParams, RequestId
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rolltop.core import logging
from rolltop.core.argument_names import suggest_name
from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext
from rolltop.core.dispatch import internal_error
from rolltop.core.errors import Conflict, InvalidArgument, NotFound, RolltopError, ShuttingDown
from rolltop.core.pagination import replace_surrogates

P = TypeVar("P")
R = TypeVar("R")
Context = ServerRequestContext[Any, Any]
Route = tuple[str, type[Any], "Callable[[Context, Any], Awaitable[Any]]"]
"""A method of the protocol, the type of its parameters, and what handles it."""
PARAMS_KEY: Final = "rolltop.params"
"""The key under which a request's ASGI scope holds the params that its body could not."""
_TYPE_NAMES: Final = {
    "string_type": "a string",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
}
"""What to call the kind that a failed check asked for."""
_LOGGABLE_ID: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)


def map_errors(
    handler: Callable[[Context, P], Awaitable[R]], app: AppContext | None = None
) -> Callable[[Context, P], Awaitable[R]]:
    """Return the handler with every failure turned into a protocol error of ours.

    With `app` it is unavailable once the server is stopping.
    """

    async def run(context: Context, params: P) -> R:
        if app is not None and app.is_stopping:
            raise to_mcp_error(ShuttingDown())
        try:
            return await handler(context, params)
        except MCPError:
            raise
        except RolltopError as failure:
            raise to_mcp_error(failure) from failure
        except Exception as failure:  # noqa: BLE001  # every fault of ours ends here
            raise to_mcp_error(internal_error(failure, request_id(context))) from None

    return run


async def restore_params(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Call the next handler with the params that the SDK could not read from the request."""
    whole = ctx.request.scope.get(PARAMS_KEY) if ctx.request is not None else None
    return await call_next(ctx if whole is None else replace(ctx, params=whole))


async def name_invalid_params(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Call the next handler; refuse parameters of the wrong shape by name."""
    try:
        return await call_next(ctx)
    except ValidationError as failure:
        logging.event("request refused", code=INVALID_PARAMS)
        detail = failure.errors(include_url=False, include_context=False)[0]
        fault = _describe_invalid_param(detail, ctx.params)
        raise MCPError(INVALID_PARAMS, f"Invalid params for {ctx.method}: {fault}") from None


async def replace_lone_surrogates(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Call the next handler; replace lone surrogates, which HTTP can't carry."""
    try:
        result = await call_next(ctx)
    except MCPError as failure:
        message, data = replace_surrogates([failure.message, failure.data])
        raise MCPError(failure.code, message, data) from failure
    # What a tool answers was made so that it can be sent.
    return result if ctx.method == "tools/call" else replace_surrogates(result)


def request_id(context: Context) -> str:
    """Return the request's id for the log."""
    return loggable_id(context.request_id)


def loggable_id(identifier: RequestId | None) -> str:
    """Return an id as the log may hold it; a text that may be somebody's words is left out."""
    text = str(identifier)
    return text if _LOGGABLE_ID.fullmatch(text) else ""


def refuse_cursor(params: PaginatedRequestParams | None) -> None:
    """Refuse a cursor: every list here is one page, so none was ever given out."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Unknown cursor: this list has one page")


def unknown_name_message(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message about an unknown name, with the nearest known one."""
    close = suggest_name(name, known)
    guess = f"; did you mean {close}?" if close else ""
    return f"Unknown {what} {value_preview(name)}{guess}"


def _describe_invalid_param(detail: ErrorDetails, params: object) -> str:
    """Return which part of the parameters is wrong, what was given there and what it should be."""
    place: str = "params"
    here: object = params
    names = detail["loc"][1:] if detail["loc"][:1] == ("params",) else detail["loc"]
    for name in names:
        found = _members(here)
        if name not in found:
            break  # what follows tells which of several kinds was tried
        place = f"{place}.{name}"
        here = found[name]
    if detail["type"] == "missing":
        return f"{'.'.join([place, *map(str, names[-1:])])} is missing"
    kinds = (kind for ending, kind in _TYPE_NAMES.items() if detail["type"].endswith(ending))
    return f"{place} must be {next(kinds, 'of another kind')}; got {value_preview(here)}"


def _members(value: object) -> dict[object, object]:
    """Return the members of a JSON object; none of any other value."""
    return cast("dict[object, object]", value) if isinstance(value, dict) else {}


def to_mcp_error(failure: RolltopError) -> MCPError:
    """Return an error of ours as one of the protocol."""
    mendable = isinstance(failure, InvalidArgument | NotFound | Conflict)
    code = INVALID_PARAMS if mendable else INTERNAL_ERROR
    data = {"code": failure.code, "hint": failure.hint, **failure.data}
    return MCPError(code, failure.message, {k: v for k, v in data.items() if v})
