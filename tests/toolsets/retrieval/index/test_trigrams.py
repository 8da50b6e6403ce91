from __future__ import annotations

import math
import os
import random
import sys
import threading
from typing import TYPE_CHECKING, Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.retrieval import store
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.index import trigram_file
from rolltop.toolsets.retrieval.index.trigram_index import RootView
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import SkippedEntries
from tests.campaign import examples
from tests.toolsets.retrieval.grep.drawn import queries
from tests.toolsets.retrieval.index.indexed import Indexed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rolltop.workspace import FileStat

NEEDLE = Query("needle")


@pytest.fixture(scope="module")
def indexed_library(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    made = Indexed(tmp_path_factory.mktemp("kept") / "index", library)
    made.build()
    yield made
    made.indexes.close()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("JSONDecodeErorr", "JSONDecodeError"), ("is_dataclasss(", "is_dataclass("),
        ("Thread_Pool_Executor", "ThreadPoolExecutor"), ("threadnig", "threading"),
        ("selff", "self"), ("zzqqxxzzqqxx", None),
    ],
)  # fmt: skip
def test_of_a_large_tree_an_index_tells_a_spelling_that_occurs(
    indexed_library: Indexed, text: str, found: str | None
) -> None:
    assert find_suggestion(indexed_library.trees(), Query(text), 1 << 30, math.inf) == found


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data(), limit=st.sampled_from((1, 200, 1000)))
def test_an_answer_is_the_same_with_and_without_an_index(
    library: Path,
    library_files: list[str],
    indexed_library: Indexed,
    data: st.DataObject,
    limit: int,
) -> None:
    query = data.draw(queries(library, library_files))
    try:
        expected = search(indexed_library.live(), query, limit=limit)
    except InvalidArgument:
        return
    found = search(indexed_library.trees(), query, limit=limit)
    assert found.hits == expected.hits
    assert found.more is expected.more
    if expected.hits:
        last = data.draw(st.integers(0, len(expected.hits) - 1))
        assert found.resume(last) == expected.resume(last)
    else:
        assert (found.files, found.bytes) == (expected.files, expected.bytes)
        assert found.skipped == expected.skipped


def test_a_rare_text_is_looked_for_in_few_files(
    indexed_library: Indexed, library_files: list[str]
) -> None:
    for query in (
        Query("class JSONDecoder"),
        Query("CLASS jsondecoder", case="ignore"),
        Query(r"class\s+JSONDecoder\b", regex=True),
        Query(r"JSONDecoder\(.+", regex=True, case="smart"),
    ):
        proposed = indexed_library.proposed(query)
        assert proposed is not None
        # Files with U+017F or U+212A are proposed to whoever ignores case.
        assert "json/decoder.py" in proposed
        assert len(proposed) < len(library_files) / 50


def test_a_page_goes_on_when_its_files_came_into_the_index_meanwhile(
    indexed: Indexed, code: Path
) -> None:
    for name in ("a.txt", "b.txt", "d.txt"):
        (code / name).write_text("needle\n")
    (code / "c.bin").write_bytes(b"needle\0")
    first = indexed.find(NEEDLE, limit=1)
    indexed.build()
    rest = search(indexed.trees(), NEEDLE, limit=10, after=first.resume(0))
    assert [hit.path for hit in rest.hits] == ["b.txt", "d.txt"]
    (code / "d.txt").write_text("needle, changed\n")
    with pytest.raises(InvalidArgument) as refused:
        search(indexed.trees(), NEEDLE, limit=10, after=first.resume(0))
    assert refused.value.code == "INVALID_CURSOR"


def test_files_are_proposed_as_they_are_not_as_they_were(indexed: Indexed, code: Path) -> None:
    for number in range(20):
        (code / f"f{number}").write_text("nothing here\n")
    indexed.build()
    assert indexed.proposed(NEEDLE) == []
    (code / "f1").write_text("needle\n")
    (code / "new").write_text("needle\n")
    (code / "f2").rename(code / "g2")
    (code / "f3").unlink()
    with (code / "f4").open("a") as file:
        file.write("needle\n")
    os.truncate(code / "f5", 3)
    assert [hit.path for hit in indexed.find(NEEDLE).hits] == ["f1", "f4", "new"]
    assert indexed.proposed(NEEDLE) == ["f1", "f4", "f5", "g2", "new"]
    indexed.build()
    assert indexed.proposed(NEEDLE) == ["f1", "f4", "new"]


