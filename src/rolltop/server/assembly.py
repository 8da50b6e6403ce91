"""The one composition root: settings become a desk, and a desk becomes a server.

Importing this module loads no SDK, so the command line can make a desk without it.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.db import Database, encryption
from rolltop.core.desk import Desk
from rolltop.core.lazy import lazy
from rolltop.core.registry import Registry, Selection
from rolltop.core.roots import Roots
from rolltop.server.identity import LocalUser
from rolltop.server.jobs import repeated
from rolltop.server.warming import warm
from rolltop.toolsets import TOOLSETS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from rolltop.core.scope import Scope
    from rolltop.core.settings import Settings
    from rolltop.core.toolset import Toolset
    from rolltop.server import adapter, subscriptions
    from rolltop.server.subscriptions import Subscriptions
else:
    adapter = lazy("rolltop.server.adapter")
    subscriptions = lazy("rolltop.server.subscriptions")

_BREAKING_OFF: Final = 0.1
"""Seconds that calls which are broken off have for their answers."""


def build_desk(
    settings: Settings, *, http: bool = False, toolsets: Sequence[Toolset] = TOOLSETS
) -> Desk:
    """Return the desk the settings describe; nothing is opened yet.

    Raises:
        ConfigInvalid: a setting names a toolset, tool, root or store that cannot be, or settings
            of a toolset do not go together.

    """
    for toolset in toolsets:
        if toolset.check is not None:
            toolset.check(settings)
    database = Database(
        settings["database_url"],
        statement_timeout=settings["statement_timeout"],
        lock_timeout=settings["lock_timeout"],
        threads=settings["threads"],
        encryption=encryption.configured(settings),
    )
    selection = Selection(
        toolsets=settings["toolsets"] or None,
        tools=settings["tools"] or None,
        exclude=settings["exclude_tools"],
        read_only=settings["read_only"],
        seed_names=settings["names"] == "seed",
    )
    registry = Registry(toolsets, selection)
    return Desk(settings, database, _roots(settings, database, http=http), registry)


def build(settings: Settings, *, http: bool, toolsets: Sequence[Toolset] = TOOLSETS) -> App:
    """Return the server of the settings' desk, put together and not started."""
    desk = build_desk(settings, http=http, toolsets=toolsets)
    user = LocalUser(desk)

    async def identify(context: ServerRequestContext[Any, Any], *, needed: bool = True) -> Scope:
        caller = adapter.token_scope(context)
        return caller or await user.scope(adapter.client_name(context), needed=needed)

    watchers = subscriptions.Subscriptions(desk, identify)
    server = adapter.build_server(desk, identify, watchers, http=http)
    return App(desk, server, user, watchers)


def _roots(settings: Settings, database: Database, *, http: bool) -> Roots:
    """Return the roots; over stdio the folder the host started us in may be read as well."""
    stores = [settings["data_dir"], *([database.path] if database.path else [])]
    here = Path.cwd()
    private = {Path(here.anchor), Path.home().resolve()}
    return Roots.open(
        settings["retrieval.roots"],
        base=here,
        hidden_stores=stores,
        allow_hidden=settings["retrieval.allow_hidden"],
        extra=settings.get("reader.roots") or (),
        working_directory=None if http or here.resolve() in private else here,
    )


@dataclass
class App:
    """A server and all it runs on. `start` once the first answer is out; `close` at the end."""

    desk: Desk
    server: Server[Any]
    user: LocalUser
    subscriptions: Subscriptions
    on_refused: Callable[[int], None] = lambda _code: None
    """Called, on a thread, with an exit code when the store turns out to be of no use."""
    _jobs: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def check(self) -> None:
        """Make sure of what the settings promise before anything is served.

        Raises:
            ConfigInvalid: the user the settings name is not known.
            StartFailed: the store that was asked about the user is refused.

        """
        self.user.check()

    def start(self) -> None:
        """Open the store and load what calls need, in the background, and start the jobs."""
        work = partial(warm, self.desk, self.on_refused)
        threading.Thread(target=work, name="rolltop-warm", daemon=True).start()
        for toolset in self.desk.registry.toolsets:
            for job in toolset.jobs:
                self._jobs.append(asyncio.create_task(repeated(self.desk, job)))

    def stop_calls(self, *, refuse: bool) -> None:
        """Let change streams end; with `refuse`, answer new calls that the server is stopping."""
        self.desk.stopping = refuse
        self.subscriptions.close()

    async def finish_calls(self, idle: Callable[[], Awaitable[None]], grace: float) -> None:
        """Wait until all is answered (`idle`), for `grace` seconds; then break off what is left."""
        for seconds in (grace, _BREAKING_OFF):
            try:
                async with asyncio.timeout(seconds):
                    await idle()
            except TimeoutError:
                self.desk.break_off()
            else:
                break

    async def close(self, timeout: float) -> None:  # noqa: ASYNC109  # a bound on what cannot be cancelled
        """Stop the jobs and close the desk, waiting at most `timeout` seconds for it."""
        self.desk.stopping = True
        for job in self._jobs:
            job.cancel()
        closed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def close() -> None:
            self.desk.close()
            loop.call_soon_threadsafe(closed.set)

        threading.Thread(target=close, name="rolltop-close", daemon=True).start()
        await asyncio.wait([asyncio.create_task(closed.wait())], timeout=timeout)
