"""`rolltop demo`: a real client uses a real server, for a person to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.cli import options
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core import logs
    from rolltop.server import demo
else:
    demo = lazy("rolltop.server.demo")
    logs = lazy("rolltop.core.logs")


def configure(parser: ArgumentParser) -> None:
    """Describe what it does: it takes no arguments."""
    parser.epilog = "It works on a temporary store, and touches neither yours nor your settings."


def run(_arguments: Namespace) -> int:
    """Tell the story and return 0. Raises StartFailed if the server does not answer."""
    logs.configure(quiet=True)
    return demo.run_demo(options.working_directory())
