"""Reads are true of the file as it is: what is kept of it never hides a change, and stays small."""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from rolltop.toolsets.retrieval.line_index import build_line_index
from rolltop.toolsets.retrieval.service import file_lines
from rolltop.workspace import Roots, file_stat
from tests.toolsets.retrieval.meanwhile import after_the_next_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.toolsets.retrieval.forest import Forest

LATER = 10_000_000_000


class Surveys:
    """Counts the surveys made, and runs something before and after each."""

    def __init__(self) -> None:
        self.made = 0
        self.before: Any = lambda: None
        self.after: Any = lambda: None

    def __call__(self, *arguments: Any) -> Any:
        self.before()
        found = build_line_index(*arguments)
        self.made += 1
        self.after()
        return found


@pytest.fixture
def surveys() -> Iterator[Surveys]:
    """Return the count of surveys, on a clock ten seconds ahead: every file is long unchanged."""
    counted, real = Surveys(), time.time_ns
    with (
        patch.object(file_lines, "build_line_index", counted),
        patch.object(file_stat.time, "time_ns", lambda: real() + LATER),
    ):
        yield counted


def first_line(forest: Forest) -> dict[str, Any]:
    return forest.ok("repo_get_snippet", path="a.txt", start_line=1, end_line=1)["result"]


def test_an_unchanged_file_is_surveyed_once(forest: Forest, surveys: Surveys) -> None:
    forest.put("docs/a.txt", "one\ntwo\n")
    assert first_line(forest) == first_line(forest)
    forest.ok("repo_open_file", path="a.txt")
    assert surveys.made == 1


