"""Files read into an index: in which process, which of them, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.roots import Roots, Skipped
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.trigrams import building, postings, reading
from rolltop.toolsets.retrieval.trigrams.reading import Unsettled
from tests.toolsets.retrieval.trigrams import builder
from tests.toolsets.retrieval.trigrams.indexed import Indexed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any file be worth a reading process."""
    monkeypatch.setattr("rolltop.toolsets.retrieval.trigrams.index.WORTH", 0)


@pytest.mark.usefixtures("quick", "few_are_many")
def test_many_files_are_read_by_another_process(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FACTORY", f"{builder.__name__}:quick_reader")
    monkeypatch.setattr(building, "read", None)  # nothing is read here
    indexed = Indexed(code.parent / "kept", code)
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    indexed.build()
    assert indexed.proposed(Query("text7")) == ["f7"]
    indexed.indexes.close()


@pytest.mark.usefixtures("quick", "few_are_many")
def test_a_reading_process_that_keeps_ending_is_done_without(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FACTORY", f"{building.__name__}:nothing_of_that_name")
    indexed = Indexed(code.parent / "kept", code)
    for number in range(4):
        (code / f"f{number}").write_text(f"text{number}\n")
        indexed.build()
    assert indexed.proposed(Query("text2")) == ["f2"]
    indexed.indexes.close()


@pytest.mark.usefixtures("few_are_many")
def test_without_a_reading_process_it_is_asked_now_and_then_whether_to_go_on(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FACTORY", f"{building.__name__}:nothing_of_that_name")
    monkeypatch.setattr(building, "_WRITTEN_FILES", 2)
    monkeypatch.setattr("rolltop.core.roots.settling.SETTLED_NS", -(1 << 62))  # always long ago
    indexed = Indexed(code.parent / "kept", code)
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    read: list[str] = []
    here = building.read

    def reading(*given: Any) -> Any:
        answer = here(*given)
        read.append(given[2].relative)
        return answer

    monkeypatch.setattr(building, "read", reading)
    indexed.indexes.update(lambda: bool(read))
    assert len(read) == 2
    indexed.indexes.close()


def test_what_another_process_has_read_is_not_read_again(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (code / f"{name}.txt").write_text("needle\n")
    indexed.build()
    (code / "b.txt").write_text("needle and thread\n")
    (root,) = indexed.roots.named
    entries = sorted(indexed.roots.walk(root))
    read: list[str] = []

    def reading(*given: Any) -> Any:
        read.append(given[2].relative)
        raise Unsettled

    monkeypatch.setattr(building, "read", reading)
    kept = postings.Postings(indexed.kept)
    refused = building.into(kept, indexed.roots, root, entries, lambda: False)
    kept.close()
    assert read == ["b.txt"]
    assert [entry.relative for entry in refused] == ["b.txt"]


def test_a_file_that_holds_more_than_it_says_is_never_taken_as_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roots = Roots.open({"kernel": "/proc/sys/kernel"}, base=tmp_path)
    entry = roots.state(roots.named[0], "ostype", Skipped())
    assert entry is not None
    assert entry.size == 0
    monkeypatch.setattr("rolltop.core.roots.settling.SETTLED_NS", -(1 << 62))  # always long ago
    with pytest.raises(Unsettled):
        reading.read(roots, roots.named[0], entry)
