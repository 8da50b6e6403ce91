"""The cache: answers are those of the file as it is, whatever was kept of it."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pypdf import PdfWriter

from rolltop.core.context import CallContext
from rolltop.core.dispatch import dispatch
from rolltop.documents.extractors import pdf
from rolltop.documents.extractors.document_reader import read_document
from rolltop.toolsets.reader import document_cache, store
from rolltop.toolsets.reader.service import ReaderService
from rolltop.toolsets.reader.summary_answer import MAX_SUMMARIES
from rolltop.workspace import file_stat
from tests.toolsets.reader.shelf import SOMEBODY, Shelf, make_shelf, paper

if TYPE_CHECKING:
    from rolltop.core.db import Database

LONG = paper()
DOCUMENTS: Final = Path(__file__).parents[2] / "data" / "documents"


def text_of(shelf: Shelf, name: str) -> str:
    return shelf.ok("smart_read", file_path=name, mode="full")["content"]


class Reads:
    """Counts how often a file was parsed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        whole = document_cache.ExtractionPool.read

        def counted(*given: Any) -> Any:
            self.count += 1
            return whole(*given)

        monkeypatch.setattr(document_cache.ExtractionPool, "read", counted)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def age(path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 10) -> None:
    """Let time pass: what was written up to now is settled."""
    later = path.stat().st_ctime_ns + int(seconds * 1e9)
    monkeypatch.setattr(file_stat.time, "time_ns", lambda: later)


