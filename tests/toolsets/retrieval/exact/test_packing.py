"""Which texts are held in memory, when, and for how long."""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING
from unittest.mock import patch
from weakref import ref

import pytest

from rolltop.toolsets.retrieval.exact import MOST_BYTES, ripgrep, search
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.service import indexing
from rolltop.toolsets.retrieval.service.packing import Packing
from rolltop.toolsets.retrieval.store import Packs
from tests.toolsets.retrieval.exact.kept import EXPRESSION, NEEDLE, Kept
from tests.toolsets.retrieval.forest import make_forest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("however_few")


def test_texts_follow_the_files(code: Path) -> None:
    for number in range(4):
        (code / f"{number}.txt").write_text("needle\n")
    kept = Kept(code)
    (code / "0.txt").unlink()
    (code / "1.txt").write_text("another\n")
    (code / "9.txt").write_text("a needle\n")
    (code / "binary").write_bytes(b"\0needle")
    (code / "wide.txt").write_bytes("needle\n".encode("utf-16"))
    assert kept.held() == {"0.txt", "1.txt", "2.txt", "3.txt"}
    kept.hold()
    assert kept.held() == {"1.txt", "2.txt", "3.txt", "9.txt"}
    assert kept.alike(NEEDLE) == 4


def test_texts_of_files_that_are_gone_are_let_go(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolltop.toolsets.retrieval.service.packing._FEW", 2)
    for number in range(6):
        (code / f"{number}.txt").write_text("needle\n")
    kept = Kept(code)
    for number in range(2):
        (code / f"{number}.txt").unlink()
    kept.hold()
    assert len(kept.held()) == 6
    (code / "2.txt").unlink()
    kept.hold()
    assert kept.held() == {"3.txt", "4.txt", "5.txt"}
    assert kept.packing.size == 21


@pytest.mark.usefixtures("settled")
def test_room_that_becomes_free_is_used(code: Path) -> None:
    (code / "0.txt").write_text("needle\n")
    kept = Kept(code)
    listed = kept.listed()
    packing = Packing(kept.live.roots, kept.live.root, lambda: listed)
    packing.packs()
    for room in (0, 100):
        packing.update(room, lambda: False)
    assert packing.size == 7


def test_what_does_not_fit_is_not_held(code: Path) -> None:
    for number in range(4):
        (code / f"{number}.txt").write_text("needle\n" * 100)
    kept = Kept(code, room=2799)
    assert kept.held() == set()
    kept.hold(2800)
    assert len(kept.held()) == 4
    assert kept.packing.size == 2800
    (code / "4.txt").write_text("one more\n")
    kept.hold(2800)
    assert kept.held() == set()
    assert kept.alike(NEEDLE, 1000) == 400


def test_texts_are_let_go_when_nobody_asks(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code / "0.txt").write_text("needle\n")
    kept = Kept(code)
    monkeypatch.setattr("rolltop.toolsets.retrieval.service.packing._KEPT_SECONDS", -1)
    kept.packing.update(MOST_BYTES, lambda: False)
    assert kept.packing.size == 0


def test_without_room_in_memory_files_are_read(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code / "0.txt").write_text("needle\n")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    kept = Kept(code)
    monkeypatch.undo()
    assert kept.packing.packs() is None
    assert kept.alike(NEEDLE) == 1


@pytest.mark.usefixtures("settled")
def test_a_desk_holds_texts_once_a_search_has_looked_through_files(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    for number in range(40):
        forest.put(f"code/{number}.txt", f"needle {number}\n")
    forest.ok("repo_search", query="warms up")
    indexing.update(forest.desk)
    for number in range(3):
        forest.put("code/7.txt", f"needle again {number}\n")
        found = forest.ok("repo_search", query="ne+dle", regex=True)["result"]
        assert len(found) == 40
        assert f"needle again {number}" in {hit["preview"] for hit in found}
        indexing.hold_texts(forest.desk)
    with patch.object(ripgrep, "names_run", side_effect=AssertionError):
        assert len(forest.ok("repo_search", query="ne+dle", regex=True)["result"]) == 40


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION, Query("ne+dle", regex=True, file_glob="*")])
def test_texts_that_are_let_go_take_no_memory_any_more(code: Path, query: Query) -> None:
    """Not even until garbage is collected, which may be long after."""
    for number in range(9):
        (code / f"{number}.txt").write_text("needle\n")
    kept = Kept(code)
    gc.disable()
    try:
        assert search([kept.tree], query, limit=5).more
        held = [ref(pack) for pack in (kept.packing.packs() or Packs()).all]
        kept.packing.drop()
        assert held
        assert [pack() for pack in held] == [None]
    finally:
        gc.enable()


@pytest.mark.usefixtures("settled")
def test_files_of_the_future_are_not_waited_for(code: Path) -> None:
    (code / "0.txt").write_text("needle\n")
    (code / "1.txt").write_text("needle\n")
    ahead = time.time() + 86_400
    os.utime(code / "1.txt", (ahead, ahead))
    kept = Kept(code)
    listed = kept.listed()
    packing = Packing(kept.live.roots, kept.live.root, lambda: listed)
    packing.packs()
    packing.update(MOST_BYTES, lambda: False)
    assert packing.size == 7
    with patch("rolltop.toolsets.retrieval.service.packing.packed", side_effect=AssertionError):
        packing.update(MOST_BYTES, lambda: False)


def test_where_python_makes_no_files_in_memory_nothing_is_held(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "0.txt").write_text("needle\n")
    monkeypatch.delattr("os.memfd_create")
    kept = Kept(code)
    assert kept.held() == set()
    assert kept.alike(NEEDLE) == 1


def test_where_open_files_have_no_names_nothing_is_held(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "0.txt").write_text("needle\n")
    monkeypatch.setattr("rolltop.toolsets.retrieval.store.packs.OPEN_FILES", "/nowhere/")
    kept = Kept(code)
    assert kept.held() == set()
    assert kept.alike(NEEDLE) == 1
