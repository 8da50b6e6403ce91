"""What the process runs on (`AppContext`) and what one running tool may use (`CallContext`)."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from keyword import iskeyword
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import finalize

from rolltop.core import logging
from rolltop.core.errors import DeadlineExceeded, ShuttingDown
from rolltop.core.lazy_imports import lazy
from rolltop.core.thread_pool import FairTurns, Pool, ThreadPool

if TYPE_CHECKING:
    from rolltop.core import idempotency
    from rolltop.core.db import Database, Tx
    from rolltop.core.dispatch import ToolRegistry
    from rolltop.core.principal import Principal
    from rolltop.core.settings import Settings
    from rolltop.core.tools import JsonObject, ToolFunction
    from rolltop.workspace import Roots
else:
    idempotency = lazy("rolltop.core.idempotency")

P = ParamSpec("P")
T = TypeVar("T")
ProgressCallback = Callable[[float, float | None, str], None]
"""`report(done, total, message)` shows the progress of long work, if the caller asked for it."""


class AppContext:
    """Settings, database, roots, tools and services of one process, and a pool of threads."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        roots: Roots,
        registry: ToolRegistry,
        project: str = "",
        session: str = "",
    ) -> None:
        self.settings = settings
        self.database = database
        self.roots = roots
        self.registry = registry
        self.project = project
        """The project of every connection; empty for none."""
        self.session = session
        """What tells this process's one connection from others; empty where it has many."""
        self.is_stopping = False
        self.is_draining = False
        """Whether the server ends once the running calls have answered: none waits for changes."""
        self.change_listeners: list[Callable[[Principal, str], None]] = []
        self.call_observers: list[Callable[[str, str, float], None]] = []
        """Each is told of a call that ended: its tool, its outcome or code, and its seconds."""
        self.count_observers: list[Callable[[str, str, int], None]] = []
        """Each is told what `count` is."""
        self.idle = threading.Event()
        """Set while no call is running."""
        self.idle.set()
        self.call_deadlines: set[asyncio.Timeout] = set()
        """Deadlines of the running calls."""
        self._services: dict[object, Any] = {}
        self._services_lock = threading.RLock()
        self._calls = 0
        self._calls_lock = threading.Lock()
        self._thread_pool = ThreadPool(settings["threads"], "rolltop-work")
        self.turns: Final = FairTurns(settings["threads"], os.cpu_count() or 1)
        """Of this process's callers at its threads."""
        finalize(self, self._thread_pool.release).atexit = False

    def count(self, what: str, label: str, number: int = 1) -> None:
        """Count what happened for `/metrics`: "evictions" of a policy, "sync_errors" of a code."""
        for observe in self.count_observers:
            observe(what, label, number)

    @contextmanager
    def track_call(self) -> Generator[None]:
        """Count a call as running until it has its answer."""
        with self._calls_lock:
            self._calls += 1
            self.idle.clear()
        try:
            yield
        finally:
            with self._calls_lock:
                self._calls -= 1
                if not self._calls:
                    self.idle.set()

    @property
    def running_calls(self) -> int:
        """How many calls have no answer yet."""
        return self._calls

    def expire_calls(self) -> None:
        """Make every running call answer now that the server stopped before it was done.

        Call it on the loop that runs them.
        """
        self.is_stopping = True
        now = asyncio.get_running_loop().time()
        for deadline in self.call_deadlines:
            with suppress(RuntimeError):  # it has passed already
                deadline.reschedule(now)

    @asynccontextmanager
    async def deadline(self, name: str, hint: str) -> AsyncGenerator[None]:
        """Break off what is inside, a call of that name, when `call_timeout` or the server ends.

        Raises DeadlineExceeded, with the hint, or ShuttingDown.
        """
        allowed = self.settings["call_timeout"]
        deadline = asyncio.timeout(allowed)
        self.call_deadlines.add(deadline)
        try:
            async with deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            if self.is_stopping:
                raise ShuttingDown(has_started=True) from None
            raise DeadlineExceeded(f"{name} passed its limit of {allowed:g} s", hint=hint) from None
        finally:
            self.call_deadlines.discard(deadline)

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(…)` on a worker thread that holds no transaction."""
        future = self._thread_pool.submit(lambda: function(*args, **kwargs))
        return await asyncio.wrap_future(future)

    def turn(
        self, principal: Principal, pool: Pool, since: float | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Wait for a turn of the caller's at a pool: of its token's, else of its user's.

        `since` is when its call began, by `time.monotonic`; None for now.
        """
        caller = principal.token_id or principal.member_id or principal.user_id
        return self.turns.turn(caller, pool, since)

    def service(self, kind: Callable[[AppContext], T]) -> T:
        """Return this process's one object of a class, made with this context on first use.

        Whatever is remembered between calls lives in such an object and ends with the context.
        """
        with self._services_lock:
            if kind not in self._services:
                self._services[kind] = kind(self)
            return self._services[kind]

    def load_service(self, path: str) -> Any:  # noqa: ANN401  # the caller names the class
        """Return the service `module:Class` of a toolset; import its module on first use."""
        return self.service(import_object(path))

    def describe_roots(self) -> str:
        """Name the roots with their folders, for whoever runs this process."""
        if not self.roots.named:
            return "none"
        why = "" if self.settings["retrieval.roots"] else " (the project it was started in)"
        return ", ".join(f"{root.name} is {root.path}" for root in self.roots.named) + why

    def has_toolset(self, name: str) -> bool:
        """Return whether this server has the toolset."""
        return any(toolset.name == name for toolset in self.registry.toolsets)

    def close(self) -> None:
        """Close the toolsets, then the database."""
        for toolset in self.registry.toolsets:
            if toolset.close is not None:
                try:
                    toolset.close(self)
                except Exception as failure:  # noqa: BLE001  # the database is closed all the same
                    logging.fault(failure, message=f"closing {toolset.name} failed")
        self.database.close()

    def notify_changed(self, principal: Principal, uri: str) -> None:
        """Tell the listeners that the resource `uri` of the principal's user has changed."""
        for listener in tuple(self.change_listeners):
            listener(principal, uri)


def import_object(path: str) -> Any:  # noqa: ANN401  # the caller names it
    """Return the object `module:name`; import its module."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def ignore_progress(_done: float, _total: float | None, _message: str) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class CallContext:
    """One call of one tool.

    `budget` is in tokens, as is `max_budget`, the largest that the caller may ask for; 0 is none.
    `cursor` is as the caller sent it, `began` the time by `time.monotonic`.
    """

    app: AppContext
    principal: Principal
    tool: str
    budget: int
    cursor: str | None = None
    report_progress: ProgressCallback = ignore_progress
    max_budget: int = 0
    idempotency_key: idempotency.IdempotencyKey | None = None
    began: float = field(default_factory=monotonic)

    async def run(self, function: ToolFunction, arguments: dict[str, Any]) -> object:
        """Return what a tool's function answers; with an idempotency key, what it answered first.

        Raises Conflict for a key that came with other arguments before.
        """
        key = arguments.pop("idempotency_key", None)
        # A function calls `from_` what is `from`.
        arguments = {f"{k}_" if iskeyword(k) else k: value for k, value in arguments.items()}
        if key is None:
            return await function(self, **arguments)
        member = self.principal.member_id
        own = idempotency.IdempotencyKey.of_call(self.tool, key, arguments, member)
        keyed = replace(self, idempotency_key=own)
        return await idempotency.answer_once(keyed, own, function, arguments)

    async def read(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(tx, …)` in one read transaction on a worker thread."""
        async with self.app.turn(self.principal, "read", self.began):
            return await self.app.database.read(self.principal, function, *args, **kwargs)

    async def write(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(tx, …)` in one write transaction; return once it is on disk."""
        async with self.app.turn(self.principal, "write", self.began):
            return await self.app.database.write(self.principal, function, *args, **kwargs)

    async def write_once(
        self,
        answer: Callable[[T], JsonObject | None],
        function: Callable[Concatenate[Tx, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Write as `write` does, and of several calls with the same idempotency key once.

        `answer(result)` is the call's answer, which the other calls get: it depends on nothing that
        changes. It is None where nothing was written.
        """
        return await self.write(self.run_once, answer, lambda tx: function(tx, *args, **kwargs))

    def run_once(
        self, tx: Tx, answer: Callable[[T], JsonObject | None], function: Callable[[Tx], T]
    ) -> T:
        """Run `function(tx)` within a write transaction, as `write_once` does."""
        if self.idempotency_key is None:
            return function(tx)
        return idempotency.run_once(tx, self.idempotency_key, function, answer)

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(…)` on a worker thread with no transaction."""
        async with self.app.turn(self.principal, "work", self.began):
            return await self.app.run_in_thread(function, *args, **kwargs)
