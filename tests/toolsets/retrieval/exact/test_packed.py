"""What a search finds in texts in memory is what stands in the files."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import Invalid
from rolltop.toolsets.retrieval.exact import MOST_BYTES, Tree, ripgrep, search
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.service import indexing
from rolltop.toolsets.retrieval.service.packing import Packing
from tests.campaign import examples
from tests.toolsets.retrieval.exact.drawn import patterns, queries, texts_of_stretches
from tests.toolsets.retrieval.exact.witness import trees_of
from tests.toolsets.retrieval.forest import make_forest
from tests.toolsets.retrieval.moving import MARK, Moving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rolltop.core.roots import Entry, Skipped
    from rolltop.toolsets.retrieval.models import Case, Found

NEEDLE = Query("needle")
EXPRESSION = Query("ne+dle", regex=True)
SUPPRESSED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.function_scoped_fixture,
)


@pytest.fixture(autouse=True)
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look through texts in memory before any file, and hold files however new they are."""
    monkeypatch.setattr("rolltop.toolsets.retrieval.exact.looking._FEW", 0)
    monkeypatch.setattr("rolltop.toolsets.retrieval.service.packing._FEW", 0)


class Kept:
    """A folder whose texts are held as they are now, searched with them and without."""

    def __init__(
        self, folder: Path, *, room: int = MOST_BYTES, meanwhile: Callable[[], object] = int
    ) -> None:
        (live,) = trees_of(folder)
        self.live = live
        self.meanwhile = meanwhile
        self.packing = Packing(live.roots, live.root, self.listed)
        self.tree = Tree(live.roots, live.root, self._files, texts=self.packing)
        self.hold(room)

    def hold(self, room: int = MOST_BYTES) -> None:
        self.packing.packs()
        with patch("rolltop.core.roots.settling.SETTLED_NS", 0):
            self.packing.update(room, lambda: False)

    def listed(self) -> list[Entry]:
        return list(self.live.roots.walk(self.live.root))

    def held(self) -> set[str]:
        packs = self.packing.packs()
        return {entry.relative for pack in packs.all for entry in pack.entries} if packs else set()

    def _files(self, skipped: Skipped) -> Iterable[Entry]:
        found = list(self.live.roots.walk(self.live.root, skipped=skipped))
        self.meanwhile()
        return found

    def can_find(self, query: Query) -> bool:
        """Return whether a query is one that can be asked."""
        try:
            search([self.live], query, limit=1)
        except Invalid:
            return False
        return True

    def found(self, query: Query, limit: int = 1000) -> Iterator[tuple[Found, Found]]:
        """Yield each page with the texts, and without."""
        after: list[list[Any] | None] = [None, None]
        while True:
            pages = [
                search([tree], query, limit=limit, after=position)
                for tree, position in zip((self.tree, self.live), after, strict=True)
            ]
            yield pages[0], pages[1]
            if not pages[0].more:
                return
            after = [list(page.resume(limit - 1)) for page in pages]

    def alike(self, query: Query, limit: int = 1000) -> int:
        """Compare all pages; return how many lines they hold."""
        count = 0
        for number, (one, other) in enumerate(self.found(query, limit)):
            assert one.hits == other.hits
            assert one.more == other.more
            if not count + len(other.hits):  # what was passed by is told of all files
                assert one.skipped == other.skipped
                assert (one.files, one.bytes) == (other.files, other.bytes)
            count += len(one.hits)
            if number == 3:
                break
        return count


@pytest.fixture(scope="module")
def held_library(library: Path) -> Kept:
    """The library, with its texts."""
    kept = Kept(library)
    assert {"os.py", "odd/mark.txt", "odd/torn.txt"} < kept.held()
    return kept


@settings(max_examples=examples(30), deadline=None, suppress_health_check=SUPPRESSED)
@given(data=st.data(), limit=st.sampled_from((1, 7, 200, 1000)))
def test_a_search_through_texts_finds_what_one_through_files_finds(
    held_library: Kept, library: Path, library_files: list[str], data: st.DataObject, limit: int
) -> None:
    query = replace(data.draw(queries(library, library_files)), context=1)
    if held_library.can_find(query):
        held_library.alike(query, limit)


