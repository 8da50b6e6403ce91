"""The store's face: transactions, each one function run whole on one worker thread."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from rolltop.core.db.encryption import require_encryption_support
from rolltop.core.db.url import parse_url
from rolltop.core.errors import DiskError, IncompatibleStore, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import Principal
from rolltop.core.thread_pool import ThreadPool

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult, Executable

    from rolltop.core.db import bootstrap, engine, row_security, store
    from rolltop.core.db.encryption import Encryption
    from rolltop.core.db.url import DatabaseKind
else:
    engine = lazy("rolltop.core.db.engine")
    store = lazy("rolltop.core.db.store")
    bootstrap = lazy("rolltop.core.db.bootstrap")
    row_security = lazy("rolltop.core.db.row_security")

P = ParamSpec("P")
T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


SYSTEM: Final = Principal(user_id="", tenant_id="", actor="system")
"""The principal of work that spans tenants: accounts, migrations, jobs. It owns no rows."""


@dataclass(frozen=True, slots=True)
class Tx:
    """One transaction. It ends when the function that was given it returns or raises."""

    connection: Connection
    scope: Principal
    now: datetime
    """The transaction's one moment, aware, in UTC."""
    kind: DatabaseKind
    services: dict[object, Any] = field(default_factory=dict[object, Any], repr=False)

    def service(self, kind: Callable[[], T]) -> T:
        """Return the one object of a class that lives as long as the `Database`, made on first use.

        Of two made at the same time one is kept.
        """
        if kind not in self.services:
            self.services.setdefault(kind, kind())
        return self.services[kind]

    def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        """Return the result of one statement; a sequence of parameters runs it once for each."""
        return self.connection.execute(statement, parameters)

    def widen(self) -> None:
        """Let the rest of it see all tenants' rows: the caller may act as any user."""
        if self.kind == "postgresql":
            row_security.widen(self.connection)


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


