"""The door to the store: transactions run whole, each on one worker thread."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from rolltop.core.db.address import parse
from rolltop.core.db.encryption import require_possible
from rolltop.core.db.transaction import Tx
from rolltop.core.db.writer_lock import WriterLock
from rolltop.core.errors import StoreRefused, Unavailable
from rolltop.core.lazy import lazy
from rolltop.core.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from rolltop.core.db import engine, opened, opening
    from rolltop.core.db.address import Kind
    from rolltop.core.db.encryption import Encryption
    from rolltop.core.scope import Scope
else:
    engine = lazy("rolltop.core.db.engine")
    opened = lazy("rolltop.core.db.opened")
    opening = lazy("rolltop.core.db.opening")

P = ParamSpec("P")
T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


class Database:
    """One store. Making the object does no I/O; the first transaction opens the store.

    `url` is a DATABASE_URL, the timeouts are in seconds, and `threads` bounds both the worker
    threads and the connections. The threads are daemons: a stuck statement doesn't keep the
    process from ending. Coroutines of asyncio event loops and plain threads share one object.

    Transactions raise Unavailable (out of reach, a statement or a wait over its limit: nothing
    was kept) and StoreRefused (damaged, newer); integrity errors pass as SQLAlchemy's own, but
    for those of a user who is gone, which are UserGone.
    """

    def __init__(
        self,
        url: str,
        *,
        statement_timeout: float = 30.0,
        lock_timeout: float = 10.0,
        threads: int = 16,
        clock: Callable[[], datetime] = utc_now,
        encryption: Encryption | None = None,
    ) -> None:
        """Take the store's place and bounds, and what it is encrypted with.

        Raises ConfigInvalid for an unknown URL, and where the store cannot be encrypted.
        """
        self._address: Final = parse(url)
        if encryption is not None:
            require_possible(self._address)
        self._encryption: Final = encryption
        self.url_kind: Final[Kind] = self._address.kind
        self.path: Final[Path | None] = self._address.path
        self._bounds: Final = (statement_timeout, lock_timeout, threads)
        self._clock: Final = clock
        self._workers: Final = Workers(threads, "rolltop-store")
        self._writer: Final = WriterLock(lock_timeout) if self.url_kind == "sqlite" else None
        self._opening: Final = threading.Lock()
        self._opened: opened.OpenedStore | None = None
        self._refusal: StoreRefused | None = None
        self._closed = False

    def is_there(self) -> bool:
        """Whether anything of a SQLite store is there; opening makes one where nothing is.

        Raises Unavailable.
        """
        return self.path is None or opening.is_there(self.path)

    def open(self) -> None:
        """Make or migrate the store and be ready; any thread may call this, any number of times.

        Raises StoreRefused, and keeps raising it; raises Unavailable, after which the next
        transaction tries again.
        """
        self._ready()

    def open_in_background(self) -> None:
        """Start `open` on a daemon thread; the next transaction raises what it failed with."""
        threading.Thread(target=self._open_ahead, name="rolltop-store-open", daemon=True).start()

    def is_open(self) -> bool:
        """Whether transactions can start without opening the store first."""
        return self._opened is not None

    async def read(
        self,
        scope: Scope,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one read transaction, run on one worker thread.

        A cancelled caller gets no answer; its function runs to its end.
        """
        future = self._workers.submit(lambda: self._read(scope, lambda tx: fn(tx, *args, **kwargs)))
        return await asyncio.wrap_future(future)

    async def write(
        self,
        scope: Scope,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one write transaction, once it is on disk.

        A caller that is cancelled before its turn has written nothing; one cancelled later may
        have written all of it, never a part.
        """
        if self._writer is not None:
            await self._writer.acquire()
        try:
            future = self._workers.submit(
                lambda: self._write(scope, lambda tx: fn(tx, *args, **kwargs))
            )
        except BaseException:
            self._release_writer()
            raise
        future.add_done_callback(lambda _done: self._release_writer())
        return await asyncio.wrap_future(future)

    def read_now(
        self,
        scope: Scope,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one read transaction, run on the calling thread."""
        return self._read(scope, lambda tx: fn(tx, *args, **kwargs))

    def write_now(
        self,
        scope: Scope,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one write transaction on the calling thread, once it is on disk."""
        if self._writer is not None:
            self._writer.acquire_now()
        try:
            return self._write(scope, lambda tx: fn(tx, *args, **kwargs))
        finally:
            self._release_writer()

    def maintain_now(self, fn: Callable[[Connection], T], /) -> T:
        """Return `fn(connection)`, run on the calling thread and a connection of its own.

        Each statement of PostgreSQL's is a transaction by itself, without a limit of time: for
        what no transaction may hold. Raises Unavailable.
        """
        return self._ready().maintain(fn)

    async def ping(self) -> None:
        """Return when the store answers. Raises Unavailable or StoreRefused when it does not."""
        future = self._workers.submit(lambda: self._ready().require_reachable())
        await asyncio.wrap_future(future)

    def require_writable(self) -> None:
        """Return when a write would be taken. Raises Unavailable or StoreRefused; blocks."""
        self._ready().require_writable()

    def backup(self, target: Path) -> None:
        """Write a consistent copy of a SQLite store to the new file `target`; blocks.

        Raises Invalid when `target` exists or the store is PostgreSQL's, Unavailable when
        either file fails.
        """
        self._ready().backup(target)

    def close(self, timeout: float = 5.0) -> None:
        """Take no more transactions, wait for running ones at most `timeout` s, then close.

        SQLite writes its log back when the store's last connection closes.
        """
        end = time.monotonic() + timeout
        if not self._workers.close(timeout):
            _log.warning("a transaction was still running when the store was closed")
        self._closed = True
        if self._opening.acquire(timeout=max(0.0, end - time.monotonic())):
            self._dispose()
            self._opening.release()

    def _read(self, scope: Scope, function: Callable[[Tx], T]) -> T:
        store = self._ready()
        return store.read(lambda made: function(Tx(made, scope, self._clock(), self.url_kind)))

    def _write(self, scope: Scope, function: Callable[[Tx], T]) -> T:
        store = self._ready()
        return store.write(
            lambda made: function(Tx(made, scope, self._clock(), self.url_kind)), scope.user_id
        )

    def _ready(self) -> opened.OpenedStore:
        """Return the open store, opening it first where nobody has."""
        store = self._opened
        if store is not None and not self._closed:
            return store
        with self._opening:
            if self._refusal is not None:
                raise type(self._refusal)(self._refusal.message, hint=self._refusal.hint)
            if self._opened is None and not self._closed:
                try:
                    limits = engine.Limits(*self._bounds)
                    self._opened = opened.OpenedStore(self._address, limits, self._encryption)
                except StoreRefused as refusal:
                    self._refusal = refusal
                    raise
            if self._closed or self._opened is None:
                self._dispose()  # it was closed while it was being opened
                raise Unavailable("The store is closed.", hint="The server is stopping.")
            return self._opened

    def _dispose(self) -> None:
        if self._opened is not None:
            self._opened.dispose()
            self._opened = None

    def _open_ahead(self) -> None:
        try:
            self._ready()
        except Exception as error:  # noqa: BLE001  # the next transaction raises it to its caller
            _log.warning("the store could not be opened yet: %s", type(error).__name__)

    def _release_writer(self) -> None:
        if self._writer is not None:
            self._writer.release()
