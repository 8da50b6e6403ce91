"""Where was I, in the files: desk_resume names those touched last, as they are now."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from rolltop.core.dispatch import ToolSelection
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.retrieval import jobs
from rolltop.toolsets.retrieval.service import touched
from rolltop.workspace import Roots
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

HOUR = 3600
NOON = 1_769_860_800  # 2026-01-31T12:00Z


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(database: Database, code: Path) -> AppContext:
    return make_desk(database, roots=Roots.open({"code": code}, base=code))


def write(path: Path, hours: int = 0, content: bytes = b"masts\n") -> None:
    """Write a file that was changed so many hours after noon."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (NOON, NOON + hours * HOUR))


def titles(answer: dict[str, Any]) -> list[str]:
    return [item["title"] for item in answer.get("recent", [])]


def test_the_files_touched_last_follow_pads_and_notes(
    desk: AppContext, code: Path, me: Principal
) -> None:
    for hour in range(7):
        write(code / "a b" / f"{hour}.py", hour)
    answer_of(desk, me, "note_save", text="# Harbour")
    answer = answer_of(desk, me, "desk_resume")
    assert "pending" not in answer
    assert titles(answer) == ["Harbour", *(f"code/a b/{hour}.py" for hour in (6, 5, 4, 3, 2))]
    assert answer["recent"][1] == {
        "uri": "rolltop://file/code/a%20b/6.py",
        "title": "code/a b/6.py",
        "at": "2026-01-31T18:00Z",
    }
    write(code / "0.py", 9)
    (code / "a b" / "6.py").unlink()
    assert titles(answer_of(desk, me, "desk_resume"))[1:3] == ["code/0.py", "code/a b/5.py"]
    answer_of(desk, me, "repo_search", query="masts")  # from here on its list is looked at
    write(code / "1.py", 10)
    assert titles(answer_of(desk, me, "desk_resume"))[1:3] == ["code/1.py", "code/0.py"]


def test_only_files_that_may_be_read_are_named(
    desk: AppContext, code: Path, me: Principal, tmp_path: Path
) -> None:
    write(code / "read.md", 1)
    write(code / ".gitignore", 9, b"ignored.md\nbuild/\n")
    write(code / "ignored.md", 9)
    write(code / "build" / "made.md", 9)
    write(code / "image.png", 9, b"\x89PNG\r\n\x1a\n\0\0")
    write(code / ".hidden.md", 9)
    write(tmp_path / "outside.md", 9)
    (code / "link.md").symlink_to(tmp_path / "outside.md")
    write(code / os.fsdecode(b"\xff.md"), 9)
    answer = answer_of(desk, me, "desk_resume")
    assert titles(answer) == ["code/read.md"]
    assert answer_of(desk, me, "desk_read", uri=answer["recent"][0]["uri"])["text"] == "masts\n"


def test_a_file_of_two_roots_is_named_once(database: Database, code: Path, me: Principal) -> None:
    write(code / "docs" / "read.md")
    roots = Roots.open({"code": code, "docs": code / "docs"}, base=code)
    assert titles(answer_of(make_desk(database, roots=roots), me, "desk_resume")) == [
        "docs/read.md"
    ]


@contextmanager
def listing_takes_long(monkeypatch: pytest.MonkeyPatch) -> Generator[threading.Event]:
    """Let every listing wait for the event, and calls not for it."""
    may_list, select = threading.Event(), touched.select_roots

    def select_late(*roots: Any) -> Any:
        may_list.wait()
        return select(*roots)

    with monkeypatch.context() as patch:
        patch.setattr(touched, "LISTING_SECONDS", 0.01)
        patch.setattr(touched, "select_roots", select_late)
        yield may_list
        may_list.set()


