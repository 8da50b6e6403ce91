"""`rolltop serve`: the server, over stdio or HTTP."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from rolltop.cli import options
from rolltop.core import gc_control
from rolltop.core.errors import InvalidConfig
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.server import app, http, stdio
else:
    app = lazy("rolltop.server.app")
    http = lazy("rolltop.server.http")
    stdio = lazy("rolltop.server.stdio")

_WAITING: Final = (
    "rolltop serve waits for an MCP client to write on stdin: clients start it themselves.\n"
    "`rolltop install CLIENT` tells one to, `rolltop doctor` shows which do, and\n"
    "`rolltop serve --http` serves many. Ctrl-C ends this one."
)
_ADDRESS: Final = re.compile(r"(?P<host>\[[^\]]+\]|[^:\[\]]*)(?::(?P<port>[0-9]+))?")


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        nargs="?",
        const="",
        help="serve streamable HTTP at /mcp (127.0.0.1:8765) instead of stdio",
    )
    parser.add_argument("--socket", metavar="PATH", help="with --http: a Unix socket as well")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Serve until a shutdown is requested; return the exit code. Raises InvalidConfig."""
    gc_control.begin_startup()
    try:
        return _serve(arguments)
    finally:
        gc_control.end_startup()


def _serve(arguments: Namespace) -> int:
    if arguments.http is None:
        if arguments.socket is not None:
            raise InvalidConfig("--socket needs --http", hint="Add --http.")
        if options.is_terminal() and sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
            print(_WAITING, file=sys.stderr, flush=True)  # noqa: T201  # to the person who typed it
        settings = options.read_settings(arguments, serving=True)
        return stdio.serve(app.build_server_app(settings, http=False))
    place = parse_address(arguments.http)
    settings = options.read_settings(arguments, serving=True, more=place)
    return http.serve(app.build_server_app(settings, http=True))


def parse_address(text: str) -> dict[str, str]:
    """Return the settings that HOST:PORT, HOST, PORT or :PORT stands for. Raises InvalidConfig."""
    if text.isdigit():
        return {"http.port": text}
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise InvalidConfig(
            f"--http {text} is no address", hint="Write HOST:PORT; IPv6 as [::1]:8765."
        )
    host, port = found["host"].strip("[]"), found["port"]
    return ({"http.host": host} if host else {}) | ({"http.port": port} if port else {})
