"""The program of a checking process: one request at a time from stdin, its result to stdout.

It ends when its stdin ends, so it never outlives the server, and by its own alarm while a parser
hangs and the server is gone. It may take a bounded amount of memory on top of what it starts with.
"""

from __future__ import annotations

import select
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from . import frames
from .check import check
from .results import unreadable

if TYPE_CHECKING:
    from .results import Checked

# Imported while nothing is asked, most used first.
_AHEAD: Final = (
    ".json_text", ".schema", ".python_source", ".grammar", "tree_sitter_python",
    "tree_sitter_javascript", "tree_sitter_typescript", ".yaml_text", ".markdown", ".html", ".css",
)  # fmt: skip
_GRACE_SECONDS: Final = 1.0


def main(memory: int) -> None:
    """Serve requests until stdin ends; `memory` is in bytes, on top of the start's, 0 for any."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    _import_ahead()
    limited = False
    while (message := frames.received(source.read)) is not None:
        if not limited:
            _limit_memory(memory)
            limited = True
        head, content = message
        _alarm(head["seconds"] + _GRACE_SECONDS)
        target.write(frames.answer(_checked(head, content)))
        target.flush()
        _alarm(0.0)


def _checked(head: dict[str, Any], content: bytes) -> Checked:
    cell = frames.cell_of(head, content)
    try:
        return check(cell)
    except (MemoryError, RecursionError):
        message = "Checking this takes more memory than a check may use"
        return unreadable(cell, message, "TOO_LARGE")


def _import_ahead() -> None:
    for name in _AHEAD:
        if _is_asked():
            return
        import_module(name, __package__)


def _is_asked() -> bool:
    if sys.platform == "win32":  # no select on pipes there
        return True
    return bool(select.select([sys.stdin.buffer], [], [], 0)[0])


def _alarm(seconds: float) -> None:
    """End this process in `seconds`, wherever it is then; 0 calls it off."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(memory: int) -> None:
    if sys.platform != "linux" or not memory:  # elsewhere the start's size is not to be had
        return
    import resource  # noqa: PLC0415  # not on Windows

    with open("/proc/self/statm", encoding="ascii") as pages:  # noqa: PTH123  # pathlib is not needed here
        used = int(pages.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + memory
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
