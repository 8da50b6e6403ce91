"""A toolset that shows what a server does with progress, changes, scopes and resources."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.tools import Prompt, PromptArgument, ResourceTemplate, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.context import CallContext
    from rolltop.core.pagination import Continuation


class Seen(TypedDict, total=False):
    """What the probe tools answer."""

    user: str
    actor: str
    project: str
    budget: int
    rights: list[str]
    steps: int
    nothing: None


async def who_am_i(call: CallContext) -> dict[str, Any]:
    """Answer the caller's scope."""
    scope = call.principal
    return {
        "user": scope.user_id,
        "actor": scope.actor,
        "project": scope.project,
        "budget": call.budget,
        "rights": sorted(scope.permissions),
        "nothing": None,
    }


async def announce(call: CallContext, thing: str) -> dict[str, Any]:
    """Say that a thing changed."""
    call.app.notify_changed(call.principal, f"rolltop://thing/{thing}")
    return {"user": call.principal.user_id}


async def take_steps(call: CallContext, steps: int) -> dict[str, Any]:
    """Report each step from a worker thread."""

    def walk() -> None:
        for step in range(1, steps + 1):
            call.report_progress(step, steps, f"step {step}")

    await call.run_in_thread(walk)
    return {"steps": steps}


async def wait_for_cancel(call: CallContext) -> dict[str, Any]:
    """Never answer; say so when cancelled."""
    call.report_progress(1, None, "waiting")
    try:
        await asyncio.Event().wait()
    finally:
        call.app.notify_changed(call.principal, "rolltop://thing/cancelled")
    return {}


def _serves() -> bool:
    """Return whether this process is a server, and not that of the tests."""
    return "pytest" not in sys.modules


async def hold_loop(call: CallContext) -> dict[str, Any]:
    """Let nothing else run where calls are answered, from when stdin has ended."""
    readers = [thread for thread in threading.enumerate() if thread.name == "rolltop-stdin"]
    if not readers and not _serves():
        raise RuntimeError("no server runs in this process")
    for reader in readers:  # on a busy machine it may have ended by now
        await call.run_in_thread(reader.join)
    threading.Event().wait()
    return {}


async def hold_interpreter(call: CallContext) -> dict[str, Any]:
    """Keep the interpreter's lock, in a regular expression that takes for ever."""
    if not _serves():
        raise RuntimeError("no server runs in this process")

    def hold() -> None:
        os.write(2, b"held\n")
        re.match(r"(?:a+)+b", "a" * 60)

    await call.run_in_thread(hold)
    return {}


async def _read(call: CallContext, name: str) -> str:
    if name == "waiting":
        await asyncio.Event().wait()
    if name == "fault":
        raise RuntimeError("the password is swordfish")
    if name == "missing":
        raise NotFound("There is no such thing", hint="announce makes one.")
    if name == "large":
        raise InvalidArgument(
            "The thing is too large", code="THING_TOO_LARGE", hint="Make it smaller."
        )
    return f"{name} of {call.principal.user_id}"


async def _complete(
    call: CallContext, variable: str, prefix: str, context: Mapping[str, str]
) -> list[str]:
    del call, context
    if prefix == "fault":
        raise RuntimeError("the password is swordfish")
    if prefix == "missing":
        raise NotFound("There is no such thing", hint="announce makes one.")
    return [f"{variable}-{prefix}{n}" for n in range(120)]


def _render(arguments: Mapping[str, str]) -> str:
    if arguments.get("depth") == "":
        raise RuntimeError("the password is swordfish")
    return f"Tell me about {arguments['topic']}."


def _shape(error: RolltopError) -> dict[str, Any]:
    return {"error": error.message, "code": error.code, **error.data}


def _continued(result: dict[str, Any], continuation: Continuation) -> dict[str, Any]:
    return {**result, "next": continuation.next}


PROBE = Toolset(
    name="probe",
    summary="Probes for tests.",
    tools=(
        Tool("who_am_i", who_am_i, "Who am I", Seen, is_read_only=True),
        Tool("announce", announce, "Announce", Seen),
        Tool("take_steps", take_steps, "Take steps", Seen, is_read_only=True),
        Tool("wait_for_cancel", wait_for_cancel, "Wait", Seen, is_read_only=True),
        Tool("hold_loop", hold_loop, "Hold the loop", Seen, is_read_only=True),
        Tool("hold_interpreter", hold_interpreter, "Hold the interpreter", Seen, is_read_only=True),
    ),
    error_codes={"INVALID_ARGUMENT": "An argument is wrong."},
    shape_error=_shape,
    error_fields=("error", "code"),
    with_continuation=_continued,
    resource_templates=(
        ResourceTemplate(
            "thing", "rolltop://thing/{name}", "Thing", "A thing.", "text/plain", _read, _complete
        ),
    ),
    prompts=(
        Prompt(
            "explain",
            "Explain",
            "Explains.",
            (PromptArgument("topic", "What.", required=True), PromptArgument("depth", "How far.")),
            _render,
        ),
    ),
)
