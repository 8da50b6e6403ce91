from __future__ import annotations

from pathlib import Path

import pytest

from rolltop.workspace import Roots, find_project
from rolltop.workspace.project import find_project_name
from tests.workspace.trees import git


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "homes" / "ann"
    path.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(path))
    return path


def make_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def make_repository(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q")
    return path


def test_a_folder_is_a_project_and_inside_a_repository_its_top_is(home: Path) -> None:
    plain = home / "notes" / "2026"
    plain.mkdir(parents=True)
    top = make_repository(home / "mill")
    inside = top / "src" / "deep"
    inside.mkdir(parents=True)
    assert find_project(plain) == plain
    assert find_project(top) == top
    assert find_project(inside) == top
    assert [find_project_name(folder) for folder in (plain, inside, home)] == ["2026", "mill", ""]
    (home / "link").symlink_to(inside)
    assert find_project(home / "link") == top


def test_a_worktree_and_a_nested_repository_are_projects_of_their_own(home: Path) -> None:
    top = make_repository(home / "mill")
    git(top, "commit", "-q", "--allow-empty", "-mx")
    git(top, "worktree", "add", "-q", str(home / "tree"))
    (home / "tree" / "src").mkdir()
    assert find_project(home / "tree" / "src") == home / "tree"
    assert find_project(make_repository(top / "vendor" / "wheel")) == top / "vendor" / "wheel"


def test_no_home_no_folder_above_one_and_nothing_of_the_system_is_a_project(home: Path) -> None:
    above = [home.parent, home.parent.parent, Path("/")]
    system = ["/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/var", "/dev", "/proc/self"]
    programs = [home / ".config" / "editor", home / "AppData" / "Local" / "Host" / "app-1"]
    programs += [home / name for name in (".ssh", ".gnupg/private-keys-v1.d", ".aws/sso/cache")]
    for path in programs:
        path.mkdir(parents=True)
    for path in (home, *above, *map(Path, system), *programs, home / "gone", Path("/root/..")):
        assert find_project(path) is None, path


def test_a_repository_that_is_a_home_gives_way_to_the_folder_in_it(home: Path) -> None:
    make_repository(home)
    (home / "mill").mkdir()
    assert find_project(home) is None
    assert find_project(home / "mill") == home / "mill"


def test_a_repository_among_the_files_of_programs_is_a_project(home: Path) -> None:
    top = make_repository(home / ".config" / "editor")
    assert find_project(top) == top


def test_a_folder_that_cannot_be_listed_is_no_project(home: Path) -> None:
    path = home / "mill"
    path.write_text("a file")
    assert find_project(path) is None


def test_the_project_is_the_root_code_where_none_is_named(home: Path, tmp_path: Path) -> None:
    top = make_repository(home / "mill")
    (top / "src").mkdir()
    (top / ".gitignore").write_text("*.log\n")
    for name in ("src/wheel.py", "out.log"):
        (top / name).write_text(name)
    roots = Roots.open({}, base=tmp_path, working_directory=top / "src")
    assert [(root.name, root.path) for root in roots.named] == [("code", top)]
    assert roots.locate("src/wheel.py").path == top / "src/wheel.py"
    for path in ("wheel.py", "src/wheel.py", "code/src/wheel.py", str(top / "src/wheel.py")):
        assert roots.locate(path, reader=True).path == top / "src/wheel.py"
    with pytest.raises(Exception, match="does not exist"):
        roots.locate("out.log", reader=True)  # as in searches

    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "more.md").write_text("more")
    wider = Roots.open({}, base=tmp_path, extra=[Path("shelf")], working_directory=top)
    assert [root.path for root in wider.named] == [top]
    assert wider.locate("more.md", reader=True).path == tmp_path / "shelf" / "more.md"

    named = Roots.open({"docs": top / "src"}, base=tmp_path, working_directory=top)
    assert [root.name for root in named.named] == ["docs"]


def test_the_servers_own_folder_is_no_root(home: Path) -> None:
    data = home / "desk" / "data"
    data.mkdir(parents=True)
    for start in (data, data.parent):
        roots = Roots.open({}, base=start, hidden_stores=[data], working_directory=start)
        assert [root.path for root in roots.named] == [data.parent] * (start != data)


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
    assert find_project(linked) == linked
    assert find_project_name(make_folder(linked / "src")) == ("swift" if bare else "kite")


def test_a_submodule_has_its_own_name(home: Path) -> None:
    for name in ("kite", "lib"):
        git(home, "init", "-q", str(home / name))
        git(home / name, "commit", "-q", "--allow-empty", "-m", "start")
    allowed = ("-c", "protocol.file.allow=always")
    git(home / "kite", *allowed, "submodule", "-q", "add", str(home / "lib"), "vendored")
    assert find_project_name(home / "kite" / "vendored") == "vendored"


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
    assert find_project_name(make_folder(home / folder)) == name
