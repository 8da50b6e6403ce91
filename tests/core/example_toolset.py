"""A toolset for tests: one tool of each kind, including the ones that misbehave."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from rolltop.core.errors import Conflict, RolltopError, Unavailable
from rolltop.core.pagination import Continuation, Page, TextPage
from rolltop.core.tools import Alias, Tool, Toolset

if TYPE_CHECKING:
    from rolltop.core.context import CallContext

RELEASE = threading.Event()
"""Set it to let a `stuck` call end."""


class Echo(TypedDict, total=False):
    """What the example tools answer."""

    said: str
    items: list[dict[str, Any]]
    truncated: bool
    next: dict[str, Any]
    next_cursor: str


async def say(call: CallContext, text: str) -> dict[str, Any]:
    """Answer the text."""
    return {"said": f"{text} for {call.principal.user_id}"}


async def count(call: CallContext, last: int, note: str = "") -> Page:
    """Answer numbers up to the last; a note may be long."""
    del note
    start = int(call.cursor or 0)
    items = [{"n": n} for n in range(start, last)]
    return Page(items, lambda part: {"items": part}, lambda i: str(items[i]["n"] + 1))


async def recite(call: CallContext, lines: int, char_start: int = 0) -> TextPage:
    """Answer many lines."""
    del call
    text = "".join(f"line {n}\n" for n in range(lines))[char_start:]
    return TextPage(text, lambda part: {"said": part}, lambda end: {"char_start": char_start + end})


async def fail(
    call: CallContext, how: Literal["conflict", "unavailable", "fault", "wait", "nothing"]
) -> dict[str, Any]:
    """Fail in one of several ways."""
    del call
    if how == "conflict":
        raise Conflict("It is at version 3, not 2", hint="Read it again.")
    if how == "unavailable":
        raise Unavailable("The store is out of reach", hint="Try again.")
    if how == "fault":
        raise RuntimeError("the password is swordfish")
    if how == "wait":
        await asyncio.Event().wait()
    return None  # type: ignore[return-value]  # a tool that breaks its contract


async def stuck(call: CallContext) -> dict[str, Any]:
    """Hold a worker thread until released."""
    await call.run_in_thread(RELEASE.wait)
    return {"said": "released"}


async def keep_things(
    call: CallContext, action: Literal["list", "save"], name: str = ""
) -> dict[str, Any]:
    """List or save things."""
    del call
    return {"said": f"{action} {name}"}


def _shape(error: RolltopError) -> dict[str, Any]:
    return {"problem": error.message, "code": error.code, "hint": error.hint, **error.data}


def _continued(result: dict[str, Any], continuation: Continuation) -> dict[str, Any]:
    cursor = {"next_cursor": continuation.cursor} if continuation.cursor else {}
    return {**result, "truncated": True, "next": continuation.next, **cursor}


EXAMPLE = Toolset(
    name="example",
    summary="Tools for tests.",
    tools=(
        Tool("say", say, "Say", Echo, is_read_only=True, idempotent=True),
        Tool(
            "count",
            count,
            "Count",
            Echo,
            is_read_only=True,
            accepts_max_tokens=True,
            accepts_cursor=True,
        ),
        Tool("recite", recite, "Recite", Echo, is_read_only=True, accepts_max_tokens=True),
        Tool("fail", fail, "Fail", Echo),
        Tool("stuck", stuck, "Stuck", Echo, is_read_only=True),
        Tool(
            "keep_things",
            keep_things,
            "Keep things",
            Echo,
            destructive=True,
            reading_actions=("list",),
            aliases=(
                Alias("list_things", {"action": "list"}, "List things", "List things."),
                Alias("save_thing", {"action": "save"}, "Save a thing", "Save a thing."),
            ),
        ),
    ),
    error_codes={"INVALID_ARGUMENT": "An argument is wrong.", "CONFLICT": "It changed."},
    shape_error=_shape,
    error_fields=("problem", "code", "hint"),
    with_continuation=_continued,
)
