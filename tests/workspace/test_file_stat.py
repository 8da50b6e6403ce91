"""A folder's stats are read quickly, and nobody has to wait until all of them are."""

from __future__ import annotations

import os
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from rolltop.workspace import Roots, SkippedEntries, file_stat
from rolltop.workspace.catalog import Catalog
from rolltop.workspace.file_stat import STAT_FLAGS, StatBuffer
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

MANY = 200_000
TURNS = 5
"""More than a thread gets before and after a call that lets nobody run."""


def test_other_threads_run_while_a_large_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    buffer, ended, turns = StatBuffer(), Event(), list[int]()

    def run() -> None:
        while not ended.wait(0.001):
            turns.append(1)

    opened = os.open(tmp_path, STAT_FLAGS)
    expected = buffer.read(opened, [b"file"] * MANY)
    other = Thread(target=run)
    other.start()
    end = monotonic() + PATIENCE
    during = 0
    while during <= TURNS and monotonic() < end:  # a busy machine may give it fewer in one read
        before = len(turns)
        assert buffer.read(opened, [b"file"] * MANY) == expected
        during = len(turns) - before
    ended.set()
    other.join()
    assert during > TURNS
    assert buffer.read(opened, [b"file"] * MANY + [b"missing"]) is None
    os.close(opened)


@pytest.mark.parametrize(
    ("kind", "is_covered"), [("ext4", True), ("nfs4", False), ("fuse.sshfs", False), ("9p", False)]
)
def test_only_what_this_machine_answers_for_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, is_covered: bool
) -> None:
    device = tmp_path.stat().st_dev
    mount = f"22 1 {os.major(device)}:{os.minor(device)} / / rw - {kind} server:/x rw\n"
    (tmp_path / "mounts").write_text(mount)
    monkeypatch.setattr(file_stat, "MOUNTS", tmp_path / "mounts")
    assert StatBuffer().covers(device) is is_covered
    code = tmp_path / "code"
    (code / "folder").mkdir(parents=True)
    roots = Roots.open({"code": code}, base=tmp_path)
    catalog = Catalog(roots, roots.named[0])
    for text in ("a", "ab", "abc"):
        (code / "folder" / text).write_text(text)
        (code / "folder" / "a").write_text(text)
        sizes = [entry.size for entry in catalog.files(SkippedEntries())]
        assert sizes == [len(text), *range(2, len(text) + 1)]


def test_a_device_that_is_not_among_the_mounts_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subvolumes of btrfs have numbers of their own."""
    (tmp_path / "mounts").write_text("22 1 0:999999 / / rw - nfs4 server:/x rw\n")
    monkeypatch.setattr(file_stat, "MOUNTS", tmp_path / "mounts")
    assert StatBuffer().covers(tmp_path.stat().st_dev)
