"""MCP over stdin and stdout, on a transport of our own.

The SDK's own transport drops what it cannot parse, hangs on SIGINT and skips the lifespan on
SIGTERM. This one answers every line, ends in time, and leaves the protocol to the SDK.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse
from pydantic_core import PydanticSerializationError

from rolltop.core import logging
from rolltop.core.errors import StartupError
from rolltop.core.process_exit import exit_now
from rolltop.server import mcp_server
from rolltop.server.app import ServerApp
from rolltop.server.inflight import InFlightRequests, LineDispatcher
from rolltop.server.line_io import (
    LineReader,
    LineWriter,
    claim_standard_streams,
    is_write_end_closed,
)
from rolltop.server.shutdown import Shutdown

GRACE_SECONDS: Final = 1.5
"""Seconds that calls in flight have left when a shutdown is requested."""
REFUSE_REST_SECONDS: Final = 1.7
"""Seconds after which those are answered that a loop which is late or stuck has not answered."""
EXIT_LIMIT: Final = 1.9
_CLOSE_TIMEOUT: Final = 0.1
_POLL_INTERVAL: Final = 0.005
_STDIN_CLOSED: Final = "stdin ended"


def serve(app: ServerApp) -> int:
    """Serve one client until stdin ends or a signal comes; the process ends here with 0.

    Raises:
        InvalidConfig: the user that the settings name is not known.
        StartupError: the store is refused, or there is no stdin or stdout.

    """
    app.user.check()
    try:
        incoming, outgoing = claim_standard_streams()
    except OSError as failure:
        raise StartupError(
            "stdin or stdout is closed", hint="An MCP client starts this server over pipes."
        ) from failure
    exit_now(asyncio.run(_serve(app, incoming, outgoing)))


class _AnswerStream:
    """What the SDK writes to: each message becomes a line. `on_first` runs after the first."""

    def __init__(
        self, writer: LineWriter, in_flight: InFlightRequests, on_first: Callable[[], None]
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
        line = _encode_line(message)
        with self._sending:
            if self._is_over:
                return
            self._writer.put(line)
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._in_flight.remove(message.id)
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


async def _serve(app: ServerApp, incoming: int, outgoing: int) -> int:
    """Serve until a shutdown is requested, then shut down in order; return the exit code."""
    ending = Shutdown(EXIT_LIMIT)
    ending.install_signal_handlers()
    app.on_unusable_store = lambda code: ending.request("the store is refused", code)
    in_flight = InFlightRequests(app.context.settings["threads"])
    writer = LineWriter(outgoing, lambda: ending.request("stdout was closed"))
    messages, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    lines = LineDispatcher(
        writer,
        in_flight,
        messages,
        has_ended=partial(is_write_end_closed, incoming),
        stopped=lambda request: _encode_line(
            mcp_server.shutdown_response(app.context, request, has_started=False)
        ),
    )
    answers = _AnswerStream(writer, in_flight, app.start)
    refuse_rest = partial(_answer_unfinished, app, answers, in_flight, writer)
    ending.schedule(REFUSE_REST_SECONDS, refuse_rest)
    options = app.server.create_initialization_options()
    serving = asyncio.create_task(app.server.run(received, answers, options))
    requested = asyncio.create_task(ending.wait())
    reader = LineReader(
        incoming, lines.handle_line, lines.refuse_long_line, lambda: ending.request(_STDIN_CLOSED)
    )
    reader.start()
    logging.event("started", transport="stdio", roots=app.context.describe_roots())
    await asyncio.wait({serving, requested}, return_when=asyncio.FIRST_COMPLETED)
    ending.request("the protocol loop ended", code=1)
    logging.event("stopping", reason=ending.reason)
    deadline = ending.requested_at + GRACE_SECONDS  # a loop that is late has less of it left
    # What came before stdin ended was asked for in time, and nothing can come after it.
    app.close_streams(refuse=ending.reason != _STDIN_CLOSED)
    await _finish_calls(app, reader, in_flight, deadline)
    refuse_rest()
    writer.flush(max(_CLOSE_TIMEOUT, deadline - asyncio.get_running_loop().time()))
    await messages.aclose()
    await asyncio.wait({serving}, timeout=_CLOSE_TIMEOUT)
    refuse_rest()
    await app.close(_CLOSE_TIMEOUT)
    logging.event("stopped")
    writer.flush(_CLOSE_TIMEOUT)  # what came meanwhile
    return ending.code


async def _finish_calls(
    app: ServerApp, reader: LineReader, in_flight: InFlightRequests, deadline: float
) -> None:
    """Wait until all is answered, at most until the deadline, and break off the rest.

    Only a few are told to answer that themselves: many would not come to it in time.
    """
    in_flight.stop_waiting()
    idle = partial(_wait_all_answered, reader, in_flight)
    with suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await idle()
    if not in_flight.is_over_limit():
        await app.drain_calls(idle, 0)
    app.close_streams(refuse=True)


def _answer_unfinished(
    app: ServerApp, answers: _AnswerStream, in_flight: InFlightRequests, writer: LineWriter
) -> None:
    """Answer what the SDK was given, and from now on answers no more. Any thread may call it."""
    answers.end()
    for request in in_flight.take_unanswered():
        writer.put(
            _encode_line(mcp_server.shutdown_response(app.context, request, has_started=True))
        )


async def _wait_all_answered(reader: LineReader, in_flight: InFlightRequests) -> None:
    """Wait until every line that has come was taken in, and every request has its answer."""
    await in_flight.wait_idle()
    while not reader.is_drained():
        await asyncio.sleep(_POLL_INTERVAL)
        await in_flight.wait_idle()


def _encode_line(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # a lone surrogate sent back, as in a progress token
        body = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(body, separators=(",", ":")).encode()
