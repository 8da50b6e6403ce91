"""Every line of an answer stood in its file, whatever others do to files while a search reads."""

from __future__ import annotations

import mmap
import os
import threading
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.retrieval.grep import ripgrep, verifier
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.verifier import VerifiedHits, Verifier, descriptor_reader
from rolltop.toolsets.retrieval.models import Query, SearchRoot
from rolltop.workspace import Roots
from rolltop.workspace.file_stat import is_stable
from tests.toolsets.retrieval.grep.witness import trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rolltop.workspace import FileStat, SkippedEntries

NEEDLE = Query("needle")
EXPRESSION = Query("ne+dle", regex=True)
SEVEN = "".join(f"needle {number}\n" for number in range(1, 8))
CHANGED = {"cut": "needle 6\nneedle 7\n", "moved": "\n\n\n" + SEVEN}
SECOND = 1_000_000_000


def listed(path: Path, act: Callable[[], object] = lambda: None) -> SearchRoot:
    """Return a tree; something is done as soon as its files have been listed."""
    roots = Roots.open({"code": path}, base=path)

    def files(skipped: SkippedEntries) -> Iterable[FileStat]:
        found = list(roots.walk(roots.named[0], skipped=skipped))
        act()
        return found

    return SearchRoot(roots, roots.named[0], files)


def around_looks(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[], object], after: Callable[[], object]
) -> None:
    """Do something right before each look at files by name, and something right after it."""
    begin, result = ripgrep.RipgrepRun.__init__, ripgrep.RipgrepRun.result
    looking = set[ripgrep.RipgrepRun]()

    def begun(run: ripgrep.RipgrepRun, *asked: Any, **more: Any) -> None:
        if "directory" in more:
            before()
            looking.add(run)
        begin(run, *asked, **more)

    def ended(run: ripgrep.RipgrepRun, *asked: Any) -> bytes:
        found = result(run, *asked)
        if run in looking:
            after()
        return found

    monkeypatch.setattr(ripgrep.RipgrepRun, "__init__", begun)
    monkeypatch.setattr(ripgrep.RipgrepRun, "result", ended)


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("settled_ns", [0, 2 * SECOND])
def test_a_page_does_not_go_on_in_a_file_that_changed_after_it_was_listed(
    code: Path, monkeypatch: pytest.MonkeyPatch, settled_ns: int, change: str
) -> None:
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", settled_ns)
    file = code / "a.txt"
    file.write_text(SEVEN)
    first = search([listed(code)], NEEDLE, limit=5)
    assert [hit.line for hit in first.hits] == [1, 2, 3, 4, 5]
    changing = listed(code, lambda: file.write_text(CHANGED[change]))
    with pytest.raises(InvalidArgument) as refused:
        search([changing], NEEDLE, limit=5, after=first.resume(4))
    assert refused.value.code == "INVALID_CURSOR"


