"""What git's configuration includes under a condition counts where git itself lets it count."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rolltop.core.roots import Roots
from tests.core.roots.trees import chosen_by_git, git

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
    git(main, "init", "-q", "--template=", "-b", "topic/one")
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


POINTED = [
    *("gitdir:**/modules/sub", "gitdir:modules/sub", "gitdir:**/modules/", "gitdir:main/.git/"),
    *("gitdir:{top}/main/.git/modules/sub", "gitdir:{top}/main/.git/", "gitdir:{top}/**/sub"),
    *("gitdir:~/work/ma?n/.git/modules/", "gitdir:./work/ma?n/.git/**", "gitdir/i:{upper}/"),
]
NOT_POINTED = [
    *("gitdir:{top}/main/sub/", "gitdir:{top}/main/sub/../.git/modules/sub", "gitdir:sub/.git"),
    *("gitdir:**/../**", "gitdir:./work/ma?n/sub/", "gitdir:**/sub/**"),
]


@pytest.fixture
def pointing(home: Path, request: pytest.FixtureRequest) -> Path:
    """A working tree in `work/main/sub` whose `.git` is a file with a path relative to it."""
    main, kind = home / "work" / "main", getattr(request, "param", "submodule")
    git(main, "commit", "-q", "--allow-empty", "-m", "start")
    if kind == "submodule":
        git(home, "clone", "-q", "--no-local", str(main), "other")
        git(main, "submodule", "--quiet", "add", str(home / "other"), "sub")
    else:
        git(main, "worktree", "add", "-q", "-b", "side", "sub")
        (main / ".git" / "modules").mkdir()
        (main / ".git" / "worktrees" / "sub").rename(main / ".git" / "modules" / "sub")
        (main / ".git" / "modules" / "sub" / "commondir").write_text("../../\n")
        (main / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert (main / "sub" / ".git").read_text() == "gitdir: ../.git/modules/sub\n"
    (main / "sub" / "b.txt").touch()
    return main / "sub"


@pytest.mark.parametrize("pointing", ["submodule", "worktree"], indirect=True)
def test_a_directory_that_a_relative_path_points_at_has_its_real_path(
    home: Path, pointing: Path
) -> None:
    top = str(home / "work")
    for condition in (*POINTED, *NOT_POINTED):
        include(home, condition.format(top=top, upper=top.upper()))
        expected: set[str] = set() if condition in POINTED else {"b.txt"}
        assert (chosen(pointing), chosen_by_git(pointing)) == (expected, expected), condition
        assert ("sub/b.txt" in chosen(pointing.parent)) == (condition not in POINTED), condition


def test_without_a_repository_no_condition_on_one_holds(home: Path) -> None:
    (home / "plain").mkdir()
    (home / "plain" / "b.txt").touch()
    for condition in ("gitdir:**", "gitdir/i:**", "onbranch:**"):
        include(home, condition)
        assert chosen(home / "plain") == {"b.txt"}


FROM_HOME = [
    *("gitdir:~/", "gitdir:~/work/", "gitdir:~/work/ma?n/.git", "gitdir:~/*/main/.git"),
    *("gitdir/i:~/WORK/", "gitdir:{link}/work/", "gitdir:{link}/", "gitdir:~", "gitdir:~x/"),
    *("gitdir:./", "gitdir:./work/", "gitdir:{real}/work/", "gitdir:~/main/", "gitdir:~/../"),
]


@pytest.mark.parametrize("named", ["link", "link/", "real/../link", "real"])
def test_a_home_behind_a_link_is_where_the_link_leads(
    home: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    (home / "real").mkdir()
    (home / "work").rename(home / "real" / "work")
    (home / "link").symlink_to("real")
    (home / "ignored").rename(home / "real" / "ignored")
    monkeypatch.setenv("HOME", f"{home}/{named}")
    main = home / "real" / "work" / "main"
    for condition in FROM_HOME:
        include(home / "real", condition.format(link=home / "link", real=home / "real"))
        assert chosen(main) == chosen_by_git(main), condition


def test_without_a_home_a_tilde_is_a_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = home / "work" / "main"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.delenv("HOME")
    home_of_account = Path("~").expanduser()
    for condition in ("gitdir:~/", "gitdir:~/**", f"gitdir:{home_of_account}/", "gitdir:./"):
        include(home, condition)
        (home / "more").write_text(f"[core]\nexcludesFile = {home}/ignored\n")
        assert chosen(main) == chosen_by_git(main)


def test_letters_of_either_case_fit_in_the_folder_of_the_file_too(home: Path) -> None:
    (home / "WORK").mkdir()
    (home / "WORK" / "config").write_text(
        '[includeIf "gitdir/i:./main/"]\npath = ../more\n[includeIf "gitdir:./main/"]\npath = no\n'
    )
    include(home, "gitdir:nowhere/")
    with (home / ".gitconfig").open("a") as config:
        config.write("[include]\npath = WORK/config\n")
    main = home / "work" / "main"
    assert chosen(main) == chosen_by_git(main) == {"a.txt"}


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


COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEADS: list[dict[str, str]] = [
    {"HEAD": "-> refs/heads/topic/one"},
    {"HEAD": "-> refs/heads/topic/nowhere"},
    {"HEAD": "-> refs/heads/other"},
    {"HEAD": "-> refs/heads/alias", "refs/heads/alias": "-> refs/heads/topic/one"},
    {"HEAD": "ref:refs/heads/topic/one"},
    {"HEAD": "ref: \t refs/heads/topic/one \n\r\n \n"},
    {"HEAD": "ref: refs/heads/topic/one\0junk\n"},
    {"HEAD": "ref: refs/heads/topic/one\x0b\n"},
    {"HEAD": "ref: refs/heads/topic/one\n\n\nmore\n"},
    {"HEAD": "ref: refs/heads/topic/one refs/heads/two\n"},
    {"HEAD": "ref: refs/heads/topic/o\u00f6\n"},
    {"HEAD": "ref: refs/heads/topic/a.lock\n"},
    {"HEAD": "ref: refs/heads/topic/.a\n"},
    {"HEAD": "ref: refs/heads/topic//a\n"},
    {"HEAD": "ref: refs/heads/topic/a..b\n"},
    {"HEAD": "ref: refs/heads/topic/@{a\n"},
    {"HEAD": "ref: refs/heads/topic/a~\n"},
    {"HEAD": "ref: refs/heads/topic/a.\n"},
    {"HEAD": "ref: refs/heads/topic/\n"},
    {"HEAD": "ref: refs/heads/topic/.lock\n"},
    {"HEAD": "ref: refs/heads/topic/@\n"},
    {"HEAD": "ref: refs/heads/topic/a.locked\n"},
    {"HEAD": "ref: refs/remotes/topic/one\n"},
    {"HEAD": f"{COMMIT}\n"},
    {"HEAD": "ref: refs/heads/topic\n"},
    {"refs/heads/topic/one": "ref: refs/heads/other\n"},
    {"HEAD": "ref: refs/heads/x\n", "refs/heads/x": "ref: refs/heads/topic/one"},
    {"HEAD": "ref: refs/heads/x\n", "refs/heads/x": "ref:\trefs/heads/topic/nowhere\n"},
    {"HEAD": "ref: refs/worktree/x\n", "refs/worktree/x": "ref: refs/heads/topic/one"},
    {
        "HEAD": "ref: refs/heads/x\n",
        "refs/heads/x": "ref: OTHER",
        "OTHER": "ref: refs/heads/topic/a",
    },
    {"HEAD": "ref: refs/heads/x\n", "refs/heads/x": "ref: refs/heads/x"},
    {"HEAD": "ref: refs/heads/x\n", "refs/heads/x": ""},
    {"refs/heads/topic/one": ""},
    {"refs/heads/topic/one": "no commit\n"},
    {"refs/heads/topic/one": f"{COMMIT}\n"},
    {"refs/heads/topic/one": f"{COMMIT.upper()} more"},
    {"refs/heads/topic/one": f"{COMMIT}0\n"},
    {"refs/heads/topic/one": "-> nowhere"},
    {"refs/heads/topic/one": "-> ../other"},
]
CHAINS = [
    {"HEAD": "ref: refs/heads/1\n"}
    | {f"refs/heads/{at}": f"ref: refs/heads/{at + 1}" for at in range(1, length)}
    | {f"refs/heads/{length}": "ref: refs/heads/topic/one"}
    for length in (2, 3, 4, 5)
]


def place(git_dir: Path, files: dict[str, str]) -> None:
    """Put files into a git directory, and links where the text is an arrow."""
    for name, text in files.items():
        path = git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)


@pytest.mark.parametrize("worktree", [False, True])
def test_the_branch_is_the_one_git_takes_head_for(home: Path, *, worktree: bool) -> None:
    top, git_dir = home / "work" / "main", home / "work" / "main" / ".git"
    if worktree:
        git(top, "commit", "-q", "--allow-empty", "-m", "start")
        git(top, "worktree", "add", "-q", "--detach", "../linked")
        (home / "work" / "linked" / "b.txt").touch()
        top, git_dir = home / "work" / "linked", git_dir / "worktrees" / "linked"
    include(home, "onbranch:topic/")
    before = home / "before"
    shutil.copytree(home / "work", before)
    for files in (*HEADS, *CHAINS):
        shutil.rmtree(home / "work")
        shutil.copytree(before, home / "work")
        place(home / "work" / "main" / ".git", {n: t for n, t in files.items() if "refs/h" in n})
        place(git_dir, {n: t for n, t in files.items() if "refs/h" not in n})
        assert chosen(top) == chosen_by_git(top), files


NO_HEADS = [
    *("", "\n", "ref: HEAD\n", "ref:", "main\n", "refs/heads/main\n", " ref: refs/heads/x\n"),
    *(
        "-> main",
        "-> ./refs/heads/main",
        "-> /refs/heads/main",
        COMMIT[1:],
        f"ref:{' ' * 300}refs/x",
    ),
    *(
        "ref: refs/",
        "-> refs/",
        "ref: \nrefs/heads/x",
        f"{COMMIT}x",
        f"{COMMIT.upper()}",
        "ref:refs/x",
    ),
]


def test_a_folder_is_a_repository_only_with_a_head_that_git_knows(home: Path) -> None:
    main = home / "work" / "main"
    (home / ".gitconfig").write_text("[core]\nexcludesFile = nowhere\n")
    for number, head in enumerate(NO_HEADS):
        inner = main / str(number)
        git(main, "init", "-q", "--template=", str(inner))
        for name in ("a.txt", "b.txt"):
            (inner / name).touch()
        (inner / ".git" / "info").mkdir()
        (inner / ".git" / "info" / "exclude").write_text("a.txt\n")
        place(inner / ".git", {"HEAD": head})
    (main / ".git" / "info").mkdir()
    (main / ".git" / "info" / "exclude").write_text("b.txt\n")
    assert chosen(main) == chosen_by_git(main)


def test_files_that_ask_for_remotes_end_their_asking(home: Path) -> None:
    (home / ".gitconfig").write_text(
        '[includeIf "hasconfig:remote.*.url:**"]\npath = .gitconfig\n'
        '[includeIf "hasconfig:remote.*.url:**/two"]\npath = more\n'
    )
    (home / "more").write_text("[core]\nexcludesFile = ~/ignored\n")
    assert chosen(home / "work" / "main") == {"a.txt"}
