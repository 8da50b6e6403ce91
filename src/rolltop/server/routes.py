"""What is served over HTTP at which path."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

from rolltop.core import logging
from rolltop.core.errors import (
    DeadlineExceeded,
    DiskError,
    IncompatibleStore,
    RateLimited,
    Unavailable,
)
from rolltop.core.lazy_imports import lazy
from rolltop.server import jsonrpc
from rolltop.server.asgi_responses import Rejection, client_address, replay_body
from rolltop.server.auth import Authenticator
from rolltop.server.error_middleware import PARAMS_KEY
from rolltop.server.mcp_server import PRINCIPAL_KEY
from rolltop.server.metrics import Metrics
from rolltop.server.oauth import METADATA_PATH
from rolltop.server.request_body import (
    SHUTDOWN_HEADERS,
    SHUTDOWN_MESSAGE,
    RequestBodies,
    RequestMessage,
    rejection_of,
)
from rolltop.server.subscriptions import LISTEN

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rolltop.server.app import ServerApp
    from rolltop.server.page_login import PageLogin
    from rolltop.web import app as web
else:
    web = lazy("rolltop.web.app")

_PING_TIMEOUT: Final = 2.0
_CLOSE_HEADER: Final = (b"connection", b"close")
_RETRY_HEADERS: Final = {"retry-after": "1"}
_METADATA_PATHS: Final = {METADATA_PATH, f"{METADATA_PATH}/mcp"}
_REFUSAL_DELAY: Final = 1.0
"""Seconds that whoever is over a limit waits for the refusal."""
_CONTENT_TYPE: Final = b"content-type"
_JSON: Final = "application/json"


class HttpApp:
    """The ASGI application behind the gate: /mcp, /health, /ready, /metrics, and the page."""

    def __init__(
        self,
        app: ServerApp,
        authentication: Authenticator,
        login: PageLogin,
        protocol: ASGIApp | None,
        metrics: Metrics,
    ) -> None:
        """`protocol` is the SDK's application, which gets what may pass; None for no /mcp."""
        self._desk = app.context
        self._authentication = authentication
        self._login = login
        self._protocol = protocol
        told = _METADATA_PATHS if authentication.issuer is not None else set[str]()
        self._own_paths = {"/health", "/ready", "/metrics"} | told
        self._metrics = metrics
        self._page: web.WebPage | None = None
        self.is_draining = False
        """Whether the server is about to stop: balancers hear that it is not ready any more."""
        self._has_ended_streams = False
        self._is_refusing = False
        self._serving = 0
        self._held_back = 0
        self._bodies = RequestBodies(
            app.context.turns,
            max_body=app.context.settings["http.max_body"],
            max_total=app.context.settings["http.max_bodies"],
        )
        self._limits = authentication.limits
        self._idle = asyncio.Event()
        self._idle.set()

    async def wait_idle(self) -> None:
        """Wait until no request is being served."""
        await self._idle.wait()

    def close_streams(self) -> None:
        """Let the page's streams of changes end, also those that open later."""
        self._has_ended_streams = True
        if self._page is not None:
            self._page.close_streams()

    def refuse_new(self) -> None:
        """Refuse further requests, and those whose body is still on its way.

        What has been read is answered, however long it waits for its turn.
        """
        self._is_refusing = True
        self._bodies.reject_unread()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; a fault of ours is logged and answered with its reference."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            if self.is_draining and message["type"] == "http.response.start":
                others = [pair for pair in message["headers"] if pair[0] != _CLOSE_HEADER[0]]
                message = {**message, "headers": [*others, _CLOSE_HEADER]}
            await send(message)

        self._serving += 1
        self._idle.clear()
        try:
            await self._serve(scope, receive, noting)
        except Rejection as rejected:
            await rejected.answer(scope, receive, noting)
        except Exception as failure:  # noqa: BLE001  # nothing above would hide what it says
            reference = logging.fault(failure)
            if not started:
                text = f"Something failed here (reference {reference})"
                await JSONResponse({"error": text}, 500)(scope, receive, send)
        finally:
            self._serving -= 1
            if not self._serving:
                self._idle.set()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Raises Rejection."""
        try:
            await self._route(scope, receive, send)
        except RateLimited as failure:
            await self._hold_back()
            headers = {"retry-after": str(failure.retry_after)}
            raise Rejection.with_message(429, failure.message, headers) from None
        except (Unavailable, IncompatibleStore, DeadlineExceeded) as failure:
            text, reason = "The store is out of reach", failure.log_reason
            raise Rejection.with_message(503, text, _RETRY_HEADERS, reason=reason) from None

    async def _hold_back(self) -> None:
        """Keep a caller who is over a limit waiting: its refusals would cost more than its calls.

        So many at once, and no more: each has one of the server's connections.
        """
        most: int = self._desk.settings["http.max_client_connections"]
        if self._held_back < most and not self.is_draining:
            self._held_back += 1
            try:
                await asyncio.sleep(_REFUSAL_DELAY)
            finally:
                self._held_back -= 1

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"].rstrip("/"), scope["method"]
        if path == "/mcp" and self._protocol is not None:
            await self._mcp(self._protocol, scope, receive, send)
        elif path not in self._own_paths:
            await self._show_page(scope, receive, send)
        else:
            response = await self._answer(scope, path, method)
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, path: str, method: str) -> Response:
        """Return the answer of one of the server's own paths. Raises Rejection."""
        if path == "/metrics":
            self._metrics.check_reader(scope)
        if method not in {"GET", "HEAD"}:
            raise Rejection.with_message(405, "Use GET", {"allow": "GET, HEAD"})
        if path in _METADATA_PATHS and self._authentication.issuer is not None:
            return JSONResponse(self._authentication.issuer.metadata())
        if path == "/metrics":
            headers = {"content-type": self._metrics.content_type, "cache-control": "no-store"}
            return Response(await self._metrics.render(), headers=headers)
        return JSONResponse({"status": "ok"}) if path == "/health" else await self._ready()

    async def _ready(self) -> Response:
        reason = "the server is stopping" if self.is_draining else ""
        try:
            async with asyncio.timeout(_PING_TIMEOUT):
                await self._desk.database.ping()
        except DiskError as failure:
            reason = reason or failure.message
        except (Unavailable, IncompatibleStore, TimeoutError):
            reason = reason or "the store is out of reach"
        if reason:
            return JSONResponse({"status": "unavailable", "reason": reason}, 503, _RETRY_HEADERS)
        return JSONResponse({"status": "ok"})

    async def _show_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the page for people, which is loaded at its first use."""
        self._check_running()
        if self._page is None:
            make = await self._desk.run_in_thread(lambda: web.WebPage)
            self._page = self._page or make(self._desk, self._login, self._hold_back)
            if self._has_ended_streams:
                self._page.close_streams()
        await self._page(scope, receive, send)

    async def _mcp(self, protocol: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a message to the SDK if the server is up, the caller known and the message one."""
        self._check_running()
        headers = Headers(scope=scope)
        try:
            async with self._desk.deadline("Authentication", "Try again."):
                caller = await self._authentication.authenticate(headers, client_address(scope))
        except Rejection as rejected:
            self._limits.count(rejected.caller)
            raise
        scope[PRINCIPAL_KEY] = caller
        token = (caller.token_id or caller.actor_id) if caller else ""
        self._limits.count(token)
        if scope["method"] != "POST":
            # Nothing is kept between requests, so there is no stream to open, no session to end.
            raise Rejection.with_message(405, "Use POST", {"allow": "POST"})
        async with self._bodies.message(scope, receive, token) as read:
            self._authentication.check_permission(caller, read.message)
            is_stream = getattr(read.message, "method", "") == LISTEN  # counted by themselves
            with self._limits.running("" if is_stream else token):
                await self._hand_over(protocol, read, scope, receive, send)

    def _check_running(self) -> None:
        """Raise Rejection once the server takes no new requests."""
        if self._is_refusing:
            raise Rejection.with_message(503, SHUTDOWN_MESSAGE, SHUTDOWN_HEADERS)

    async def _hand_over(
        self,
        protocol: ASGIApp,
        read: RequestMessage,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        # The SDK knows the type in small letters only.
        others = [pair for pair in scope["headers"] if pair[0] != _CONTENT_TYPE]
        scope["headers"] = [*others, (_CONTENT_TYPE, _JSON.encode())]
        modern = _is_modern(Headers(scope=scope))
        if read.body is None:
            body = jsonrpc.strip_params(read.message, modern=modern)
            if isinstance(body, jsonrpc.JsonRpcRefusal):
                raise rejection_of(body)
            scope[PARAMS_KEY] = getattr(read.message, "params", None) or {}
        else:
            body, scope[PARAMS_KEY] = jsonrpc.rewrite_for_sdk(
                read.body, read.message, modern=modern
            )
        await protocol(scope, replay_body(body, receive), send)


def _is_modern(headers: Headers) -> bool:
    """Whether the SDK takes the request for one of the era without a handshake, by its header."""
    version = headers.get("mcp-protocol-version")
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
