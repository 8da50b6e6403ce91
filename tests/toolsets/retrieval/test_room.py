"""What the indexes of a folder take on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import sqlalchemy

from rolltop.toolsets.retrieval.index import chunk_index, trigram_file
from rolltop.toolsets.retrieval.index.chunk_indexes import ChunkIndexes
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.store import Unusable
from rolltop.workspace import Roots
from tests.toolsets.retrieval.index.indexed import Indexed


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let roots of any size be indexed."""
    monkeypatch.setattr("rolltop.toolsets.retrieval.index.trigram_index.MIN_FILES", 1)


def test_the_indexes_take_no_more_than_their_share_of_the_text(tmp_path: Path) -> None:
    # About 9 MB; copied, since an environment may have a .gitignore that hides all of it.
    folder = tmp_path / "text"
    shutil.copytree(Path(sqlalchemy.__file__).parent, folder)
    exact = Indexed(tmp_path / "exact", folder)
    exact.build()
    roots = Roots.open({"code": folder}, base=folder)
    root = roots.named[0]
    ranked = ChunkIndexes(roots, tmp_path / "ranked")
    ranked.update(root, lambda: list(roots.walk(root)), lambda: False)
    text = sum(file.stat().st_size for file in folder.rglob("*.py"))
    exact.indexes.close()
    ranked.close()
    assert text > 4 << 20
    assert 0 < folder_bytes(tmp_path / "exact") / text < 0.2
    assert 0 < folder_bytes(tmp_path / "ranked") / text < 0.6


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


class Both:
    """Both indexes of a folder, which files of any size make worth tidying."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
        monkeypatch.setattr("rolltop.toolsets.retrieval.store.MUCH", 1)
        self.code = top / "code"
        self.code.mkdir()
        for number in range(20):
            self.write(number, f"word{number}")
        self.exact = Indexed(top / "exact", self.code)
        self._roots = Roots.open({"code": self.code}, base=self.code)
        self._ranked = ChunkIndexes(self._roots, top / "ranked")

    def write(self, number: int, text: str) -> None:
        (self.code / f"f{number}").write_text(f"{text} {'and others ' * 50}\n")

    def update(self) -> None:
        self.exact.build()
        self._stale()  # a search finds what has changed
        root = self._roots.named[0]
        self._ranked.update(root, lambda: list(self._roots.walk(root)), lambda: False)
        assert self._stale() == []

    def _stale(self) -> list[str]:
        root = self._roots.named[0]
        found = self._ranked.state(root).stale(
            list(self._roots.walk(root)), self._ranked.file(root, begin=True)
        )
        return [entry.relative for entry in found]

    def close(self) -> None:
        self.exact.indexes.close()
        self._ranked.close()


def test_an_index_is_tidied_after_much_was_read_not_after_each_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidied: list[str] = []

    def noted(index: object) -> None:
        tidied.append(type(index).__name__)

    for kind in (trigram_file.TrigramFile, chunk_index.ChunkIndex):
        monkeypatch.setattr(kind, "tidy", noted)
    both = Both(tmp_path, monkeypatch)
    both.update()
    assert sorted(tidied) == ["ChunkIndex", "TrigramFile"]
    both.write(3, "changed")
    both.update()
    assert len(tidied) == 2
    for number in range(6):
        both.write(number, f"another{number}")
    both.update()
    assert sorted(tidied) == ["ChunkIndex", "ChunkIndex", "TrigramFile", "TrigramFile"]
    both.close()


def test_an_index_that_cannot_be_tidied_serves_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: object) -> None:
        raise Unusable

    for kind in (trigram_file.TrigramFile, chunk_index.ChunkIndex):
        monkeypatch.setattr(kind, "tidy", full)
    both = Both(tmp_path, monkeypatch)
    both.update()
    assert both.exact.proposed(Query("word7")) == ["f7"]
    both.write(7, "changed")
    both.update()
    assert both.exact.proposed(Query("word7")) == []
    both.close()
