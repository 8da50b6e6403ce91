"""An index or a configuration that somebody made up costs no more than its length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.workspace import git_repository
from rolltop.workspace.git_index import tracked_paths
from rolltop.workspace.git_repository import GitConfig
from tests.workspace.trees import git

if TYPE_CHECKING:
    from pathlib import Path

ID = b"\x01" * 20


def header(version: int, count: int) -> bytes:
    return b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big")


def entry(name: bytes) -> bytes:
    """Return an entry as version 4 has it."""
    return bytes(40) + ID + b"\0\0" + name + b"\0"


@pytest.mark.parametrize(
    "entries",
    [
        [b"\0a", b"\xff" * 100_000 + b"\0b"],
        [b"\0a", *[b"\0" + b"b" * 60] * 5_000],
        [b"\0a", b"\1" + b"b" * 2_000, *[b"\1b"] * 5_000],
    ],
)
def test_an_index_of_names_without_end_tracks_nothing(tmp_path: Path, entries: list[bytes]) -> None:
    (tmp_path / "index").write_bytes(
        header(4, len(entries)) + b"".join(map(entry, entries)) + bytes(28)
    )
    assert not tracked_paths(str(tmp_path), id_bytes=20, ignore_case=False).has("a")


def test_both_halves_of_a_split_index_track(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.splitIndex", "true")
    names = ["a", "b", "c"]
    for name in names:
        (tmp_path / name).touch()
        git(tmp_path, "add", name)
    (tmp_path / "a").write_text("changed")
    git(tmp_path, "add", "a")
    git_dir = tmp_path / ".git"
    assert list(git_dir.glob("sharedindex.*"))
    tracked = tracked_paths(str(git_dir), id_bytes=20, ignore_case=False)
    assert all(map(tracked.has, names))
    assert not tracked.has("")


def test_a_configuration_that_includes_itself_is_read_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    read = git_repository.read_rule_file

    def count(path: str, most: int) -> bytes | None:
        data = read(path, most)
        sizes.append(len(data or b""))
        return data

    monkeypatch.setattr(git_repository, "read_rule_file", count)
    path = tmp_path / "config"
    path.write_text("[include]\n" + "path = config\n" * 100 + "# x\n" * 100_000 + "[a]\nb = c\n")
    assert GitConfig([str(path)]).get("a.b") == "c"
    assert sum(sizes) <= 5_000_000
