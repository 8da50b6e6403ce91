"""What is asked of a request below the protocol, and its body given once more."""

from __future__ import annotations

from typing import Final

from starlette.types import Message, Receive, Scope

from rolltop.core import logging
from rolltop.core.principal import Principal
from rolltop.server.mcp_server import PRINCIPAL_KEY

_PATHS: Final = {"/mcp", "/health", "/ready", "/metrics"}


def client_address(scope: Scope) -> str:
    """Return the address that a request came from; empty for a Unix socket."""
    address, *_ = scope["client"] or ("",)
    return address


def log_refusal(scope: Scope, status: int, reason: str) -> None:
    """Log that a request was refused, why, where it came from and whose it was, if that is known.

    Nothing that it said.
    """
    path = scope["path"] if scope["path"] in _PATHS else "other"
    caller: Principal | None = scope.get(PRINCIPAL_KEY)
    whose = {"user_id": caller.actor_id, **logging.caller_ids(caller)} if caller else {}
    logging.event(
        "request refused",
        status=status,
        reason=reason,
        address=client_address(scope),
        path=path,
        **whose,
    )


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once more and then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
