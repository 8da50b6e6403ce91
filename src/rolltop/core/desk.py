"""The desk: what every call of one process runs on."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import finalize

from rolltop.core import logs
from rolltop.core.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rolltop.core.db import Database
    from rolltop.core.registry import Registry
    from rolltop.core.roots import Roots
    from rolltop.core.scope import Scope
    from rolltop.core.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")


class Desk:
    """Settings, store, roots and tools of one process, and the threads that work for it."""

    def __init__(
        self, settings: Settings, database: Database, roots: Roots, registry: Registry
    ) -> None:
        """Hold the parts; open nothing and start nothing."""
        self.settings = settings
        self.database = database
        self.roots = roots
        self.registry = registry
        self.stopping = False
        self.listeners: list[Callable[[Scope, str], None]] = []
        self.quiet = threading.Event()
        """Set while no call is running."""
        self.quiet.set()
        self.deadlines: set[asyncio.Timeout] = set()
        """Of the calls that are running."""
        self._calls = 0
        self._counting = threading.Lock()
        self._workers = Workers(settings["threads"], "rolltop-work")
        finalize(self, self._workers.let_go).atexit = False

    @contextmanager
    def calling(self) -> Generator[None]:
        """Count a call as running until it has its answer."""
        with self._counting:
            self._calls += 1
            self.quiet.clear()
        try:
            yield
        finally:
            with self._counting:
                self._calls -= 1
                if not self._calls:
                    self.quiet.set()

    def break_off(self) -> None:
        """Let every running call answer now that it was not done before the server stopped.

        Call it on the loop that runs them.
        """
        self.stopping = True
        now = asyncio.get_running_loop().time()
        for deadline in self.deadlines:
            with suppress(RuntimeError):  # it has passed already
                deadline.reschedule(now)

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return `function(…)`, run on a worker thread that holds no transaction."""
        future = self._workers.submit(lambda: function(*args, **kwargs))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let each toolset end what it began, then close the store."""
        for toolset in self.registry.toolsets:
            if toolset.closing is not None:
                try:
                    toolset.closing(self)
                except Exception as failure:  # noqa: BLE001  # the store is closed all the same
                    logs.fault(failure, message=f"closing {toolset.name} failed")
        self.database.close()

    def changed(self, scope: Scope, uri: str) -> None:
        """Tell those who listen that the resource `uri` of the scope's user has changed."""
        for listener in tuple(self.listeners):
            listener(scope, uri)
