"""Answers hold for the files as they are, however they came to be so. All with default settings."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.models import Query
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("quick")

_MAPPING = """
import mmap, sys
with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
    print("mapped", flush=True)
    for line in sys.stdin.buffer:
        mapped[:6] = line[:6]
        print("written", flush=True)
"""


class Mapping:
    """Another process that has a file mapped, and writes to it through the map alone."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.answered()

    def write(self, six: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(six + b"\n")
        self._process.stdin.flush()
        self.answered()

    def answered(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline()


@contextmanager
def mapping(path: Path) -> Generator[Mapping]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _MAPPING, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Mapping(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def tree(tmp_path: Path) -> Forest:
    """Return a root of thirty files, none of which says needle, all read into the index."""
    forest = make_forest(tmp_path, "code")
    for number in range(30):
        forest.put(f"code/d{number % 3}/f{number:02}", f"nothing in {number}\n")
    read_in(forest)
    assert proposed(forest, "needle") == []
    return forest


def proposed(forest: Forest, text: str) -> list[str]:
    """Return the files the index proposes."""
    (one,) = trigram_index.search_roots(forest.desk, forest.desk.roots.named)
    assert one.index is not None
    found = one.index.candidates(Query(text))
    return ["all of them"] if found is None else [entry.relative for entry in found]


def read_in(forest: Forest, *names: str) -> None:
    """Run the background work until these files, or all, count as read in."""
    end = time.monotonic() + PATIENCE
    trigram_index.update_index(forest.desk)
    while (left := proposed(forest, "a text that is nowhere")) and (
        not names or not set(names).isdisjoint(left)
    ):
        assert time.monotonic() < end
        threading.Event().wait(0.01)
        trigram_index.update_index(forest.desk)


def needles(forest: Forest) -> list[str]:
    return [hit["path"] for hit in forest.ok("repo_search", query="needle")["result"]]


def test_stores_through_a_map_are_seen_at_once(tree: Forest) -> None:
    with mapping(tree.top / "code/d1/f01") as mapped:
        assert needles(tree) == []
        mapped.write(b"needle")
        assert needles(tree) == ["d1/f01"]
    read_in(tree)
    assert needles(tree) == ["d1/f01"]


def test_a_file_that_somebody_has_mapped_is_not_indexed(tree: Forest) -> None:
    with mapping(tree.top / "code/d1/f01") as mapped:
        mapped.write(b"nought")
        tree.put("code/d2/later", "nothing\n")
        before = (tree.top / "code/d1/f01").stat()
        read_in(tree, "d2/later")
        assert proposed(tree, "a text that is nowhere") == ["d1/f01"]
        mapped.write(b"needle")
        after = (tree.top / "code/d1/f01").stat()
        assert after.st_mtime_ns == before.st_mtime_ns  # nothing tells that it was written to
        assert needles(tree) == ["d1/f01"]


def test_what_is_written_through_another_name_outside_is_seen_at_once(tree: Forest) -> None:
    outside = tree.top / "outside"
    outside.hardlink_to(tree.top / "code/d2/f02")
    read_in(tree)
    with outside.open("r+b", buffering=0) as file:
        file.write(b"needle")
        assert needles(tree) == ["d2/f02"]


def test_a_time_that_was_put_back_hides_no_edit(tree: Forest) -> None:
    file = tree.top / "code/d0/f00"
    before = file.stat()
    file.write_bytes(b"needle" + file.read_bytes()[6:])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert needles(tree) == ["d0/f00"]


def test_edits_within_one_tick_of_the_clock_are_seen(tree: Forest) -> None:
    for turn in range(20):
        tree.put("code/d0/f00", f"nought {turn:02}")
        trigram_index.update_index(tree.desk)
        tree.put("code/d0/f00", f"needle {turn:02}")
        assert needles(tree) == ["d0/f00"]
        tree.put("code/d0/f00", f"nought {turn:02}")
        trigram_index.update_index(tree.desk)
        assert needles(tree) == []
