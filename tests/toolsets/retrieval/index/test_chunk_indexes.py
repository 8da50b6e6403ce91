"""What is kept of units on disk: shared, killed, damaged, outdated; answers stay right."""

from __future__ import annotations

import email
import math
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core import worker_process
from rolltop.core.worker_process import Worker, WorkerProcess
from rolltop.toolsets.retrieval.index import chunk_index, chunk_index_builder
from rolltop.toolsets.retrieval.index.chunk_index import index_file
from rolltop.toolsets.retrieval.index.chunk_indexes import ChunkIndexes
from rolltop.toolsets.retrieval.models import TermFiles
from rolltop.toolsets.retrieval.ranked import RankedTree, search
from rolltop.toolsets.retrieval.store import GONE, Busy, Unusable
from rolltop.workspace import Roots
from tests.campaign import examples
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import spoil
from tests.toolsets.retrieval.index import hostile_reader
from tests.toolsets.retrieval.meanwhile import after_each_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rolltop.toolsets.retrieval.models import RankedResult
    from rolltop.toolsets.retrieval.store import Row
    from rolltop.workspace import FileStat

FILES = 60
STATEMENTS = 40
"""More than a search takes."""
WRITER = """
import sys
from pathlib import Path
from tests.toolsets.retrieval.index import test_chunk_indexes
kept = test_chunk_indexes.Kept(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(10_000):
    kept.update()
    print(number, flush=True)
    (kept.code / "m0.py").write_text(f"def zebra_0():\\n    return {number}\\n")
"""


def rows_in(file: chunk_index.ChunkIndex) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    file.each_row(0, rows.__setitem__)
    return rows


class Kept:
    """A folder of sources and what one process keeps of them."""

    def __init__(self, top: Path) -> None:
        self.code = top / "code"
        self.code.mkdir(exist_ok=True)
        self.folder = top / "kept"
        self.roots = Roots.open({"code": self.code}, base=top)
        self.root = self.roots.named[0]
        self.indexes = ChunkIndexes(self.roots, self.folder)

    def entries(self) -> list[FileStat]:
        return list(self.roots.walk(self.root))

    def update(self) -> None:
        self.indexes.update(self.root, self.entries, lambda: False)

    def stale(self) -> list[str]:
        file = self.indexes.file(self.root)
        return [e.relative for e in self.indexes.state(self.root).stale(self.entries(), file)]

    def build(self) -> None:
        end = time.monotonic() + PATIENCE
        while self.stale():
            assert time.monotonic() < end
            self.update()
            threading.Event().wait(0.01)

    def find(self, text: str, entries: list[FileStat] | None = None) -> list[RankedResult]:
        file = self.indexes.file(self.root)
        state = self.indexes.state(self.root)
        looked = self.entries() if entries is None else entries
        tree = RankedTree(
            self.roots,
            state,
            file,
            looked,
            lambda _: True,
            lambda _, entries: entries,
            lambda texts, entries, _: TermFiles(
                {text: set(entries) for text in texts}, dict.fromkeys(texts, 1.0), 0
            ),
        )
        try:
            return search([tree], text, limit=5, deadline=math.inf).places
        except Unusable as problem:
            assert file is not None
            self.indexes.fail(self.root, file, problem)
            return self.find(text, entries)

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.db"))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 40_000_000)
    made = Kept(Path(os.path.realpath(tmp_path)))
    for number in range(FILES):
        made.code.joinpath(f"m{number}.py").write_text(f"def zebra_{number}():\n    return 1\n")
    made.build()
    yield made
    made.indexes.close()


def test_what_is_kept_serves_another_process_without_cutting_anew(kept: Kept) -> None:
    other = Kept(kept.code.parent)
    assert other.stale() == []
    assert other.find("zebra_7")[0].path == "m7.py"
    kept.code.joinpath("m7.py").write_text("def quagga():\n    return 2\n")
    assert other.stale() == ["m7.py"]
    kept.build()
    assert other.stale() == []
    assert other.find("quagga")[0].path == "m7.py"
    assert all("zebra_7" not in place.own for place in other.find("zebra_7"))
    other.indexes.close()


def test_a_file_that_says_it_was_changed_in_the_future_is_kept(kept: Kept) -> None:
    os.utime(kept.code / "m7.py", (4e9, 4e9))
    kept.build()
    assert kept.stale() == []
    assert kept.find("zebra_7")[0].path == "m7.py"


