"""MCP over streamable HTTP, stateless, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import ctypes
import math
import socket
import struct
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, cast

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp

from rolltop.core import logging
from rolltop.core.context import AppContext
from rolltop.core.errors import InvalidConfig, RolltopError, Unavailable
from rolltop.core.process_exit import exit_now
from rolltop.core.settings import Settings
from rolltop.server import traces
from rolltop.server.app import ServerApp
from rolltop.server.auth import Authenticator
from rolltop.server.connections import ConnectionLimits, ConnectionRegistry, HttpConnection
from rolltop.server.host_check import HostCheck, check_names, is_loopback, probe_networks
from rolltop.server.identity import LocalUser
from rolltop.server.listeners import BACKLOG, bind_tcp_socket, bind_unix_socket
from rolltop.server.metrics import Metrics
from rolltop.server.page_login import PageLogin
from rolltop.server.routes import HttpApp
from rolltop.server.shutdown import Shutdown
from rolltop.server.workers import READY, InheritedSockets

_EXIT_LIMIT: Final = 1.9
_CLOSE_CONNECTIONS_TIMEOUT: Final = 1
_CLOSE_STORE_TIMEOUT: Final = 0.3
_CLOSE_TRACES_TIMEOUT: Final = 1.0
_SWITCH_INTERVAL: Final = 0.001
"""Seconds after which a thread that parses lets the event loop run; Python's own are 0.005."""
_M_ARENA_MAX: Final = -8  # malloc.h
_MAX_ARENAS: Final = 2
"""Heaps of the C library; with one for each thread a loaded server holds a sixth more memory."""
_ACCEPT_BATCH: Final = 16
_TICKS_A_SECOND: Final = 10
_ACCEPT_GRACE: Final = 0.5
"""Seconds in which no request that was accepted is refused."""
_SO_ATTACH_FILTER: Final = 26
_DROP_SYN: Final = (
    (0x30, 0, 0, 13),  # load the byte of TCP's flags
    (0x54, 0, 0, 0x12),  # of these SYN and ACK
    (0x15, 0, 1, 0x02),  # go on if it is SYN alone, skip one if not
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # take all of it
)
"""Classic BPF (linux/filter.h): code, jump if true, jump if false, operand."""
_ACCEPT_SETTLE_SECONDS: Final = 0.05
"""Seconds until handshakes that had begun are over, and accepted connections known to the loop."""
_FIRST_REQUEST_TIMEOUT: Final = 0.5
"""Seconds for the first request of a connection that was made before no more were taken."""


def serve(
    app: ServerApp,
    opened: Callable[[str], None] | None = None,
    ended: Callable[[], None] | None = None,
    ready: Callable[[], None] | None = None,
    inherited: InheritedSockets | None = None,
) -> int:
    """Serve over HTTP until a signal comes; the process ends here with 0.

    With `opened`, which gets the link that lets in, the page for people alone is served. `ended` is
    called before the process exits, `ready` once nothing is known that keeps it from serving. A
    worker has its sockets from its parent (`inherited`).

    Raises:
        InvalidConfig: a setting is wrong, or the address may not be served as it is set up.
        StartupError: the address is taken, or the store is refused.

    """
    settings = app.context.settings
    authentication = check_settings(app.context, app.user)
    sys.setswitchinterval(_SWITCH_INTERVAL)
    _limit_arenas()
    app.user.check()
    if inherited is not None:  # before it is taken to serve: one that ends later is replaced
        with suppress(Unavailable):
            app.context.database.open()
    if opened is None:
        authentication.check()
    sent = None
    if opened is None and (endpoint := settings["http.traces_endpoint"].strip()):
        tools = {offer.name for offer in app.context.registry.all_tools}
        sent = traces.Traces(endpoint, tools)
    listening = [
        bind_tcp_socket(settings["http.host"], settings["http.port"])
        if inherited is None
        else inherited.listener
    ]
    if settings["http.socket"] is not None:
        listening.append(bind_unix_socket(settings["http.socket"]))
    if ready is not None:
        ready()
        app.user.check()  # it may have changed whose the settings are
    login = PageLogin(app.context, app.user, authentication, trusts_links=opened is not None)
    code = asyncio.run(_serve(app, authentication, login, listening, opened, inherited))
    if ended is not None:
        ended()
    if sent is not None:
        sent.close(_CLOSE_TRACES_TIMEOUT)
    exit_now(code)


