"""Files read into an index: in which process, which of them, and how far."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from rolltop.toolsets.retrieval.index import trigram_build, trigram_file
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import FileStat, Roots
from rolltop.workspace.file_stat import state_of
from tests.forks import PATIENCE
from tests.toolsets.retrieval.index import builder
from tests.toolsets.retrieval.index.indexed import Indexed


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any file be worth a reading process."""
    monkeypatch.setattr("rolltop.toolsets.retrieval.index.trigram_index.MIN_WORKER_BYTES", 0)


@pytest.mark.usefixtures("quick", "few_are_many")
def test_many_files_are_read_by_another_process(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigram_build, "FACTORY", f"{builder.__name__}:quick_reader")
    monkeypatch.setattr(trigram_build, "read", None)  # nothing is read here
    indexed = Indexed(code.parent / "kept", code)
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    indexed.build()
    assert indexed.proposed(Query("text7")) == ["f7"]
    indexed.indexes.close()


@pytest.mark.usefixtures("quick", "few_are_many")
def test_where_no_process_can_begin_nothing_is_read_here_and_all_is_found(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigram_build, "FACTORY", f"{trigram_build.__name__}:nothing_of_that_name")
    monkeypatch.setattr(trigram_build, "read", None)
    indexed = Indexed(code.parent / "kept", code)
    (code / "f").write_text("text\n")
    end = time.monotonic() + PATIENCE
    while not indexed.indexes.is_built:
        assert time.monotonic() < end
        indexed.indexes.update(lambda: False)
    assert indexed.proposed(Query("text")) is None
    assert [hit.path for hit in indexed.find(Query("text")).hits] == ["f"]
    indexed.indexes.close()


@pytest.mark.usefixtures("quick", "few_are_many")
@pytest.mark.parametrize("kind", ["hang", "crash"])
def test_a_file_that_ends_its_process_is_not_read_until_it_changes_and_is_found(
    code: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(trigram_build, "FACTORY", f"{builder.__name__}:hostile_reader")
    monkeypatch.setattr("rolltop.toolsets.retrieval.index.workers.CPU_SECONDS", 0.5)
    monkeypatch.setattr(trigram_build, "read", None)  # nothing is read here
    indexed = Indexed(code.parent / "kept", code)
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    (code / "g").write_text(f"hostile{kind}\n")
    indexed.build(unread=1)
    assert indexed.proposed(Query("text7")) == ["f7", "g"]
    assert [hit.path for hit in indexed.find(Query("hostile")).hits] == ["g"]
    indexed.indexes.close()
    monkeypatch.setattr(trigram_build, "FACTORY", f"{trigram_build.__name__}:nothing_of_that_name")
    another = Indexed(code.parent / "kept", code)
    another.build(unread=1)
    assert another.proposed(Query("text7")) == ["f7", "g"]
    another.indexes.close()
    monkeypatch.setattr(trigram_build, "FACTORY", f"{builder.__name__}:quick_reader")
    (code / "g").write_text("harmless\n")
    indexed = Indexed(code.parent / "kept", code)
    indexed.build()
    assert indexed.proposed(Query("text7")) == ["f7"]
    indexed.indexes.close()


def test_without_a_reading_process_it_is_asked_now_and_then_whether_to_go_on(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigram_build, "WRITTEN_FILES", 2)
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", -(1 << 62))  # always long ago
    indexed = Indexed(code.parent / "kept", code)
    for number in range(10):
        (code / f"f{number}").write_text(f"text{number}\n")
    read: list[str] = []
    here = trigram_build.read

    def reading(*given: Any) -> Any:
        answer = here(*given)
        read.append(given[2].relative)
        return answer

    monkeypatch.setattr(trigram_build, "read", reading)
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
        return False

    monkeypatch.setattr(trigram_build, "read", reading)
    kept = trigram_file.TrigramFile(indexed.kept)
    refused = trigram_build.read_into(kept, indexed.roots, root, entries, lambda: False)
    kept.close()
    assert read == ["b.txt"]
    assert [entry.relative for entry in refused] == ["b.txt"]


def test_a_file_that_holds_more_than_it_says_is_never_taken_as_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roots = Roots.open({"kernel": "/proc/sys/kernel"}, base=tmp_path)
    entry = FileStat("ostype", *state_of(Path("/proc/sys/kernel/ostype").stat()))
    assert entry.size == 0
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", -(1 << 62))  # always long ago
    assert trigram_build.read(roots, roots.named[0], entry) is False
