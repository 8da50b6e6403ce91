"""What comes over stdio: lines become requests in flight, and each of those gets one answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from rolltop.core import logging
from rolltop.server import jsonrpc
from rolltop.server.jsonrpc import JsonRpcRefusal
from rolltop.server.line_io import MAX_LINE_BYTES, LineWriter

_MAX_CALLS: Final = 64
_ROOM_TIMEOUT: Final = 0.2
"""Seconds that a call waits for another to end."""
_CLOSED_STREAM_ERRORS: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    CancelledError,  # the loop ended while the message waited
    RuntimeError,  # the loop had ended before
)


class InFlightRequests:
    """The requests that were handed over and not answered yet."""

    def __init__(self, threads: int) -> None:
        """Hold none. Call it on the loop that answers; `threads` are there to work on calls."""
        self._max_calls = self._call_limit = max(_MAX_CALLS, 2 * threads)
        self._requests: dict[str, list[JSONRPCRequest]] = {}
        self._calls = 0
        self._is_draining = False
        self._changed = threading.Condition()
        self._idle = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def add(self, request: JSONRPCRequest) -> None:
        """Count a request. Called on the reading thread, before it is handed over."""
        with self._changed:
            self._requests.setdefault(str(request.id), []).append(request)
            self._calls += request.method == "tools/call"

    def remove(self, identifier: RequestId | None) -> bool:
        """Uncount a request that was answered, or cancelled by its caller; False if none waits."""
        with self._changed:
            known = self._requests.get(str(identifier))
            if not known:
                return False
            self._calls -= known.pop().method == "tools/call"
            if not known:
                del self._requests[str(identifier)]
            if self._calls < self._max_calls:
                self._call_limit = self._max_calls
            self._changed.notify_all()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._idle.set)
        return True

    def wait_for_room(self, has_ended: Callable[[], bool]) -> None:
        """Wait while many calls are in flight and one after the other ends.

        Thus a client that writes thousands and closes its end has them done, not begun all at once
        and broken off. Where none ends for a while, as many more are let in: one may cancel them.
        Once the client's end is closed as well (`has_ended()`), all are: its end must be seen.
        """
        with self._changed:
            while self._calls >= self._call_limit and not self._is_draining:
                if not self._changed.wait(_ROOM_TIMEOUT):
                    self._is_draining = has_ended()
                    self._call_limit = 2 * self._calls

    def stop_waiting(self) -> None:
        """Let nothing wait for room any more."""
        with self._changed:
            self._is_draining = True
            self._changed.notify_all()

    def is_over_limit(self) -> bool:
        """Whether more calls are in flight than are let in while they end."""
        return self._calls > self._max_calls

    async def wait_idle(self) -> None:
        """Wait until every request has its answer."""
        while self._requests:
            self._idle.clear()
            if self._requests:
                await self._idle.wait()

    def take_unanswered(self) -> list[JSONRPCRequest]:
        """Return, once, the requests without an answer: whoever takes them answers them."""
        with self._changed:
            rest = [request for known in self._requests.values() for request in known]
            self._requests.clear()
            self._calls = 0
        return rest


class LineDispatcher:
    """Lines from the reading thread: messages for the SDK, refusals straight back."""

    def __init__(
        self,
        writer: LineWriter,
        in_flight: InFlightRequests,
        messages: MemoryObjectSendStream[SessionMessage | Exception],
        *,
        has_ended: Callable[[], bool],
        stopped: Callable[[JSONRPCRequest], bytes],
    ) -> None:
        """`has_ended()` tells whether nobody can write to us any more.

        `stopped(request)` is the line that answers a request which the SDK takes no more.
        """
        self._writer = writer
        self._in_flight = in_flight
        self._messages = messages
        self._has_ended = has_ended
        self._shutdown_line = stopped
        self._loop = asyncio.get_running_loop()

    def handle_line(self, line: bytes) -> None:
        """Take one line, on the reading thread; waits while the client doesn't read.

        Once the client's end is closed, what is left are few lines, and the end must be seen.
        """
        self._writer.wait_for_room(self._has_ended)
        message = jsonrpc.parse_message(line)
        if isinstance(message, list):
            for refusal in message:
                self._refuse(refusal)
            return
        self._hand_over(message)

    def refuse_long_line(self) -> None:
        """Refuse a line that was not kept."""
        text = f"Invalid request: a line may have at most {MAX_LINE_BYTES} bytes"
        self._refuse(JsonRpcRefusal(None, INVALID_REQUEST, text))

    def _refuse(self, refusal: JsonRpcRefusal) -> None:
        logging.event("line refused", code=refusal.code)
        self._writer.put(refusal.body())

    def _hand_over(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            if message.method == "tools/call":
                self._in_flight.wait_for_room(self._has_ended)
            self._in_flight.add(message)
        sending = self._messages.send(SessionMessage(message))
        try:
            asyncio.run_coroutine_threadsafe(sending, self._loop).result()
        except _CLOSED_STREAM_ERRORS:
            sending.close()
            if isinstance(message, JSONRPCRequest) and self._in_flight.remove(message.id):
                self._writer.put(self._shutdown_line(message))
        if isinstance(message, JSONRPCNotification):
            self._handle_cancellation(message)

    def _handle_cancellation(self, message: JSONRPCNotification) -> None:
        """A request that its caller cancels is not answered, so nobody waits for it."""
        if message.method == "notifications/cancelled":
            identifier = (message.params or {}).get("requestId")
            if isinstance(identifier, int | str):
                self._in_flight.remove(identifier)
