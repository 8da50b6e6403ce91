"""The check in front of every route: is this server meant, and may this web page call it (CORS)."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import Settings
from rolltop.server.asgi_responses import CLOSE_HEADERS, Rejection
from rolltop.server.connections import MAX_HEADERS
from rolltop.web.visit import is_origin_of

PROBE_PATHS: Final = {"/health", "/ready"}
_MAX_SHOWN_CHARACTERS: Final = 100
_PREFLIGHT_HEADERS: Final = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": (
        "authorization, content-type, accept, last-event-id,"
        " mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, rolltop-workspace"
    ),
    "access-control-max-age": "7200",
    "vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
}
_EXPOSED_HEADERS: Final = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after"
_PRIVATE_NETWORK: Final = "access-control-request-private-network"
_WEB_SCHEMES: Final = frozenset({"http", "https"})
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"null|[a-z][a-z0-9+.-]*://[^\s/?#@*]+/*", re.IGNORECASE)


class HostCheck:
    """ASGI middleware that refuses a foreign Host (421) and a foreign Origin (403).

    Without it any web page could reach a server on this machine by pointing a name of its own
    at the loopback address. Names of the loopback itself are always welcome, and probes, which
    know an address only, may ask under any name where they are expected.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._hosts = frozenset(x.lower().rstrip(".") for x in settings["http.allowed_hosts"])
        self._origins = frozenset(x.lower().rstrip("/") for x in settings["http.allowed_origins"])
        self._probe_networks = probe_networks(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a welcome request through, and answer any other."""
        headers = Headers(scope=scope)
        origins = headers.getlist("origin")
        try:
            _check_framing(scope, headers)
            self._check_names(scope, headers.getlist("host"), origins)
        except Rejection as rejected:
            await rejected.answer(scope, receive, send)
            return
        if not origins:
            await self._app(scope, receive, send)
        elif _is_preflight(scope["method"], headers):
            await _answer_preflight(headers, send)
        else:
            await self._app(scope, receive, _readable_by(origins[0], send))

    def _check_names(self, scope: Scope, hosts: list[str], origins: list[str]) -> None:
        """Refuse a Host that the server does not answer to, and a page that may not call it.

        Raises Rejection.
        """
        is_own = len(hosts) == 1 and self._is_own(hosts[0])
        if not is_own and not self._is_probe(scope):
            named = (
                f"the Host {hosts[0][:_MAX_SHOWN_CHARACTERS]!r}"
                if len(hosts) == 1
                else "a request without one Host"
            )
            text = f"This server does not answer to {named}; http.allowed_hosts may list its names"
            reason = "the Host is not in http.allowed_hosts"
            raise Rejection.with_message(421, text, reason=reason)
        if not all(self._is_allowed_origin(hosts, origin) for origin in origins):
            text = "Pages of that Origin may not call this server; http.allowed_origins may list it"
            raise Rejection.with_message(403, text)

    def _is_probe(self, scope: Scope) -> bool:
        """Whether it is asked for one of the paths of probes where those are expected."""
        ends = scope["server"], scope["client"]
        return scope["path"] in PROBE_PATHS and any(map(self._is_probe_target, ends))

    def _is_probe_target(self, end: tuple[str, int | None] | None) -> bool:
        """Whether probes are expected at, or from, this end of a connection."""
        if end is None or end[1] is None:  # a Unix socket
            return True
        address = _read_address(end[0].partition("%")[0])
        return address.is_loopback or any(address in network for network in self._probe_networks)

    def _is_own(self, authority: str) -> bool:
        found = _AUTHORITY.fullmatch(authority)
        if found is None:
            return False
        name, port = found[1].lower().rstrip("."), found[2]
        return is_loopback(name) or name in self._hosts or f"{name}:{port}" in self._hosts

    def _is_allowed_origin(self, hosts: list[str], origin: str) -> bool:
        scheme = origin.lower().partition("://")[0]
        if origin.lower() in self._origins:
            return True
        # Our own page, whose forms say where they are from; a proxy knows whether by https.
        if scheme in _WEB_SCHEMES and len(hosts) == 1 and is_origin_of(hosts[0], origin):
            return self._is_own(hosts[0])
        try:
            parts = urlsplit(origin)
            host = parts.hostname or ""
        except ValueError:
            return False
        whole = f"{parts.scheme}://{parts.netloc}" == origin and "@" not in parts.netloc
        return whole and parts.scheme in _WEB_SCHEMES and is_loopback(host)


def _check_framing(scope: Scope, headers: Headers) -> None:
    """Refuse what may be part of another request: two say where it ends. Raises Rejection."""
    encodings = headers.getlist("transfer-encoding")
    if encodings and (headers.getlist("content-length") or scope["http_version"] == "1.0"):
        text = "Send Content-Length or Transfer-Encoding (not in HTTP/1.0), never both"
        raise Rejection.with_message(400, text, CLOSE_HEADERS)
    if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > MAX_HEADERS:
        text = f"The headers of a request may have at most {MAX_HEADERS} bytes"
        raise Rejection.with_message(431, text, CLOSE_HEADERS)


def _is_preflight(method: str, headers: Headers) -> bool:
    return method == "OPTIONS" and "access-control-request-method" in headers


async def _answer_preflight(headers: Headers, send: Send) -> None:
    """Tell a browser what pages of the origin, which is an allowed one, may send."""
    pairs = {"access-control-allow-origin": headers["origin"], **_PREFLIGHT_HEADERS}
    if headers.get(_PRIVATE_NETWORK) == "true":
        pairs["access-control-allow-private-network"] = "true"
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": 204, "headers": encoded})
    await send({"type": "http.response.body"})


def _readable_by(origin: str, send: Send) -> Send:
    """Return a `send` whose responses pages of the origin may read."""
    pairs = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED_HEADERS.encode()),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *pairs]}
        await send(message)

    return send_readable


def probe_networks(settings: Settings) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return where probes are expected.

    Raises InvalidConfig: the setting holds what is no address and no network.
    """
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    for text in settings["http.probe_addresses"]:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError as failure:
            raise InvalidConfig(
                f"http.probe_addresses: {text!r} is neither an address nor a network",
                hint="Write 10.0.0.7 or 10.0.0.0/8.",
            ) from failure
    return networks


def check_names(settings: Settings) -> None:
    """Raise InvalidConfig where a name is listed that no request can come with."""
    for key, form, example in (
        ("http.allowed_hosts", _AUTHORITY, "desk.example.org, without https:// and without *"),
        ("http.allowed_origins", _ORIGIN, "https://desk.example.org, without a path and without *"),
    ):
        for text in settings[key]:
            if not form.fullmatch(text):
                raise InvalidConfig(f"{key}: {text!r} matches no request", hint=f"Write {example}.")


def is_loopback(host: str) -> bool:
    """Whether this name or address means this machine only."""
    if host == "localhost":
        return True
    try:
        return _read_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; one of IPv4 that an IPv6 socket gives is that. Raises ValueError."""
    address = ipaddress.ip_address(text)
    return getattr(address, "ipv4_mapped", None) or address
