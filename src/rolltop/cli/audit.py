"""`rolltop audit`: who let whom in, and who logged in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rolltop.cli import options
from rolltop.cli.lazy_modules import audit, db
from rolltop.cli.users import open_store


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command."""
    parser.add_argument("--last", metavar="N", type=int, default=50, help="how many; default: 50")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print the events, the newest last. Raises what the store raises."""
    with open_store(arguments) as database:
        events = database.read_sync(db.SYSTEM, audit.list_events, max(1, arguments.last))
    rows = [(f"{e.at:%Y-%m-%d %H:%M:%S}", e.actor, e.action, e.subject) for e in reversed(events)]
    options.print_table([("time (UTC)", "who", "did", "to"), *rows])
    return 0
