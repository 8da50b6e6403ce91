"""Processes that look at files for a search: what they must not miss."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolltop.core.roots.states import Known, State, Watchman, packed
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.trigrams.sentries import Ended, Sentries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.toolsets.retrieval.trigrams.indexed import Indexed

NEEDLE = Query("needle")


@pytest.fixture
def sentries() -> Iterator[Sentries]:
    made = Sentries()
    yield made
    made.close()


def _state(path: Path) -> State:
    status = path.lstat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_size, *times, status.st_ino, status.st_dev


def states_of(folder: Path, names: list[str]) -> bytes:
    """The states of a folder and files in it, as they are handed over."""
    return packed([_state(folder), *(_state(folder / name) for name in names)])


def _folder(code: Path, count: int) -> list[str]:
    names = [f"f{number}" for number in range(count)]
    for name in names:
        (code / name).write_text("nothing\n")
    return names


def test_what_is_added_during_a_look_is_not_missed(sentries: Sentries, code: Path) -> None:
    names = _folder(code, 3)
    ticket = sentries.ticket()
    known = states_of(code, names)
    (code / "f1").write_text("changed since\n")
    number = sentries.add(str(code), names, known)
    assert sentries.changed(ticket) == {number}


def test_a_look_that_others_asked_for_later_is_new_enough(sentries: Sentries, code: Path) -> None:
    names = _folder(code, 3)
    number = sentries.add(str(code), names, states_of(code, names))
    earlier, later = sentries.ticket(), sentries.ticket()
    (code / "f1").write_text("changed since\n")
    assert sentries.changed(later) == {number}
    assert sentries.changed(earlier) == set()
    sentries.drop(number)
    assert sentries.changed(sentries.ticket()) == set()


def test_searches_go_on_when_the_processes_are_killed(
    way: str, indexed: Indexed, code: Path
) -> None:
    others = _children()
    _folder(code, 5)
    indexed.build()
    for turn in range(5):
        (code / "f1").write_text("needle\n" if turn % 2 else "nothing\n")
        assert len(indexed.find(NEEDLE).hits) == turn % 2
        for pid in _children() - others if way == "sentries" else ():
            os.kill(pid, signal.SIGKILL)


def test_the_processes_stay_when_all_is_judged_anew(way: str, indexed: Indexed, code: Path) -> None:
    others = _children()
    _folder(code, 5)
    (code / "sub").mkdir()
    (code / "sub" / "f").write_text("needle\n")
    indexed.build()
    before = _children()
    assert (before > others) is (way == "sentries")
    for turn in range(6):
        (code.parent / ".gitignore").write_text(f"{turn}\n")
        (code / "sub" / "f").write_text("needle\n" if turn % 2 else "nothing\n")
        assert len(indexed.find(NEEDLE).hits) == turn % 2
    assert _children() == before


def _children() -> set[int]:
    """The processes that this one started; the tests' own are among them."""
    own = str(os.getpid())
    found: set[int] = set()
    for process in Path("/proc").iterdir():
        try:
            text = (process / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if process.name.isdigit() and text.rpartition(")")[2].split()[1] == own:
            found.add(int(process.name))
    return found


def test_no_process_is_left_when_nobody_looks_any_more() -> None:
    before = _children()
    made = Sentries()
    assert _children() > before
    del made
    assert _children() == before


def test_an_ended_process_ends_the_look(sentries: Sentries) -> None:
    sentries.close()
    with pytest.raises(Ended):
        sentries.changed(sentries.ticket())


@pytest.mark.parametrize("quickly", [True, False], ids=["in one piece", "one by one"])
def test_every_change_of_state_is_told(
    code: Path, monkeypatch: pytest.MonkeyPatch, *, quickly: bool
) -> None:
    if not quickly:
        monkeypatch.setattr("rolltop.core.roots.states._MACHINES", frozenset[str]())
    watchman = Watchman()
    names = _folder(code, 600)

    def look() -> bool:
        answer = watchman(([], [], True))
        states = states_of(code, names)
        watchman(([Known(1, str(code), [*names], states)], [], False))
        return answer == [1]

    look()
    assert not look()
    (code / "f7").read_text()
    assert not look()
    changes = [
        lambda: (code / "f0").write_text("longer than before\n"),
        lambda: (code / "f599").chmod(0o600),
        lambda: os.utime(code / "f300", ns=(1, 1)),
        lambda: (code / "f5").replace(code / "f6"),
        lambda: (code / "new").write_text("x"),
        (code / "f9").unlink,
        lambda: code.rename(code.with_name("elsewhere")),
    ]
    for change in changes:
        assert not look()
        change()
        names = sorted(file.name for file in code.iterdir()) if code.exists() else names
        assert watchman(([], [], True)) == [1]
        if code.exists():
            look()
