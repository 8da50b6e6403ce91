"""An index that several searches and processes compare and write at a time is right for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.retrieval.grep.verifier import VerifiedHits, Verifier
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.store import RowComparison
from rolltop.workspace import SkippedEntries
from tests.toolsets.retrieval.index.indexed import Indexed
from tests.toolsets.retrieval.meanwhile import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rolltop.workspace import FileStat

NEEDLE = Query("needle")
BINARY = b"\0needle\n"


@pytest.fixture
def other(indexed: Indexed, code: Path) -> Iterator[Indexed]:
    """Another process with the same index, which holds some files of text."""
    for number in range(200):
        (code / f"{number}.txt").write_text("nothing\n")
    indexed.build()
    made = Indexed(indexed.kept, code)
    yield made
    made.indexes.close()


def once_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]
) -> None:
    """Do something once, right before it is looked whether the index knows a file as it is."""
    number, acts = RowComparison.number, [act]

    def late(held: RowComparison, entry: FileStat) -> int | None:
        if entry.relative == name and acts:
            acts.pop()()
        return number(held, entry)

    monkeypatch.setattr(RowComparison, "number", late)


def test_a_binary_file_that_comes_into_the_index_while_it_is_judged_is_no_text(
    indexed: Indexed, other: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "d").write_bytes(BINARY)
    other.build()
    look = indexed.indexes.view(indexed.roots.named[0])
    (entry,) = [one for one in look.files(SkippedEntries()) if one.relative == "d"]
    once_when_asked_for(monkeypatch, "d", lambda: indexed.proposed(NEEDLE))
    assert look.is_text(entry) is not True


def test_the_count_of_binary_files_is_right_whoever_compares_meanwhile(
    indexed: Indexed, other: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "d").write_bytes(BINARY)

    def read_and_compare() -> None:
        other.build()
        indexed.proposed(NEEDLE)

    once_when_asked_for(monkeypatch, "d", read_and_compare)
    found = indexed.find(Query("zq", case="ignore"))  # too short to ask the index for
    assert (found.files, found.skipped.binary) == (200, 1)


def test_a_binary_file_that_went_away_is_not_taken_from_those_of_text(
    indexed: Indexed, other: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "d").write_bytes(BINARY)
    read = Verifier.read

    def late(verifier: Verifier, *asked: Any) -> Iterator[VerifiedHits]:
        if (code / "d").exists():
            other.build()
            indexed.proposed(NEEDLE)
            (code / "d").unlink()
        return read(verifier, *asked)

    monkeypatch.setattr(Verifier, "read", late)
    found = indexed.find(NEEDLE)
    assert (found.files, found.bytes) == (200, 200 * len("nothing\n"))


def test_an_index_that_cannot_be_opened_for_now_is_used_later(indexed: Indexed, code: Path) -> None:
    for name in "abcdef":
        (code / f"{name}.txt").write_text("nothing\n")
    (code / "n.txt").write_text("needle\n")
    indexed.build()
    indexed.indexes.close()
    late = Indexed(indexed.kept, code)
    (path,) = indexed.kept.glob("*.db")
    with locked(path):
        assert late.indexes.file() is None
    assert late.proposed(NEEDLE) == ["n.txt"]
    late.indexes.close()