def test_a_file_that_changes_after_it_was_looked_at_is_cut_anew(kept: Kept) -> None:
    looked = kept.entries()
    kept.code.joinpath("m7.py").write_text("import os\n\n\ndef zebra_7():\n    return okapi\n")
    kept.code.joinpath("m8.py").unlink()
    (best, *_) = kept.find("zebra_7", looked)
    assert (best.path, best.line, best.end_line) == ("m7.py", 4, 5)
    assert "okapi" in best.own
    assert all(place.path != "m8.py" for place in kept.find("zebra_8", looked))


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(then=st.lists(st.sampled_from(("", "", "now", "older", "gone")), max_size=STATEMENTS))
def test_what_others_write_between_two_steps_of_a_search_hides_nothing(
    kept: Kept, then: list[str]
) -> None:
    text = kept.code.joinpath("m7.py").read_text()
    (entry,) = [one for one in kept.entries() if one.relative == "m7.py"]
    noted = {
        "now": index_file("m7.py", entry[1:5], text),
        "older": index_file("m7.py", (7, 1, 1, 1), "okapi = 1\n"),
        "gone": index_file("m7.py", GONE, ""),
    }
    other = Kept(kept.code.parent)
    file = other.indexes.file(other.root)
    assert file is not None
    puts = {kind: partial(file.put, [one]) for kind, one in noted.items()}
    with after_each_statement([puts.get(kind) for kind in then]):
        assert kept.find("zebra_7")[0].path == "m7.py"
    other.indexes.close()


def test_what_is_gone_is_forgotten(kept: Kept) -> None:
    file = kept.indexes.file(kept.root)
    assert file is not None
    kept.code.joinpath("m1.py").unlink()
    kept.code.joinpath("new.py").write_text("def okapi():\n    return 3\n")
    kept.build()
    with file.read_transaction() as db:
        assert chunk_index.count_term(db, "zebra") == FILES - 1
        assert chunk_index.count_term(db, "okapi") == 1
    assert kept.find("okapi")[0].path == "new.py"


def test_a_file_that_somebody_may_be_writing_to_is_not_kept(kept: Kept) -> None:
    path = kept.code / "m7.py"
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4:9] = b"okapi"
        mapped.flush()
        deadline = time.monotonic() + PATIENCE
        while kept.stale() != ["m7.py"]:
            assert time.monotonic() < deadline
        for _ in range(5):  # longer than a file takes to settle here
            kept.update()
            threading.Event().wait(0.02)
        assert kept.stale() == ["m7.py"]
        assert "okapi" in kept.find("okapi_7")[0].own
    kept.build()
    assert "okapi" in kept.find("okapi_7")[0].own


