"""PDF, DOCX, PPTX and EPUB in ranked search: their text, as it is now, at lines that open."""

from __future__ import annotations

import io
import os
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from docx import Document

from rolltop.core import worker_process
from rolltop.core.worker_process import Worker, WorkerProcess
from rolltop.documents.extractors import document_reader
from rolltop.toolsets.retrieval.index import chunk_index, chunk_index_builder, trigram_index
from rolltop.toolsets.retrieval.service import ranking
from rolltop.workspace import file_stat
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.toolsets.retrieval.index import hostile_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS: Final = Path(__file__).parents[3] / "data" / "documents"
HOSTILE: Final = f"{hostile_reader.__name__}:reader"


def write_word(*paragraphs: str) -> bytes:
    """Return a Word document of these paragraphs."""
    document, data = Document(), io.BytesIO()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.save(data)
    return data.getvalue()


def index(forest: Forest) -> None:
    """Index all files, also those that have just been written."""
    trigram_index.update_index(forest.desk)
    end = time.monotonic() + PATIENCE
    while forest.ok("repo_smart_search", query="anything")["meta"].get("unread"):
        assert time.monotonic() < end
        ranking.update_index(forest.desk)


def search(forest: Forest, query: str) -> list[dict[str, Any]]:
    return forest.ok("repo_smart_search", query=query)["result"]


@pytest.fixture
def shelf(forest: Forest) -> Iterator[Forest]:
    """Return a forest whose text files are indexed."""
    forest.put("docs/harbour.md", "# Harbour\n\nShips come in.\n")
    index(forest)
    ranking.update_index(forest.desk)
    yield forest
    forest.desk.service(ranking.open_chunk_indexes).close()


