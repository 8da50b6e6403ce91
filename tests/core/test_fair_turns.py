"""Turns at threads: a caller's part, in order, none lost."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from rolltop.core.context import CallContext
from rolltop.core.principal import Principal
from rolltop.core.thread_pool import FairTurns, ThreadPool
from tests.desks import make_desk
from tests.server.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from rolltop.core.db import Database, Tx
    from tests.databases import MakeDatabase

CALLERS = "abc"


class Clock:
    """Time that passes when it is told to, in seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Visit:
    """One caller's wait for a turn, and the turn."""

    def __init__(self, turns: FairTurns, caller: str) -> None:
        self.caller = caller
        self.has_turn = False
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(turns))

    async def _run(self, turns: FairTurns) -> None:
        async with turns.turn(self.caller, "work"):
            self.has_turn = True
            try:
                await self._end.wait()
            finally:
                self.has_turn = False

    def end(self) -> None:
        self._end.set()


async def _settle() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["ask", "ask", "end", "cancel"]), st.sampled_from(CALLERS)),
        st.tuples(st.just("pass"), st.floats(0.1, 3)),
    ),
    max_size=60,
)


@given(st.integers(1, 6), steps)
def test_each_has_its_part_in_order_and_nobody_waits_for_others(
    processors: int, drawn: list[tuple[str, str | float]]
) -> None:
    asyncio.run(_visit(processors, drawn))