def test_much_is_read_in_another_process(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_here(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    monkeypatch.setattr(chunk_index_builder, "index_files", read_here)
    kept.code.joinpath("m7.py").write_text("def quagga():\n    return 2\n")
    os.utime(kept.code / "m7.py", (0, 0))
    deadline = time.monotonic() + PATIENCE
    while kept.stale():
        assert time.monotonic() < deadline
        threading.Event().wait(0.2)
        kept.update()
    assert kept.find("quagga")[0].path == "m7.py"


def test_what_processes_were_asked_is_finished_before_they_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    monkeypatch.setattr(chunk_index_builder, "BATCH_FILES", 1)
    monkeypatch.setattr(chunk_index_builder, "MAX_PROCESSES", 2)
    code = Path(email.__file__).parent  # its files were not changed just now
    roots = Roots.open({"code": code}, base=code)
    sources = [entry for entry in roots.walk(roots.named[0]) if entry.relative.endswith(".py")]
    file = chunk_index.ChunkIndex(tmp_path, "kept")
    made = chunk_index_builder.ChunkIndexBuilder(roots, roots.named[0], file, tmp_path, "kept")
    next(made.run(sources[:12]))
    assert len(rows_in(file)) == 2
    list(made.run(sources[:12]))
    assert rows_in(file).keys() == {entry.relative for entry in sources[:12]}
    made.close()
    file.close()


def test_a_process_that_died_is_replaced(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    monkeypatch.setattr(chunk_index_builder, "BATCH_FILES", 20)
    file = kept.indexes.file(kept.root)
    assert file is not None
    started: list[WorkerProcess] = []

    def recorded(worker: Worker) -> WorkerProcess:
        started.append(WorkerProcess(worker))
        return started[-1]

    monkeypatch.setattr(worker_process, "WorkerProcess", recorded)
    made = chunk_index_builder.ChunkIndexBuilder(kept.roots, kept.root, file, kept.folder, "other")
    work = kept.entries()
    assert list(made.run(work)) == [None] * 3
    for process in started:
        os.kill(process.pid, signal.SIGKILL)
    assert list(made.run(work)) == [None] * 3

    def read_here(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(chunk_index_builder, "index_files", read_here)
    assert list(made.run(work)) == [None] * 3
    made.close()


def test_what_another_process_has_kept_is_not_read_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = kept.indexes.file(kept.root)
    assert file is not None

    def read_again(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(chunk_index_builder, "read_text", read_again)
    chunk_index_builder.index_files(kept.roots, kept.root, file, kept.entries())


def test_where_no_process_can_begin_nothing_is_kept_and_all_is_found(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    monkeypatch.setattr(chunk_index_builder, "FACTORY", "os:abort")
    monkeypatch.setattr(chunk_index_builder, "index_files", None)
    kept.code.joinpath("m7.py").write_text("def quagga():\n    return 2\n")
    deadline = time.monotonic() + PATIENCE
    while kept.stale() and not kept.indexes.is_given_up(kept.root):
        assert time.monotonic() < deadline
        kept.update()
    assert kept.stale()
    assert kept.find("quagga")[0].path == "m7.py"


@pytest.mark.parametrize("kind", ["hang", "crash"])
def test_a_file_that_ends_its_process_is_passed_by_until_it_changes(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def read_here(*_: object) -> None:
        raise AssertionError

    started: list[Worker] = []

    def start(worker: Worker) -> WorkerProcess:
        started.append(worker)
        return WorkerProcess(worker)

    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    monkeypatch.setattr(chunk_index_builder, "FACTORY", f"{hostile_reader.__name__}:reader")
    monkeypatch.setattr("rolltop.toolsets.retrieval.index.workers.CPU_SECONDS", 0.5)
    monkeypatch.setattr(chunk_index_builder, "index_files", read_here)
    monkeypatch.setattr(worker_process, "WorkerProcess", start)
    kept.code.joinpath("quagga.py").write_text(hostile_reader.TEXT.format(kind))
    kept.code.joinpath("other.py").write_text("def okapi():\n    return 3\n")
    kept.build()
    assert kept.find("okapi")[0].path == "other.py"
    for name in ("index_file", "split_chunks"):
        monkeypatch.setattr(f"rolltop.toolsets.retrieval.ranked.candidates.{name}", read_here)
    assert kept.find("hostile") == kept.find("quagga.py") == []
    started.clear()
    other = Kept(kept.code.parent)
    other.update()
    assert other.stale() == []
    assert not started
    other.indexes.close()
    kept.code.joinpath("quagga.py").write_text(hostile_reader.TEXT.format("no more"))
    kept.build()
    monkeypatch.undo()
    assert kept.find("quagga")[0].path == "quagga.py"


def test_a_process_that_is_ended_on_purpose_leaves_its_work_undone(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_index_builder, "MIN_WORKER_BYTES", 0)
    file = kept.indexes.file(kept.root, begin=True)
    assert file is not None
    made = chunk_index_builder.ChunkIndexBuilder(kept.roots, kept.root, file, kept.folder, "other")
    work = kept.entries()
    assert list(made.run(work)) == [None]
    made.close()
    monkeypatch.setattr(chunk_index_builder, "FACTORY", "os:abort")
    with pytest.raises(Busy):
        list(made.run(work))


@pytest.mark.parametrize("damage", ["overwritten", "cut", "empty"])
def test_a_damaged_file_is_begun_anew(kept: Kept, damage: str) -> None:
    kept.indexes.close()
    (path,) = kept.files()
    spoil(path, damage)
    other = Kept(kept.code.parent)
    assert other.find("zebra_9")[0].path == "m9.py"
    other.build()
    assert other.find("zebra_9")[0].path == "m9.py"
    other.indexes.close()


def test_each_version_has_a_file_of_its_own(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = kept.files()
    monkeypatch.setattr(chunk_index, "VERSION", chunk_index.VERSION + 1)
    other = Kept(kept.code.parent)
    other.build()
    assert other.find("zebra_3")[0].path == "m3.py"
    assert before in other.files()
    assert kept.stale() == []
    assert kept.find("zebra_3")[0].path == "m3.py"
    other.indexes.close()


def test_a_folder_that_cannot_be_written_leaves_searches_as_they_are(tmp_path: Path) -> None:
    made = Kept(tmp_path)
    made.folder.write_text("in the way")
    made.code.joinpath("a.py").write_text("def zebra():\n    return 1\n")
    made.update()
    assert made.find("zebra")[0].path == "a.py"


def test_an_index_goes_on_after_its_disk_was_full(
    kept: Kept,
    full_disk: Callable[[], AbstractContextManager[None]],
    much_later: Callable[[], None],
) -> None:
    lines = "".join(f"def yak_{number}():\n    return {number}\n" for number in range(2_000))
    kept.code.joinpath("m3.py").write_text(lines)
    with full_disk():
        while not kept.indexes.is_given_up(kept.root):
            assert kept.stale() == ["m3.py"]
            kept.update()
    assert kept.stale() == ["m3.py"], "what was indexed before still serves"
    assert [kept.find(name)[0].path for name in ("zebra_5", "yak_1999")] == ["m5.py", "m3.py"]
    kept.update()
    assert kept.stale() == ["m3.py"], "not tried again at once"
    much_later()
    kept.build()
    assert kept.find("yak_1999")[0].path == "m3.py"


def test_a_process_killed_while_it_writes_leaves_what_others_can_use(kept: Kept) -> None:
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(kept.code.parent)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[4],
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            for number in range(FILES // 2):
                kept.code.joinpath(f"m{number}.py").write_text(f"def zebra_{number}(): ...\n")
            writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        assert kept.find("zebra_40")[0].path == "m40.py"
        kept.build()
        assert kept.find("zebra_5")[0].path == "m5.py"
        assert len(kept.files()) == 1
