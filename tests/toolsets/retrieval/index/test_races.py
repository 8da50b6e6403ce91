"""What is ranked is of one state, and kept whole, whoever writes to files and index meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.index import chunk_index_builder, file_text
from rolltop.toolsets.retrieval.index.vectors import Vectors
from rolltop.toolsets.retrieval.store import Damaged
from rolltop.workspace import Roots
from tests.toolsets.retrieval.index.test_chunk_indexes import Kept, kept
from tests.toolsets.retrieval.meanwhile import after_the_next_read, locked

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

__all__ = ["kept"]


def test_the_text_of_a_file_written_anew_while_it_is_read_is_of_one_state(
    tmp_path: Path,
) -> None:
    file, new = tmp_path / "a.py", "def zebra():\n    return word\n"
    file.write_text("pass\n")
    roots = Roots.open({"code": tmp_path}, base=tmp_path)
    (entry,) = roots.walk(roots.named[0])
    with after_the_next_read(lambda: file.write_text(new)):
        assert file_text.read_text(roots, roots.named[0], entry)[1] in {"pass\n", new}


def test_an_index_that_was_begun_anew_between_two_runs_is_filled(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run was stopped half way; a search finds the index damaged; the next run goes on."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
    monkeypatch.setattr(chunk_index_builder, "BATCH_FILES", 10)
    for number in range(60):
        kept.code.joinpath(f"m{number}.py").write_text(f"def lion_{number}():\n    return 2\n")
    assert kept.stale()
    stops = iter([False, False])
    kept.indexes.update(kept.root, kept.entries, lambda: next(stops, True))
    assert kept.stale()
    file = kept.indexes.file(kept.root)
    assert file is not None
    kept.indexes.fail(kept.root, file, Damaged())  # as a search does
    kept.update()
    kept.update()
    assert kept.indexes.file(kept.root) is not None
    assert kept.stale() == []


def test_an_index_that_cannot_be_opened_for_now_is_used_later(kept: Kept) -> None:
    kept.indexes.close()
    late = Kept(kept.code.parent)
    (path,) = kept.files()
    with locked(path):
        assert late.indexes.file(late.root) is None
    assert late.indexes.file(late.root) is not None
    assert late.stale() == []
    late.indexes.close()


def test_nor_are_vectors_given_up_that_cannot_be_opened_for_now(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, "v")
    assert vectors.leads(1)
    vectors.close()
    late = Vectors(tmp_path, "v")
    (path,) = tmp_path.glob("*.db")
    with locked(path):
        assert not late.leads(1)
    assert late.leads(1)
    late.close()
