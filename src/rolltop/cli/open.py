"""`rolltop open`: the page for people, in a browser."""

from __future__ import annotations

import html
import socket
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rolltop.cli import local_context, options, plain_files
from rolltop.cli.lazy_modules import db, host_check, http, page_sessions, server_app
from rolltop.core.errors import InvalidArgument, InvalidConfig
from rolltop.core.settings import DEFAULT_SOURCE, Settings

_EPILOG: Final = (
    "The page is served on this machine alone until Ctrl-C ends it. The link lets in once, within"
    " 10 minutes. The browser is led to it by a file in the data directory; one that may not read"
    " there needs the link itself: --no-browser."
)
_SERVING: Final = "The page is there until Ctrl-C."
_LOOPBACK: Final = "127.0.0.1"
_LINK_FILE: Final = "open.html"
_REDIRECT: Final = (
    '<!doctype html><meta http-equiv="refresh" content="0;url={}"><title>Rolltop</title>'
)


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--no-browser", action="store_true", help="print the link, and open no browser"
    )
    parser.add_argument(
        "--at", metavar="URL", help="make a link to a server that runs already on this store"
    )
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Serve the page and open it; return the exit code. Raises InvalidConfig, StartupError."""

    def show(link: str) -> None:
        if arguments.no_browser or not _open_browser(link, link_file):
            print(link, flush=True)  # noqa: T201  # the command's answer

    def clean() -> None:
        with suppress(OSError):
            link_file.unlink()

    settings = options.read_settings(arguments)
    link_file: Path = settings["data_dir"] / _LINK_FILE
    if arguments.at is None:
        print(_SERVING, file=sys.stderr)  # noqa: T201  # to the person who typed it
        return http.serve(
            server_app.build_server_app(_on_loopback(settings), http=True), show, clean
        )
    try:
        origin = urlsplit(str(arguments.at))
        is_here = origin.scheme == "http" and host_check.is_loopback(origin.hostname or "")
    except ValueError:  # a bracket without the other
        is_here = False
    if not is_here:
        raise InvalidConfig(
            f"--at {arguments.at} is no server on this machine",
            hint="Write http://127.0.0.1:8765; elsewhere a token is the login.",
        )
    show(f"http://{urlsplit(str(arguments.at)).netloc}/login?link={_create_link(settings)}")
    return 0


def _open_browser(link: str, file: Path) -> bool:
    """Let a browser follow a link, if there is one.

    It gets a file that leads there: anybody on this machine may read a command's arguments.
    After `--at` the file stays until the next time; its link is used by then, or has run out.
    """
    try:
        file.unlink(missing_ok=True)
        plain_files.write_file(file, _REDIRECT.format(html.escape(link)).encode())
    except (OSError, InvalidArgument):
        return False
    return webbrowser.open(file.absolute().as_uri())


def _on_loopback(settings: Settings) -> Settings:
    """Return the settings with an address that nobody else can reach, and whose port is free."""
    host: str = settings["http.host"]
    host = host if host_check.is_loopback(host) else _LOOPBACK
    port: int = settings["http.port"]
    if settings.source("http.port") == DEFAULT_SOURCE:
        with closing(socket.socket()) as probe:
            port = port if probe.connect_ex((_LOOPBACK, port)) else 0
    return settings.replace({"http.host": host, "http.port": port, "http.socket": None})


def _create_link(settings: Settings) -> str:
    with local_context.open_context(settings) as context:
        local = local_context.local_principal(context)
        given = local.actor_id, local.workspace_id
        return context.database.write_sync(db.SYSTEM, page_sessions.create_link, *given)
