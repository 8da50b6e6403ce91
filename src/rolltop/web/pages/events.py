"""The journal as server-sent events, for pages that show what they list as it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rolltop.core.errors import RolltopError
from rolltop.core.journal import history
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tools import JsonObject
from rolltop.web.visit import PageFailure, PageRoute, Visit, find_number

_WAIT_SECONDS: Final = 20


async def stream_changes(visit: Visit) -> Response:
    """Send an event with its number after each change, until the visitor leaves."""
    visit.require("desk_changes")
    with ExitStack() as places:
        places.enter_context(visit.streams.place(visit.principal.actor_id))
        if visit.request.method == "HEAD":
            return Response(media_type=_EventStream.media_type)
        since = find_number(visit.request.headers.get("last-event-id", ""))
        if since is None:
            since = await visit.read(history.last_sequence)
        return _EventStream(_events(visit, since), places.pop_all())


class _EventStream(StreamingResponse):
    """A stream of events that holds its place until it is over, or could not begin."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], place: ExitStack) -> None:
        super().__init__(events, headers={"x-accel-buffering": "no"})
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        with self._place:
            await super().__call__(scope, receive, send)


async def _events(visit: Visit, since: int) -> AsyncIterator[str]:
    try:
        yield "retry: 2000\n\n"
        while (page := await _wait_for_changes(visit, since)) is not None:
            await visit.identify()
            if not visit.is_logged_in:
                break
            if page["changes"]:
                since = page["changes"][-1]["sequence"]
                yield f"id: {since}\ndata: {since}\n\n"
            else:
                yield ": nothing yet\n\n"
    except (PageFailure, RolltopError):
        return  # the page asks again, and is told why


async def _wait_for_changes(visit: Visit, since: int) -> JsonObject | None:
    """Return the changes after a number, none after a while; None when the server stops."""
    waiting = asyncio.create_task(
        visit.call(
            "desk_changes", since=str(since), wait_seconds=_WAIT_SECONDS, project=ALL_PROJECTS
        )
    )
    stopping = asyncio.create_task(visit.streams.ended.wait())
    try:
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return await waiting if waiting.done() else None
    finally:
        waiting.cancel()
        stopping.cancel()


ROUTES: Final[tuple[PageRoute, ...]] = (("/events", "GET", stream_changes),)