def check_settings(context: AppContext, user: LocalUser) -> Authenticator:
    """Make sure that the settings go together; return who decides whether callers need a token.

    Raises InvalidConfig.
    """
    exposed = _is_exposed(context.settings)
    authentication = Authenticator(context, user, exposed=exposed)
    probe_networks(context.settings)
    check_names(context.settings)
    return authentication


def _limit_arenas() -> None:
    if sys.platform == "linux":
        limit = getattr(ctypes.CDLL(None), "mallopt", None)
        if limit is not None:
            limit(_M_ARENA_MAX, _MAX_ARENAS)


class _UvicornServer(uvicorn.Server):
    """uvicorn without its own reading of signals, which would end the process by them."""

    def __init__(self, config: uvicorn.Config, connections: ConnectionRegistry) -> None:
        super().__init__(config)
        self._connections = connections

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_A_SECOND == 0:
            self._connections.close_timed_out()
        return await super().on_tick(counter)

    def close_idle(self) -> None:
        """Close the connections that are only kept for a next request."""
        self._connections.close_idle()

    async def stop_listening(self, own: Sequence[socket.socket]) -> None:
        """Refuse new connections; those that were made already bring their first request yet.

        But those at sockets that are not its own alone are left to the others.
        """
        loop = asyncio.get_running_loop()
        made: list[socket.socket] = []
        for listener in own:
            _drop_new_connections(listener)
        await asyncio.sleep(_ACCEPT_SETTLE_SECONDS)
        for listener in own:
            with suppress(OSError):  # there is none any more
                while True:
                    made.append(listener.accept()[0])
        for server in self.servers:
            server.close()
        for connection in made:
            connection.settimeout(0)
            await loop.connect_accepted_socket(self._new_connection, connection)
        await asyncio.sleep(_ACCEPT_SETTLE_SECONDS)
        if self._connections.has_half_open():
            await asyncio.sleep(_FIRST_REQUEST_TIMEOUT)

    def _new_connection(self) -> HttpConnection:
        state = self.server_state
        return HttpConnection(
            self._connections, config=self.config, server_state=state, app_state={}
        )


def _drop_new_connections(listener: socket.socket) -> None:
    """Let no further handshake begin: what is made while a socket closes is reset.

    Whose first packet is dropped sends it again a second later, and is refused then. The other
    packets pass: to a client whose last one were dropped its connection would be made. The name of
    a Unix socket goes while that still listens: later, another server's may be in its place.
    """
    if listener.family == getattr(socket, "AF_UNIX", None):
        with suppress(OSError):  # it is gone already
            Path(listener.getsockname()).unlink()
    elif sys.platform == "linux":
        code = b"".join(struct.pack("HBBI", *instruction) for instruction in _DROP_SYN)
        instructions = ctypes.create_string_buffer(code, len(code))
        program = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(instructions))
        with suppress(OSError):  # a kernel that has no filters
            listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


