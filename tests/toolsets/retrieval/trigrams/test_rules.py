"""Rules of the choice of files that change are followed, whatever is known of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.exact import search
from rolltop.toolsets.retrieval.models import Query
from tests.core.roots.trees import git

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.toolsets.retrieval.trigrams.indexed import Indexed

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


def test_rules_that_depend_on_the_branch_change_with_it(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(code.parent))
    (code.parent / ".gitconfig").write_text(
        '[core]\nexcludesFile = nowhere\n[includeIf "onbranch:topic/"]\npath = more\n'
    )
    (code.parent / "more").write_text("[core]\nexcludesFile = ~/ignored\n")
    (code.parent / "ignored").write_text("b.txt\n")
    git(code, "init", "-q", "-b", "main")
    git(code, "commit", "-q", "--allow-empty", "-m", "start")
    git(code, "worktree", "add", "-q", "-b", "topic/one", "sub/linked")
    linked = code / "sub" / "linked"
    for folder in (code, code / "sub", linked):
        for name in ("a.txt", "b.txt"):
            (folder / name).write_text("needle\n")
    indexed.build()

    def found() -> list[str]:
        return [hit.path for hit in indexed.find(NEEDLE).hits]

    own, others = ["a.txt", "b.txt"], ["sub/a.txt", "sub/b.txt"]
    inside = ["sub/linked/a.txt", "sub/linked/b.txt"]
    assert found() == [*own, *others, inside[0]]
    git(linked, "checkout", "-q", "-b", "side")
    assert found() == [*own, *others, *inside]
    git(code, "symbolic-ref", "HEAD", "refs/heads/topic/two")
    assert found() == [own[0], others[0], *inside]
    git(code, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(linked, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert found() == [own[0], others[0], *inside]
    git(code, "symbolic-ref", "refs/heads/alias", "refs/heads/topic/one")
    assert found() == [own[0], others[0], inside[0]]
    git(code, "symbolic-ref", "HEAD", "refs/heads/main")
    assert found() == [*own, *others, inside[0]]