@pytest.mark.parametrize("ending", ["pdf", "docx", "pptx", "epub"])
def test_a_section_of_a_document_is_found_and_opens(
    shelf: Forest, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    def parse_here(*_: object) -> None:
        raise AssertionError  # it may take any time and memory

    with monkeypatch.context() as patch:
        patch.setattr(document_reader, "read_document", parse_here)
        shelf.put(f"docs/handbook.{ending}", (DOCUMENTS / f"handbook.{ending}").read_bytes())
        index(shelf)
        (best, *_) = search(shelf, "trim the wick to four millimetres")
    assert best["path"] == f"handbook.{ending}"
    assert "four millimetres" in best["preview"]
    assert "Wick" in best["in"]
    lines = f"#L{best['line']}-{best['end_line']}"
    assert best["uri"] == f"rolltop://file/docs/handbook.{ending}{lines}"
    text = document_reader.read_document(
        (DOCUMENTS / f"handbook.{ending}").read_bytes(), Path(best["path"])
    ).text
    shown = text.split("\n")[best["line"] - 1 : best["end_line"]]
    assert any("four millimetres" in line for line in shown)


def test_no_text_is_found_that_a_document_no_longer_has(shelf: Forest) -> None:
    path = shelf.put("docs/plan.docx", write_word("A herd of quaggas"))
    assert search(shelf, "quagga") == []
    assert shelf.ok("repo_smart_search", query="quagga")["meta"]["indexing"] == {
        "done": 1,
        "total": 2,
    }
    index(shelf)
    assert [place["path"] for place in search(shelf, "quagga")] == ["plan.docx"]
    shelf.put("docs/plan.docx", write_word("A herd of okapis"))
    assert search(shelf, "quagga") == search(shelf, "okapi") == []
    assert shelf.ok("repo_smart_search", query="okapi")["meta"]["unread"] == 1
    index(shelf)
    assert search(shelf, "quagga") == []
    assert [place["path"] for place in search(shelf, "okapi")] == ["plan.docx"]
    path.unlink()
    assert search(shelf, "okapi") == []
    shelf.put("docs/plan.docx", "A herd of texts, named as they like\n")
    index(shelf)
    assert [place["line"] for place in search(shelf, "herd")] == [1]


def test_a_document_that_changes_during_a_search_is_not_shown_as_it_was(
    shelf: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shelf.put("docs/plan.docx", write_word("A herd of quaggas"))
    index(shelf)
    find = chunk_index.find_chunks

    def change(*arguments: Any) -> Any:
        path.write_bytes(write_word("A herd of okapis"))
        return find(*arguments)

    monkeypatch.setattr("rolltop.toolsets.retrieval.ranked.candidates.find_chunks", change)
    assert search(shelf, "quagga") == []


def test_a_damaged_text_is_read_anew(shelf: Forest) -> None:
    shelf.put("docs/plan.docx", write_word("A herd of quaggas"))
    index(shelf)
    file = shelf.desk.service(ranking.open_chunk_indexes).file(shelf.desk.roots.named[0])
    assert file is not None
    with file.write_transaction() as db:
        db.execute("UPDATE documents SET text = x'00'")
    assert search(shelf, "quagga") == []
    index(shelf)
    ranking.update_index(shelf.desk)
    index(shelf)
    assert [place["path"] for place in search(shelf, "quagga")] == ["plan.docx"]


def test_documents_wait_for_nobody_and_nobody_for_them(
    shelf: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_index_builder, "FACTORY", HOSTILE)
    shelf.put("docs/plan.docx", write_word("A herd of quaggas, hostile crash"))
    shelf.put("docs/late.md", "An okapi\n")
    assert [place["path"] for place in search(shelf, "okapi")] == ["late.md"]
    index(shelf)  # the process that reads it ends: it is passed over
    assert [place["path"] for place in search(shelf, "okapi")] == ["late.md"]
    meta = shelf.ok("repo_smart_search", query="quagga")["meta"]
    assert "Not searched: 1 document (PDF, DOCX, PPTX, EPUB)" in meta["hint"]


@pytest.mark.parametrize("moment", [-(10**6), 10**10, 2 * 10**9])
@pytest.mark.parametrize("is_text", [True, False], ids=["text", "document"])
def test_a_document_of_a_strange_time_is_found(
    shelf: Forest, moment: int, *, is_text: bool
) -> None:
    line = "A herd of quaggas -> north"
    path = shelf.put("docs/plan.docx", line if is_text else write_word(line))
    os.utime(path, (moment, moment))
    shelf.ok("repo_smart_search", query="->")
    if moment < 10**10:  # no index holds the times of later centuries
        index(shelf)
        assert [place["path"] for place in search(shelf, "quagga")] == ["plan.docx"]
        assert [place["path"] for place in search(shelf, "->")] == ["plan.docx"]


def test_no_process_is_started_for_a_document_that_is_being_written(
    shelf: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Worker] = []

    def start(worker: Worker) -> WorkerProcess:
        started.append(worker)
        return WorkerProcess(worker)

    path = shelf.put("docs/plan.docx", write_word("A herd of quaggas"))
    monkeypatch.setattr(file_stat, "RACY_NS", 0)
    monkeypatch.setattr(worker_process, "WorkerProcess", start)
    with path.open("r+b"):
        for _ in "ab":
            assert shelf.ok("repo_smart_search", query="quagga")["meta"]["unread"] == 1
            ranking.update_index(shelf.desk)
        assert not started
    index(shelf)
    assert started
    assert [place["path"] for place in search(shelf, "quagga")] == ["plan.docx"]


def test_of_a_very_long_document_the_beginning_is_found(
    shelf: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_index_builder, "MAX_DOCUMENT_TEXT", 20)
    shelf.put("docs/plan.docx", write_word("A herd of quaggas", "and of okapis"))
    root = shelf.desk.roots.named[0]
    (entry,) = [one for one in shelf.desk.roots.walk(root) if one.relative == "plan.docx"]
    monkeypatch.setattr(file_stat, "RACY_NS", 0)
    with closing(chunk_index.ChunkIndex(shelf.top / "own", "units")) as file:
        chunk_index_builder.index_files(shelf.desk.roots, root, file, [entry])
        assert file.find_document("plan.docx", entry[1:5]) == "A herd of quaggas\n\na"
        assert file.find_document("plan.docx", (1, 2, 3, 4)) is None


def test_a_document_without_text_is_counted(shelf: Forest) -> None:
    for name in ("locked.pdf", "handbook.pdf"):
        shelf.put(f"docs/{name}", (DOCUMENTS / name).read_bytes())
    shelf.put("docs/Notes.DOCX", b"PK\x03\x04\0")
    index(shelf)
    hint = shelf.ok("repo_smart_search", query="quagga")["meta"]["hint"]
    assert hint.startswith("Not searched: 2 documents")
    assert "read_plan finds the sections of those that have a text" in hint
    assert "hint" not in shelf.ok("repo_smart_search", query="wick")["meta"]


@pytest.mark.parametrize("setting", [True, False])
def test_documents_are_read_from_an_index_alone(tmp_path: Path, *, setting: bool) -> None:
    forest = make_forest(
        Path(os.path.realpath(tmp_path)), "docs", settings={"retrieval.index": setting}
    )
    forest.put("docs/plan.docx", write_word("A herd of quaggas"))
    for query in ("quagga", "->"):
        answer = forest.ok("repo_smart_search", query=query)
        assert answer["result"] == []
        assert ("Not searched: 1 document" in answer["meta"].get("hint", "")) is not setting
        assert answer["meta"].get("unread") == (1 if setting else None)


def test_documents_are_read_again_once_there_is_a_library_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = (40, 1, 2, 3)
    counts = (0, False), (0, False), (3, True), (3, False), (2, False), (3, True), (3, False)
    for count, is_read_again in counts:
        monkeypatch.setattr(chunk_index, "count_libraries", lambda count=count: count)
        with closing(chunk_index.ChunkIndex(tmp_path, "units")) as file:
            rows = file.rows_of(["a/Plan.DOCX", "a/empty.py", "b.pdf"])
            expected = {} if not rows else {"a/empty.py": stamp, "b.pdf": stamp}
            if rows and not is_read_again:
                expected["a/Plan.DOCX"] = stamp
            current = {path: row.stamp for path, row in rows.items() if row.stamp[0] > 0}
            assert current == expected
            texts = {"a/Plan.DOCX": "", "a/empty.py": "", "b.pdf": "quaggas"}
            file.put(chunk_index.index_file(path, stamp, text) for path, text in texts.items())
