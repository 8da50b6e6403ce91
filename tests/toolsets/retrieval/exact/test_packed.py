"""What a search finds in texts in memory is what stands in the files."""

from __future__ import annotations

import math
import os
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval.exact import MOST_BYTES, ripgrep, search
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.looking import Looks
from rolltop.toolsets.retrieval.models import Query
from tests.campaign import examples
from tests.toolsets.retrieval.exact.drawn import patterns, queries, texts_of_stretches
from tests.toolsets.retrieval.exact.kept import EXPRESSION, NEEDLE, Kept
from tests.toolsets.retrieval.moving import MARK, Moving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.models import Case

pytestmark = pytest.mark.usefixtures("however_few")
SUPPRESSED = (
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.function_scoped_fixture,
)


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
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
STARTS = st.one_of(
    st.sampled_from((b"", b"\n", b"\x80")),
    st.lists(st.sampled_from(MARKS), max_size=2).map(b"".join),
)


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
        (b"start " + b"z" * 1_000 + b" end", "$", 3),
        (b"start " + b"z" * 1_000 + b" end", r"q*\b$", 3),
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


@pytest.mark.parametrize("second", MARKS)
def test_a_mark_behind_a_mark_changes_nothing_of_other_files(code: Path, second: bytes) -> None:
    (code / "a").write_bytes(b"\xef\xbb\xbf" + second + b"abc\n")
    for name in ("b", "c"):
        (code / name).write_text("nothing\nsome\nabc\n")
    kept = Kept(code)
    assert kept.alike(Query("ab*c", regex=True)) >= 2
    assert kept.alike(Query("abc")) >= 2


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


def test_common_lines_of_one_file_do_not_hide_those_of_others(code: Path) -> None:
    for number in range(6):
        (code / f"{number}.txt").write_text("needle\n" * (5_000 if number % 2 else 3))
    kept = Kept(code)
    assert kept.alike(NEEDLE, 4) == 16
    assert kept.alike(EXPRESSION, 7) == 28
    assert kept.alike(Query("needle", file_glob="*[24].txt"), 5) == 6


def test_files_beside_texts_may_have_the_longest_names(code: Path) -> None:
    (code / "0.txt").write_text("needle\n")
    kept = Kept(code)
    above = code
    for letter in "abcdefgh":
        above /= letter * 255
        above.mkdir()
    for number in range(1_100):
        (above / f"{number}.txt").write_text("a needle\n" if number == 7 else "")
    assert kept.alike(NEEDLE) == 2
    assert kept.alike(EXPRESSION) == 2


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
def test_a_fifo_in_the_place_of_a_new_file_is_waited_for_once(
    code: Path, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        (code / f"{number}.txt").write_text("needle\n")
    kept = Kept(code)
    for number in range(100, 200):
        (code / f"{number}.txt").write_text("needle\n")
    stuck: list[float] = []

    def noted(run: ripgrep.Run, timeout: float) -> tuple[bytes, bytes]:
        try:
            return result(run, min(timeout, 1))
        except ripgrep.Stuck:
            stuck.append(timeout)
            raise

    def change() -> None:
        (code / "150.txt").unlink()
        os.mkfifo(code / "150.txt")

    result = ripgrep.Run.result
    monkeypatch.setattr(ripgrep.Run, "result", noted)
    kept.meanwhile = change
    found = search([kept.tree], query, limit=1000)
    assert len(found.hits) == 199
    assert len(stuck) == 1


def test_where_no_text_is_held_only_the_first_files_are_listed(code: Path) -> None:
    for number in range(400):
        (code / f"{number:03}.txt").write_text("needle\n")
    kept = Kept(code, room=0)
    listed = 0

    def counted() -> Iterator[Entry]:
        nonlocal listed
        for entry in kept.live.files(Skipped()):
            listed += 1
            yield entry

    assert next(Looks(kept.tree, expression(NEEDLE), math.inf, 3).batches(counted()))
    assert listed < 100
