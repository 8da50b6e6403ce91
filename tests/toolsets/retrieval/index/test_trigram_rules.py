"""Rules of the choice of files that change are followed, whatever is known of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.models import Query

if TYPE_CHECKING:
    from pathlib import Path

    from tests.toolsets.retrieval.index.indexed import Indexed

NEEDLE = Query("needle")


def test_rules_that_change_are_seen(indexed: Indexed, code: Path) -> None:
    (code / "sub" / "deep").mkdir(parents=True)
    for name in ("f.txt", "sub/f.txt", "sub/deep/f.txt", "sub/deep/f.log"):
        (code / name).write_text("needle\n")
    indexed.build()

    def found() -> list[str]:
        expected = [hit.path for hit in search(indexed.live(), NEEDLE, limit=9).hits]
        assert [hit.path for hit in indexed.find(NEEDLE).hits] == expected
        return expected

    assert len(found()) == 4
    (code / ".gitignore").write_text("*.log\n")
    assert len(found()) == 3
    (code / "sub" / ".gitignore").write_text("deep/*.txt\n!*.log\n")
    assert found() == ["f.txt", "sub/deep/f.log", "sub/f.txt"]
    (code / "sub" / ".gitignore").write_text("deep/*.txz\n!*.log\n")
    assert len(found()) == 4
    (code / "sub" / ".ignore").write_text("*\n")
    assert found() == ["f.txt"]
    (code / "sub" / ".ignore").unlink()
    (code.parent / ".gitignore").write_text("nothing\n")
    (code / ".gitignore").unlink()
    assert len(found()) == 4
    (code / "sub" / "deep").rename(code / "sub" / ".deep")
    assert found() == ["f.txt", "sub/f.txt"]
