"""Of many processes on one store one runs a job, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from rolltop.core import accounts, expiry, leases
from rolltop.core.db import SYSTEM
from rolltop.core.db.schema import job_leases
from rolltop.core.leases import LEASE_SECONDS, LeaseLost
from rolltop.toolsets.scratch.jobs import embed
from tests.databases import age_leases
from tests.desks import make_desk
from tests.fake_embedder import FakeEmbedder
from tests.toolsets.scratch.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.embedding import Matrix
    from rolltop.core.leases import JobLease
    from rolltop.core.principal import Principal
    from tests.databases import Clock, MakeDatabase

HALF = LEASE_SECONDS // 2
ELSEWHERE = "b 1 another.example"


@pytest.fixture
def other(database_url: str, make_database: MakeDatabase, database: Database) -> Database:
    """The store as another process has opened it, with other connections."""
    assert database.is_open
    return make_database(database_url)


def acquire(database: Database, holder: str = "", name: str = "job") -> JobLease | None:
    """Try to take the lease of a job for all users."""
    return database.write_sync(SYSTEM, leases.acquire, name, holder)


def acquired(database: Database, holder: str = "", name: str = "job") -> JobLease:
    """Take the lease, which must be free."""
    lease = acquire(database, holder, name)
    assert lease is not None
    return lease


def let_time_pass(database: Database, seconds: float) -> None:
    database.write_sync(SYSTEM, age_leases, seconds)


def count_leases(database: Database) -> int:
    count = select(func.count()).select_from(job_leases)
    return database.read_sync(SYSTEM, lambda tx: tx.execute(count).scalar_one())


def test_one_holds_a_lease_until_it_is_released(database: Database, other: Database) -> None:
    first = acquired(database)
    assert acquire(other, ELSEWHERE) is None
    assert acquire(other, ELSEWHERE, "another job") is not None
    other.write_sync(SYSTEM, leases.renew, first)  # whichever connection: no session has the lease
    assert other.write_sync(SYSTEM, leases.release, first)
    second = acquired(other, ELSEWHERE)
    assert second.fence > first.fence
    assert acquire(database) is None


def test_a_lease_runs_out_unless_it_is_renewed(
    database: Database, other: Database, clock: Clock
) -> None:
    lease = acquired(database)
    clock.advance(days=30)  # of the processes: the database has its own
    let_time_pass(database, HALF)
    assert acquire(other, ELSEWHERE) is None
    database.write_sync(SYSTEM, leases.renew, lease)
    let_time_pass(database, HALF)
    assert acquire(other, ELSEWHERE) is None
    let_time_pass(database, HALF)
    assert acquired(other, ELSEWHERE).fence > lease.fence


def test_a_lease_from_a_clock_that_ran_ahead_keeps_nobody_away(
    database: Database, other: Database
) -> None:
    acquired(database)
    let_time_pass(database, -86_400.0)
    acquired(other, ELSEWHERE)


def test_a_killed_holder_of_this_machine_keeps_nobody_away(
    database: Database, other: Database
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        holder = f"a {process.pid} {socket.gethostname()}"
        acquired(database, holder)
        assert acquire(other) is None
        process.kill()
    acquired(other)


def test_who_lost_a_lease_can_write_nothing(
    database: Database, other: Database, me: Principal
) -> None:
    lease = acquired(database)
    let_time_pass(database, LEASE_SECONDS)
    taken = acquired(other, ELSEWHERE)

    def work(tx: Tx) -> None:
        accounts.delete_user(tx, me.user_id)
        leases.renew(tx, lease)

    with pytest.raises(LeaseLost):
        database.write_sync(SYSTEM, work)
    assert database.read_sync(SYSTEM, accounts.find_user_by_id, me.user_id) is not None
    assert not database.write_sync(SYSTEM, leases.release, lease)
    assert acquire(database) is None  # it did not release the other's
    other.write_sync(SYSTEM, leases.revoke, taken.name)
    with pytest.raises(LeaseLost):
        other.write_sync(SYSTEM, leases.renew, taken)


def test_of_many_that_want_a_lease_at_once_one_gets_it(
    database_url: str, make_database: MakeDatabase
) -> None:
    stores = [make_database(database_url) for _ in range(6)]
    with ThreadPoolExecutor(len(stores)) as pool:
        for turn in range(4):
            tried = list(pool.map(acquire, stores, [f"{n} 1 there" for n in range(len(stores))]))
            (lease,) = [one for one in tried if one is not None]
            assert lease.fence == turn + 1
            let_time_pass(stores[0], LEASE_SECONDS)


def test_a_user_s_leases_are_the_user_s_and_go_with_the_user(
    database: Database, me: Principal, them: Principal
) -> None:
    mine = database.write_sync(me, leases.acquire, "job")
    theirs = database.write_sync(them, leases.acquire, "job", ELSEWHERE)
    assert mine is not None
    assert theirs is not None
    database.write_sync(them, leases.revoke, "job")
    database.write_sync(me, leases.renew, mine)
    database.write_sync(SYSTEM, accounts.delete_user, me.user_id)
    assert count_leases(database) == 1


class Paused:
    """A process that stops before one of its writes, while something happens."""

    def __init__(self, database: Database, at: int, happen: Callable[[], object]) -> None:
        self.database = self
        self._database = database
        self._left = at
        self._happen = happen

    async def write(self, *arguments: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            await asyncio.to_thread(self._happen)
        return await self._database.write(*arguments)


@pytest.fixture
def acts_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what makes the next statements another process's, on a machine of its own."""

    def act_as(name: str) -> None:
        monkeypatch.setattr(leases, "process_holder", lambda: f"{name} 1 {name}.example")

    return act_as


