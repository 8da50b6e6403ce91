"""The server of a context: its handlers, background work, start and end."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import chain
from time import monotonic
from typing import Any, Final, NoReturn

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from rolltop.app import build_context
from rolltop.core import gc_control, logging, token_counter
from rolltop.core.context import AppContext
from rolltop.core.errors import IncompatibleStore, RolltopError, Unavailable
from rolltop.core.lazy_imports import LazyModule
from rolltop.core.principal import Principal
from rolltop.core.settings import Settings
from rolltop.core.tools import Job, Toolset
from rolltop.server import hosts, mcp_server
from rolltop.server.identity import LocalUser
from rolltop.server.subscriptions import Subscriptions
from rolltop.toolsets import TOOLSETS

_MAX_PAUSE: Final = 0.5  # seconds: calls that take longer mostly wait for something else
_EXPIRED_CALLS_GRACE: Final = 0.1
"""Seconds that calls which are broken off have for their answers."""


def build_server_app(
    settings: Settings, *, http: bool, toolsets: Sequence[Toolset] = TOOLSETS
) -> ServerApp:
    """Return the server of the settings' context, put together and not started."""
    desk = build_context(settings, http=http, toolsets=toolsets)
    user = LocalUser(desk)
    is_guarded = http and settings["http.auth"] != "off"

    async def identify(
        context: ServerRequestContext[Any, Any], *, needed: bool = True
    ) -> Principal:
        if caller := mcp_server.token_principal(context):
            return caller
        async with desk.deadline("Finding whose call it is", "Try again."):
            local = await user.principal(hosts.client_name(context), needed=needed)
        return replace(local, is_anonymous=is_guarded)

    watchers = Subscriptions(desk, identify)
    server = mcp_server.build_server(desk, identify, user, watchers, http=http)
    return ServerApp(desk, server, user, watchers)


@dataclass
class ServerApp:
    """A server and all it runs on. `start` once the first answer is out; `close` at the end."""

    context: AppContext
    server: Server[Any]
    user: LocalUser
    subscriptions: Subscriptions
    on_unusable_store: Callable[[int], None] = lambda _code: None
    """Called, on a thread, with an exit code when the store turns out to be of no use."""
    job_observers: list[Callable[[str, str], None]] = field(
        default_factory=list["Callable[[str, str], None]"]
    )
    """Each is told of a background job that ran: its name, and ok or a code of an error."""
    _jobs: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def start(self) -> None:
        """Open the store and load what calls need, in the background, and start the jobs."""
        work = partial(warm_up, self.context, self.on_unusable_store)
        threading.Thread(target=work, name="rolltop-warm", daemon=True).start()
        for toolset in self.context.registry.toolsets:
            for job in toolset.jobs:
                self._jobs.append(
                    asyncio.create_task(run_periodically(self.context, job, self.job_observers))
                )

    def close_streams(self, *, refuse: bool) -> None:
        """Let waits for changes end; with `refuse`, tell new calls that the server is stopping."""
        self.context.is_draining = True
        self.context.is_stopping = refuse
        self.subscriptions.close()

    async def drain_calls(self, idle: Callable[[], Awaitable[None]], grace: float) -> None:
        """Wait until all is answered (`idle`), for `grace` seconds; then break off what is left."""
        for seconds in (grace, _EXPIRED_CALLS_GRACE):
            try:
                async with asyncio.timeout(seconds):
                    await idle()
            except TimeoutError:
                self.context.expire_calls()
            else:
                break

    async def close(self, timeout: float) -> None:  # noqa: ASYNC109  # a bound on what cannot be cancelled
        """Stop the jobs and close the context, waiting at most `timeout` seconds for it."""
        self.context.is_stopping = True
        for job in self._jobs:
            job.cancel()
        closed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def close() -> None:
            self.context.close()
            loop.call_soon_threadsafe(closed.set)

        threading.Thread(target=close, name="rolltop-close", daemon=True).start()
        await asyncio.wait([asyncio.create_task(closed.wait())], timeout=timeout)


async def run_periodically(
    app: AppContext, job: Job, observers: Sequence[Callable[[str, str], None]] = ()
) -> NoReturn:
    """Run the job every so often until cancelled; a failed run is logged and tried again."""
    every = job.interval(app.settings) if callable(job.interval) else job.interval
    await asyncio.sleep(every if job.initial_delay is None else job.initial_delay)
    while True:
        outcome = "ok"
        try:
            await job.run(app)
        except RolltopError as failure:
            outcome = failure.code
            why = {"code": failure.code, "reason": failure.log_reason}
            logging.event("job failed", level="warn", job=job.name, **why)
        except Exception as failure:  # noqa: BLE001  # the next run may succeed
            outcome = "fault"
            logging.fault(failure, message=f"job {job.name} failed")
        for observe in observers:
            observe(job.name, outcome)
        await asyncio.sleep(every)


def warm_up(app: AppContext, on_refused: Callable[[int], None]) -> None:
    """Open the store and load what tools need and the first answer does not; blocks.

    One thread, one step at a time: threads that import side by side only take the interpreter from
    each other and from waiting calls. The store comes first, since most calls wait for it; then
    running calls go ahead of what only others need. An unusable store is reported on stderr, and
    its exit code to `on_refused`.
    """
    try:
        _warm_up(app, on_refused)
    finally:
        gc_control.end_startup()


def _warm_up(app: AppContext, on_refused: Callable[[int], None]) -> None:
    try:
        app.database.open()
    except IncompatibleStore as refusal:
        sys.stderr.write(f"rolltop: {refusal.message} {refusal.hint}\n")
        on_refused(refusal.exit_code)
        return
    except Unavailable as failure:
        logging.event("the store is out of reach", level="warn", reason=failure.log_reason)
    end = monotonic() + _MAX_PAUSE
    for step in _warm_up_steps(app):
        app.idle.wait(max(0.0, end - monotonic()))
        if app.is_stopping:
            return
        step()


def _warm_up_steps(app: AppContext) -> Iterator[Callable[[], object]]:
    """Yield what is loaded, in parts short enough for a call to wait for one."""
    services = (partial(app.load_service, t.service) for t in app.registry.toolsets if t.service)
    loading = (partial(import_module, module.__name__) for module in _lazy_modules(app))
    preparing = (offer.parameters.build_model for offer in app.registry.all_tools)
    # A word that is no token: for others the tokenizer builds only half of what calls need.
    return chain(services, loading, [lambda: token_counter.count("zqxjkvb")], preparing)


def _lazy_modules(app: AppContext) -> Iterator[LazyModule]:
    for toolset in app.registry.toolsets:
        for name in {tool.function.__module__ for tool in toolset.tools}:
            for value in tuple(vars(sys.modules[name]).values()):
                if isinstance(value, LazyModule):
                    yield value
