"""Every line of an answer stood in its file, whatever others do to files while a search reads."""

from __future__ import annotations

import mmap
import os
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from rolltop.core.errors import Invalid
from rolltop.core.roots import Roots
from rolltop.core.roots.settling import is_settled
from rolltop.toolsets.retrieval.exact import Tree, ripgrep, search
from rolltop.toolsets.retrieval.exact import reading as exact_reading
from rolltop.toolsets.retrieval.exact.content import read_at
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.looking import is_torn
from rolltop.toolsets.retrieval.exact.ripgrep import matching, names_run, unread
from rolltop.toolsets.retrieval.exact.verifying import Verifier
from rolltop.toolsets.retrieval.models import Query
from tests.toolsets.retrieval.exact.witness import trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rolltop.core.roots import Entry, Skipped
    from rolltop.toolsets.retrieval.models import Hit

NEEDLE = Query("needle")
EXPRESSION = Query("ne+dle", regex=True)
SEVEN = "".join(f"needle {number}\n" for number in range(1, 8))
CHANGED = {"cut": "needle 6\nneedle 7\n", "moved": "\n\n\n" + SEVEN}
SECOND = 1_000_000_000


def listed(path: Path, act: Callable[[], object] = lambda: None) -> Tree:
    """Return a tree; something is done as soon as its files have been listed."""
    roots = Roots.open({"code": path}, base=path)

    def files(skipped: Skipped) -> Iterable[Entry]:
        found = list(roots.walk(roots.named[0], skipped=skipped))
        act()
        return found

    return Tree(roots, roots.named[0], files)


def around_looks(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[], object], after: Callable[[], object]
) -> None:
    """Do something right before each look at files by name, and something right after it."""
    begin, result = ripgrep.Run.__init__, ripgrep.Run.result
    looking = set[ripgrep.Run]()

    def begun(run: ripgrep.Run, *asked: Any, **more: Any) -> None:
        if "directory" in more:
            before()
            looking.add(run)
        begin(run, *asked, **more)

    def ended(run: ripgrep.Run, timeout: float) -> tuple[bytes, bytes]:
        found = result(run, timeout)
        if run in looking:
            after()
        return found

    monkeypatch.setattr(ripgrep.Run, "__init__", begun)
    monkeypatch.setattr(ripgrep.Run, "result", ended)


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("settled_ns", [0, 2 * SECOND])
def test_a_page_does_not_go_on_in_a_file_that_changed_after_it_was_listed(
    code: Path, monkeypatch: pytest.MonkeyPatch, settled_ns: int, change: str
) -> None:
    monkeypatch.setattr("rolltop.core.roots.settling.SETTLED_NS", settled_ns)
    file = code / "a.txt"
    file.write_text(SEVEN)
    first = search([listed(code)], NEEDLE, limit=5)
    assert [hit.line for hit in first.hits] == [1, 2, 3, 4, 5]
    changing = listed(code, lambda: file.write_text(CHANGED[change]))
    with pytest.raises(Invalid) as refused:
        search([changing], NEEDLE, limit=5, after=first.resume(4))
    assert refused.value.code == "CURSOR_INVALID"


