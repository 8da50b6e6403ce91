"""What a walk yields, leaves out and counts."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rolltop.workspace import (
    DirectoryEntry,
    PathError,
    Roots,
    SkippedEntries,
)
from rolltop.workspace.sandbox import is_utf8_path
from tests.workspace.test_sandbox import unprivileged
from tests.workspace.trees import git


def walked(roots: Roots, *, under: str = "") -> list[str]:
    return [entry.relative for entry in roots.walk(roots.named[0], under=under)]


def plant(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(os.fsencode(name))


def test_order_is_by_components_in_code_points(tmp_path: Path) -> None:
    plant(tmp_path, "a.txt", "a/z", "a-b/c", "B", "é", "a/b/c", "\U0001f600", "\uff5e")
    assert walked(Roots.open({"code": tmp_path}, base=tmp_path)) == [
        *("B", "a/b/c", "a/z", "a-b/c", "a.txt", "é", "\uff5e", "\U0001f600")
    ]


def test_an_entry_tells_the_files_state(tmp_path: Path) -> None:
    plant(tmp_path, "f")
    roots = Roots.open({"code": tmp_path}, base=tmp_path)
    (entry,) = roots.walk(roots.named[0])
    status = (tmp_path / "f").stat()
    assert (entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, entry.device) == (
        *(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev),
    )


def test_below_a_directory_the_rules_from_above_hold(tmp_path: Path) -> None:
    plant(tmp_path, "a/b/f.log", "a/b/g", "a/c", "out/x", ".hid/y")
    (tmp_path / ".gitignore").write_text("*.log\nout/\n")
    (tmp_path / "link").symlink_to("a")
    roots = Roots.open({"code": tmp_path}, base=tmp_path)
    assert walked(roots, under="a/b") == ["a/b/g"]
    assert walked(roots, under=".") == walked(roots) == ["a/b/g", "a/c"]
    for closed in ("out", ".hid", "missing", "a/c", "link"):
        assert walked(roots, under=closed) == []


def test_a_listing_has_directories_before_what_they_hold_down_to_a_depth(tmp_path: Path) -> None:
    plant(tmp_path, "a/b/c", "a/d", "a-b", ".hid/x", "out/y", "kept/z", "kept/w", "f.log")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / ".gitignore").write_text("*.log\nout/\nkept/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "kept/z")
    roots = Roots.open({"code": tmp_path}, base=tmp_path)

    def listed(depth: int, under: str = ".") -> list[str]:
        found = roots.list_directory(roots.named[0], under=under, depth=depth)
        return [item.relative + "/" * isinstance(item, DirectoryEntry) for item in found]

    assert listed(1) == ["a/", "a-b", "empty/", "kept/"]
    assert listed(2) == ["a/", "a/b/", "a/d", "a-b", "empty/", "kept/", "kept/z"]
    assert listed(9) == ["a/", "a/b/", "a/b/c", "a/d", "a-b", "empty/", "kept/", "kept/z"]
    assert listed(1, "a") == ["a/b/", "a/d"]
    for closed in ("out", ".hid", "missing", "a-b", "link"):
        assert listed(2, closed) == []


def test_links_are_left_out_and_special_files_counted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    plant(root, "f", "sub/g")
    (root / "to-file").symlink_to("f")
    (root / "to-folder").symlink_to("sub")
    (root / "to-itself").symlink_to("to-itself")
    (root / "sub/up").symlink_to("..")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket"))
        skipped = SkippedEntries()
        roots = Roots.open({"code": root}, base=tmp_path)
        found = [entry.relative for entry in roots.walk(roots.named[0], skipped=skipped)]
    assert found == ["f", "sub/g"]
    links = [str(root / name) for name in ("sub/up", "to-file", "to-folder", "to-itself")]
    assert skipped == SkippedEntries(special=2, links=skipped.links)
    assert sorted(skipped.links) == links
    assert skipped.special_count == 3


def test_unreadable_directories_are_counted_and_passed_over() -> None:
    with TemporaryDirectory() as directory:
        top = Path(os.path.realpath(directory))
        plant(top, "a", "shut/b", "z")
        top.chmod(0o755)
        (top / "shut").chmod(0o000)
        with unprivileged():
            roots = Roots.open({"code": top}, base=top)
            skipped = SkippedEntries()
            found = [entry.relative for entry in roots.walk(roots.named[0], skipped=skipped)]
        (top / "shut").chmod(0o755)
    assert found == ["a", "z"]
    assert skipped == SkippedEntries(unreadable=1)


def test_a_directory_that_vanishes_is_counted_and_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "a", "b/c", "d")
    roots = Roots.open({"code": tmp_path}, base=tmp_path)
    skipped = SkippedEntries()
    walk = roots.walk(roots.named[0], skipped=skipped)
    assert next(walk).relative == "a"
    (tmp_path / "b/c").unlink()
    (tmp_path / "b").rmdir()
    assert [entry.relative for entry in walk] == ["d"]
    assert skipped == SkippedEntries(vanished=1)


def test_odd_names_are_walked_and_told_apart(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    plant(tmp_path, odd, "new\nline", "back\\slash", f"in-{odd}/f", "é" * 120)
    roots = Roots.open({"code": tmp_path}, base=tmp_path)
    found = walked(roots)
    assert set(found) == {odd, "new\nline", "back\\slash", f"in-{odd}/f", "é" * 120}
    assert [name for name in found if not is_utf8_path(name)] == [odd, f"in-{odd}/f"]
    assert roots.locate("new\nline").relative == "new\nline"


def test_a_tree_deeper_than_any_recursion_limit_is_walked(tmp_path: Path) -> None:
    levels = [f"{tmp_path}/" + "d/" * depth for depth in range(1, 1201)]
    for level in levels:
        Path(level).mkdir()
    Path(levels[-1], "f").touch()
    try:
        assert walked(Roots.open({"code": tmp_path}, base=tmp_path)) == ["d/" * 1200 + "f"]
    finally:
        Path(levels[-1], "f").unlink()
        for level in reversed(levels):
            Path(level).rmdir()


def test_the_data_directory_inside_a_root_is_not_there(tmp_path: Path) -> None:
    plant(tmp_path, "f", "data/desk.db", "data/deep/er", "database/g")
    roots = Roots.open(
        {"code": tmp_path}, base=tmp_path, hidden_stores=[tmp_path / "data"], allow_hidden=True
    )
    assert walked(roots) == ["database/g", "f"]
    assert walked(roots, under="data") == []
    (tmp_path / "way-in").symlink_to("data/desk.db")
    for path in ("data", "data/desk.db", "data/missing", "way-in", "data/deep/er"):
        for reader in (False, True):
            with pytest.raises(PathError) as caught:
                roots.locate(path, reader=reader)
            assert caught.value.code == "FILE_NOT_FOUND"


def test_a_root_inside_the_data_directory_is_empty(tmp_path: Path) -> None:
    plant(tmp_path, "data/files/f")
    roots = Roots.open(
        {"code": tmp_path / "data/files"}, base=tmp_path, hidden_stores=[tmp_path / "data"]
    )
    assert walked(roots) == []


def test_a_store_file_hides_itself_and_its_siblings_only(tmp_path: Path) -> None:
    siblings = ("desk.db", "desk.db-wal", "desk.db-shm", "desk.db-journal", "desk.db.lock")
    plant(tmp_path, *siblings, "desk.db.md", "other.db")
    roots = Roots.open({"code": tmp_path}, base=tmp_path, hidden_stores=[tmp_path / "desk.db"])
    assert walked(roots) == ["desk.db.md", "other.db"]
    for name in siblings:
        with pytest.raises(PathError, match="does not exist"):
            roots.locate(name)


def test_a_store_under_another_name_by_a_hard_link_is_not_opened(tmp_path: Path) -> None:
    plant(tmp_path, "data/deep/desk.db", "root/plain")
    (tmp_path / "root/innocent").hardlink_to(tmp_path / "data/deep/desk.db")
    (tmp_path / "root/twin").hardlink_to(tmp_path / "root/plain")
    roots = Roots.open(
        {"code": tmp_path / "root"}, base=tmp_path, hidden_stores=[tmp_path / "data"]
    )
    with pytest.raises(PathError, match="does not exist"):
        roots.open_regular(roots.locate("innocent"))
    with roots.open_regular(roots.locate("twin")) as file:
        assert file.read() == b"root/plain"