def test_an_edit_that_keeps_size_and_time_is_seen(indexed: Indexed, code: Path) -> None:
    (code / "f").write_text("nothing\n")
    (code / "g").write_text("nothing\n")
    indexed.build()
    before = (code / "f").stat()
    (code / "f").write_text("needle!\n")
    os.utime(code / "f", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [hit.path for hit in indexed.find(NEEDLE).hits] == ["f"]


def test_a_file_just_written_is_not_trusted(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 10**18)  # however slow this is
    made = Indexed(code.parent / "kept", code)
    (code / "f").write_text("nothing\n")
    made.indexes.update(lambda: False)
    assert made.indexes.waiting == 1
    made.indexes.close()


def test_odd_letters_match_whatever_their_case(indexed: Indexed, code: Path) -> None:
    (code / "long-s").write_text("the mi\u017f\u017fing link\n")
    (code / "kelvin").write_text("300 \u212aelvin\n")
    (code / "greek").write_text("ΣΊΣΥΦΟΣ σίσυφος\n")
    (code / "turkish").write_text("İSTANBUL \u0131s\u0131\n")
    for number in range(30):
        (code / f"plain{number}").write_text("nothing\n")
    indexed.build()
    for text in (
        "missing",
        "KELVIN",
        "kelvin",
        "σίσυφοσ",
        "ΣΊΣΥΦΟΣ",
        "istanbul",
        "ISI",
        "İstanbul",
    ):
        for query in (Query(text, case="ignore"), Query(f"(?i){text}", regex=True)):
            live = search(indexed.live(), query, limit=99)
            assert indexed.find(query).hits == live.hits


def test_what_follows_a_nul_or_torn_bytes_is_found(indexed: Indexed, code: Path) -> None:
    (code / "nul").write_bytes(b"x\n" * 5000 + b"\0\nneedle\n")
    (code / "torn").write_bytes(b"\xe2\x82needle\xff\n")
    (code / "wide").write_bytes("\ufeffneedle\n".encode("utf-16-be"))
    (code / "quote").write_text('say "needle" now\n')
    for number in range(10):
        (code / f"plain{number}").write_text("nothing\n")
    indexed.build()
    assert indexed.proposed(NEEDLE) == ["nul", "quote", "torn", "wide"]
    assert indexed.proposed(Query("say needl")) == ["quote"]
    assert indexed.proposed(Query('"needle"')) == ["nul", "quote", "wide"]
    assert len(indexed.find(NEEDLE).hits) == 4


def test_an_index_is_kept_between_starts_and_shared(indexed: Indexed, code: Path) -> None:
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    indexed.build()
    other = Indexed(indexed.kept, code)
    assert other.proposed(Query("text7")) == ["f7"]
    assert other.indexes.waiting == 0
    (code / "f7").write_text("other\n")
    assert other.proposed(Query("text3")) == ["f3", "f7"]
    indexed.build()
    assert other.proposed(Query("text3")) == ["f3"]
    other.indexes.close()


def test_a_file_that_says_it_was_changed_in_the_future_is_indexed(
    indexed: Indexed, code: Path
) -> None:
    (code / "f").write_text("needle\n")
    (code / "g").write_text("yard\n")
    os.utime(code / "f", (4e9, 4e9))
    indexed.build()
    assert indexed.proposed(Query("yard")) == ["g"]
    (code / "f").write_text("yards\n")
    os.utime(code / "f", (4e9, 4e9))
    assert [hit.path for hit in indexed.find(Query("yard")).hits] == ["f", "g"]


def test_an_index_of_another_format_is_left_to_those_who_use_it(
    indexed: Indexed, code: Path
) -> None:
    (code / "f").write_text("needle\n")
    indexed.kept.mkdir(mode=0o700)
    others = {"trigrams-0-1.db", "trigrams-0-1.db-wal", "trigrams-99-4.db"}
    for name in others:
        (indexed.kept / name).write_bytes(b"of another version")
        (indexed.kept / name).chmod(0o600)
    indexed.build()
    kept = {
        file.name for file in indexed.kept.iterdir() if file.read_bytes() == b"of another version"
    }
    assert kept == others
    assert (indexed.kept / f"trigrams-{trigram_file.VERSION}-1.db").stat().st_size
    assert (indexed.kept.stat().st_mode & 0o777, *_modes(indexed.kept)) == (0o700, 0o600)


def _modes(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.iterdir()}


@pytest.mark.parametrize("damage", ["garbage", "torn", "foreign"])
def test_a_damaged_index_is_begun_anew(indexed: Indexed, code: Path, damage: str) -> None:
    for number in range(30):
        (code / f"f{number}").write_text(f"needle{number}\n")
    indexed.build()
    indexed.indexes.close()
    file = indexed.kept / f"trigrams-{trigram_file.VERSION}-1.db"
    whole = file.read_bytes()
    if damage == "garbage":
        file.write_bytes(b"garbage" * 1000)
    elif damage == "torn":
        file.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    else:
        file.unlink()
        with sqlite3.connect(file) as other:
            other.execute("CREATE TABLE files (x)")
        other.close()
    again = Indexed(indexed.kept, code)
    query = Query("needle7")
    assert [hit.path for hit in again.find(query).hits] == ["f7"]
    again.build()
    assert [hit.path for hit in again.find(query).hits] == ["f7"]
    assert again.proposed(query) == ["f7"]
    assert not file.exists()
    again.indexes.close()


def test_a_search_without_a_folder_for_the_index_looks_at_all(code: Path) -> None:
    (code / "f").write_text("needle\n")
    (code.parent / "file").write_text("in the way")
    made = Indexed(code.parent / "file" / "kept", code)
    made.indexes.update(lambda: False)
    assert [hit.path for hit in made.find(NEEDLE).hits] == ["f"]


def test_while_another_process_writes_searches_go_on(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.001)
    for number in range(10):
        (code / f"f{number}").write_text("nothing\n")
    indexed.build()
    (code / "f3").write_text("needle\n")
    other = Indexed(indexed.kept, code)
    held = other.indexes.file()
    assert held is not None
    with held.write_transaction():
        indexed.indexes.update(lambda: False)
        assert [hit.path for hit in indexed.find(NEEDLE).hits] == ["f3"]
    indexed.build()
    assert indexed.proposed(NEEDLE) == ["f3"]
    other.indexes.close()


def test_a_spelling_is_looked_for_in_files_that_a_glob_lets_through(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys.modules["rolltop.toolsets.retrieval.grep.suggestion"], "MAX_FILES_READ", 1
    )
    for name in ("a.c", "b.c", "c.py", "d.md", "e.md", "f.md", "g.md"):
        (code / name).write_text("nothing\n" if name.endswith("md") else "mutex_lock\n")
    indexed.build()
    for text in ("MUTEX_LOCK", "mutexLock", "mutex_lokc"):
        query = Query(text, file_glob="*.py")
        assert find_suggestion(indexed.trees(), query, 1 << 30, math.inf) == "mutex_lock"
        query = Query(text, file_glob="*.md")
        assert find_suggestion(indexed.trees(), query, 1 << 30, math.inf) is None


class Changing:
    """Files that say which version they are of, edited by one thread and read in by another."""

    def __init__(self, indexed: Indexed, code: Path) -> None:
        self.names = [f"d{number % 4}/f{number}" for number in range(80)]
        self.newest = dict.fromkeys(self.names, 0)
        self._indexed = indexed
        self._code = code
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._edit),
            threading.Thread(target=self._read_in),
        ]
        for name in self.names:
            (code / name).parent.mkdir(exist_ok=True)
            _write(code / name, name, 0)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _edit(self) -> None:
        drawn = random.Random(11)  # noqa: S311  # the same edits in each run
        while not self._stop.is_set():
            name = drawn.choice(self.names[:20])
            version = self.newest[name] + 1
            if drawn.random() < 0.5:
                _write(self._code / name, name, version)
            else:
                new = self._code / "fresh" / "new"
                new.parent.mkdir(exist_ok=True)
                _write(new, name, version)
                new.replace(self._code / name)
            self.newest[name] = version
            self._stop.wait(drawn.choice((0.0, 0.001, 0.02)))

    def _read_in(self) -> None:
        while not self._stop.is_set():
            self._indexed.indexes.update(self._stop.is_set)
            self._stop.wait(0.005)


