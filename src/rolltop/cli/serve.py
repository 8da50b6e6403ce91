"""`rolltop serve`: the server, over stdio or HTTP."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS
from typing import TYPE_CHECKING, Final

from rolltop.cli import options
from rolltop.core import gc_control, logging
from rolltop.core.errors import Conflict, InvalidConfig
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.cli import users
    from rolltop.core import accounts, db
    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.server import app, http, stdio, workers
else:
    users = lazy("rolltop.cli.users")
    accounts = lazy("rolltop.core.accounts")
    db = lazy("rolltop.core.db")
    app = lazy("rolltop.server.app")
    http = lazy("rolltop.server.http")
    stdio = lazy("rolltop.server.stdio")
    workers = lazy("rolltop.server.workers")

_WAITING: Final = (
    "rolltop serve waits for an MCP client to write on stdin: clients start it themselves.\n"
    "`rolltop install CLIENT` tells one to, `rolltop doctor` shows which do, and\n"
    "`rolltop serve --http` serves many. Ctrl-C ends this one."
)
_LOCAL_USERS: Final = ("user", "workspace", "http.bearer_token", "notes.simplenote.username")
"""The settings that mean the user of whoever brings no token of their own."""
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
    parser.add_argument(
        "--adopt-default",
        metavar="EMAIL",
        help="with --http, once callers need a token: this user, who owns nothing yet, gets what"
        " was kept without one",
    )
    parser.add_argument("--socket", metavar="PATH", help="with --http: a Unix socket as well")
    parser.add_argument(
        "--workers", metavar="N", type=int, help="with --http: serve by so many processes"
    )
    parser.add_argument("--inherited-sockets", help=SUPPRESS)  # of a worker
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
        for option in ("socket", "adopt_default", "workers"):
            if getattr(arguments, option) is not None:
                name = option.replace("_", "-")
                raise InvalidConfig(f"--{name} needs --http", hint="Add --http.")
        if options.is_terminal() and sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
            print(_WAITING, file=sys.stderr, flush=True)  # noqa: T201  # to the person who typed it
        settings = options.read_settings(arguments, serving=True)
        return stdio.serve(app.build_server_app(settings, http=False))
    place = parse_address(arguments.http)
    settings = options.read_settings(arguments, serving=True, more=place)
    count = 1 if arguments.workers is None else arguments.workers
    if count != 1 and arguments.inherited_sockets is None:
        return _serve_workers(arguments, settings, count)
    server = app.build_server_app(settings, http=True)
    if arguments.adopt_default is None:
        given = arguments.inherited_sockets
        inherited = None if given is None else workers.InheritedSockets.from_argument(given)
        return http.serve(server, inherited=inherited)
    _require_named_user(settings, arguments.adopt_default)
    return http.serve(server, ready=lambda: _adopt_default(server.context, arguments))


def _serve_workers(arguments: Namespace, settings: Settings, count: int) -> int:
    if count < 1:
        raise InvalidConfig(f"--workers {count} is too few", hint="Send 1 or more.")
    if arguments.adopt_default is not None:
        raise InvalidConfig(
            "--adopt-default is for one process", hint="Leave out --workers this once."
        )
    return workers.serve_workers(settings, count)


def _require_named_user(settings: Settings, email: str) -> None:
    """Raise InvalidConfig where settings are the default user's, who would lose what is kept."""
    if settings["user"].strip().lower() not in {"", accounts.DEFAULT_EMAIL}:
        return
    used = [name for name in _LOCAL_USERS if settings[name].strip()]
    if used:
        raise InvalidConfig(
            f"--adopt-default: {', '.join(used)} would still mean {accounts.DEFAULT_EMAIL}, who"
            " then owns nothing",
            hint=f"Set user to {email}, or leave out --adopt-default.",
        )


def _adopt_default(context: AppContext, arguments: Namespace) -> None:
    """Let the user own what was kept before callers needed a token; log how much it is.

    Raises InvalidConfig where there is no such user, or none is needed, or none could come in.
    """
    settings, email = context.settings, arguments.adopt_default
    is_set = settings["http.oauth_issuer"].strip() or settings["http.bearer_token"].strip()

    def adopt(tx: Tx) -> dict[str, str]:
        if settings["http.auth"] == "off" or not (is_set or accounts.has_any_token(tx)):
            raise InvalidConfig(
                "--adopt-default: callers need no token here, and work as the default user",
                hint=f"`rolltop token create {email}` makes one.",
            )
        former = accounts.find_user_by_email(tx, email)
        if former is None:
            raise InvalidConfig(
                f"--adopt-default: the store knows no user {email!r}",
                hint=f"`rolltop user add {email}` adds one.",
            )
        counts = accounts.adopt_default(tx, email)
        if not counts:
            return {}
        if not (is_set or accounts.has_valid_token(tx)):
            raise InvalidConfig(
                f"--adopt-default: the tokens of {accounts.DEFAULT_EMAIL} end, and there is no"
                " other valid one",
                hint=f"`rolltop token create {email}` makes one.",
            )
        users.record(tx, arguments, f"{email} owns what {accounts.DEFAULT_EMAIL} did")
        moved = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        user = users.require_user(tx, email)
        return {"moved": moved, "user_id": user.id, "former_user_id": former.id}

    try:
        done = context.database.write_sync(db.SYSTEM, adopt)
    except Conflict as failure:  # it moves once; what came later is no reason not to serve
        print(f"rolltop: {failure.message} {failure.hint}", file=sys.stderr)  # noqa: T201  # to the operator
    else:
        if done:
            logging.event("what the default user owned was moved", level="info", **done)


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
