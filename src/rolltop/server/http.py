"""MCP over streamable HTTP, stateless, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from rolltop.core import logs
from rolltop.core.errors import ConfigInvalid, RolltopError, StartFailed
from rolltop.core.leaving import leave
from rolltop.server import assembly
from rolltop.server.auth import Authentication
from rolltop.server.ending import Ending
from rolltop.server.gate import Gate, is_loopback
from rolltop.server.routes import Routes

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from rolltop.core.settings import Settings
    from rolltop.server.assembly import App

_AFTER_GRACE: Final = 1.9
_CONNECTIONS_CLOSING: Final = 1
_STORE_CLOSING: Final = 0.3
_BACKLOG: Final = 2048
_USER_ONLY: Final = 0o600


def serve_http(settings: Settings) -> int:
    """Serve over HTTP until a signal comes; the process ends here with 0.

    Raises:
        ConfigInvalid: a setting is wrong, or the address may not be served as it is set up.
        StartFailed: the address is taken, or the store is refused.

    """
    return serve(assembly.build(settings, http=True))


def serve(app: App) -> int:
    """Serve an application that is already put together."""
    settings = app.desk.settings
    exposed = _is_exposed(settings)
    authentication = Authentication(app.desk, exposed=exposed)
    app.check()
    authentication.check()
    listening = [_bound(settings["http.host"], settings["http.port"])]
    if settings["http.socket"] is not None:
        listening.append(_bound_socket(settings["http.socket"]))
    code = asyncio.run(_serve(app, authentication, listening))
    if settings["http.socket"] is not None:
        settings["http.socket"].unlink(missing_ok=True)
    leave(code)


class _WebServer(uvicorn.Server):
    """uvicorn without its own reading of signals, which would end the process by them."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def _serve(app: App, authentication: Authentication, listening: list[socket.socket]) -> int:
    """Serve until the end is wished for, then end in order; returns the exit code."""
    settings = app.desk.settings
    grace: float = settings["http.shutdown_timeout"]
    ending = Ending(grace + _AFTER_GRACE)
    ending.on_signals()
    app.on_refused = lambda code: ending.begin("the store is refused", code)
    # The routes have bounded the body already, and the gate has checked where it came from.
    manager = StreamableHTTPSessionManager(
        app.server, stateless=True, max_request_body_size=settings["http.max_body"] + 1
    )
    routes = Routes(app, authentication, manager.handle_request)
    web = _web_server(settings, routes)
    async with manager.run():
        serving = asyncio.create_task(web.serve(listening))
        wish = asyncio.create_task(ending.wished())
        app.start()
        logs.event("started", transport="http", url=_url(listening[0]))
        await asyncio.wait({serving, wish}, return_when=asyncio.FIRST_COMPLETED)
        ending.begin("the web server ended", code=1)
        logs.event("stopping", reason=ending.reason)
        app.stop_calls(refuse=True)
        routes.refuse_unread()
        await app.finish_calls(routes.idle, grace)
        web.should_exit = True
        await asyncio.wait({serving}, timeout=_CONNECTIONS_CLOSING + 0.3)
    await app.close(_STORE_CLOSING)
    logs.event("stopped")
    return ending.code


def _web_server(settings: Settings, routes: Routes) -> _WebServer:
    gate = Gate(
        routes,
        allowed_hosts=settings["http.allowed_hosts"],
        allowed_origins=settings["http.allowed_origins"],
    )
    return _WebServer(
        uvicorn.Config(
            gate,
            interface="asgi3",
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_CONNECTIONS_CLOSING,
        )
    )


def _is_exposed(settings: Settings) -> bool:
    """Whether others than this machine can connect.

    Raises:
        ConfigInvalid: they can, and the settings do not say who may and under which name.

    """
    host = settings["http.host"]
    if is_loopback(host):
        return False
    if settings["http.auth"] == "off":
        raise ConfigInvalid(
            f"http.host: {host!r} can be reached from other machines and http.auth is off",
            hint="Set http.auth to token, or http.host to 127.0.0.1.",
        )
    if not settings["http.allowed_hosts"]:
        raise ConfigInvalid(
            f"http.host: {host!r} can be reached from other machines under names not given",
            hint="List the server's public names in http.allowed_hosts.",
        )
    return True


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        ConfigInvalid: this machine has no such address.
        StartFailed: the port is taken, or may not be used.

    """
    with ExitStack() as closing:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, kind, protocol, _, address = found[0]
            listener = closing.enter_context(socket.socket(family, kind, protocol))
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except (OSError, ValueError) as failure:
            raise _cannot_listen(host, port, failure) from failure
        closing.pop_all()
    return listener


def _cannot_listen(host: str, port: int, failure: OSError | ValueError) -> RolltopError:
    reason = getattr(failure, "strerror", None) or "it is no address"
    said = f"http.host, http.port: cannot listen on {host!r}, port {port}: {reason}"
    if getattr(failure, "errno", None) in {errno.EADDRINUSE, errno.EACCES}:
        return StartFailed(said, hint="Choose another port; 0 takes a free one.")
    return ConfigInvalid(said, hint="Choose an address of this machine.")


def _bound_socket(path: Path) -> socket.socket:
    """Return a listening Unix socket that only its owner can use; a dead one is replaced.

    Raises:
        StartFailed: somebody listens there, or the path holds something else.

    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and _is_dead(path):
            path.unlink()
        mask = os.umask(0o777 & ~_USER_ONLY)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(_BACKLOG)
    except OSError as failure:
        listener.close()
        raise StartFailed(
            f"http.socket: cannot listen on {path}: {failure.strerror or failure}",
            hint="Choose another path, or stop the server that listens there.",
        ) from failure
    return listener


def _is_dead(path: Path) -> bool:
    """Whether the path is a socket that nobody answers at."""
    if not stat.S_ISSOCK(path.stat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"
