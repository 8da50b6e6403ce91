"""Who wants to hear that a resource changed, and telling them: each caller of their own only.

What this process writes is told at once. What others write is found in the journal, which is asked
once a second while somebody listens.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

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

from rolltop.core.addresses import RECORD_KINDS, full_address, shorten_address
from rolltop.core.db import SYSTEM
from rolltop.core.errors import IncompatibleStore, RolltopError, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import Principal
from rolltop.toolsets.scratch import TOOLSET as SCRATCH

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from rolltop.core import accounts
    from rolltop.core.addresses import Kind
    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.journal import history
    from rolltop.core.journal.history import Entry
    from rolltop.server.error_middleware import Context, Route
    from rolltop.server.identity import PrincipalResolver
    from rolltop.toolsets.scratch.service.scratch_service import ScratchService
else:
    accounts = lazy("rolltop.core.accounts")
    history = lazy("rolltop.core.journal.history")

_FOLLOW_INTERVAL: Final = 1.0
_MAX_ENTRIES: Final = 500
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


def _can_end(caller: Principal) -> bool:
    return caller.can_end or caller.is_anonymous


_Change = tuple[str, str]
"""An operation, and the address of what it changed."""


class _Follower:
    """Follows one user's journal for what other processes write."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._told: set[_Change] = set()
        self._told_before: set[_Change] = set()

    def remember(self, operation: str, uri: str) -> None:
        """Take it that listeners know by now what an operation of this process changed."""
        self._told.add((operation, uri))

    async def read(self, app: AppContext, principal: Principal) -> list[str]:
        """Return the addresses of what was changed since the last time and is not known yet."""
        self._last, changes = await app.database.read(principal, _read_changes, app, self._last)
        # An operation is remembered just after its commit: at the latest before the next time.
        known = self._told | self._told_before
        self._told, self._told_before = set(), self._told
        return list(
            dict.fromkeys(uri for operation, uri in changes if (operation, uri) not in known)
        )


def _read_changes(tx: Tx, app: AppContext, last: int) -> tuple[int, list[_Change]]:
    """Return what was changed after a number of the journal, and the last number of it."""
    if history.last_sequence(tx) <= last:
        return last, []
    wanted = history.EntryFilter(after=last)
    entries = history.read_entries(tx, wanted, limit=_MAX_ENTRIES)
    return (entries[-1].sequence if entries else last), list(_name_changes(tx, app, entries))


def _name_changes(tx: Tx, app: AppContext, entries: list[Entry]) -> Iterator[_Change]:
    """Yield what each entry changed; a cell's pad is changed with it."""
    cells = [entry for entry in entries if entry.kind == "cell"]
    pads: dict[str, str] = {}
    if cells and app.has_toolset(SCRATCH.name):
        scratch: ScratchService = app.load_service(SCRATCH.service)
        pads = scratch.find_pads_of_entries(tx, cells)
    for entry in entries:
        if entry.kind in RECORD_KINDS:
            yield entry.operation, full_address(cast("Kind", entry.kind), entry.ref)
        if entry.kind == "cell" and entry.ref in pads:
            yield entry.operation, full_address("pad", pads[entry.ref])