def test_one_process_purges_and_one_that_stood_still_deletes_nothing(
    database: Database, other: Database, acts_as: Callable[[str], None]
) -> None:
    deleted: list[str] = []

    def delete(_tx: Tx, who: str) -> int:
        deleted.append(who)
        return 1 if deleted.count(who) <= 2 else 0

    def purge(app: Any, who: str) -> None:
        acts_as(who)
        asyncio.run(expiry.purge_expired(app, "things", delete, who))

    def meet() -> None:
        purge(SimpleNamespace(database=other), "other")
        assert deleted == ["first"]
        let_time_pass(other, LEASE_SECONDS)
        purge(SimpleNamespace(database=other), "other")

    with pytest.raises(LeaseLost):
        purge(Paused(database, 2, meet), "first")
    assert deleted == ["first", "other", "other", "other"]
    purge(SimpleNamespace(database=database), "first")
    assert deleted[4:] == ["first"] * 2


def test_a_purge_of_nothing_writes_nothing(database: Database) -> None:
    app: Any = SimpleNamespace(database=database)
    asyncio.run(expiry.purge_expired(app, "things", lambda _tx: 0))
    assert count_leases(database) == 0


def test_one_process_embeds(
    database: Database,
    other: Database,
    me: Principal,
    monkeypatch: pytest.MonkeyPatch,
    acts_as: Callable[[str], None],
) -> None:
    first, second = make_desk(database), make_desk(other)
    Caller(first, me).pad("gull and heron")
    embedded: list[str] = []

    def embed_as(desk: AppContext, name: str) -> None:
        acts_as(name)
        asyncio.run(embed(desk))

    class Watched(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            embedded.extend(texts)
            if len(embedded) == 1:
                embed_as(second, "second")
            return super().embed(texts)

    monkeypatch.setattr("rolltop.core.embedding.missing_packages", list[str])
    monkeypatch.setattr("rolltop.core.embedding.try_load_embedder", Watched)
    embed_as(first, "first")
    assert embedded == ["gull and heron"]
    assert Caller(first, me).ok("scratch_search", query="heron", mode="meaning")["hits"]
    assert acquire(other, "", "scratch.embed") is not None  # it was given back


def test_a_process_that_fails_to_embed_keeps_no_other_from_it(
    database: Database, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            raise MemoryError(texts)

    desk = make_desk(database)
    Caller(desk, me).pad("gull and heron")
    monkeypatch.setattr("rolltop.core.embedding.missing_packages", list[str])
    monkeypatch.setattr("rolltop.core.embedding.try_load_embedder", Failing)
    with pytest.raises(MemoryError):
        asyncio.run(embed(desk))
    assert acquire(database, ELSEWHERE, "scratch.embed") is not None