def test_nothing_is_stale_or_missing_while_files_change_and_are_indexed(
    indexed: Indexed, code: Path
) -> None:
    """An answer may never be older than its question."""
    drawn = random.Random(13)  # noqa: S311  # the same questions in each run
    with Changing(indexed, code) as changing:
        for _ in range(examples(40)):
            before = dict(changing.newest)
            name = drawn.choice(changing.names)
            regex = drawn.random() < 0.5
            hits = indexed.find(Query(f"version of {name} is", regex=regex)).hits
            seen = {hit.path: int(hit.preview.split()[-1]) for hit in hits}
            assert seen.get(name, -1) >= before[name]
            regex = drawn.random() < 0.5
            missing = indexed.find(Query(f"{name} is {before[name] - 1:08d}", regex=regex)).hits
            assert not [hit for hit in missing if hit.path == name]


def _write(file: Path, name: str, version: int) -> None:
    """Write a version in place, in one system call, so that no reader sees half of it."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT)
    os.pwrite(handle, f"version of {name} is {version:08d}\n".encode().ljust(64, b"\n"), 0)
    os.close(handle)


def test_the_catalogue_counts_what_it_passes_over(indexed: Indexed, code: Path) -> None:
    (code / "sub").mkdir()
    os.mkfifo(code / "sub" / "fifo")
    (code / "f").write_text("x\n")
    for _ in range(2):
        skipped = SkippedEntries()
        (tree,) = indexed.trees()
        assert [entry.relative for entry in tree.files(skipped)] == ["f"]
        assert skipped.special == 1


@pytest.mark.parametrize("glob", [None, "*.txt"])
def test_an_answer_tells_of_folders_that_cannot_be_listed_whatever_is_known(
    indexed: Indexed, code: Path, glob: str | None
) -> None:
    for number in range(100):
        (code / f"{number}.txt").write_text("needle\n" if number == 50 else "hay\n")
    at = os.open(code, os.O_RDONLY)
    for _ in range(20):  # until no path is so long
        os.mkdir("d" * 255, dir_fd=at)
        below = os.open("d" * 255, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    for text, hits in (("needle", 1), ("hay", 99), ("ne.dle", 0)):
        query = Query(text, file_glob=glob)
        live = search(indexed.live(), query, limit=200)
        assert (len(live.hits), live.skipped.unreadable) == (hits, 1)
        assert indexed.find(query).skipped == live.skipped
        indexed.build()
        assert indexed.find(query).skipped == live.skipped


def test_a_search_that_began_earlier_does_not_hide_a_file_from_a_later_one(
    indexed: Indexed, code: Path
) -> None:
    for name in "acdefg":
        (code / f"{name}.txt").write_text("nothing\n")
    (code / "b.txt").write_bytes(b"\0needle\n")
    indexed.build()
    (root,) = indexed.roots.named
    earlier = indexed.indexes.view(root)
    list(earlier.files(SkippedEntries()))
    (code / "b.txt").write_text("needle, as text\n")
    later = indexed.indexes.view(root)
    assert later.candidates(NEEDLE) is not None
    assert earlier.candidates(NEEDLE) is not None
    kinds = {entry.relative[0]: later.is_text(entry) for entry in later.files(SkippedEntries())}
    assert kinds == {**dict.fromkeys("acdefg", True), "b": None}


@pytest.mark.parametrize("text", ["needle", "zq"])
@pytest.mark.parametrize("when", ["before", "meanwhile", "never"])
def test_what_is_read_in_during_a_search_is_counted_once(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch, text: str, when: str
) -> None:
    for number in range(300):
        (code / f"f{number:03}.txt").write_text("nothing\n")
    indexed.build()
    for number in range(0, 300, 100):
        (code / f"f{number:03}.txt").write_bytes(b"\0 nothing\n")
    if when == "before":
        indexed.build()
    is_text = RootView.is_text

    def later(look: RootView, entry: FileStat) -> bool | None:
        indexed.build()
        return is_text(look, entry)

    if when == "meanwhile":
        monkeypatch.setattr(RootView, "is_text", later)
    found = indexed.find(Query(text))
    assert (found.files, found.bytes, found.skipped.binary) == (297, 297 * 8, 3)


def test_a_search_that_began_earlier_makes_no_binary_file_text(
    indexed: Indexed, code: Path
) -> None:
    for name in "abc":
        (code / f"{name}.txt").write_text("nothing\n")
    (code / "d").write_bytes(b"\0needle\n")
    indexed.build()
    (root,) = indexed.roots.named
    earlier = indexed.indexes.view(root)
    list(earlier.files(SkippedEntries()))
    (code / "d").write_bytes(b"\0 another needle\n")
    indexed.build()
    later = indexed.indexes.view(root)
    later.candidates(NEEDLE)
    earlier.candidates(NEEDLE)
    for look in (later, indexed.indexes.view(root)):
        kinds = {entry.relative[0]: look.is_text(entry) for entry in look.files(SkippedEntries())}
        assert kinds == {"a": True, "b": True, "c": True, "d": False}


def test_a_small_root_is_not_indexed_until_it_is_large(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolltop.toolsets.retrieval.index.trigram_index.MIN_FILES", 4)
    for number in range(3):
        (code / f"f{number}").write_text(f"text{number}\n")
    indexed.build()
    assert indexed.indexes.is_built
    assert not indexed.kept.exists()
    assert indexed.proposed(Query("text2")) is None
    assert [hit.path for hit in indexed.find(Query("text2")).hits] == ["f2"]
    (code / "f3").write_text("text3\n")
    assert indexed.proposed(Query("text2")) is None
    indexed.build()
    assert indexed.proposed(Query("text2")) == ["f2"]
