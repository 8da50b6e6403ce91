"""The project a server was started in: its directory and its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolltop.workspace.start_directory import find_project_directory, find_project_name
from tests.workspace.trees import git


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory that is a repository, as people who keep their dotfiles in git have."""
    folder = tmp_path / "home"
    git(tmp_path, "init", "-q", str(folder))
    monkeypatch.setenv("HOME", str(folder))
    return folder


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_a_repository_gives_its_name_to_all_that_lies_in_it(home: Path) -> None:
    top = home / "work" / "kite"
    git(home, "init", "-q", str(top))
    for folder in (top, make(top / "src" / "deep")):
        assert find_project_directory(folder) == top
        assert find_project_name(folder) == "kite"
    inner = top / "vendor"
    git(top, "init", "-q", str(inner))
    assert find_project_name(inner) == "vendor"


@pytest.mark.parametrize("bare", [False, True])
def test_a_linked_worktree_has_the_name_of_its_repository(home: Path, *, bare: bool) -> None:
    top = home / "kite"
    git(home, "init", "-q", str(top))
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    if bare:
        git(home, "clone", "-q", "--bare", str(top), str(home / "swift.git"))
        top = home / "swift.git"
    linked = home / "linked"
    git(top, "worktree", "add", "-q", "--detach", str(linked))
    assert find_project_directory(linked) == linked
    assert find_project_name(make(linked / "src")) == ("swift" if bare else "kite")


def test_a_submodule_has_its_own_name(home: Path) -> None:
    for name in ("kite", "lib"):
        git(home, "init", "-q", str(home / name))
        git(home / name, "commit", "-q", "--allow-empty", "-m", "start")
    allowed = ("-c", "protocol.file.allow=always")
    git(home / "kite", *allowed, "submodule", "-q", "add", str(home / "lib"), "vendored")
    assert find_project_name(home / "kite" / "vendored") == "vendored"


def test_outside_a_repository_the_folder_is_the_project(home: Path, tmp_path: Path) -> None:
    for folder in (make(home / "plain"), make(tmp_path / "elsewhere" / "deep")):
        assert find_project_directory(folder) == folder
        assert find_project_name(folder) == folder.name


def test_home_what_lies_above_it_and_system_directories_are_no_project(
    home: Path, tmp_path: Path
) -> None:
    for folder in (home, tmp_path, Path("/"), Path("/etc"), Path("/usr/lib"), Path("/tmp")):  # noqa: S108  # a name
        assert find_project_directory(folder) is None
        assert find_project_name(folder) == ""


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("*", ""),
        ("a\x1bb\nc", "abc"),
        ("  spaced ", "spaced"),
        ("x" * 200, "x" * 100),
        ("日本", "日本"),
    ],
)
def test_a_folder_whose_name_cannot_be_shown_as_it_is(home: Path, folder: str, name: str) -> None:
    assert find_project_name(make(home / folder)) == name