async def _visit(processors: int, drawn: list[tuple[str, str | float]]) -> None:
    clock = Clock()
    turns = FairTurns(16, processors, clock)
    visits: list[Visit] = []
    for step, argument in drawn:
        before = Counter(visit.caller for visit in visits if visit.has_turn)
        own = [visit for visit in visits if visit.caller == argument]
        if step == "pass":
            clock.now += float(argument)
        elif step == "ask":
            visits.append(Visit(turns, str(argument)))
        elif own and step == "end":
            own[0].end()
        elif own:
            own[-1].task.cancel()
        await _settle()
        visits = [visit for visit in visits if not visit.task.done()]
        held = Counter(visit.caller for visit in visits if visit.has_turn)
        others = len(held) > 1
        for caller in CALLERS:
            mine = [visit.has_turn for visit in visits if visit.caller == caller]
            assert mine == sorted(mine, reverse=True), "a later one had a turn before"
            assert held[caller] <= 2 * processors
            assert not mine or held[caller], "nobody waits while it holds nothing"
            if held[caller] > before[caller] and others:
                assert held[caller] <= max(1, processors // len(held))
    for visit in visits:
        visit.task.cancel()
    await asyncio.gather(*(visit.task for visit in visits), return_exceptions=True)


async def _count_at_once(turns: FairTurns, caller: str, wanted: int) -> int:
    visits = [Visit(turns, caller) for _ in range(wanted)]
    await _settle()
    found = sum(visit.has_turn for visit in visits)
    for visit in visits:
        visit.end()
    await asyncio.gather(*(visit.task for visit in visits))
    return found


def test_a_caller_alone_has_more_turns_than_one_of_several_until_the_others_are_gone() -> None:
    async def run() -> list[int]:
        clock = Clock()
        turns = FairTurns(16, 4, clock)
        found = [await _count_at_once(turns, "a", 9)]
        found.append(await _count_at_once(turns, "b", 9))
        found += [await _count_at_once(turns, caller, 1) for caller in "cdefgh"]
        found.append(await _count_at_once(turns, "a", 9))
        clock.now += 2
        found.append(await _count_at_once(turns, "a", 9))
        return found

    assert asyncio.run(run()) == [8, 2, 1, 1, 1, 1, 1, 1, 1, 8]


def test_callers_are_active_while_they_hold_a_turn_and_since_they_gave_it_back() -> None:
    async def run() -> list[bool]:
        clock = Clock()
        turns = FairTurns(16, 4, clock)
        found = [turns.is_active_since(clock.now)]
        async with turns.turn("a", "read"):
            clock.now += 5
            found.append(turns.is_active_since(clock.now))
            clock.now += 5
        found.append(turns.is_active_since(clock.now - 1))
        clock.now += 5
        return [*found, turns.is_active_since(clock.now - 1)]

    assert asyncio.run(run()) == [False, True, True, False]


def test_a_call_of_several_turns_is_not_overtaken_by_later_calls_of_its_caller() -> None:
    async def run() -> list[str]:
        turns, order = FairTurns(4, 1), list[str]()

        async def call(name: str, since: float) -> None:
            for _ in range(3):
                async with turns.turn("a", "read", since):
                    order.append(name)
                    await _settle()

        async with turns.turn("b", "read"):  # so that "a" has one turn at a time
            await asyncio.gather(*(call(name, float(name)) for name in "15432"))
        return order

    # One that comes back finds its turn taken by the next, and waits for that alone.
    assert asyncio.run(run()) == list("121212343434555")


def test_turns_go_on_in_a_process_that_is_halted_time_and_again() -> None:
    class Halted(Clock):
        def __call__(self) -> float:
            self.now += 2
            return self.now

    counting = _count_at_once(FairTurns(16, 1, Halted()), "a", 9)
    assert asyncio.run(asyncio.wait_for(counting, PATIENCE)) >= 1


def test_reads_writes_and_other_work_have_turns_of_their_own() -> None:
    async def run() -> None:
        turns = FairTurns(4, 1)
        async with (
            asyncio.timeout(60),
            turns.turn("a", "work"),
            turns.turn("a", "work"),
            turns.turn("a", "read"),
            turns.turn("a", "write"),
            turns.turn("a", "body"),
        ):
            pass

    asyncio.run(run())


def test_whoever_gives_up_has_its_turn_back_when_its_threads_work_is_done() -> None:
    async def run(first_ends: threading.Event) -> list[str]:
        turns, pool, done = FairTurns(4, 1), ThreadPool(4, "test"), list[str]()

        async def work(name: str, function: Callable[[], object]) -> None:
            async with turns.turn("a", "work"):
                await asyncio.wrap_future(pool.submit(function))
            done.append(name)

        begun = threading.Semaphore(0)

        def hang() -> None:
            begun.release()
            first_ends.wait()

        stuck = [asyncio.create_task(work("stuck", hang)) for _ in range(2)]
        for _ in stuck:
            await asyncio.to_thread(begun.acquire)
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        waiting = asyncio.create_task(work("next", lambda: None))
        await _settle()
        done.append("let go")
        first_ends.set()
        await waiting
        pool.release()
        return done

    assert asyncio.run(run(threading.Event())) == ["let go", "next"]


def test_a_transaction_is_within_its_turn_to_its_commit(database: Database, me: Principal) -> None:
    desk = make_desk(database, settings={"threads": 2})  # one turn for whoever is alone

    async def run(committed: threading.Event) -> bool:
        begun = threading.Event()

        def wait(_connection: Connection) -> None:
            begun.set()
            committed.wait()

        def commit_late(tx: Tx) -> None:
            event.listen(tx.connection.engine, "commit", wait, once=True)

        call = CallContext(desk, me, "tool", 0)
        given_up = asyncio.create_task(call.write(commit_late))
        await asyncio.to_thread(begun.wait)
        given_up.cancel()
        next_write = asyncio.create_task(call.write(lambda tx: tx.now))
        await _settle()
        has_waited = not next_write.done() and database.backlog == 1
        committed.set()
        await asyncio.gather(given_up, next_write, return_exceptions=True)
        return has_waited

    assert asyncio.run(run(threading.Event()))


def test_calls_that_hold_threads_leave_one_for_another_caller(
    make_database: MakeDatabase, sqlite_url: str
) -> None:
    desk = make_desk(make_database(sqlite_url), settings={"threads": 2})

    async def run(released: threading.Event) -> str:
        hostile, other = (
            CallContext(desk, Principal.for_user(user_id), "tool", 0) for user_id in "ab"
        )
        held = [asyncio.create_task(hostile.run_in_thread(released.wait)) for _ in range(20)]
        await _settle()
        try:
            async with asyncio.timeout(60):
                return await other.run_in_thread(lambda: "done")
        finally:
            released.set()
            await asyncio.gather(*held)

    assert asyncio.run(run(threading.Event())) == "done"
