"""Limits, and what goes into the trash to keep to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import CORE_SETTINGS, Settings, load
from rolltop.toolsets.scratch import TOOLSET
from rolltop.toolsets.scratch.jobs import evict_idle_pads, purge_trash, write_access_times
from tests.desks import make_desk
from tests.toolsets.scratch.caller import Caller, cell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock


def caller(database: Database, scope: Principal, **limits: Any) -> Caller:
    """Return a caller at a desk with these settings of scratch."""
    settings = {f"scratch.{name}": value for name, value in limits.items()}
    return Caller(make_desk(database, settings=settings), scope)


def made(mine: Caller, clock: Clock, count: int) -> list[str]:
    """Return the ids of pads made a second apart."""
    pads: list[str] = []
    for n in range(count):
        pads.append(mine.pad(metadata={"title": str(n)}))
        clock.advance(seconds=1)
    return pads


def test_the_least_recent_pad_makes_room_and_is_named(
    database: Database, me: Principal, them: Principal, clock: Clock
) -> None:
    mine, theirs = (caller(database, scope, max_scratchpads=3) for scope in (me, them))
    foreign = made(theirs, clock, 3)
    first, second, third = made(mine, clock, 3)
    mine.read(first)
    clock.advance(seconds=1)
    mine.append(second)
    clock.advance(seconds=1)
    answer = mine.ok("scratch_create", metadata={"title": "new"})
    assert answer["evicted_scratchpads"] == [third]
    assert mine.code("scratch_read", scratch_id=third) == "NOT_FOUND"
    assert set(mine.listed()) == {first, second, answer["scratchpad"]["scratch_id"]}
    assert sorted(theirs.listed()) == sorted(foreign)
    clock.advance(seconds=1)
    restored = mine.ok("scratch_restore", scratch_id=third)
    assert restored["evicted_scratchpads"] == [first]


def test_of_equals_the_oldest_goes(database: Database, me: Principal, clock: Clock) -> None:
    mine = caller(database, me, max_scratchpads=2)
    first, second = made(mine, clock, 2)
    for pad in (second, first):
        mine.read(pad)
    assert mine.ok("scratch_create")["evicted_scratchpads"] == [first]
    assert second in mine.listed()


def test_reads_count_for_eviction_after_they_were_written_down(
    database: Database, me: Principal, clock: Clock
) -> None:
    mine = caller(database, me, max_scratchpads=2)
    first, second = made(mine, clock, 2)
    before = mine.read(first)
    asyncio.run(write_access_times(mine.desk))
    fresh = caller(database, me, max_scratchpads=2)
    assert fresh.ok("scratch_create")["evicted_scratchpads"] == [second]
    after = fresh.read(first)
    assert (after["version"], after["updated_at"]) == (before["version"], before["updated_at"])


def test_reads_of_pads_that_are_gone_are_passed_over(database: Database, me: Principal) -> None:
    mine = caller(database, me)
    pad = mine.pad()
    mine.read(pad)
    mine.ok("scratch_delete", scratch_id=pad)
    asyncio.run(write_access_times(mine.desk))
    asyncio.run(write_access_times(mine.desk))
    mine.ok("scratch_restore", scratch_id=pad)


def test_the_policy_fail_refuses_and_changes_nothing(
    database: Database, me: Principal, clock: Clock
) -> None:
    mine = caller(database, me, max_scratchpads=2, eviction_policy="fail")
    first, second = made(mine, clock, 2)
    error = mine.fails("scratch_create", namespace="other", cells=[cell()])
    assert error["code"] == "CAPACITY_LIMIT_REACHED"
    assert sorted(mine.listed()) == sorted([first, second])
    mine.ok("scratch_delete", scratch_id=first)
    third = mine.pad()
    assert mine.code("scratch_restore", scratch_id=first) == "CAPACITY_LIMIT_REACHED"
    assert sorted(mine.listed()) == sorted([second, third])


def test_a_creation_that_fails_evicts_nothing(
    database: Database, me: Principal, clock: Clock
) -> None:
    mine = caller(database, me, max_scratchpads=2)
    pads = made(mine, clock, 2)
    taken = mine.append(pads[0])
    for arguments in ({"scratch_id": pads[0]}, {"cells": [cell(cell_id=taken)]}):
        assert mine.code("scratch_create", **arguments) == "INVALID_ID"
    assert sorted(mine.listed()) == sorted(pads)


def test_no_limit_is_no_limit(database: Database, me: Principal) -> None:
    mine = caller(database, me, max_scratchpads=0, max_cells_per_pad=0, max_cell_bytes=0)
    pad = mine.pad(*["x"] * 1030)
    mine.append(pad, "y" * 100)
    assert mine.read(pad, indices=[1030])["cell_count"] == 1031


def test_cells_of_a_pad_are_limited(database: Database, me: Principal) -> None:
    mine = caller(database, me, max_cells_per_pad=2)
    code = mine.code("scratch_create", cells=[cell()] * 3)
    assert code == "CAPACITY_LIMIT_REACHED"
    pad = mine.pad("a", "b")
    assert mine.code("scratch_append_cell", scratch_id=pad, cell=cell()) == code
    assert mine.contents(pad) == ["a", "b"]


def test_the_size_of_a_cell_is_limited_in_bytes(database: Database, me: Principal) -> None:
    mine = caller(database, me, max_cell_bytes=10)
    pad = mine.pad("ä" * 5)
    (one,) = mine.cell_ids(pad)
    too_long = cell("ä" * 5 + "x", "txt")
    for tool, arguments in (
        ("scratch_create", {"cells": [too_long]}),
        ("scratch_append_cell", {"scratch_id": pad, "cell": too_long}),
        ("scratch_replace_cell", {"scratch_id": pad, "index": 0, "cell": too_long}),
        (
            "scratch_edit_cell",
            {"scratch_id": pad, "cell_id": one, "edits": [{"line_start": 1, "text": "x" * 11}]},
        ),
    ):
        assert mine.code(tool, **arguments) == "CAPACITY_LIMIT_REACHED"
    assert mine.contents(pad) == ["ä" * 5]
    assert mine.read(pad)["version"] == 1


def test_preempt_sweeps_idle_pads_of_every_tenant(
    database: Database, me: Principal, them: Principal, clock: Clock
) -> None:
    limits = {"eviction_policy": "preempt", "preempt_age": 3600, "max_scratchpads": 3}
    mine = caller(database, me, **limits)
    theirs = Caller(mine.desk, them)
    idle, read, foreign = mine.pad(), mine.pad(), theirs.pad()
    clock.advance(minutes=30)
    mine.read(read)
    written = mine.pad()
    clock.advance(minutes=31)
    asyncio.run(evict_idle_pads(mine.desk))
    assert sorted(mine.listed()) == sorted([read, written])
    assert theirs.listed() == []
    assert mine.code("scratch_read", scratch_id=idle) == "NOT_FOUND"
    mine.ok("scratch_restore", scratch_id=idle)
    theirs.ok("scratch_restore", scratch_id=foreign)
    assert mine.ok("scratch_create")["evicted_scratchpads"] == [read]


def test_other_policies_do_not_sweep(database: Database, me: Principal, clock: Clock) -> None:
    mine = caller(database, me, preempt_age=1)
    pad = mine.pad()
    clock.advance(days=9)
    asyncio.run(evict_idle_pads(mine.desk))
    assert mine.listed() == [pad]


def test_the_trash_is_emptied_after_30_days(
    database: Database, me: Principal, clock: Clock
) -> None:
    mine = caller(database, me)
    pad = mine.pad("x")
    mine.ok("scratch_delete", scratch_id=pad)
    clock.advance(days=29)
    asyncio.run(purge_trash(mine.desk))
    assert len(mine.ok("scratch_restore")["scratchpads"]) == 1
    clock.advance(days=1)
    asyncio.run(purge_trash(mine.desk))
    clock.advance(days=-1)
    assert mine.ok("scratch_restore")["scratchpads"] == []


def loaded(folder: Path, **environment: str) -> Settings:
    """Return the settings of a process with this environment."""
    return load(
        [*CORE_SETTINGS, *TOOLSET.settings],
        environment=environment,
        working_directory=folder,
        user_directory=folder,
    )


def test_a_bare_number_of_a_duration_counts_the_settings_own_unit(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        SCRATCH_NOTEBOOK_PREEMPT_AGE="2",
        SCRATCH_NOTEBOOK_PREEMPT_INTERVAL="3",
        SCRATCH_NOTEBOOK_VALIDATION_TIMEOUT="4",
        SCRATCH_NOTEBOOK_MAX_SCRATCHPADS="0",
        ROLLTOP_SCRATCH_MAX_CELLS_PER_PAD="7",
        SCRATCH_NOTEBOOK_EVICTION_POLICY="fail",
    )
    assert settings["scratch.preempt_age"] == 2 * 3600
    assert settings["scratch.preempt_interval"] == 3 * 60
    assert settings["scratch.validation_timeout"] == 4
    assert settings["scratch.max_scratchpads"] == 0
    assert settings["scratch.max_cells_per_pad"] == 7
    assert settings["scratch.eviction_policy"] == "fail"


@pytest.mark.parametrize("setting", ["PREEMPT_AGE", "PREEMPT_INTERVAL", "VALIDATION_TIMEOUT"])
@pytest.mark.parametrize("given", ["0", "0h", "-1h", "1.5h", "1h30m", "99999999999d", "soon"])
def test_any_other_duration_stops_the_start_with_its_name(
    tmp_path: Path, setting: str, given: str
) -> None:
    variable = f"SCRATCH_NOTEBOOK_{setting}"
    with pytest.raises(InvalidConfig, match=variable):
        loaded(tmp_path, **{variable: given})


def test_other_names_of_the_seed_are_reported_once_and_ignored(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path, SCRATCH_NOTEBOOK_BATCH_SIZE="8", SCRATCH_NOTEBOOK_EVICTION_POLICY="fail"
    )
    told = [notice.text for notice in settings.notices]
    assert told == ["environment SCRATCH_NOTEBOOK_BATCH_SIZE is no setting and is ignored"]


@pytest.mark.parametrize(
    "name",
    ["AUTH_MODE", "TENANT", "TLS_CERT", "DATA_PATH", "ALLOWED_HOSTS", "API_KEYS", "PASSWORDS"],
)
def test_a_name_of_the_seed_that_bears_on_security_or_place_is_never_ignored(
    tmp_path: Path, name: str
) -> None:
    variable = f"SCRATCH_NOTEBOOK_{name}"
    with pytest.raises(InvalidConfig, match=variable):
        loaded(tmp_path, **{variable: "x"})
    (notice,) = loaded(tmp_path, **{variable: ""}).notices
    assert variable in notice.text


def test_the_switches_of_the_seed_mean_what_they_say(tmp_path: Path) -> None:
    word = "s3cret"
    settings = loaded(
        tmp_path,
        SCRATCH_NOTEBOOK_ENABLE_AUTH="true",
        SCRATCH_NOTEBOOK_AUTH_BEARER_TOKEN=word,
        SCRATCH_NOTEBOOK_STORAGE_DIR=str(tmp_path / "kept"),
        SCRATCH_NOTEBOOK_ENABLE_SEMANTIC_SEARCH="false",
        SCRATCH_NOTEBOOK_EMBEDDING_MODEL="sentence-transformers/all-MiniLM-L6-v2",
    )
    assert settings["http.require_token"] is True
    assert settings["http.bearer_token"] == word
    assert word not in settings.masked_text("http.bearer_token")
    assert settings["data_dir"] == tmp_path / "kept"
    assert settings["scratch.semantic_search"] is False
    assert settings["scratch.embedding_model"] == "all-MiniLM-L6-v2-int8"
    assert not settings.notices


def test_the_sweeper_runs_as_often_as_the_setting_says(tmp_path: Path) -> None:
    every: dict[str, float | Callable[[Settings], float]] = {
        job.name: job.interval for job in TOOLSET.jobs
    }
    swept = every["scratch.sweep"]
    assert callable(swept)
    assert swept(loaded(tmp_path, SCRATCH_NOTEBOOK_PREEMPT_INTERVAL="15s")) == 15


def test_an_eviction_is_logged_without_any_text(
    database: Database, me: Principal, caplog: pytest.LogCaptureFixture
) -> None:
    mine = caller(database, me, max_scratchpads=1)
    caplog.set_level("INFO", logger="rolltop")
    mine.pad(metadata={"title": "wholly private"})
    mine.pad()
    lines = [record for record in caplog.records if record.message == "scratchpads evicted"]
    assert len(lines) == 1
    assert "wholly private" not in str(vars(lines[0]))
