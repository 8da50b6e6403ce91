"""What calls need and the first answer does not: loaded after it, in the background.

One thread, one step after the other: threads that import side by side only take the interpreter
from each other, and from the call that waits. The store comes first, since most calls wait for
it; then the thread lets running calls go ahead of what only others need.
"""

from __future__ import annotations

import sys
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Final

from rolltop.core import collecting, logs, tokens
from rolltop.core.errors import StoreRefused, Unavailable
from rolltop.core.lazy import LazyModule, loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rolltop.core.desk import Desk

_LONGEST_PAUSE: Final = 0.5  # seconds: calls that take longer mostly wait for something else


def warm(desk: Desk, on_refused: Callable[[int], None]) -> None:
    """Open the store and load what the desk's tools need; blocks.

    A store that cannot be used is told on stderr, and to `on_refused` the exit code it asks for.
    """
    try:
        _warm(desk, on_refused)
    finally:
        collecting.started()


def _warm(desk: Desk, on_refused: Callable[[int], None]) -> None:
    try:
        desk.database.open()
    except StoreRefused as refusal:
        sys.stderr.write(f"rolltop: {refusal.message} {refusal.hint}\n")
        on_refused(refusal.exit_code)
        return
    except Unavailable:
        logs.event("the store is out of reach", level="warn")
    end = monotonic() + _LONGEST_PAUSE
    for step in _steps(desk):
        desk.quiet.wait(max(0.0, end - monotonic()))
        if desk.stopping:
            return
        step()


def _steps(desk: Desk) -> Iterator[Callable[[], object]]:
    """Yield what is loaded, in parts short enough for a call to wait for one."""
    loading = (lambda module=module: loaded(module) for module in _modules(desk))
    preparing = (offer.parameters.prepare for offer in desk.registry.offered)
    # A word that is no token: for others the tokenizer builds only half of what calls need.
    return chain(loading, [lambda: tokens.count("zqxjkvb")], preparing)


def _modules(desk: Desk) -> Iterator[LazyModule]:
    for toolset in desk.registry.toolsets:
        for name in {tool.function.__module__ for tool in toolset.tools}:
            for value in tuple(vars(sys.modules[name]).values()):
                if isinstance(value, LazyModule):
                    yield value
