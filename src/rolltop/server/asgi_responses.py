"""Reading requests and writing short replies, below the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import Message, Receive, Scope, Send

from rolltop.core import logging

_PATHS: Final = {"/mcp", "/health", "/ready", "/metrics"}


class RequestHeaders:
    """The headers of a request, by name in lower case."""

    def __init__(self, scope: Scope) -> None:
        self._pairs: list[tuple[bytes, bytes]] = scope["headers"]

    def all(self, name: str) -> list[str]:
        """Return every value of the header, in order."""
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._pairs if key == wanted]


async def send_json(
    send: Send, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """Send a JSON object."""
    await send_json_bytes(send, status, json.dumps(value).encode(), headers)


async def send_error(
    send: Send, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    """Send an error, as JSON with the one field `error`."""
    await send_json(send, status, {"error": message}, headers)


async def send_json_bytes(
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


def client_address(scope: Scope) -> str:
    """Return the address that a request came from; empty for a Unix socket."""
    address, *_ = scope["client"] or ("",)
    return address


def log_refusal(scope: Scope, status: int, reason: str) -> None:
    """Log that a request was refused, why, and from where it came; nothing that it said."""
    path = scope["path"] if scope["path"] in _PATHS else "other"
    logging.event(
        "request refused",
        status=status,
        reason=reason,
        address=client_address(scope),
        path=path,
    )


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once more and then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