@pytest.mark.parametrize("change", CHANGED)
def test_nor_where_nothing_is_known_of_the_tree(
    code: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = code / "a.txt"
    file.write_text(SEVEN)
    trees = trees_of(code)
    after = search(trees, NEEDLE, limit=5).resume(4)
    read = Verifier.read

    def late(verifier: Verifier, *asked: Any) -> Iterator[VerifiedHits]:
        file.write_text(CHANGED[change])
        return read(verifier, *asked)

    monkeypatch.setattr(Verifier, "read", late)
    with pytest.raises(InvalidArgument) as refused:
        search(trees, NEEDLE, limit=5, after=after)
    assert refused.value.code == "INVALID_CURSOR"


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", CHANGED)
def test_nor_where_it_changes_while_it_is_read(
    code: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = code / "a.txt"
    file.write_text(SEVEN)
    os.utime(file, (0, 0))  # so that each later time is another
    after = search(trees_of(code), NEEDLE, limit=5).resume(4)
    find_lines = ripgrep.find_lines

    def late(*asked: Any) -> Any:
        file.write_text(CHANGED[change])
        return find_lines(*asked)

    monkeypatch.setattr(ripgrep, "find_lines", late)
    with pytest.raises(InvalidArgument) as refused:
        search(trees_of(code), NEEDLE, limit=5, after=after)
    assert refused.value.code == "INVALID_CURSOR"


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("size", [0, 1 << 18])
def test_a_line_is_shown_as_it_matched_while_somebody_stores_through_a_map(
    code: Path, monkeypatch: pytest.MonkeyPatch, size: int, moment: str
) -> None:
    file = code / "a.txt"
    file.write_bytes(b"one needle\nsomething \n" + b"filler of the file\n" * (size // 19))
    find_lines = ripgrep.find_lines
    with file.open("r+b") as held, mmap.mmap(held.fileno(), 0) as stored:
        stored[0:3] = b"two"  # the page is dirty from now on: no store shows in the file's times

        def late(*asked: Any) -> Any:
            if moment == "before":
                stored[0:22] = b"something \none needle\n"
            found = find_lines(*asked)
            stored[0:22] = b"something \none needle\n"
            return found

        monkeypatch.setattr(ripgrep, "find_lines", late)
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
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", SECOND // 25)
    status = (code / "b" / "file99").stat()
    while not is_stable(status.st_mtime_ns, status.st_ctime_ns):
        threading.Event().wait(0.01)

    def swap() -> None:
        (code / "a").rename(code / "c")
        (code / "b").rename(code / "a")
        (code / "c").rename(code / "b")

    around_looks(monkeypatch, swap, swap)
    answer = search([listed(code)], EXPRESSION, limit=1000)
    assert len(answer.hits) == 200
    shown = {(hit.path.split("/")[0], hit.line, hit.preview) for hit in answer.hits}
    # Each line is one of the file it is shown from, which may lie in either at that time.
    texts = {(4, "needle of a"), (1, "a needle of b")}
    assert {shown_line[1:] for shown_line in shown} == texts


def test_a_copy_of_a_file_that_grew_is_not_cut(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = code / "a.txt"
    file.write_text("one needle\n")

    def growing(descriptor: int) -> Callable[[int, int], bytes]:
        read_at = descriptor_reader(descriptor)

        def grow_then_read(start: int, size: int) -> bytes:
            if file.stat().st_size < 100:
                file.write_text("x\n" * 49 + "needles\n" + "x\n" * 100)
            return read_at(start, size)

        return grow_then_read

    monkeypatch.setattr(verifier, "MAX_COPY_BYTES", 100)
    monkeypatch.setattr(verifier, "descriptor_reader", growing)
    cut = Query("needle$|needl$|need$|nee$|ne$|n$", regex=True)
    assert search([listed(code)], cut, limit=10).hits == ()
    assert len(search([listed(code)], NEEDLE, limit=10).hits) == 1


@pytest.mark.usefixtures("settled")
def test_a_first_look_misses_no_line_that_moves_within_a_large_file(
    code: Path, monkeypatch: pytest.MonkeyPatch
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
    answer = search([listed(code)], NEEDLE, limit=10)
    assert [(hit.path, hit.line) for hit in answer.hits] == [("large", 12_002)]


@pytest.mark.usefixtures("settled")
def test_a_file_that_fails_only_when_its_lines_are_looked_for_hides_no_other(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (code / name).write_text("needle\n")
    find_lines = ripgrep.find_lines

    with Path("/proc/self/mem").open("rb") as failing:

        def late(pattern: ripgrep.Pattern, descriptors: list[int], *asked: Any) -> Any:
            os.dup2(failing.fileno(), descriptors[1])
            return find_lines(pattern, descriptors, *asked)

        monkeypatch.setattr(ripgrep, "find_lines", late)
        answer = search([listed(code)], NEEDLE, limit=10)
    assert [hit.path for hit in answer.hits] == ["a", "c"]
    assert answer.skipped.unreadable == 1


@pytest.mark.usefixtures("settled")
def test_a_large_file_that_grows_all_the_time_is_found_with_the_lines_it_has(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier, "MAX_COPY_BYTES", 100)
    file = code / "a.log"
    file.write_text("needle\n" + "x\n" * 100 + "half a nee")
    find_lines = ripgrep.find_lines
    looks = count(1)

    def late(*asked: Any) -> Any:
        with file.open("a") as log:
            log.write(f"dle {next(looks)}\nhalf a nee")
        return find_lines(*asked)

    monkeypatch.setattr(ripgrep, "find_lines", late)
    answer = search([listed(code)], NEEDLE, limit=10)
    shown = [f"half a needle {number}" for number in range(1, next(looks) - 1)]
    assert [hit.preview for hit in answer.hits] == ["needle", *shown]
