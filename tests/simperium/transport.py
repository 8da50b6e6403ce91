"""The server as an httpx2 transport: no socket, no thread, nothing left to chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from tests.simperium.server import Request, Simperium

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class InProcess(httpx2.AsyncBaseTransport):
    """Answers from `simperium`; what is never answered times out at once."""

    def __init__(self, simperium: Simperium) -> None:
        """Take the server."""
        self._simperium = simperium

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's reply. Raises httpx2's own errors for what gets none."""
        body = await request.aread()
        headers = {name.lower(): value for name, value in request.headers.items()}
        target = request.url.raw_path.decode("ascii")
        reply = self._simperium.answer(Request(request.method, target, headers, body))
        if reply.delivery == "none":
            raise httpx2.ReadTimeout("no answer", request=request)
        if reply.delivery == "close":
            raise httpx2.RemoteProtocolError("closed without an answer", request=request)
        if reply.delivery == "endless":
            return httpx2.Response(reply.status, headers=reply.headers, stream=_Endless())
        return httpx2.Response(reply.status, headers=reply.headers, stream=Whole(reply.body))


class Whole(httpx2.AsyncByteStream):
    """A body that comes at once."""

    def __init__(self, body: bytes) -> None:
        """Take the body."""
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


class _Endless(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"0," * 8192
