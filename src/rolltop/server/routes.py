"""What is served over HTTP at which path."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from rolltop.core import logs
from rolltop.core.errors import StoreRefused, Unavailable
from rolltop.server import envelope
from rolltop.server.adapter import CALLER
from rolltop.server.auth import Denied
from rolltop.server.guard import PARAMS
from rolltop.server.replies import Headers, read_body, refuse, replayed, reply, reply_bytes

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rolltop.server.assembly import App
    from rolltop.server.auth import Authentication

_PING_TIMEOUT: Final = 2.0
_LATER: Final = {"retry-after": "1"}
_STOPPING: Final = "The server is stopping"
_CLOSE: Final = {"connection": "close"}
_GOODBYE: Final = {**_LATER, **_CLOSE}
_TYPE: Final = b"content-type"
_JSON: Final = "application/json"


class Routes:
    """The ASGI application behind the gate: /mcp, /health and /ready."""

    def __init__(self, app: App, authentication: Authentication, protocol: ASGIApp) -> None:
        """`protocol` is the SDK's application, which gets what may pass."""
        self._desk = app.desk
        self._authentication = authentication
        self._protocol = protocol
        self._serving = 0
        self._arriving: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no request is being served."""
        await self._idle.wait()

    def refuse_unread(self) -> None:
        """Refuse the requests whose body is still on its way: none of them has begun a call."""
        now = asyncio.get_running_loop().time()
        for reading in self._arriving:
            reading.reschedule(now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; a fault of ours is logged and answered with its reference."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        self._serving += 1
        self._idle.clear()
        try:
            await self._route(scope, receive, noting)
        except (Unavailable, StoreRefused):
            await refuse(send, 503, "The store is out of reach", _LATER)
        except Exception as failure:  # noqa: BLE001  # nothing above would hide what it says
            reference = logs.fault(failure)
            if not started:
                await refuse(send, 500, f"Something failed here (reference {reference})")
        finally:
            self._serving -= 1
            if not self._serving:
                self._idle.set()

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"].rstrip("/"), scope["method"]
        if path == "/mcp":
            await self._mcp(scope, receive, send)
        elif path not in {"/health", "/ready"}:
            await refuse(send, 404, "There is /mcp, /health and /ready")
        elif method not in {"GET", "HEAD"}:
            await refuse(send, 405, "Use GET", {"allow": "GET, HEAD"})
        elif path == "/health":
            await reply(send, 200, {"status": "ok"})
        else:
            await self._ready(send)

    async def _ready(self, send: Send) -> None:
        reason = "the server is stopping" if self._desk.stopping else ""
        try:
            async with asyncio.timeout(_PING_TIMEOUT):
                await self._desk.database.ping()
        except (Unavailable, StoreRefused, TimeoutError):
            reason = reason or "the store is out of reach"
        if reason:
            await reply(send, 503, {"status": "unavailable", "reason": reason}, _LATER)
        else:
            await reply(send, 200, {"status": "ok"})

    async def _mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a message to the SDK if the server is up, the caller known and the message one."""
        if self._desk.stopping:
            await refuse(send, 503, _STOPPING, _GOODBYE)
            return
        caller = await self._authentication.caller(Headers(scope))
        if isinstance(caller, Denied):
            await _deny(send, caller)
            return
        if scope["method"] != "POST":
            # Nothing is kept between requests, so there is no stream to open, no session to end.
            await refuse(send, 405, "Use POST", {"allow": "POST"})
            return
        read = await self._message(scope, receive, send)
        if read is None:
            return
        if not _is_json(Headers(scope)):
            logs.event("request refused", status=415)
            await refuse(send, 415, f"Send {_JSON} as Content-Type")
            return
        body, message = read
        denied = self._authentication.forbids(caller, message)
        if denied is not None:
            await _deny(send, denied)
            return
        # The SDK knows the type in small letters only.
        others = [pair for pair in scope["headers"] if pair[0] != _TYPE]
        scope["headers"] = [*others, (_TYPE, _JSON.encode())]
        scope[CALLER] = caller
        modern = _is_modern(Headers(scope))
        body, scope[PARAMS] = envelope.readable(body, message, modern=modern)
        await self._protocol(scope, replayed(body, receive), send)

    async def _message(
        self, scope: Scope, receive: Receive, send: Send
    ) -> tuple[bytes, JSONRPCMessage] | None:
        """Return the body and the message it holds; None where there is none and that was said."""
        limit: int = self._desk.settings["http.max_body"]
        try:
            body = await self._body(scope, receive, limit)
        except TimeoutError:
            await refuse(send, 503, _STOPPING, _GOODBYE)
            return None
        if body is None:
            logs.event("request refused", status=413)
            await refuse(send, 413, f"A request may have at most {limit} bytes", _CLOSE)
            return None
        message = envelope.read(body)
        if isinstance(message, list):
            logs.event("request refused", status=400, code=message[0].code)
            await reply_bytes(send, 400, message[0].body())
            return None
        return body, message

    async def _body(self, scope: Scope, receive: Receive, limit: int) -> bytes | None:
        """Return what `read_body` does. Raises TimeoutError when the server stops meanwhile."""
        async with asyncio.timeout(0 if self._desk.stopping else None) as reading:
            self._arriving.add(reading)
            try:
                return await read_body(scope, receive, limit)
            finally:
                self._arriving.discard(reading)


def _is_json(headers: Headers) -> bool:
    """Whether the body is said to be JSON; the name of a type is the same in any case."""
    types = headers.all("content-type")
    return len(types) == 1 and types[0].partition(";")[0].strip().lower() == _JSON


def _is_modern(headers: Headers) -> bool:
    """Whether the SDK takes the request for one of the era without a handshake, by its header."""
    versions = headers.all("mcp-protocol-version")
    return bool(versions) and versions[0] not in HANDSHAKE_PROTOCOL_VERSIONS


async def _deny(send: Send, denied: Denied) -> None:
    logs.event("request refused", status=denied.status)
    headers = {"www-authenticate": denied.challenge}
    await refuse(send, denied.status, denied.message, headers)
