"""Calls at the same moment, from four processes: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from rolltop.core.dispatch import dispatch
from tests import forks
from tests.desks import make_desk
from tests.toolsets.scratch.caller import Caller, cell

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock

TOGETHER = 4


def race(url: str, user: str, verb: str, *arguments: str) -> list[str]:
    """Return what four processes saw acknowledged, started at the same moment."""
    command = ["-m", "tests.toolsets.scratch.racer", url, user]
    acknowledged = forks.race([[*command, f"racer{n}", verb, *arguments] for n in range(TOGETHER)])
    return [word for words in acknowledged for word in words]


def test_four_processes_append_and_nothing_is_lost(
    database_url: str, me: Principal, mine: Caller
) -> None:
    pad = mine.pad()
    acknowledged = race(database_url, me.user_id, "append", pad, "10")
    assert len(acknowledged) == TOGETHER * 10
    assert sorted(mine.contents(pad)) == sorted(acknowledged)
    assert mine.read(pad, indices=[0])["version"] == 1 + len(acknowledged)


def test_four_processes_edit_one_cell_and_nothing_is_lost(
    database_url: str, me: Principal, mine: Caller
) -> None:
    pad = mine.pad("end\n")
    (one,) = mine.cell_ids(pad)
    acknowledged = race(database_url, me.user_id, "edit", pad, one, "8")
    assert len(acknowledged) == TOGETHER * 8
    (content,) = mine.contents(pad)
    assert content.split()[-1] == "end"
    assert Counter(content.split()[:-1]) == Counter(acknowledged)


def test_four_processes_create_and_never_pass_the_limit(
    database_url: str, me: Principal, mine: Caller
) -> None:
    made = race(database_url, me.user_id, "create", "5")
    assert len(set(made)) == TOGETHER * 5
    kept = mine.listed()
    assert len(kept) == 3
    trash = mine.ok("scratch_restore")["scratchpads"]
    assert {*kept, *(pad["scratch_id"] for pad in trash)} == set(made)


def test_edits_at_once_of_a_validated_cell_are_all_kept(
    database: Database, me: Principal, mine: Caller
) -> None:
    pad = mine.pad()
    one = mine.append(pad, "[0]", "json", validate=True)
    desk = make_desk(database)

    async def edit(n: int) -> Any:
        edits = [{"old": "[0", "new": f"[0, {n}"}]
        sent = {"scratch_id": pad, "cell_id": one, "edits": edits}
        return await dispatch(desk, "scratch_edit_cell", me, sent)

    async def together() -> list[Any]:
        return await asyncio.gather(*(edit(n) for n in range(1, 9)))

    answers = asyncio.run(together())
    assert [answer.is_error for answer in answers] == [False] * 8
    (content,) = mine.contents(pad)
    assert sorted(content.strip("[]").split(", ")) == [str(n) for n in range(9)]


def test_of_two_edits_from_one_version_one_wins(
    database: Database, me: Principal, mine: Caller
) -> None:
    pad = mine.pad("a")
    (one,) = mine.cell_ids(pad)
    desk = make_desk(database)

    async def replace(n: int) -> Any:
        sent = {"scratch_id": pad, "cell_id": one, "cell": cell(str(n), "txt"), "if_version": 1}
        return await dispatch(desk, "scratch_replace_cell", me, sent)

    async def together() -> list[Any]:
        return await asyncio.gather(*(replace(n) for n in range(4)))

    codes = Counter(answer.code for answer in asyncio.run(together()))
    assert codes == {None: 1, "CONFLICT": 3}


def test_of_cells_with_one_id_in_several_pads_one_is_made(
    database: Database, me: Principal, mine: Caller
) -> None:
    pads = [mine.pad() for _ in range(4)]
    desk = make_desk(database)

    async def append(pad: str, one: str) -> Any:
        sent = {"scratch_id": pad, "cell": cell("a", "txt", cell_id=one)}
        return await dispatch(desk, "scratch_append_cell", me, sent)

    async def together(one: str) -> list[Any]:
        return await asyncio.gather(*(append(pad, one) for pad in pads))

    for n in range(8):
        answers = asyncio.run(together(str(uuid.UUID(int=n + 1))))
        codes = Counter(answer.code for answer in answers)
        assert codes == {None: 1, "INVALID_ID": 3}
    assert sum(len(mine.contents(pad)) for pad in pads) == 8


def test_a_pad_that_is_written_at_the_moment_of_an_eviction_stays(
    database: Database, me: Principal, mine: Caller, clock: Clock
) -> None:
    desk = make_desk(database, settings={"scratch.max_scratchpads": 2})
    for _ in range(2):
        mine.pad()

    async def together(pad: str) -> tuple[Any, Any]:
        sent = {"scratch_id": pad, "cell": cell("a", "txt")}
        append = dispatch(desk, "scratch_append_cell", me, sent)
        create = dispatch(desk, "scratch_create", me, {})
        return await asyncio.gather(append, create)

    for _ in range(8):
        newest, oldest = mine.listed()
        clock.advance(seconds=1)
        mine.append(newest)
        clock.advance(seconds=1)
        appended, created = asyncio.run(together(oldest))
        assert not created.is_error, created.text
        kept = mine.listed()
        assert len(kept) == 2
        assert (oldest in kept) is not appended.is_error
