"""MCP over stdin and stdout, on a transport of our own.

The SDK's own transport drops what it cannot parse, hangs on SIGINT and skips the lifespan on
SIGTERM. This one answers every line, ends in time, and leaves the protocol to the SDK.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse
from pydantic_core import PydanticSerializationError

from rolltop.core import logs
from rolltop.core.errors import StartFailed
from rolltop.core.leaving import leave
from rolltop.server import adapter, assembly
from rolltop.server.ending import Ending
from rolltop.server.incoming import Incoming, InFlight
from rolltop.server.pipes import LineReader, LineWriter, claim_standard_streams, has_ended

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rolltop.core.settings import Settings
    from rolltop.server.assembly import App

GRACE: Final = 1.5
"""Seconds that calls in flight have left when the end is wished for."""
_LAST_ANSWERS: Final = 1.7
"""Seconds after which those are answered that a loop which is late or stuck has not answered."""
_LIMIT: Final = 1.9
_CLOSING: Final = 0.1
_LOOK_EVERY: Final = 0.005
_END: Final = "stdin ended"


def serve_stdio(settings: Settings) -> int:
    """Serve one client until stdin ends or a signal comes; the process ends here with 0.

    Raises:
        ConfigInvalid: a setting is wrong, or the user it names is not known.
        StartFailed: the store is refused, or there is no stdin or stdout.

    """
    app = assembly.build(settings, http=False)
    return serve(app)


def serve(app: App) -> int:
    """Serve one client with an application that is already put together."""
    app.check()
    try:
        incoming, outgoing = claim_standard_streams()
    except OSError as failure:
        raise StartFailed(
            "stdin or stdout is closed", hint="An MCP client starts this server over pipes."
        ) from failure
    leave(asyncio.run(_serve(app, incoming, outgoing)))


class _Answers:
    """What the SDK writes to: each message becomes a line. `on_first` runs after the first."""

    def __init__(
        self, writer: LineWriter, in_flight: InFlight, on_first: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._in_flight = in_flight
        self._on_first: Callable[[], None] | None = on_first
        self._is_over = False
        self._sending = threading.Lock()

    def end(self) -> None:
        """Take nothing more: somebody else answers what is left. Any thread may call it."""
        with self._sending:
            self._is_over = True

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        line = _line(message)
        with self._sending:
            if self._is_over:
                return
            self._writer.put(line)
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._in_flight.ended(message.id)
        if self._on_first is not None:
            first, self._on_first = self._on_first, None
            first()

    async def aclose(self) -> None:
        """Nothing to close: lines that were put are written."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


async def _serve(app: App, incoming: int, outgoing: int) -> int:
    """Serve until the end is wished for, then end in order; returns the exit code."""
    ending = Ending(_LIMIT)
    ending.on_signals()
    app.on_refused = lambda code: ending.begin("the store is refused", code)
    in_flight = InFlight(app.desk.settings["threads"])
    writer = LineWriter(outgoing, lambda: ending.begin("stdout was closed"))
    messages, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    lines = Incoming(
        writer,
        in_flight,
        messages,
        has_ended=partial(has_ended, incoming),
        stopped=lambda request: _line(adapter.unserved(app.desk, request, begun=False)),
    )
    answers = _Answers(writer, in_flight, app.start)
    refuse_rest = partial(_refuse_rest, app, answers, in_flight, writer)
    ending.after(_LAST_ANSWERS, refuse_rest)
    options = app.server.create_initialization_options()
    serving = asyncio.create_task(app.server.run(received, answers, options))
    wish = asyncio.create_task(ending.wished())
    reader = LineReader(incoming, lines.line, lines.long_line, lambda: ending.begin(_END))
    reader.start()
    logs.event("started", transport="stdio")
    await asyncio.wait({serving, wish}, return_when=asyncio.FIRST_COMPLETED)
    ending.begin("the protocol loop ended", code=1)
    logs.event("stopping", reason=ending.reason)
    deadline = ending.since + GRACE  # a loop that is late has less of it left
    # What came before stdin ended was asked for in time, and nothing can come after it.
    app.stop_calls(refuse=ending.reason != _END)
    await _finish_calls(app, reader, in_flight, deadline)
    refuse_rest()
    writer.flush(max(_CLOSING, deadline - asyncio.get_running_loop().time()))
    await messages.aclose()
    await asyncio.wait({serving}, timeout=_CLOSING)
    refuse_rest()
    await app.close(_CLOSING)
    logs.event("stopped")
    writer.flush(_CLOSING)  # what came meanwhile
    return ending.code


async def _finish_calls(app: App, reader: LineReader, in_flight: InFlight, deadline: float) -> None:
    """Wait until all is answered, at most until the deadline, and break off the rest.

    Only a few are told to answer that themselves: many would not come to it in time.
    """
    in_flight.hurry()
    idle = partial(_all_answered, reader, in_flight)
    with suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await idle()
    if not in_flight.are_many():
        await app.finish_calls(idle, 0)
    app.stop_calls(refuse=True)


def _refuse_rest(app: App, answers: _Answers, in_flight: InFlight, writer: LineWriter) -> None:
    """Answer what the SDK was given, and from now on answers no more. Any thread may call it."""
    answers.end()
    for request in in_flight.take_rest():
        writer.put(_line(adapter.unserved(app.desk, request, begun=True)))


async def _all_answered(reader: LineReader, in_flight: InFlight) -> None:
    """Wait until every line that has come was taken in, and every request has its answer."""
    await in_flight.idle()
    while not reader.is_drained():
        await asyncio.sleep(_LOOK_EVERY)
        await in_flight.idle()


def _line(message: JSONRPCMessage) -> bytes:
    """Return the message as one line of JSON."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # a lone surrogate sent back, as in a progress token
        body = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(body, separators=(",", ":")).encode()
