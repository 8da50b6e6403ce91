"""Four agents on one desk, killed at random: the feed tells all of it, once each and in order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import accounts
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from tests.campaign import examples
from tests.desks import call_tool, make_desk
from tests.torture.test_store import WRITERS, Campaign

if TYPE_CHECKING:
    import pytest

    from rolltop.core.context import AppContext
    from tests.databases import MakeDatabase

_KINDS: Final = ("task", "note", "pad")


class Follower:
    """Reads the feed of a desk while others write, until it is told to end."""

    def __init__(self, desk: AppContext, who: Principal) -> None:
        self._desk, self._who = desk, who
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow)
        self.changes: list[dict[str, Any]] = []
        self._thread.start()

    def _follow(self) -> None:
        while True:
            is_last = self._ended.is_set()
            found = self._read(0 if is_last else 1)
            self.changes += found
            if is_last and not found:
                return

    def _read(self, wait_seconds: int) -> list[dict[str, Any]]:
        since = str(self.changes[-1]["sequence"]) if self.changes else "0"
        answer = call_tool(
            self._desk, self._who, "desk_changes", since=since, wait_seconds=wait_seconds
        )
        assert not answer.is_error, answer.text
        return answer.structured["changes"]

    def end(self) -> None:
        """Read what is left, and stop."""
        self._ended.set()
        self._thread.join()


def test_no_change_is_missing_twice_or_out_of_order_and_all_can_be_taken_back(
    database_url: str, make_database: MakeDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    database = make_database(database_url)
    owner = database.write_sync(SYSTEM, accounts.ensure_default_user).id
    who = Principal.for_user(owner, actor="follower")
    desk = make_desk(database)
    follower = Follower(desk, who)
    campaign = Campaign(
        database_url, wanted=examples(60), program="tests.torture.desk_writer", max_life=30
    )
    try:
        campaign.run()
    finally:
        follower.end()
    told = follower.changes
    assert [change["sequence"] for change in told] == list(range(1, len(told) + 1))

    made = {change["uri"].partition("@")[0] for change in told if change["summary"] == "created"}
    undone = {f"undone {change['operation']}" for change in told if change["tool"] == "desk_undo"}
    lost = {said for said in campaign.acknowledged if said not in made | undone}
    assert lost == set()

    for actor in sorted({change["by"] for change in told}):
        answer = call_tool(desk, who, "desk_undo", since="0", actor=actor)
        assert not answer.is_error, answer.text
        assert not answer.structured.get("skipped")
    left = call_tool(desk, who, "desk_search", query="line longer", kinds=list(_KINDS))
    assert left.structured["hits"] == []
    with capsys.disabled():
        print(  # noqa: T201  # what the campaign is for
            f"\n{database.url_kind}: {WRITERS} agents, {len(told)} changes, "
            f"{len(campaign.acknowledged)} acknowledged, {campaign.kills} kills, "
            f"acknowledged - kept = {len(lost)}"
        )
