"""Who wants to hear that a resource changed, and telling them: each caller of their own only."""

from __future__ import annotations

import asyncio
from collections import defaultdict
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.server.guard import Route
    from rolltop.server.identity import Identify

_MOST_STREAMS: Final = 1024
_MOST_WATCHED: Final = 10_000


class _OwnEvents:
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

    def __init__(self, desk: Desk, identify: Identify) -> None:
        """Listen to the desk's changes; `identify` tells whose a request is."""
        self._identify = identify
        self._users: defaultdict[str, dict[object, Callable[[ServerEvent], None]]]
        self._users = defaultdict(dict)
        self._streams: set[ListenHandler] = set()
        self._watched: dict[str, ServerSession] = {}
        self._telling: set[asyncio.Task[None]] = set()
        desk.listeners.append(self._changed)

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves or the server stops."""
        if len(self._streams) >= _MOST_STREAMS:
            raise MCPError(INTERNAL_ERROR, "Too many open subscriptions")
        user = (await self._identify(context)).user_id
        stream = ListenHandler(_OwnEvents(self._users[user]))
        self._streams.add(stream)
        try:
            return await stream(context, params)
        finally:
            self._streams.discard(stream)
            if not self._users[user]:
                del self._users[user]

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
        if len(self._watched) >= _MOST_WATCHED:
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

    def _changed(self, scope: Scope, uri: str) -> None:
        event = ResourceUpdated(uri)
        for listener in tuple(self._users.get(scope.user_id, {}).values()):
            listener(event)
        if uri in self._watched:
            telling = asyncio.create_task(self._watched[uri].send_resource_updated(uri))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