def test_a_file_changed_a_moment_ago_is_surveyed_again(
    forest: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", 10**18)  # however slow this is
    counted = Surveys()
    forest.put("docs/a.txt", "one\n")
    with patch.object(file_lines, "build_line_index", counted):
        first_line(forest)
        first_line(forest)
    assert counted.made == 2


def test_every_change_is_seen_even_with_size_and_time_put_back(
    forest: Forest, surveys: Surveys
) -> None:
    path = forest.put("docs/a.txt", "one\n")
    for text in ("two\n", "six\n", "longer\n", "", "one\n"):
        before = path.stat()
        path.write_text(text)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        result = forest.ok("repo_open_file", path="a.txt")["result"]
        assert result["text"] == text
        assert result["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    replacement = forest.put("docs/b.txt", "new\n")
    replacement.rename(path)
    assert first_line(forest)["text"] == "new\n"
    path.unlink()
    assert (
        forest.code("repo_get_snippet", path="a.txt", start_line=1, end_line=1) == "FILE_NOT_FOUND"
    )
    assert surveys.made >= 6


def test_a_file_that_changes_during_the_read_is_read_again(
    forest: Forest, surveys: Surveys
) -> None:
    path = forest.put("docs/a.txt", "one\n")

    def change_once() -> None:
        surveys.after = lambda: None
        path.write_text("two\n")

    surveys.after = change_once
    result = first_line(forest)
    assert (result["text"], surveys.made) == ("two\n", 2)
    assert result["sha256"] == hashlib.sha256(b"two\n").hexdigest()


def test_one_that_grows_before_it_is_surveyed_is_read_whole(
    forest: Forest, surveys: Surveys
) -> None:
    path, longer = forest.put("docs/a.txt", "one\n"), "two, which is longer\nthree\n"
    surveys.before = lambda: path.write_text(longer) if not surveys.made else None
    result = forest.ok("repo_open_file", path="a.txt")["result"]
    assert (result["text"], surveys.made) == (longer, 2)
    assert result["sha256"] == hashlib.sha256(longer.encode()).hexdigest()


@pytest.mark.usefixtures("surveys")
def test_one_that_is_written_anew_while_it_is_surveyed_is_of_one_state(forest: Forest) -> None:
    old, new = ("".join(f"{word}\n" for _ in range(60_000)) for word in ("old", "new"))
    path = forest.put("docs/a.txt", old)
    os.utime(path, (0, 0))  # so that each later time is another
    asked = {"path": "a.txt", "start_line": 40_000, "end_line": 40_100}
    with after_the_next_read(lambda: path.write_text(new)):
        result = forest.ok("repo_get_snippet", **asked)["result"]
    assert result["sha256"] == hashlib.sha256(new.encode()).hexdigest()
    assert set(result["text"].split()) == {"new"}


def test_one_that_somebody_has_mapped_is_surveyed_again(forest: Forest, surveys: Surveys) -> None:
    """A store into a page that is dirty already shows in no time of the file."""
    path = forest.put("docs/a.txt", "some line of it\n" * 20_000)
    asked = {"path": "a.txt", "start_line": 1, "end_line": 2}
    with path.open("r+b") as held, mmap.mmap(held.fileno(), 0) as stored:
        stored[250_000:250_003] = b"\n\n\n"
        forest.ok("repo_get_snippet", **asked)
        stored[250_004:250_007] = b"\n\n\n"
        result = forest.ok("repo_get_snippet", **asked)["result"]
    data = path.read_bytes()
    assert result["sha256"] == hashlib.sha256(data).hexdigest()
    assert (result["total_lines"], surveys.made) == (data.count(b"\n"), 2)


def test_a_change_that_no_time_of_the_file_tells_is_found_in_what_is_shown(
    forest: Forest, surveys: Surveys
) -> None:
    path = forest.put("docs/a.txt", "one\n")
    assert first_line(forest)["text"] == "one\n"
    before = path.stat()
    path.write_text("two\n")
    with patch.object(os, "fstat", return_value=before):
        assert first_line(forest)["text"] == "two\n"
    assert surveys.made == 2


def test_one_that_never_stays_the_same_is_unreadable(forest: Forest, surveys: Surveys) -> None:
    path = forest.put("docs/a.txt", "0\n")
    surveys.after = lambda: path.write_text(f"{surveys.made}\n")
    error = forest.fails("repo_open_file", path="a.txt")
    assert error["code"] == "FILE_UNREADABLE"
    assert error["details"]["reason"] == "CHANGING"


def test_one_that_only_grows_is_read_up_to_where_it_ended(forest: Forest, surveys: Surveys) -> None:
    path = forest.put("docs/a.txt", "one\n")

    def append() -> None:
        with path.open("a") as file:
            file.write("more\n")

    surveys.after = append
    result = forest.ok("repo_open_file", path="a.txt")["result"]
    assert (result["text"], result["total_lines"]) == ("one\nmore\nmore\n", 3)


def test_one_that_is_replaced_each_time_it_was_opened_is_read_as_it_was(forest: Forest) -> None:
    path = forest.put("docs/a.txt", "0\n")
    real = Roots.open_regular
    replaced = 0

    def replacing(roots: Roots, located: Any) -> Any:
        nonlocal replaced
        file = real(roots, located)
        replaced += 1
        forest.put("docs/a.new", f"{replaced}\n").replace(path)
        return file

    with patch.object(Roots, "open_regular", replacing):
        result = forest.ok("repo_open_file", path="a.txt")["result"]
    assert (result["text"], replaced) == ("0\n", 1)


def test_a_read_under_a_writer_answers_text_of_one_state(forest: Forest) -> None:
    path = forest.put("docs/a.txt", "0" * 40_000 + "\n")
    stop = threading.Event()

    def write() -> None:
        at = 0
        while not stop.is_set():
            at += 1
            temporary = path.with_suffix(".new")
            temporary.write_text(str(at % 10) * 40_000 + "\n")
            temporary.replace(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(40):
            result = forest.ok("repo_open_file", path="a.txt", max_tokens=20_000)["result"]
            whole = result["text"][0] * 40_000 + "\n"
            assert whole.startswith(result["text"])
            assert result["sha256"] == hashlib.sha256(whole.encode()).hexdigest()
    finally:
        stop.set()
        writer.join()


def test_memory_does_not_grow_with_the_file(forest: Forest, surveys: Surveys) -> None:
    small, large = (
        # The least of three: whatever else this process does meanwhile counts too.
        min(_peak_of_reading(forest, f"{lines}.{time}.txt", lines) for time in range(3))
        for lines in (20_000, 400_000)
    )
    assert surveys.made == 6
    assert large < small + 200_000


def _peak_of_reading(forest: Forest, name: str, lines: int) -> int:
    forest.put(f"docs/{name}", "".join(f"line {n} of the file\n" for n in range(lines)))
    asked = {"path": name, "start_line": lines - 9, "end_line": lines}
    tracemalloc.start()
    try:
        forest.ok("repo_get_snippet", **asked)
        forest.ok("repo_get_snippet", **asked)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_surveys_kept_are_bounded(forest: Forest, surveys: Surveys) -> None:
    with patch.object(file_lines, "MAX_CACHED_BLOCKS", 6):
        for n in range(5):
            forest.put(f"docs/{n}.txt", "x\n")
            forest.ok("repo_open_file", path=f"{n}.txt")
        assert surveys.made == 5
        forest.ok("repo_open_file", path="4.txt")
        forest.ok("repo_open_file", path="3.txt")
        assert surveys.made == 5
        forest.ok("repo_open_file", path="0.txt")
    assert surveys.made == 6


class Released:
    """A lock; something is done each time that it was released."""

    act: Any = staticmethod(lambda: None)

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        Released.act()


def test_two_that_read_a_file_at_a_time_keep_its_survey_once(
    forest: Forest, surveys: Surveys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lines, "Lock", Released)
    monkeypatch.setattr(file_lines, "MAX_CACHED_BLOCKS", 6)
    for n in range(3):
        forest.put(f"docs/{n}.txt", "x\n")

    def read_too() -> None:
        with patch.object(Released, "act", lambda: None):
            forest.ok("repo_open_file", path="0.txt")

    with patch.object(Released, "act", read_too):
        forest.ok("repo_open_file", path="0.txt")
    for n in range(3):
        forest.ok("repo_open_file", path=f"{n}.txt")
    made = surveys.made
    for n in range(3):
        forest.ok("repo_open_file", path=f"{n}.txt")
    assert surveys.made == made