class Subscriptions:
    """The open `subscriptions/listen` streams, and the watched resources of a stdio client."""

    def __init__(self, app: AppContext, identify: PrincipalResolver) -> None:
        """Listen to the context's changes; `identify` returns a request's principal."""
        self._identify = identify
        self._users: defaultdict[str, dict[object, Callable[[ServerEvent], None]]]
        self._users = defaultdict(dict)
        self._app = app
        self._streams: dict[ListenHandler, Principal] = {}
        """Each open stream, with who opened it."""
        self._is_closed = False
        self._check_task: asyncio.Task[None] | None = None
        self._followers: dict[str, _Follower] = {}
        self._follow_tasks: set[asyncio.Task[None]] = set()
        self._watched: dict[str, ServerSession] = {}
        self._notify_tasks: set[asyncio.Task[None]] = set()
        app.change_listeners.append(self._publish_change)

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves or the server stops."""
        scope = await self._identify(context)
        user = scope.user_id
        # Nothing waits from here until the stream is counted.
        if len(self._streams) >= _MAX_STREAMS:
            raise MCPError(INTERNAL_ERROR, "Too many open subscriptions")
        theirs = [one for one in self._streams.values() if one.actor_id == scope.actor_id]
        if len(theirs) >= _MAX_USER_STREAMS:
            text = f"You have {_MAX_USER_STREAMS} open subscriptions, the most there may be"
            raise MCPError(INTERNAL_ERROR, text)
        stream = ListenHandler(_UserEventBus(self._users[user]))
        self._streams[stream] = scope
        if _can_end(scope) and (self._check_task is None or self._check_task.done()):
            self._check_task = asyncio.create_task(self._end_revoked())
        try:
            await self._follow(scope)
            if self._is_closed:  # once it has begun: what it acknowledges, it also ends
                asyncio.get_running_loop().call_soon(stream.close)
            return await stream(context, params)
        finally:
            del self._streams[stream]
            if all(other.user_id != user for other in self._streams.values()):
                self._users.pop(user, None)

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

    async def watch(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Remember a resource that the one client of a legacy connection wants to hear of."""
        if len(self._watched) >= _MAX_WATCHED:
            raise MCPError(INTERNAL_ERROR, "Too many subscriptions")
        await self._follow(await self._identify(context))
        self._watched[params.uri] = context.session
        return EmptyResult()

    async def unwatch(self, _context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Forget a resource; one that was never watched is no error."""
        self._watched.pop(params.uri, None)
        return EmptyResult()

    def close(self) -> None:
        """Let every stream, also one that opens later, send what it holds and then end."""
        self._is_closed = True
        for task in self._follow_tasks:
            task.cancel()
        for stream in tuple(self._streams):
            stream.close()

    async def _follow(self, principal: Principal) -> None:
        """Follow the journal of the principal's user from now on, while somebody listens."""
        if principal.user_id in self._followers:
            return
        last = await self._app.database.read(principal, history.last_sequence)
        if principal.user_id not in self._followers:
            self._followers[principal.user_id] = follower = _Follower(last)
            task = asyncio.create_task(self._tell_of_others(principal, follower))
            self._follow_tasks.add(task)
            task.add_done_callback(self._follow_tasks.discard)

    async def _tell_of_others(self, principal: Principal, follower: _Follower) -> None:
        user = principal.user_id
        try:
            await asyncio.sleep(_FOLLOW_INTERVAL)
            while self._users.get(user) or self._watched:
                with suppress(RolltopError):  # out of reach for now
                    for uri in await follower.read(self._app, principal):
                        self._publish(user, uri)
                await asyncio.sleep(_FOLLOW_INTERVAL)
        finally:
            del self._followers[user]

    async def _end_revoked(self) -> None:
        """End streams whose caller may not call any more, whichever process learned of it.

        The token was revoked or has expired, its user has left the workspace, or there was none
        and one is needed now.
        """
        while scopes := {scope for scope in self._streams.values() if _can_end(scope)}:
            await asyncio.sleep(_TOKEN_CHECK_INTERVAL)
            try:
                allowed = await self._app.database.read(SYSTEM, accounts.find_allowed, scopes)
            except (Unavailable, IncompatibleStore):
                continue
            for stream, scope in tuple(self._streams.items()):
                if scope in scopes - allowed:
                    stream.close()

    def _publish_change(self, principal: Principal, uri: str) -> None:
        if follower := self._followers.get(principal.user_id):
            follower.remember(principal.operation, uri)
        self._publish(principal.user_id, uri)

    def _publish(self, user: str, uri: str) -> None:
        for name in dict.fromkeys((uri, shorten_address(uri))):
            event = ResourceUpdated(name)
            for listener in tuple(self._users.get(user, {}).values()):
                listener(event)
            if name in self._watched:
                telling = asyncio.create_task(self._watched[name].send_resource_updated(name))
                self._notify_tasks.add(telling)
                telling.add_done_callback(self._notify_tasks.discard)