class TestNeverStale:
    def test_an_edit_is_seen_at_once(self, shelf: Shelf) -> None:
        for n in range(20):
            shelf.put("a.md", f"# Version {n}\n")
            assert text_of(shelf, "a.md") == f"# Version {n}\n"

    def test_an_edit_of_the_same_size_with_its_time_put_back_is_seen(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = shelf.put("a.md", "# One\n")
        before = path.stat()
        age(path, monkeypatch)
        assert text_of(shelf, "a.md") == "# One\n"
        path.write_text("# Two\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        assert text_of(shelf, "a.md") == "# Two\n"

    def test_an_edit_that_no_time_shows_is_seen_while_the_file_is_young(
        self, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = shelf.put("a.md", "# One\n")

        def coarse(_status: object) -> tuple[int, ...]:
            return (6, 0, 0, 0, 0)

        def is_young(_state: object) -> bool:
            return False

        monkeypatch.setattr(document_cache, "state_of", coarse)
        monkeypatch.setattr(document_cache, "is_stable_state", is_young)
        assert text_of(shelf, "a.md") == "# One\n"
        path.write_text("# Two\n")
        assert text_of(shelf, "a.md") == "# Two\n"

    def test_a_file_put_in_its_place_is_seen(self, shelf: Shelf) -> None:
        path = shelf.put("a.md", "# One\n")
        assert text_of(shelf, "a.md") == "# One\n"
        other = shelf.put("b.md", "# Two\n")
        os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        other.replace(path)
        assert text_of(shelf, "a.md") == "# Two\n"

    def test_a_deleted_file_is_gone(self, shelf: Shelf) -> None:
        path = shelf.put("a.md", "# One\n")
        text_of(shelf, "a.md")
        path.unlink()
        assert shelf.fails("smart_read", file_path="a.md")["code"] == "FILE_NOT_FOUND"

    def test_a_summary_follows_the_file(self, shelf: Shelf) -> None:
        shelf.put("p.md", LONG)
        one = shelf.ok("smart_read", file_path="p.md")
        shelf.put("p.md", LONG.replace("copper", "golden"))
        two = shelf.ok("smart_read", file_path="p.md")
        assert "copper" in one["content"]
        assert "copper" not in two["content"]
        assert "golden" in two["content"]

    def test_writers_and_readers_at_once_never_mix_two_states(self, shelf: Shelf) -> None:
        states = {f"# State {n}\n\n" + f"line {n}\n" * 500 for n in range(8)}
        path = shelf.put("a.md", min(states))
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                for state in states:
                    (path.with_suffix(".new")).write_text(state)
                    path.with_suffix(".new").replace(path)

        def read(_: int) -> str:
            return text_of(shelf, "a.md")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with ThreadPoolExecutor(3) as pool:
                assert set(pool.map(read, range(60))) <= states
        finally:
            stop.set()
            writer.join()


class TestMemory:
    def test_an_unchanged_file_is_parsed_once(
        self, shelf: Shelf, reads: Reads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        age(shelf.put("p.md", LONG), monkeypatch)
        for _ in range(3):
            shelf.ok("smart_read", file_path="p.md")
            shelf.ok("list_sections", file_path="p.md")
            shelf.ok("read_section", file_path="p.md", section_heading="Abstract")
            shelf.ok("estimate_tokens", file_path="p.md")
        assert reads.count == 1

    def test_a_young_file_is_parsed_once_too(self, shelf: Shelf, reads: Reads) -> None:
        shelf.put("p.md", LONG)
        for _ in range(3):
            shelf.ok("list_sections", file_path="p.md")
        assert reads.count == 1

    def test_the_last_document_is_kept_however_large(
        self, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = make_shelf(tmp_path / "docs", settings={"reader.cache_bytes": 0})
        age(shelf.put("p.md", LONG), monkeypatch)
        shelf.ok("list_sections", file_path="p.md")
        shelf.ok("read_section", file_path="p.md", section_heading="Abstract")
        assert reads.count == 1

    def test_memory_is_bounded(
        self, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = make_shelf(tmp_path / "docs", settings={"reader.cache_bytes": 4_000_000})
        paths = [shelf.put(f"{n}.txt", f"{n}\n" + "word\n" * 20_000) for n in range(6)]
        age(paths[-1], monkeypatch)
        for path in paths:
            shelf.ok("estimate_tokens", file_path=path.name)
        shelf.ok("estimate_tokens", file_path="5.txt")
        assert reads.count == 6
        shelf.ok("estimate_tokens", file_path="0.txt")
        assert reads.count == 7

    def test_of_a_document_the_last_summaries_are_kept(self, shelf: Shelf) -> None:
        path = shelf.put("p.md", LONG)
        bounds = [*range(200, 200 + 2 * MAX_SUMMARIES), 200]
        answers = [
            shelf.ok("smart_read", file_path="p.md", max_summary_tokens=bound) for bound in bounds
        ]
        assert answers[-1] == answers[0]
        documents = shelf.desk.service(ReaderService).documents
        call = CallContext(shelf.desk, SOMEBODY, "smart_read", 20_000)
        document = asyncio.run(documents.open(call, str(path)))
        assert len(document.summaries) == MAX_SUMMARIES


class TestStore:
    @pytest.fixture(autouse=True)
    def patient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait for the store, however busy the machine is."""
        monkeypatch.setattr(document_cache, "STORE_TIMEOUT", 30.0)
        monkeypatch.setattr(document_cache, "EXTRACTED_STORE_TIMEOUT", 30.0)

    def desk(self, tmp_path: Path, database: Database) -> Shelf:
        return make_shelf(tmp_path / "docs", database)

    def call(self, shelf: Shelf, tool: str, **arguments: Any) -> dict[str, Any]:
        async def through() -> dict[str, Any]:
            answer = await dispatch(shelf.desk, tool, SOMEBODY, arguments)
            await shelf.desk.service(ReaderService).documents.wait_for_writes()
            assert not answer.is_error, answer.text
            return answer.structured

        return asyncio.run(through())

    def test_outlines_and_counts_survive_a_restart(
        self, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("p.md", LONG)
        before = self.call(shelf, "list_sections", file_path="p.md")
        counted: list[object] = []
        monkeypatch.setattr(document_cache.ExtractionPool, "read", counted.append)
        again = self.desk(tmp_path, database)
        assert self.call(again, "list_sections", file_path="p.md") == before
        for entry in before["outline"][:5]:
            arguments = {"file_path": "p.md", "section_heading": entry["id"]}
            assert again.ok("read_section", **arguments) == shelf.ok("read_section", **arguments)
        assert counted == []

    @pytest.mark.parametrize("name", ["handbook.pdf", "handbook.docx", "handbook.epub"])
    def test_outlines_of_extracted_documents_survive_a_restart(
        self, tmp_path: Path, database: Database, reads: Reads, name: str
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put(name, (DOCUMENTS / name).read_bytes())
        before = self.call(shelf, "list_sections", file_path=name)
        counted = self.call(shelf, "estimate_tokens", file_path=name)
        again = self.desk(tmp_path, database)
        assert self.call(again, "list_sections", file_path=name) == before
        assert self.call(again, "estimate_tokens", file_path=name) == counted
        assert reads.count == 1
        for entry in before["outline"]:
            arguments = {"file_path": name, "section_heading": entry["id"]}
            read = self.call(again, "read_section", **arguments)
            assert read == self.call(shelf, "read_section", **arguments)
            assert read["content"]
        assert self.call(again, "list_sections", file_path=name) == before
        assert reads.count == 2
        for encoding in ("cl100k_base", "o200k_base"):
            arguments = {"file_path": name, "encoding": encoding}
            fresh = self.desk(tmp_path, database)
            assert self.call(fresh, "estimate_tokens", **arguments) == self.call(
                shelf, "estimate_tokens", **arguments
            )

    def test_what_is_said_of_a_document_survives_a_restart_with_its_outline(
        self, tmp_path: Path, database: Database, reads: Reads
    ) -> None:
        shelf = self.desk(tmp_path, database)
        scan = PdfWriter()
        scan.add_blank_page(99, 99)
        scan.write(shelf.folder / "scan.pdf")
        before = self.call(shelf, "list_sections", file_path="scan.pdf")
        assert "No page holds text" in before["note"]
        again = self.desk(tmp_path, database)
        assert self.call(again, "list_sections", file_path="scan.pdf") == before
        assert reads.count == 1

    def test_a_document_of_which_pages_were_left_out_is_read_anew(
        self, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("h.pdf", (DOCUMENTS / "handbook.pdf").read_bytes())
        with monkeypatch.context() as slow:
            slow.setattr(pdf, "TIME_LIMIT_SECONDS", -1.0)  # in this process, so it is read here

            def read(_: object, data: bytes, path: Path) -> object:
                return read_document(data, path)

            slow.setattr(document_cache.ExtractionPool, "read", read)
            assert self.call(shelf, "list_sections", file_path="h.pdf")["count"] == 0
        again = self.desk(tmp_path, database)
        assert self.call(again, "list_sections", file_path="h.pdf")["count"] > 0

    def test_another_release_of_a_library_reads_documents_anew(
        self, tmp_path: Path, database: Database, reads: Reads, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("h.pdf", (DOCUMENTS / "handbook.pdf").read_bytes())
        shelf.put("p.md", LONG)
        for name in ("h.pdf", "p.md"):
            self.call(shelf, "list_sections", file_path=name)
        monkeypatch.setattr(document_cache, "library_versions", lambda: "of tomorrow")
        again = self.desk(tmp_path, database)
        for name in ("h.pdf", "p.md"):
            self.call(again, "list_sections", file_path=name)
        assert reads.count == 3

    def test_a_changed_file_is_not_answered_from_before_the_restart(
        self, tmp_path: Path, database: Database
    ) -> None:
        shelf = self.desk(tmp_path, database)
        path = shelf.put("p.md", LONG)
        times = path.stat()
        before = self.call(shelf, "list_sections", file_path="p.md")
        path.write_text(LONG.replace("Section on", "section in"))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        after = self.call(self.desk(tmp_path, database), "list_sections", file_path="p.md")
        assert before["sections"] != after["sections"]
        assert "Conclusion" in after["sections"]

    def test_an_outline_kept_by_a_program_that_makes_others_is_made_anew(
        self, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("p.md", LONG)
        self.call(shelf, "list_sections", file_path="p.md")
        monkeypatch.setattr(document_cache, "VERSION", document_cache.VERSION + 1)
        reads = Reads(monkeypatch)
        self.call(self.desk(tmp_path, database), "list_sections", file_path="p.md")
        assert reads.count == 1

    def test_the_store_holds_nothing_of_the_files_text(
        self, tmp_path: Path, sqlite_url: str, make_database: Any
    ) -> None:
        database = make_database(sqlite_url)
        shelf = self.desk(tmp_path, database)
        shelf.put("secret-name.md", LONG)
        self.call(shelf, "smart_read", file_path="secret-name.md")
        database.close()
        kept = b"".join(f.read_bytes() for f in database.path.parent.iterdir() if f.is_file())
        assert b"reader_outlines" in kept
        for text in (b"copper lanterns", b"harbour at night", b"secret-name"):
            assert text not in kept

    def test_a_store_that_fails_never_breaks_reading(
        self, tmp_path: Path, database: Database
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("p.md", LONG)
        database.close()
        assert self.call(shelf, "smart_read", file_path="p.md")["type"] == "summary"

    def test_a_store_that_hangs_never_delays_reading(
        self, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf = self.desk(tmp_path, database)
        shelf.put("p.md", LONG)
        released, ended = threading.Event(), threading.Event()

        def hang(*_given: object) -> None:
            released.wait(20)
            ended.set()

        monkeypatch.setattr(store, "find_outline", hang)
        monkeypatch.setattr(document_cache, "STORE_TIMEOUT", 0.05)

        async def read() -> dict[str, Any]:
            answer = await dispatch(shelf.desk, "smart_read", SOMEBODY, {"file_path": "p.md"})
            assert not ended.is_set()
            released.set()
            await shelf.desk.service(ReaderService).documents.wait_for_writes()
            return answer.structured

        assert asyncio.run(read())["type"] == "summary"
        assert ended.wait(20)

    def test_a_locked_store_never_delays_reading(
        self, tmp_path: Path, sqlite_url: str, make_database: Any
    ) -> None:
        database = make_database(sqlite_url, lock_timeout=60.0)
        shelf = self.desk(tmp_path, database)
        shelf.put("p.md", LONG)
        held, done = threading.Event(), threading.Event()

        def hold(_tx: Any) -> None:
            held.set()
            done.wait(60)

        holder = threading.Thread(target=lambda: database.write_sync(SOMEBODY, hold))
        holder.start()
        held.wait(30)

        async def read() -> dict[str, Any]:
            answer = await dispatch(shelf.desk, "smart_read", SOMEBODY, {"file_path": "p.md"})
            assert holder.is_alive()
            done.set()
            await shelf.desk.service(ReaderService).documents.wait_for_writes()
            return answer.structured

        try:
            assert asyncio.run(read())["type"] == "summary"
        finally:
            done.set()
            holder.join()