class Database:
    """One store. Making the object does no I/O; the first transaction opens the store.

    `url` is a DATABASE_URL, the timeouts are in seconds, and `threads` bounds both the worker
    threads and the connections. The threads are daemons: a stuck statement doesn't keep the
    process from ending. Coroutines of asyncio event loops and plain threads share one object.

    Transactions raise Unavailable (out of reach, a statement or a wait over its limit: nothing
    was kept) and IncompatibleStore (damaged, newer); integrity errors pass as SQLAlchemy's own, but
    for those of a user who is gone, which are UserDeleted.
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

        Raises InvalidConfig for an unknown URL, and where the store cannot be encrypted.
        """
        self._address: Final = parse_url(url)
        if encryption is not None:
            require_encryption_support(self._address)
        self._encryption: Final = encryption
        self.url_kind: Final[DatabaseKind] = self._address.kind
        self.path: Final[Path | None] = self._address.path
        self._bounds: Final = (statement_timeout, lock_timeout, threads)
        self._clock: Final = clock
        self._thread_pool: Final = ThreadPool(threads, "rolltop-store")
        self._writer_lock: Final = WriterLock(lock_timeout) if self.url_kind == "sqlite" else None
        self._open_lock: Final = threading.Lock()
        self._store: store.OpenStore | None = None
        self._refusal: IncompatibleStore | DiskError | None = None
        self._services: Final[dict[object, Any]] = {}
        self._closed = False

    def now(self) -> datetime:
        """Read the clock by which transactions have their moment."""
        return self._clock()

    def exists(self) -> bool:
        """Whether anything of a SQLite store is there; opening makes one where nothing is.

        Raises Unavailable.
        """
        return self.path is None or bootstrap.store_exists(self.path)

    def open(self) -> None:
        """Make or migrate the store and be ready; any thread may call this, any number of times.

        Raises IncompatibleStore or DiskError, and keeps raising it; raises Unavailable, after
        which the next transaction tries again.
        """
        self._open_store()

    def is_open(self) -> bool:
        """Whether transactions can start without opening the store first."""
        return self._store is not None

    async def read(
        self,
        principal: Principal,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one read transaction, run on one worker thread.

        A cancelled caller gets no answer; its function runs to its end.
        """
        return await asyncio.wrap_future(self.submit_read(principal, fn, *args, **kwargs))

    def submit_read(
        self,
        principal: Principal,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Return the future of `fn(tx, …)` of one read transaction, run on one worker thread.

        Raises Unavailable once the database is closed, which waits for it.
        """
        return self._thread_pool.submit(
            lambda: self._read(principal, lambda tx: fn(tx, *args, **kwargs))
        )

    async def write(
        self,
        principal: Principal,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one write transaction, once it is on disk.

        A caller that is cancelled before its turn has written nothing; one cancelled later may
        have written all of it, never a part.
        """
        if self._writer_lock is not None:
            await self._writer_lock.acquire()
        try:
            future = self._thread_pool.submit(
                lambda: self._write(principal, lambda tx: fn(tx, *args, **kwargs))
            )
        except BaseException:
            self._release_writer_lock()
            raise
        future.add_done_callback(lambda _done: self._release_writer_lock())
        return await asyncio.wrap_future(future)

    def read_sync(
        self,
        principal: Principal,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one read transaction, run on the calling thread."""
        return self._read(principal, lambda tx: fn(tx, *args, **kwargs))

    def write_sync(
        self,
        principal: Principal,
        fn: Callable[Concatenate[Tx, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return `fn(tx, …)` of one write transaction on the calling thread, once it is on disk."""
        if self._writer_lock is not None:
            self._writer_lock.acquire_sync()
        try:
            return self._write(principal, lambda tx: fn(tx, *args, **kwargs))
        finally:
            self._release_writer_lock()

    async def ping(self) -> None:
        """Return when the store answers.

        Raises Unavailable or IncompatibleStore when it does not, or has stopped taking writes.
        """
        future = self._thread_pool.submit(lambda: self._open_store().require_reachable())
        await asyncio.wrap_future(future)

    @property
    def backlog(self) -> int:
        """How many transactions of coroutines wait for a thread, or run."""
        return self._thread_pool.backlog

    def require_writable(self) -> None:
        """Return when a write would be taken. Raises Unavailable or IncompatibleStore; blocks."""
        self._open_store().require_writable()

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store to the new file `target`; blocks.

        Raises InvalidArgument when `target` exists, Unavailable when either file or PostgreSQL
        fails.
        """
        self._open_store().backup(target)

    def close(self, timeout: float = 5.0) -> None:
        """Take no more transactions, wait for running ones at most `timeout` s, then close.

        SQLite writes its log back when the store's last connection closes.
        """
        end = time.monotonic() + timeout
        if not self._thread_pool.close(timeout):
            _log.warning("a transaction was still running when the store was closed")
        self._closed = True
        if self._open_lock.acquire(timeout=max(0.0, end - time.monotonic())):
            self._dispose()
            self._open_lock.release()

    def _read(self, principal: Principal, function: Callable[[Tx], T]) -> T:
        store = self._open_store()
        return store.read(
            lambda connection: function(self._transaction(connection, principal)),
            _tenant_of(principal),
        )

    def _write(self, principal: Principal, function: Callable[[Tx], T]) -> T:
        store = self._open_store()

        def run(connection: Connection) -> T:
            tx = self._transaction(connection, principal)
            result = function(tx)
            store.append_entries(tx)
            return result

        return store.write(run, _tenant_of(principal), principal.user_id)

    def _transaction(self, connection: Connection, principal: Principal) -> Tx:
        return Tx(connection, principal, self._clock(), self.url_kind, self._services)

    def _open_store(self) -> store.OpenStore:
        """Return the open store, opening it first where nobody has."""
        opened = self._store
        if opened is not None and not self._closed:
            return opened
        with self._open_lock:
            if self._refusal is not None:
                raise type(self._refusal)(self._refusal.message, hint=self._refusal.hint)
            if self._store is None and not self._closed:
                try:
                    limits = engine.EngineLimits(*self._bounds)
                    self._store = store.OpenStore(self._address, limits, self._encryption)
                except (IncompatibleStore, DiskError) as refusal:
                    self._refusal = refusal
                    raise
            if self._closed or self._store is None:
                self._dispose()  # it was closed while it was being opened
                raise Unavailable("The store is closed.", hint="The server is stopping.")
            return self._store

    def _dispose(self) -> None:
        if self._store is not None:
            self._store.dispose()
            self._store = None

    def _release_writer_lock(self) -> None:
        if self._writer_lock is not None:
            self._writer_lock.release()


def _tenant_of(principal: Principal) -> str | None:
    return None if principal is SYSTEM else principal.tenant_id


class WriterLock:
    """A fair lock that coroutines of any event loop and plain threads wait for alike.

    SQLite lets one connection write at a time. Waiting for it here, before a worker thread is
    taken, keeps waiting writers from holding the threads that readers need.
    """

    def __init__(self, timeout: float) -> None:
        """Take the longest wait in seconds."""
        self._timeout: Final = timeout
        self._mutex: Final = threading.Lock()
        self._held = False
        self._waiting: Final[deque[Future[None]]] = deque()

    async def acquire(self) -> None:
        """Return once the caller is the writer. Raises Unavailable after the timeout."""
        turn = self._enqueue()
        if turn.done():
            return
        try:
            async with asyncio.timeout(self._timeout):
                await asyncio.wrap_future(turn)
        except TimeoutError:
            self._abandon(turn)
            raise self._timeout_error() from None
        except asyncio.CancelledError:
            self._abandon(turn)
            raise

    def acquire_sync(self) -> None:
        """Block until the caller is the writer. Raises Unavailable after the timeout."""
        turn = self._enqueue()
        try:
            turn.result(self._timeout)
        except (TimeoutError, CancelledError):
            self._abandon(turn)
            raise self._timeout_error() from None

    def release(self) -> None:
        """Hand the lock to the one who has waited longest; any thread may call this."""
        successor: Future[None] | None = None
        with self._mutex:
            while self._waiting and successor is None:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    successor = turn
            self._held = successor is not None
        if successor is not None:
            successor.set_result(None)

    def _enqueue(self) -> Future[None]:
        turn: Future[None] = Future()
        with self._mutex:
            if self._held:
                self._waiting.append(turn)
                return turn
            self._held = True
        turn.set_result(None)
        return turn

    def _abandon(self, turn: Future[None]) -> None:
        """Give up a turn; one that was granted in the meantime goes to the next in line."""
        if not turn.cancel():
            self.release()

    def _timeout_error(self) -> Unavailable:
        return Unavailable(
            f"Another write has kept the store for more than {self._timeout:g} s.",
            hint="Nothing was written; try again.",
        )
