"""What is asked of a request below the protocol, its refusal, and its body given once more."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from rolltop.core import logging
from rolltop.core.principal import Principal
from rolltop.server.mcp_server import PRINCIPAL_KEY

CLOSE_HEADERS: Final = {"connection": "close"}
_PATHS: Final = {"/mcp", "/health", "/ready", "/metrics"}


class Rejection(Exception):
    """A request that is not served: the answer to it, and why it is not, for the log.

    `caller` is whose request it was, if that is known: rejected ones count for the limits too.
    """

    def __init__(self, response: Response, reason: str, caller: str = "") -> None:
        super().__init__(reason)
        self.response: Final = response
        self.reason: Final = reason
        self.caller: Final = caller

    @classmethod
    def with_message(
        cls,
        status: int,
        text: str,
        headers: Mapping[str, str] | None = None,
        *,
        reason: str = "",
        caller: str = "",
    ) -> Rejection:
        """Return one that answers with `{"error": text}`."""
        return cls(JSONResponse({"error": text}, status, headers), reason or text, caller)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, and log why it is not served."""
        if self.response.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            # Clients of the handshake era ask by GET for a stream after each connect.
            log_refusal(scope, self.response.status_code, self.reason)
        await self.response(scope, receive, send)


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