ENDS = st.sampled_from(("", "\n", "\r", "\r\n", "\n\n", "\n\r", "\u00e9", "\ud83d", "\x00"))
STARTS = st.sampled_from((b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\x80"))


def content(start: bytes, text: str, end: str) -> bytes:
    return start + (text + end).encode("utf-8", "surrogatepass")


CONTENTS = st.builds(content, STARTS, texts_of_stretches(), ENDS)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=SUPPRESSED)
@given(
    pattern=patterns().filter(str.strip),
    end=st.sampled_from(("", "", "$", r"\z", r"\b", "(?-m:$)", r"\B")),
    contents=st.lists(CONTENTS, min_size=3, max_size=9),
    case=st.sampled_from(("sensitive", "ignore", "smart")),
)
def test_ends_and_writings_of_files_are_told_apart(
    code: Path, pattern: str, end: str, contents: list[bytes], case: Case
) -> None:
    shutil.rmtree(code)
    code.mkdir()
    for number, content in enumerate(contents):
        (code / f"{number}.txt").write_bytes(content)
    kept = Kept(code)
    query = Query(pattern + end, regex=True, case=case)
    if kept.can_find(query):
        kept.alike(query, 7)


@pytest.mark.parametrize(
    ("content", "pattern", "count"),
    [
        (b"abc\nabc", r"c\z", 1),
        (b"abc\nabc", "(?-m)c$", 1),
        (b"abc\nabc\n", r"c\z", 0),
        (b"abc\nabd\r", "^$", 1),
        (b"\xef\xbb\xbfabc\n", "^abc", 1),
        (b"\xff\xfeabcabcabc\n", "(?-u)abc", 0),
        ("abc\n".encode("utf-16"), "abc", 1),
        (b"abc\n\0abc", "abc", 0),
        (b"x\n" * 9_000 + b"abc \0 abc\n", r"c \x00 a", 1),
    ],
)
def test_a_file_is_searched_alike_by_itself_and_among_others(
    code: Path, content: bytes, pattern: str, count: int
) -> None:
    for name, text in (("a", b"nothing"), ("b", content), ("c", b"nothing")):
        (code / name).write_bytes(text)
    kept = Kept(code)
    assert {"a", "c"} <= kept.held()
    assert kept.alike(Query(pattern, regex=True)) == count


def rewrite(path: Path) -> None:
    """Write another text of the same length, and put the time back."""
    before = path.stat()
    path.write_text("nothing\n" * 3)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("no more of it\nneedle 2\n")
    other.rename(path)


def shortened(path: Path) -> None:
    path.write_text("x\nneedle 1\n")


def renamed(path: Path) -> None:
    path.rename(path.with_name("z.txt"))


def folder_renamed(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.mkdir()
    path.write_text("a needle of another folder\n")


CHANGES = (rewrite, replaced, shortened, renamed, os.unlink, folder_renamed)


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_no_line_is_found_that_a_file_no_longer_has(
    code: Path, query: Query, change: Callable[[Path], None], when: str
) -> None:
    for number in range(5):
        (code / f"d{number}").mkdir()
        (code / f"d{number}" / "f.txt").write_text("needle 1\nneedle 2\nabcdef\n")
    kept = Kept(code)
    assert kept.alike(query) == 10
    changed = code / "d2" / "f.txt"
    if when == "before":
        change(changed)
    else:
        kept.meanwhile = lambda: change(changed)
    found = search([kept.tree], query, limit=100)
    kept.meanwhile = int
    now = search([kept.live], query, limit=100)
    told = [(hit.path, hit.line, hit.preview) for hit in found.hits]
    true = [(hit.path, hit.line, hit.preview) for hit in now.hits]
    new = {"away/f.txt", "d2/z.txt"}  # after the files were listed
    assert told == [row for row in true if when == "before" or row[0] not in new]


def test_no_answer_is_older_than_its_question(code: Path) -> None:
    with Moving(code) as moving:
        kept = Kept(code)
        kept.packing.drop()  # what is held now may be too new to tell its next change
        through = asked = 0
        while through < examples(80):
            if asked % 8 == 0:
                kept.packing.packs()
                kept.packing.update(MOST_BYTES, lambda: False)
            query = Query(MARK, case=("sensitive", "ignore")[asked % 2])
            since = time.monotonic()
            found = search([kept.tree], query, limit=1000)
            possible = moving.possible(since, time.monotonic())
            lines = {hit.path: hit.preview for hit in found.hits}
            assert len(lines) == len(found.hits)
            assert lines.keys() <= possible.keys()
            for path, texts in possible.items():
                stood = {next((x for x in (t or "").split("\n") if MARK in x), None) for t in texts}
                assert lines.get(path) in stood, path
            asked += 1
            through += bool(kept.held())
        moving.rest()
        assert kept.alike(Query(MARK)) > 50


def test_texts_that_are_held_are_not_read_from_files(code: Path) -> None:
    for number in range(300):
        (code / f"{number}.txt").write_text("nothing\n")
    kept = Kept(code)
    with patch.object(ripgrep, "names_run", side_effect=AssertionError):
        assert not search([kept.tree], EXPRESSION, limit=5).hits


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


def test_common_lines_of_one_file_do_not_hide_those_of_others(code: Path) -> None:
    for number in range(6):
        (code / f"{number}.txt").write_text("needle\n" * (5_000 if number % 2 else 3))
    kept = Kept(code)
    assert kept.alike(NEEDLE, 4) == 16
    assert kept.alike(EXPRESSION, 7) == 28
    assert kept.alike(Query("needle", file_glob="*[24].txt"), 5) == 6


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
