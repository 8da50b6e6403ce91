"""MCP over stdin and stdout, on a transport of our own.

The SDK's own transport drops what it cannot parse, hangs on SIGINT and skips the lifespan on
SIGTERM. This one answers every line, ends in time, and leaves the protocol to the SDK.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import PydanticSerializationError

from rolltop.core import logs
from rolltop.core.errors import StartFailed
from rolltop.core.leaving import leave
from rolltop.server import assembly, envelope
from rolltop.server.ending import Ending
from rolltop.server.envelope import Refusal
from rolltop.server.pipes import (
    LONGEST_LINE,
    LineReader,
    LineWriter,
    claim_standard_streams,
    has_ended,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from anyio.streams.memory import MemoryObjectSendStream

    from rolltop.core.settings import Settings
    from rolltop.server.assembly import App

GRACE: Final = 1.5
"""Seconds that calls in flight have left when the end is wished for."""
_LIMIT: Final = 1.9
_CLOSING: Final = 0.1
_LOOK_EVERY: Final = 0.005
_END: Final = "stdin ended"
_STOPPED: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    CancelledError,  # the loop ended while the message waited
    RuntimeError,  # the loop had ended before
)


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


class _InFlight:
    """The requests that were handed over and not answered yet."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop = asyncio.get_running_loop()

    def begun(self, identifier: RequestId) -> None:
        """Count a request. Called on the reading thread, before it is handed over."""
        with self._lock:
            self._count[str(identifier)] += 1

    def ended(self, identifier: RequestId | None) -> None:
        """Uncount a request that was answered, or that its caller cancelled."""
        with self._lock:
            self._count[str(identifier)] -= 1
            if self._count[str(identifier)] <= 0:
                del self._count[str(identifier)]
        self._loop.call_soon_threadsafe(self._idle.set)

    async def idle(self) -> None:
        """Wait until every request has its answer."""
        while self._count:
            self._idle.clear()
            if self._count:
                await self._idle.wait()


class _Answers:
    """What the SDK writes to: each message becomes a line. `on_first` runs after the first."""

    def __init__(
        self, writer: LineWriter, in_flight: _InFlight, on_first: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._in_flight = in_flight
        self._on_first: Callable[[], None] | None = on_first

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        self._writer.put(_line(message))
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


class _Incoming:
    """Lines from the reading thread: messages for the SDK, refusals straight back."""

    def __init__(
        self,
        writer: LineWriter,
        in_flight: _InFlight,
        messages: MemoryObjectSendStream[SessionMessage | Exception],
        has_ended: Callable[[], bool],
    ) -> None:
        self._writer = writer
        self._in_flight = in_flight
        self._messages = messages
        self._has_ended = has_ended
        self._loop = asyncio.get_running_loop()

    def line(self, line: bytes) -> None:
        """Take one line, on the reading thread; waits while the client doesn't read.

        Once the client's end is closed, what is left are few lines, and the end must be seen.
        """
        self._writer.wait_for_room(self._has_ended)
        message = envelope.read(line)
        if isinstance(message, list):
            for refusal in message:
                self._refuse(refusal)
            return
        self._hand_over(message)

    def long_line(self) -> None:
        """Refuse a line that was not kept."""
        text = f"Invalid request: a line may have at most {LONGEST_LINE} bytes"
        self._refuse(Refusal(None, INVALID_REQUEST, text))

    def _refuse(self, refusal: Refusal) -> None:
        logs.event("line refused", code=refusal.code)
        self._writer.put(refusal.body())

    def _hand_over(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._in_flight.begun(message.id)
        sending = self._messages.send(SessionMessage(message))
        try:
            asyncio.run_coroutine_threadsafe(sending, self._loop).result()
        except _STOPPED:
            if isinstance(message, JSONRPCRequest):
                stopping = Refusal(message.id, INTERNAL_ERROR, "The server is stopping")
                self._writer.put(stopping.body())
            sending.close()
        if isinstance(message, JSONRPCNotification):
            self._note_cancelled(message)

    def _note_cancelled(self, message: JSONRPCNotification) -> None:
        """A request that its caller cancels is not answered, so nobody waits for it."""
        if message.method == "notifications/cancelled":
            identifier = (message.params or {}).get("requestId")
            if isinstance(identifier, int | str):
                self._in_flight.ended(identifier)


async def _serve(app: App, incoming: int, outgoing: int) -> int:
    """Serve until the end is wished for, then end in order; returns the exit code."""
    ending = Ending(_LIMIT)
    ending.on_signals()
    app.on_refused = lambda code: ending.begin("the store is refused", code)
    in_flight = _InFlight()
    writer = LineWriter(outgoing, lambda: ending.begin("stdout was closed"))
    messages, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    lines = _Incoming(writer, in_flight, messages, partial(has_ended, incoming))
    answers = _Answers(writer, in_flight, app.start)
    options = app.server.create_initialization_options()
    serving = asyncio.create_task(app.server.run(received, answers, options))
    wish = asyncio.create_task(ending.wished())
    reader = LineReader(incoming, lines.line, lines.long_line, lambda: ending.begin(_END))
    reader.start()
    logs.event("started", transport="stdio")
    await asyncio.wait({serving, wish}, return_when=asyncio.FIRST_COMPLETED)
    ending.begin("the protocol loop ended", code=1)
    logs.event("stopping", reason=ending.reason)
    deadline = asyncio.get_running_loop().time() + GRACE
    # What came before stdin ended was asked for in time, and nothing can come after it.
    app.stop_calls(refuse=ending.reason != _END)
    await app.finish_calls(partial(_all_answered, reader, in_flight), GRACE)
    await messages.aclose()
    await asyncio.wait({serving}, timeout=_CLOSING)
    writer.flush(max(_CLOSING, deadline - asyncio.get_running_loop().time()))
    await app.close(_CLOSING)
    logs.event("stopped")
    return ending.code


async def _all_answered(reader: LineReader, in_flight: _InFlight) -> None:
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
