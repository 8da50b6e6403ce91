"""Connections over HTTP: how many there may be, and how long each may wait for its client.

uvicorn bounds neither; a server in front that does is not assumed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rolltop.core import logging
from rolltop.core.settings import Settings

MAX_HEADERS: Final = 1 << 16
# Bytes a second that a body has to keep up; one that comes in drops would hold its connection.
_MIN_BODY_RATE: Final = 500
_MAX_TINY_CHUNKS: Final = 1000
_TINY_CHUNK: Final = 1024
_BUSY_RESPONSE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
)
_TIMEOUT_RESPONSE: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """Numbers of connections, and seconds that one may wait for its client."""

    total: int
    per_client: int
    headers: float
    body: float
    idle: float

    @classmethod
    def from_settings(cls, settings: Settings) -> ConnectionLimits:
        """Return the settings' limits. Half of the descriptors are left to files and the store."""
        total: int = settings["http.max_connections"]
        return cls(
            total=min(total, raise_descriptor_limit(2 * total) // 2),
            per_client=settings["http.max_client_connections"],
            headers=settings["http.header_timeout"],
            body=settings["http.body_timeout"],
            idle=settings["http.idle_timeout"],
        )


def raise_descriptor_limit(wanted: int) -> int:
    """Return how many descriptors this process may have, after asking for as many as wanted."""
    try:
        import resource  # noqa: PLC0415  # Windows has none
    except ModuleNotFoundError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else max(soft, min(hard, wanted))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


class ConnectionRegistry:
    """Every open connection, in the order they came."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._all: dict[HttpConnection, None] = {}
        self._clients: defaultdict[str, dict[HttpConnection, None]] = defaultdict(dict)

    def admit(self, new: HttpConnection) -> bool:
        """Count a connection in, in the place of one that waits if there are too many."""
        client = new.address
        crowded = client and len(self._clients[client]) >= self.limits.per_client
        rivals = self._clients[client] if crowded else self._all
        if crowded or len(self._all) >= self.limits.total:
            waiting = [other for other in rivals if other.time_limit() is not None]
            # An unfinished request has less of a claim than a connection kept for the next one.
            victim = next((x for x in waiting if x.is_half_open), next(iter(waiting), None))
            if victim is None:
                return False
            victim.end(_BUSY_RESPONSE if victim.is_half_open else b"")
        self._all[new] = None
        if client:
            self._clients[client][new] = None
        return True

    def discard(self, old: HttpConnection) -> None:
        """Count a connection out."""
        self._all.pop(old, None)
        of_client = self._clients.get(old.address, {})
        of_client.pop(old, None)
        if not of_client:
            self._clients.pop(old.address, None)

    def close_timed_out(self) -> None:
        """End the connections that have waited too long for their client."""
        now = asyncio.get_running_loop().time()
        for connection in tuple(self._all):
            limit = connection.time_limit()
            if limit is not None and now - connection.waiting_since > limit:
                connection.end(_TIMEOUT_RESPONSE if connection.is_half_open else b"")
            elif connection.is_unread(now):
                connection.abort()

    def close_idle(self) -> None:
        """Close what is kept for a next request."""
        for connection in tuple(self._all):
            if connection.is_idle:
                connection.end()

    def has_half_open(self) -> bool:
        """Whether the rest of some request is still to come."""
        return any(connection.is_half_open for connection in self._all)


class HttpConnection(H11Protocol):
    """One connection: uvicorn's, which knows since when it waits and for what."""

    def __init__(self, registry: ConnectionRegistry, **uvicorn: Any) -> None:  # noqa: ANN401  # passed on
        super().__init__(**uvicorn)
        self.conn = _TinyChunkGuard(h11.SERVER, MAX_HEADERS)
        self.address = ""
        self.waiting_since = self.loop.time()
        """When the wait for the client began; each byte of a body moves it on by its time."""
        self._registry = registry
        self._has_part = False
        self._unsent = 0
        self._unsent_since = 0.0

    @property
    def is_new(self) -> bool:
        """Whether the first request is still to come."""
        return self.cycle is None  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def is_serving(self) -> bool:
        """Whether a request has come that is not answered."""
        return not self.is_new and not self.cycle.response_complete

    @property
    def is_half_open(self) -> bool:
        """Whether a request has begun that is not there as a whole."""
        return self.is_new or self._has_part or self.conn.their_state is h11.SEND_BODY

    @property
    def is_idle(self) -> bool:
        """Whether the connection is only kept for a next request."""
        return not self.is_serving and not self.is_half_open

    def time_limit(self) -> float | None:
        """Return the seconds that this wait may take; None if it is not for the client."""
        limits = self._registry.limits
        if self.conn.their_state is h11.SEND_BODY:
            return None if self.is_serving and self.flow.read_paused else limits.body
        if self.is_serving:
            return None
        return limits.headers if self.is_half_open else limits.idle

    def is_unread(self, now: float) -> bool:
        """Whether the client has taken nothing of an answer for as long as a body may stall."""
        size = self.transport.get_write_buffer_size()
        if not size or size < self._unsent or not self._unsent:
            self._unsent_since = now
        self._unsent = size
        return bool(size) and now - self._unsent_since > self._registry.limits.body

    def end(self, answer: bytes = b"") -> None:
        """Close the connection, with a last answer if it has begun none."""
        self._registry.discard(self)
        if answer and self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(answer)
        self.transport.close()

    def abort(self) -> None:
        """Close the connection without the rest of its answer."""
        self._registry.discard(self)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take up the connection, unless there are too many."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self._registry.admit(self):
            logging.event("connection refused", reason="too many", address=self.address)
            self.end(_BUSY_RESPONSE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        self._registry.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, and note whether that is progress."""
        before = self.conn.their_state
        if before is not h11.SEND_BODY:
            if not self._has_part and not self.is_new:
                self.waiting_since = self.loop.time()
        elif self.is_serving:
            allowed = self.waiting_since + len(data) / _MIN_BODY_RATE
            self.waiting_since = min(self.loop.time(), allowed)
        super().data_received(data)
        after = self.conn.their_state
        if after is h11.SEND_BODY and before is not after:
            self.waiting_since = self.loop.time()
        self._has_part = after is h11.IDLE and bool(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        """Wait for the next request from now on."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; an answer that has begun can only be broken off."""
        logging.event("request refused", status=400, reason="no HTTP/1.1", address=self.address)
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.abort()


class _TinyChunkGuard(h11.Connection):
    """h11, which takes 10 µs for a chunk: it refuses bodies that are made of tiny ones."""

    _chunks = 0
    _bytes = 0

    def next_event(self) -> Any:  # noqa: ANN401  # as h11 has it
        """Return the next event of the connection."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._bytes += len(event.data)
            self._chunks += event.chunk_start
            if self._chunks > _MAX_TINY_CHUNKS + self._bytes // _TINY_CHUNK:
                raise h11.RemoteProtocolError("too many tiny chunks")
        return event
