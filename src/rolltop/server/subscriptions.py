"""Who wants to hear that a resource changed, and telling them: each caller of their own only."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
from mcp_types import (
    INTERNAL_ERROR,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from rolltop.core.addresses import shorten_address
from rolltop.core.db import SYSTEM
from rolltop.core.errors import IncompatibleStore, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import Principal

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from rolltop.core import accounts
    from rolltop.core.context import AppContext
    from rolltop.server.error_middleware import Route
    from rolltop.server.identity import PrincipalResolver
else:
    accounts = lazy("rolltop.core.accounts")

_TOKEN_CHECK_INTERVAL: Final = 0.5
LISTEN: Final = "subscriptions/listen"
_MAX_STREAMS: Final = 1000
_MAX_USER_STREAMS: Final = 20
_MAX_WATCHED: Final = 10_000


class _UserEventBus:
    """The events of one user, as the bus that a listen stream subscribes to."""

    def __init__(self, listeners: dict[object, Callable[[ServerEvent], None]]) -> None:
        self._listeners = listeners

    async def publish(self, event: ServerEvent) -> None:
        """Hand the event to every stream of the user."""
        for listener in tuple(self._listeners.values()):
            listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener; returns what removes it."""
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe


class Subscriptions:
    """The open `subscriptions/listen` streams, and the watched resources of a stdio client."""

    def __init__(self, app: AppContext, identify: PrincipalResolver) -> None:
        """Listen to the context's changes; `identify` returns a request's principal."""
        self._identify = identify
        self._users: defaultdict[str, dict[object, Callable[[ServerEvent], None]]]
        self._users = defaultdict(dict)
        self._database = app.database
        self._streams: dict[ListenHandler, str] = {}
        """Each open stream, with the id of the token that opened it."""
        self._check_task: asyncio.Task[None] | None = None
        self._watched: dict[str, ServerSession] = {}
        self._notify_tasks: set[asyncio.Task[None]] = set()
        app.change_listeners.append(self._publish_change)

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves or the server stops."""
        if len(self._streams) >= _MAX_STREAMS:
            raise MCPError(INTERNAL_ERROR, "Too many open subscriptions")
        scope = await self._identify(context)
        user = scope.user_id
        if len(self._users.get(user, ())) >= _MAX_USER_STREAMS:
            text = f"You have {_MAX_USER_STREAMS} open subscriptions, the most there may be"
            raise MCPError(INTERNAL_ERROR, text)
        stream = ListenHandler(_UserEventBus(self._users[user]))
        self._streams[stream] = scope.token_id
        if scope.token_id and (self._check_task is None or self._check_task.done()):
            self._check_task = asyncio.create_task(self._end_revoked())
        try:
            return await stream(context, params)
        finally:
            del self._streams[stream]
            if not self._users[user]:
                del self._users[user]

    @property
    def count(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def legacy_routes(self) -> list[Route]:
        """Return the methods of the era before `listen`, for a connection that can deliver."""
        return [
            ("resources/subscribe", SubscribeRequestParams, self.watch),
            ("resources/unsubscribe", UnsubscribeRequestParams, self.unwatch),
        ]

    async def watch(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        """Remember a resource that the one client of a legacy connection wants to hear of."""
        if len(self._watched) >= _MAX_WATCHED:
            raise MCPError(INTERNAL_ERROR, "Too many subscriptions")
        self._watched[params.uri] = context.session
        return EmptyResult()

    async def unwatch(
        self, _context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        """Forget a resource; one that was never watched is no error."""
        self._watched.pop(params.uri, None)
        return EmptyResult()

    def close(self) -> None:
        """Let every stream send what it holds and then end."""
        for stream in tuple(self._streams):
            stream.close()

    async def _end_revoked(self) -> None:
        """End streams whose token was revoked or has expired, whichever process learned of it."""
        while tokens := {token for token in self._streams.values() if token}:
            await asyncio.sleep(_TOKEN_CHECK_INTERVAL)
            try:
                valid = await self._database.read(SYSTEM, accounts.find_valid_tokens, tokens)
            except (Unavailable, IncompatibleStore):
                continue
            for stream, token in tuple(self._streams.items()):
                if token in tokens - valid:
                    stream.close()

    def _publish_change(self, principal: Principal, uri: str) -> None:
        for name in dict.fromkeys((uri, shorten_address(uri))):
            event = ResourceUpdated(name)
            for listener in tuple(self._users.get(principal.user_id, {}).values()):
                listener(event)
            if name in self._watched:
                telling = asyncio.create_task(self._watched[name].send_resource_updated(name))
                self._notify_tasks.add(telling)
                telling.add_done_callback(self._notify_tasks.discard)
