"""The check in front of every route: is this server meant, and may this web page call it."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from rolltop.core import logs
from rolltop.server.replies import Headers, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.IGNORECASE)


class Gate:
    """ASGI middleware that refuses a foreign Host (421) and a foreign Origin (403).

    Without it any web page could reach a server on this machine by pointing a name of its own
    at the loopback address. Names of the loopback itself are always welcome.
    """

    def __init__(
        self, app: ASGIApp, *, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]
    ) -> None:
        """`allowed_hosts` are names, with a port or for any; `allowed_origins` whole origins."""
        self._app = app
        self._hosts = frozenset(host.lower().rstrip(".") for host in allowed_hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a welcome request through, and answer any other."""
        headers = Headers(scope)
        hosts, origins = headers.all("host"), headers.all("origin")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            logs.event("request refused", status=421)
            await refuse(send, 421, "This server does not answer to that Host")
        elif any(not self._may_call(origin) for origin in origins):
            logs.event("request refused", status=403)
            await refuse(send, 403, "Pages of that Origin may not call this server")
        else:
            await self._app(scope, receive, send)

    def _is_own(self, authority: str) -> bool:
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            return False
        name, port = found[1].lower().rstrip("."), found[2]
        return is_loopback(name) or name in self._hosts or f"{name}:{port}" in self._hosts

    def _may_call(self, origin: str) -> bool:
        if origin.lower() in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            host = parts.hostname or ""
        except ValueError:
            return False
        whole = f"{parts.scheme}://{parts.netloc}" == origin and "@" not in parts.netloc
        return whole and parts.scheme in {"http", "https"} and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether this name or address means this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