@pytest.mark.parametrize("change", CHANGED)
def test_nor_where_nothing_is_known_of_the_tree(
    code: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = code / "a.txt"
    file.write_text(SEVEN)
    trees = trees_of(code)
    after = search(trees, NEEDLE, limit=5).resume(4)
    matched = Verifier.matched

    def late(verifier: Verifier, *asked: Any) -> Iterator[list[Hit]]:
        file.write_text(CHANGED[change])
        return matched(verifier, *asked)

    monkeypatch.setattr(Verifier, "matched", late)
    with pytest.raises(Invalid) as refused:
        search(trees, NEEDLE, limit=5, after=after)
    assert refused.value.code == "CURSOR_INVALID"


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("size", [0, 1 << 18])
def test_a_line_is_shown_as_it_matched_while_somebody_stores_through_a_map(
    code: Path, monkeypatch: pytest.MonkeyPatch, size: int, moment: str
) -> None:
    file = code / "a.txt"
    file.write_bytes(b"one needle\nsomething \n" + b"filler of the file\n" * (size // 19))
    spots = ripgrep.spots
    with file.open("r+b") as held, mmap.mmap(held.fileno(), 0) as stored:
        stored[0:3] = b"two"  # the page is dirty from now on: no store shows in the file's times

        def late(*asked: Any) -> Any:
            if moment == "before":
                stored[0:22] = b"something \none needle\n"
            found = spots(*asked)
            stored[0:22] = b"something \none needle\n"
            return found

        monkeypatch.setattr(ripgrep, "spots", late)
        answer = search([listed(code)], EXPRESSION, limit=10)
    assert [(hit.line, hit.preview) for hit in answer.hits] in (
        [(1, "two needle")],
        [(2, "one needle")],
    )


def test_a_line_is_of_the_file_it_is_shown_from_though_directories_changed_places(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, text in (("a", "b\n\n\nneedle of a\n"), ("b", "a needle of b\n")):
        (code / folder).mkdir()
        for number in range(100):
            (code / folder / f"file{number}").write_text(text)
    monkeypatch.setattr("rolltop.core.roots.settling.SETTLED_NS", SECOND // 25)
    status = (code / "b" / "file99").stat()
    while not is_settled(status.st_mtime_ns, status.st_ctime_ns):
        threading.Event().wait(0.01)

    def swap() -> None:
        (code / "a").rename(code / "c")
        (code / "b").rename(code / "a")
        (code / "c").rename(code / "b")

    around_looks(monkeypatch, swap, swap)
    answer = search([listed(code)], EXPRESSION, limit=1000)
    assert len(answer.hits) == 200
    shown = {(hit.path.split("/")[0], hit.line, hit.preview) for hit in answer.hits}
    assert shown == {("a", 4, "needle of a"), ("b", 1, "a needle of b")}


def test_a_copy_of_a_file_that_grew_is_not_cut(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = code / "a.txt"
    file.write_text("one\n")

    def grown(descriptor: int, size: int, start: int) -> bytes:
        file.write_text("x\n" * 49 + "needles\n" + "x\n" * 100)
        return read_at(descriptor, size, start)

    monkeypatch.setattr("rolltop.toolsets.retrieval.exact.reading._COPIED", 100)
    monkeypatch.setattr("rolltop.toolsets.retrieval.exact.reading.read_at", grown)
    cut = Query("needle$|needl$|need$|nee$|ne$|n$", regex=True)
    assert search([listed(code)], cut, limit=10).hits == ()
    assert len(search([listed(code)], NEEDLE, limit=10).hits) == 1


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("way", ["by name", "in directories"])
def test_a_first_look_misses_no_line_that_moves_within_a_large_file(
    code: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Read part by part, it may hold the line neither where it was nor where it is then."""
    for number in range(200):
        (code / f"file{number}").write_text("nothing\n")
    file, filler = code / "large", "some filler text here\n" * 12_000
    file.write_text("needle\n" + filler + "------\n")
    os.utime(file, (0, 0))  # so that each later time is another
    around_looks(
        monkeypatch,
        lambda: file.write_text("------\n" + filler + "------\n"),
        lambda: file.write_text("------\n" + filler + "needle\n"),
    )
    (tree,) = trees_of(code) if way == "in directories" else [listed(code)]
    answer = search([tree], NEEDLE, limit=10)
    assert [(hit.path, hit.line) for hit in answer.hits] == [("large", 12_002)]


def test_a_large_file_just_written_may_change_while_it_is_read_without_its_times_telling(
    code: Path,
) -> None:
    for name, size in (("large", 1 << 17), ("small", 1 << 16)):
        (code / name).write_bytes(b"x" * size)
    (tree,) = trees_of(code)
    large, small = tree.roots.walk(tree.root)
    assert is_torn(tree, large, large.ctime_ns + SECOND)
    assert not is_torn(tree, large, large.ctime_ns + 2 * SECOND)
    assert not is_torn(tree, small, small.ctime_ns)


def test_a_file_counts_as_changed_lately_for_as_long_as_fat_counts(code: Path) -> None:
    (code / "a.txt").write_text("needle\n")
    (tree,) = trees_of(code)
    (entry,) = tree.roots.walk(tree.root)
    with closing(exact_reading.Opened(tree.roots, tree.root, entry)) as file:
        for after, restless in ((0, True), (2 * SECOND - 1, True), (2 * SECOND, False)):
            with patch.object(time, "time_ns", lambda at=entry.ctime_ns + after: at):
                assert file.restless() is restless


@pytest.mark.parametrize("name", [b"gone", b"a: b", b"away: with it"])
@pytest.mark.parametrize("others", [[], [b"there"]])
def test_a_file_that_went_away_is_told_by_its_name(
    code: Path, name: bytes, others: list[bytes]
) -> None:
    """Ripgrep says so in other words where it was given one file only."""
    (code / "there").write_text("needle\n")
    run = names_run(expression(NEEDLE), [*others, name], str(code))
    written, complaints = run.result(60)
    assert matching(written) == set(others)
    assert unread(complaints) == {name}
