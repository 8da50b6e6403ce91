"""Saves at the same moment, from four processes: none is lost unseen."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.dispatch import dispatch
from tests import forks

if TYPE_CHECKING:
    from rolltop.core.principal import Principal
    from tests.toolsets.notes.caller import Caller

TOGETHER = 4
EACH = 6


def race(url: str, user: str, note: str) -> list[str]:
    """Return what four processes saw acknowledged, started at the same moment.

    Two of them send patches, two whole texts.
    """
    command = ["-m", "tests.toolsets.notes.racer", url, user]
    racers = [
        [*command, f"racer{n}", ("patch", "whole")[n % 2], note, str(EACH)] for n in range(TOGETHER)
    ]
    return [word for words in forks.race(racers) for word in words]


def test_four_processes_save_one_note_and_no_word_is_lost(
    database_url: str, me: Principal, mine: Caller
) -> None:
    note = mine.note("begin\n")
    acknowledged = race(database_url, me.user_id, note)
    assert len(acknowledged) == TOGETHER * EACH
    found = mine.get(note)
    assert found["text"].split()[0] == "begin"
    assert Counter(found["text"].split()[1:]) == Counter(acknowledged)
    assert found["local_version"] == 1 + len(acknowledged)
    assert mine.versions(note) == list(range(found["local_version"], 0, -1))


def test_of_two_whole_texts_from_one_version_one_is_kept(mine: Caller) -> None:
    note = mine.note("begin")

    async def together() -> list[Any]:
        sent = [{"id": note, "local_version": 1, "text": f"text {n}"} for n in range(4)]
        calls = (dispatch(mine.desk, "note_save", mine.scope, each) for each in sent)
        return await asyncio.gather(*calls)

    answers = asyncio.run(together())
    assert Counter(answer.code for answer in answers) == {None: 1, "VERSION_CONFLICT": 3}
    (kept,) = [answer.structured["text"] for answer in answers if not answer.is_error]
    assert mine.get(note)["text"] == kept
    for answer in answers:
        if answer.is_error:
            assert answer.structured["error"]["details"]["current_text"] == kept


@pytest.mark.parametrize("by_undo", [False, True])
def test_of_calls_that_bring_a_deleted_note_back_at_once_one_does(
    mine: Caller, *, by_undo: bool
) -> None:
    for number in range(4):
        note = mine.note(f"text {number}")
        mine.ok("note_manage", action="trash", id=note, local_version=1)
        mine.ok("note_manage", action="delete_permanently", id=note, local_version=2)
        deleted = mine.ok("desk_history", uri=f"rolltop://note/{note}")["changes"][0]
        restore = {"action": "restore", "id": note, "local_version": 2, "version": 1}
        sent = {"operation": deleted["operation"]} if by_undo else restore
        tool = "desk_undo" if by_undo else "note_manage"

        async def together(tool: str, sent: dict[str, Any]) -> list[Any]:
            calls = (dispatch(mine.desk, tool, mine.scope, sent) for _ in range(4))
            return await asyncio.gather(*calls)

        codes = Counter(answer.code for answer in asyncio.run(together(tool, sent)))
        assert codes.keys() <= {None, "VERSION_CONFLICT", "CONFLICT"}
        assert codes[None] == (4 if by_undo else 1)
        assert mine.get(note)["text"] == f"text {number}"
