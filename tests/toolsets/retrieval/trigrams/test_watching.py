from __future__ import annotations

import mmap
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from rolltop.core.roots import Roots, Skipped
from rolltop.toolsets.retrieval.trigrams import catalogue, watching
from rolltop.toolsets.retrieval.trigrams.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _nothing(*_given: object) -> None:
    """Answer None, as a watch that lost its notes or may not watch any more."""


class Both:
    """A catalogue, compared with a walk."""

    def __init__(self, folder: Path, *, watch: bool = True) -> None:
        self.roots = Roots.open({"code": folder}, base=folder)
        (self.root,) = self.roots.named
        self.catalogue = Catalogue(self.roots, self.root, watch=watch)

    def agree(self) -> int:
        """Both list the same files in the same states; return how many."""
        found = self.catalogue.files(Skipped())
        assert found == list(self.roots.walk(self.root))
        return len(found)


@pytest.fixture
def both(code: Path, way: str) -> Iterator[Both]:
    for name in ("a", "sub/b", "sub/deep/c", "other/d"):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text(f"{name}\n")
    made = Both(code, watch=way == "watching")
    assert made.agree() == 4
    yield made
    made.catalogue.close()


def test_every_kind_of_change_is_seen_at_once(both: Both, code: Path) -> None:
    (code / "a").write_text("longer than before\n")
    both.agree()
    os.truncate(code / "sub/b", 1)
    both.agree()
    (code / "sub/deep/c").chmod(0o600)
    both.agree()
    os.utime(code / "sub/deep/c", ns=(1, 1))
    both.agree()
    with (code / "other/d").open("r+b") as file:
        file.write(b"D")
        file.flush()
        both.agree()
        file.write(b"E")
    both.agree()
    (code / "sub/new").write_text("new\n")
    assert both.agree() == 5
    (code / "sub/new").unlink()
    assert both.agree() == 4


def test_directories_that_come_go_and_change_places_are_followed(both: Both, code: Path) -> None:
    (code / "made" / "in" / "one").mkdir(parents=True)
    (code / "made" / "in" / "one" / "go").write_text("x")
    assert both.agree() == 5
    (code / "made" / "in").rename(code / "moved")
    (code / "moved" / "one" / "go").write_text("xx")
    assert both.agree() == 5
    (code / "sub").rename(code.parent / "kept")
    shutil.copytree(code.parent / "kept", code / "sub")
    (code / "sub" / "deep" / "c").write_text("changed in the copy")
    assert both.agree() == 5
    (code / "sub" / "deep").rename(code / "swap")
    (code / "other").rename(code / "sub" / "deep")
    (code / "swap").rename(code / "other")
    both.agree()
    (code / "sub" / "deep" / "d").write_text("changed in its new place")
    (code / "other" / "c").write_text("as well")
    both.agree()
    shutil.rmtree(code / "sub")
    assert both.agree() == 3


def test_a_root_that_is_exchanged_is_begun_anew(both: Both, code: Path) -> None:
    code.rename(code.parent / "old")
    shutil.copytree(code.parent / "old", code)
    (code / "sub" / "deep" / "c").write_text("in the new one")
    assert both.agree() == 4
    (code / "sub" / "deep" / "c").write_text("in the new one, again")
    both.agree()


def test_a_file_of_two_names_is_looked_at_each_time(both: Both, code: Path) -> None:
    outside = code.parent / "outside"
    outside.hardlink_to(code / "sub" / "b")
    os.utime(code / "sub" / "b")  # by its name here, so that this is noticed
    both.agree()
    outside.write_text("written under the other name\n")
    both.agree()


def test_a_file_that_is_given_another_name_here_is_looked_at_by_both(
    both: Both, code: Path
) -> None:
    (code / "other" / "second").hardlink_to(code / "sub" / "b")
    assert both.agree() == 5
    (code / "other" / "second").write_text("written under the new name\n")
    both.agree()
    (code / "other" / "second").unlink()
    (code / "sub" / "b").write_text("written under the first\n")
    assert both.agree() == 4


def test_a_look_at_all_finds_what_was_written_through_a_map(both: Both, code: Path) -> None:
    with (code / "sub" / "b").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        both.agree()
        mapped[0] = ord("B")
        mapped.flush()
        found = both.catalogue.files(Skipped(), look_at_all=True)
        assert found == list(both.roots.walk(both.root))


def test_lost_notes_make_it_look_at_all(
    both: Both, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "sub" / "deep" / "c").write_text("changed\n")
    monkeypatch.setattr(watching.Watch, "changed", _nothing)
    both.agree()


def test_more_directories_than_may_be_watched_are_looked_at(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching.Watch, "add", _nothing)
    (code / "sub").mkdir()
    (code / "sub" / "a").write_text("x")
    made = Both(code)
    made.agree()
    (code / "sub" / "a").write_text("xy")
    made.agree()
    made.catalogue.close()


def test_without_events_everything_is_looked_at(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_self: watching.Watch) -> None:
        raise OSError("no queue for events")

    monkeypatch.setattr(catalogue.Watch, "__init__", none)
    (code / "a").write_text("x")
    made = Both(code)
    made.agree()
    (code / "a").write_text("xy")
    made.agree()


def test_only_disks_of_this_machine_are_relied_on() -> None:
    mounted = (
        b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        b"30 22 0:45 / /home rw - nfs4 server:/home rw\n"
        b"31 22 0:46 / /mnt/a\\040b rw - fuse.sshfs host: rw\n"
        b"32 22 0:47 / /tmp rw - tmpfs tmpfs rw\n"
    )
    assert watching.own_devices(mounted) == {os.makedev(254, 0), os.makedev(0, 47)}
