"""What the indexes of a folder take on disk."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy

from rolltop.core.roots import Roots
from rolltop.toolsets.retrieval import rank
from tests.toolsets.retrieval.trigrams.indexed import Indexed


def test_both_indexes_take_at_most_a_fifth_of_the_text(tmp_path: Path) -> None:
    folder = Path(sqlalchemy.__file__).resolve().parent  # about 9 MB that nobody writes to
    exact = Indexed(tmp_path / "exact", folder)
    exact.build()
    roots = Roots.open({"code": folder}, base=folder)
    root = roots.named[0]
    ranked = rank.UnitIndexes(roots, tmp_path / "ranked")
    ranked.update(root, lambda: list(roots.walk(root)), lambda: False)
    text = sum(file.stat().st_size for file in folder.rglob("*.py"))
    kept = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    exact.indexes.close()
    ranked.close()
    assert text > 8 << 20
    assert 0 < kept / text < 0.2
