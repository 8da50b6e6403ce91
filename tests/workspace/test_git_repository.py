"""What git takes for a repository is one here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("gitdir:{top}/work/", True),
        ("gitdir:{top}/work/tree/.git", True),
        ("gitdir:{top}/work", False),
        ("gitdir:work/", True),
        ("gitdir:**/work/*/.git", True),
        ("gitdir:WORK/", False),
        ("gitdir/i:WORK/", True),
        ("gitdir:~/work/", True),
        ("gitdir:./work/", True),
        ("gitdir:./w?rk/", True),
        ("gitdir:[", False),
        ("onbranch:topic/", True),
        ("onbranch:topic/*", True),
        ("onbranch:main", False),
        ("elsewhere:work/", False),
    ],
)
@pytest.mark.parametrize("folder", ["home", "[home]"])
def test_what_a_condition_includes_counts_where_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, condition: str, *, holds: bool
) -> None:
    home = tmp_path / folder
    top = home / "work" / "tree"
    top.mkdir(parents=True)
    git(top, "init", "-q")
    git(top, "symbolic-ref", "HEAD", "refs/heads/topic/one")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    ignored = home / "ignored"
    ignored.write_text("b.txt\n")
    named = condition.format(top=str(home).replace("[", "\\\\["))
    (home / ".gitconfig").write_text(f'[includeIf "{named}"]\npath = more\n')
    (home / "more").write_text("[core]\nexcludesFile = ~/ignored\n")
    for name in ("a.txt", "b.txt"):
        (top / name).touch()
    roots = Roots.open({"code": top}, base=top)
    chosen = {entry.relative for entry in roots.walk(roots.named[0])}
    assert chosen == chosen_by_git(top)
    if folder == "home":
        assert chosen == ({"a.txt"} if holds else {"a.txt", "b.txt"})


def test_in_a_linked_tree_a_condition_is_about_its_own_git_directory(
    tmp_path: Path, own_git_home: Path
) -> None:
    top, linked = tmp_path / "main", tmp_path / "linked"
    git(tmp_path, "init", "-q", str(top))
    git(top, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-mx")
    git(top, "worktree", "add", "-q", "-b", "other", str(linked))
    (own_git_home / "ignored").write_text("b.txt\n")
    (top / ".git" / "more").write_text("[core]\nexcludesFile = ~/ignored\n")
    with (top / ".git" / "config").open("a") as config:
        config.write('[includeIf "gitdir:worktrees/*"]\npath = more\n')
    for tree in (top, linked):
        (tree / "b.txt").touch()
        roots = Roots.open({"code": tree}, base=tree)
        assert {entry.relative for entry in roots.walk(roots.named[0])} == chosen_by_git(tree)
    assert chosen_by_git(linked) == set()
