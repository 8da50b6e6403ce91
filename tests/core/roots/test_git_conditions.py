"""What git's configuration includes under a condition counts where git itself lets it count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.core.roots import Roots
from tests.core.roots.trees import chosen_by_git, git

if TYPE_CHECKING:
    from pathlib import Path

HELD = [
    *("gitdir:**/main/", "gitdir:main/", "gitdir:main/.git", "gitdir:**/main/.git", "gitdir:ma?n/"),
    *("gitdir:{top}/", "gitdir:{top}/main/", "gitdir:{top}/main/.git", "gitdir:{top}/**/.git"),
    *("gitdir:~/", "gitdir:~/*/main/.git", "gitdir:./", "gitdir:./work/", "gitdir:./*/main/**"),
    *("gitdir:/", "gitdir:**", "gitdir:", "gitdir:work/", "gitdir/i:**/MAIN/", "gitdir/i:{upper}/"),
    *("gitdir/i:./WORK/", "onbranch:topic/one", "onbranch:topic/", "onbranch:topic/*"),
    *("onbranch:**", "onbranch:**/one", "hasconfig:remote.*.url:https://x.example/**"),
    *("hasconfig:remote.*.url:**/two", "hasconfig:remote.*.url:https://*/a/b"),
]
NOT_HELD = [
    *("gitdir:**/MAIN/", "gitdir:main", "gitdir:/main/", "gitdir:{top}", "gitdir:{top}/x/"),
    *("gitdir:~/main/", "gitdir:./main/", "gitdir:[", "gitdir/i:**/x/", "gitdir:{upper}/"),
    *("onbranch:topic", "onbranch:*", "onbranch:one", "onbranch:refs/heads/topic/one", "onbranch:"),
    *("hasconfig:remote.*.url:https://x.example/*", "hasconfig:remote.*.url:nowhere"),
    *("hasconfig:remote.*.url:https://late.example/", "hasconfig:user.name:t", "other:x", "gitdir"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a repository in `work/main`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    main = tmp_path / "work" / "main"
    main.mkdir(parents=True)
    git(main, "init", "-q", "-b", "topic/one")
    git(main, "remote", "add", "one", "https://x.example/a/b")
    git(main, "remote", "add", "two", "ssh://y.example/two")
    (main / "a.txt").touch()
    (main / "b.txt").touch()
    (tmp_path / "ignored").write_text("b.txt\n")
    return tmp_path


def include(home: Path, condition: str) -> None:
    """Let the user's configuration have more under a condition."""
    (home / ".gitconfig").write_text(
        f'[core]\nexcludesFile = nowhere\n[includeIf "{condition}"]\npath = more\n'
    )
    (home / "more").write_text("[core]\nexcludesFile = ~/ignored\n")


def chosen(root: Path) -> set[str]:
    roots = Roots.open({"code": root}, base=root)
    return {entry.relative for entry in roots.walk(roots.named[0])}


@pytest.mark.parametrize("condition", [*HELD, *NOT_HELD])
def test_a_condition_holds_where_git_says_so(home: Path, condition: str) -> None:
    top = str(home / "work")
    include(home, condition.format(top=top, upper=top.upper()))
    expected = {"a.txt"} if condition in HELD else {"a.txt", "b.txt"}
    main = home / "work" / "main"
    assert (chosen(main), chosen_by_git(main)) == (expected, expected)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("gitdir:main/", True),
        ("gitdir:linked/", False),
        ("gitdir:**/worktrees/linked", True),
        ("onbranch:side", True),
        ("onbranch:topic/", False),
        ("hasconfig:remote.*.url:**/two", True),
    ],
)
def test_a_worktree_has_its_own_directory_and_branch(
    home: Path, condition: str, *, holds: bool
) -> None:
    git(home / "work" / "main", "commit", "-q", "--allow-empty", "-m", "start")
    git(home / "work" / "main", "worktree", "add", "-q", "-b", "side", "../linked")
    linked = home / "work" / "linked"
    (linked / "b.txt").touch()
    include(home, condition)
    expected: set[str] = set() if holds else {"b.txt"}
    assert (chosen(linked), chosen_by_git(linked)) == (expected, expected)


def test_without_a_repository_no_condition_on_one_holds(home: Path) -> None:
    (home / "plain").mkdir()
    (home / "plain" / "b.txt").touch()
    for condition in ("gitdir:**", "gitdir/i:**", "onbranch:**"):
        include(home, condition)
        assert chosen(home / "plain") == {"b.txt"}


def test_a_condition_counts_in_the_file_it_stands_in(home: Path) -> None:
    """`./` is the folder of the file itself, where a link leads to it."""
    (home / "dot").mkdir()
    include(home, "gitdir:./../work/")
    (home / ".gitconfig").rename(home / "dot" / "config")
    (home / ".gitconfig").symlink_to("dot/config")
    main = home / "work" / "main"
    assert chosen(main) == chosen_by_git(main)


def test_a_change_of_branch_is_seen_at_once(home: Path) -> None:
    main = home / "work" / "main"
    include(home, "onbranch:topic/")
    assert chosen(main) == {"a.txt"}
    git(main, "checkout", "-q", "-b", "other")
    assert chosen(main) == {"a.txt", "b.txt"}


def test_files_that_ask_for_remotes_end_their_asking(home: Path) -> None:
    (home / ".gitconfig").write_text(
        '[includeIf "hasconfig:remote.*.url:**"]\npath = .gitconfig\n'
        '[includeIf "hasconfig:remote.*.url:**/two"]\npath = more\n'
    )
    (home / "more").write_text("[core]\nexcludesFile = ~/ignored\n")
    assert chosen(home / "work" / "main") == {"a.txt"}