async def _serve(
    app: ServerApp,
    authentication: Authenticator,
    login: PageLogin,
    listening: list[socket.socket],
    opened: Callable[[str], None] | None,
    inherited: InheritedSockets | None,
) -> int:
    """Serve until a shutdown is requested, then shut down in order; return the exit code."""
    settings = app.context.settings
    grace: float = settings["http.shutdown_timeout"]
    drain: float = settings["http.drain_seconds"]
    ending = Shutdown(drain + grace + _EXIT_LIMIT)
    ending.install_signal_handlers()
    app.on_unusable_store = lambda code: ending.request("the store is refused", code)
    # The routes have bounded the body already, and the gate has checked where it came from.
    manager = StreamableHTTPSessionManager(
        app.server, stateless=True, max_request_body_size=settings["http.max_body"] + 1
    )
    protocol = manager.handle_request if opened is None else None
    metrics = Metrics(app)
    routes = HttpApp(app, authentication, login, protocol, metrics)
    web = _web_server(settings, metrics.count_responses(HostCheck(routes, settings)))
    async with manager.run():
        serving = asyncio.create_task(web.serve(listening))
        requested = asyncio.create_task(ending.wait())
        app.start()
        logging.event("started", transport="http", url=f"{_origin(listening[0])}/mcp")
        if inherited is not None:
            inherited.parent.send(READY)
            asyncio.get_running_loop().add_reader(inherited.parent, _heed_parent, inherited, ending)
        if opened is not None:
            telling = asyncio.create_task(_tell_link(login, _origin(listening[0]), opened))
            requested.add_done_callback(lambda _: telling.cancel())
        await asyncio.wait({serving, requested}, return_when=asyncio.FIRST_COMPLETED)
        ending.request("the web server ended", code=1)
        logging.event("stopping", reason=ending.reason)
        routes.is_draining = True
        web.close_idle()
        if ending.reason == "SIGTERM":  # whoever presses Ctrl-C has no proxy that must notice
            await asyncio.sleep(drain)
        loop = asyncio.get_running_loop()
        end = loop.time() + grace
        await web.stop_listening(await _find_own(listening, inherited))
        app.close_streams(refuse=False)
        routes.close_streams()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ACCEPT_GRACE):
                await routes.wait_idle()
        routes.refuse_new()
        await app.drain_calls(routes.wait_idle, max(0.0, end - loop.time()))
        web.should_exit = True
        await asyncio.wait({serving}, timeout=_CLOSE_CONNECTIONS_TIMEOUT + 0.3)
    await app.close(_CLOSE_STORE_TIMEOUT)
    logging.event("stopped")
    return ending.code


async def _find_own(
    listening: Sequence[socket.socket], inherited: InheritedSockets | None
) -> Sequence[socket.socket]:
    """Return those sockets from which nobody else takes connections by now."""
    if inherited is None:
        return listening
    await asyncio.sleep(_ACCEPT_SETTLE_SECONDS)  # a signal to all may come here first
    return () if inherited.is_shared() else listening


def _heed_parent(inherited: InheritedSockets, ending: Shutdown) -> None:
    """End with the parent. That all stop is told by its signal, too."""
    asyncio.get_running_loop().remove_reader(inherited.parent)
    if inherited.has_ended():
        ending.request("the parent ended")


async def _tell_link(login: PageLogin, origin: str, opened: Callable[[str], None]) -> None:
    """Hand over a link that lets in; a browser in this terminal may take as long as it is read."""
    try:
        link = await login.create_link()
    except RolltopError as failure:
        logging.event("no link was made", level="error", code=failure.code)
    else:
        await asyncio.to_thread(opened, f"{origin}/login?link={link}")


def _web_server(settings: Settings, routes: ASGIApp) -> _UvicornServer:
    connections = ConnectionRegistry(ConnectionLimits.from_settings(settings))
    config = uvicorn.Config(
        routes,
        interface="asgi3",
        http=cast("type[asyncio.Protocol]", partial(HttpConnection, connections)),
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # So many are accepted at once, whatever the number of free descriptors.
        backlog=_ACCEPT_BATCH,
        timeout_keep_alive=math.ceil(settings["http.idle_timeout"]),
        timeout_graceful_shutdown=_CLOSE_CONNECTIONS_TIMEOUT,
    )
    return _UvicornServer(config, connections)


def _is_exposed(settings: Settings) -> bool:
    """Whether others than this machine can connect.

    Raises InvalidConfig: they can, and the settings do not say who may and under which name.
    """
    host = settings["http.host"]
    if is_loopback(host):
        return False
    if settings["http.auth"] == "off":
        raise InvalidConfig(
            f"http.host: {host!r} can be reached from other machines and http.auth is off",
            hint="Set http.auth to token, or http.host to 127.0.0.1.",
        )
    if not settings["http.allowed_hosts"]:
        raise InvalidConfig(
            f"http.host: {host!r} can be reached from other machines under names not given",
            hint="List the server's public names in http.allowed_hosts.",
        )
    return True


def _origin(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
