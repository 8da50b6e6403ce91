"""Reading requests and writing short replies, below the protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Message, Receive, Scope, Send


class Headers:
    """The headers of a request, by name in lower case."""

    def __init__(self, scope: Scope) -> None:
        """Hold an ASGI scope's headers."""
        self._pairs: list[tuple[bytes, bytes]] = scope["headers"]

    def all(self, name: str) -> list[str]:
        """Return every value of the header, in order."""
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._pairs if key == wanted]


async def reply(
    send: Send, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """Send a JSON object."""
    await reply_bytes(send, status, json.dumps(value).encode(), headers)


async def refuse(
    send: Send, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    """Send an error, as JSON with the one field `error`."""
    await reply(send, status, {"error": message}, headers)


async def reply_bytes(
    send: Send, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    """Send JSON that is encoded already."""
    pairs = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **(headers or {}),
    }
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """Return the whole body; None if it has more than `limit` bytes or its sender left."""
    declared = "".join(Headers(scope).all("content-length")[:1])
    if declared.isdecimal() and int(declared) > limit:
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once more and then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