def test_a_listing_that_takes_long_is_not_waited_for(
    desk: AppContext, code: Path, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(code / "read.md")
    answer_of(desk, me, "note_save", text="# Harbour")
    with listing_takes_long(monkeypatch):
        for _ in range(2):
            answer = answer_of(desk, me, "desk_resume")
            assert answer["pending"] == "files are being listed"
            assert titles(answer) == ["Harbour"]
    assert titles(answer_of(desk, me, "desk_resume")) == ["Harbour", "code/read.md"]


def test_files_of_an_earlier_listing_are_named_as_they_are_now(
    desk: AppContext, code: Path, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hour, name in enumerate(("kept", "touched", "deleted", "ignored", "replaced")):
        write(code / f"{name}.md", hour)
    assert titles(answer_of(desk, me, "desk_resume"))[0] == "code/replaced.md"
    with listing_takes_long(monkeypatch):
        write(code / "touched.md", 8)
        (code / "deleted.md").unlink()
        (code / ".gitignore").write_text("ignored.md\n")
        (code / "replaced.md").unlink()
        (code / "replaced.md").symlink_to("/etc/passwd")
        answer = answer_of(desk, me, "desk_resume")
        assert [(item["title"], item["at"]) for item in answer["recent"]] == [
            ("code/touched.md", "2026-01-31T20:00Z"),
            ("code/kept.md", "2026-01-31T12:00Z"),
        ]
        assert answer["pending"].startswith("files are as of 20")
    assert "pending" not in answer_of(desk, me, "desk_resume")


def test_the_first_call_knows_what_was_listed_at_the_start(
    desk: AppContext, code: Path, me: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(code / "read.md")
    asyncio.run(jobs.list_touched(desk))
    with listing_takes_long(monkeypatch):
        assert titles(answer_of(desk, me, "desk_resume")) == ["code/read.md"]


def test_a_listing_that_takes_long_is_not_made_again_at_once(
    desk: AppContext, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(code / "read.md")
    monkeypatch.setattr(touched, "LISTING_SECONDS", 0.01)
    times = iter([0, 2, 21, 22, 22.005])
    monkeypatch.setattr(touched.time, "monotonic", lambda: next(times))
    last = desk.service(touched.LastListing)
    found = [last.renew(5) for _ in range(3)]
    assert [one is None for one in found] == [False, True, False]


@pytest.mark.parametrize("budget", [200, 300, 800])
def test_files_take_no_room_from_what_is_open(
    desk: AppContext, code: Path, me: Principal, budget: int
) -> None:
    for number in range(12):
        answer_of(desk, me, "add_task", title=f"Fix crane {number} of the harbour")
        answer_of(desk, me, "note_save", text=f"# Note {number} with a long title")
    before = answer_of(desk, me, "desk_resume", max_tokens=budget)
    for number in range(5):
        write(code / ("long" * 40) / f"{number}.md", number)
    answer = call_tool(desk, me, "desk_resume", max_tokens=budget)
    assert token_counter.count(answer.text) <= budget
    known = len(before.get("recent", []))
    shown = answer.structured
    assert {**shown, "recent": shown.get("recent", [])[:known]} == {"recent": [], **before}
    assert len(titles(answer_of(desk, me, "desk_resume", max_tokens=4000))) == 12 + 5


def test_all_who_may_read_the_roots_see_their_files_and_no_others(
    desk: AppContext, code: Path, database: Database, me: Principal, them: Principal
) -> None:
    write(code / "read.md")
    elsewhere = code.with_name("elsewhere")
    write(elsewhere / "theirs.md")
    other = make_desk(database, roots=Roots.open({"code": elsewhere}, base=code))
    answer_of(desk, me, "note_save", text="# Harbour")
    assert titles(answer_of(desk, me, "desk_resume")) == ["Harbour", "code/read.md"]
    assert titles(answer_of(desk, them, "desk_resume")) == ["code/read.md"]
    assert titles(answer_of(other, them, "desk_resume")) == ["code/theirs.md"]


def test_files_are_those_of_the_connections_own_project(
    desk: AppContext, code: Path, me: Principal
) -> None:
    write(code / "read.md")
    port = replace(me, project="port")
    for caller, given in ((port, {}), (port, {"project": "*"}), (me, {"project": "port"})):
        assert titles(answer_of(desk, caller, "desk_resume", **given)) == ["code/read.md"]
    assert titles(answer_of(desk, port, "desk_resume", project="sea")) == []


def test_without_roots_or_what_reads_them_there_are_no_files(
    database: Database, code: Path, me: Principal
) -> None:
    write(code / "read.md")
    roots = Roots.open({"code": code}, base=code)
    few = ToolSelection(toolsets=("desk", "notes"))
    assert answer_of(make_desk(database), me, "desk_resume") == {}
    alone = make_desk(database, roots=roots, toolsets=TOOLSETS, selection=few)
    assert answer_of(alone, me, "desk_resume") == {}
    (code / "read.md").unlink()
    code.rmdir()
    assert answer_of(make_desk(database, roots=roots), me, "desk_resume") == {}
