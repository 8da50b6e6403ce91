"""What git takes for a repository is one here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.workspace import Roots
from tests.workspace.trees import chosen_by_git, git

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LINK = "-> "
HEADS = [
    *("", "\n", "ref: HEAD\n", "ref:", "main\n", "refs/heads/main\n", " ref: refs/heads/x\n"),
    *("-> main", "-> ./refs/heads/main", "-> /refs/heads/main", "-> refs/", "-> refs/heads/x"),
    *("ref: refs/", "ref: \nrefs/heads/x", "ref:refs/x", f"ref:{' ' * 300}refs/x"),
    *(COMMIT, COMMIT[1:], f"{COMMIT}x", COMMIT.upper()),
]


def test_a_folder_is_a_repository_only_with_a_head_that_git_knows(tmp_path: Path) -> None:
    top = tmp_path / "main"
    git(tmp_path, "init", "-q", str(top))
    (top / ".git" / "info" / "exclude").write_text("b.txt\n")
    for number, head in enumerate(HEADS):
        inner = top / str(number)
        git(top, "init", "-q", str(inner))
        for name in ("a.txt", "b.txt"):
            (inner / name).touch()
        (inner / ".git" / "info" / "exclude").write_text("a.txt\n")
        path = inner / ".git" / "HEAD"
        path.unlink()
        if head.startswith(LINK):
            path.symlink_to(head.removeprefix(LINK))
        else:
            path.write_text(head)
    roots = Roots.open({"code": top}, base=top)
    assert {entry.relative for entry in roots.walk(roots.named[0])} == chosen_by_git(top)
