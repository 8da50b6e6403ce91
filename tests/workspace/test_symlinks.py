"""Links that lead nowhere are told from others, and nothing is asked of another machine."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from rolltop.workspace import symlinks
from rolltop.workspace.symlinks import count_dangling


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path)) / "root"
    (place / "folder").mkdir(parents=True)
    (place / "folder" / "file").write_text("x")
    (tmp_path / "outside").write_text("x")
    return place


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are asked for from now on."""
    asked: list[str] = []
    look = os.lstat

    def note(path: str) -> os.stat_result:
        asked.append(path)
        return look(path)

    monkeypatch.setattr(symlinks.os, "lstat", note)
    return asked


TARGETS = (
    "folder", "folder/file", "./folder/../folder//file", "../outside", "/", "/dev/null",
    "../root/folder/file", "./" * 1000 + "folder", "folder/", "step59", "/proc/self/fd/0",
    "missing", "folder/missing", "missing/../folder", "/nonexistent/at/all", "../missing", "link",
    "other", "folder/file/below", "folder/file/", "folder/file/.", "folder/file/../file",
    "step0", "x" * 300, "/proc/missing",
)  # fmt: skip
UNKNOWN = ("/proc/missing",)


@pytest.mark.parametrize("target", TARGETS)
def test_a_link_leads_where_the_kernel_goes(place: Path, target: str) -> None:
    (place / "other").symlink_to("link")
    for number in range(60):
        (place / f"step{number}").symlink_to(f"step{number + 1}" if number < 59 else "folder")
    link = place / "link"
    link.symlink_to(target)
    there = target in UNKNOWN
    with suppress(OSError):
        there |= bool(link.stat())
    assert count_dangling([str(link)]) == (not there)


def test_links_without_end_are_left_after_a_while(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = noted(monkeypatch)
    for number in range(2_000):
        (place / f"{number}").symlink_to(f"{number}")
    assert 0 < count_dangling([str(place / str(number)) for number in range(2_000)]) < 2_000
    assert len(asked) <= 20_000


def test_a_link_over_links_is_followed(place: Path) -> None:
    (place / "way").symlink_to("folder")
    (place / "good").symlink_to("way/file")
    (place / "bad").symlink_to(place / "way" / "missing")
    assert count_dangling([str(place / name) for name in ("way", "good", "bad")]) == 1


@pytest.mark.parametrize("name", ["far", "far away", "fär"])
def test_nothing_is_asked_of_what_others_answer_for(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    far = place.parent / name
    far.mkdir()
    (place / "over").symlink_to(far / "missing")
    (place / "to").symlink_to(f"../{name}")
    (place / "near").symlink_to("missing")
    every = [str(place / link) for link in ("over", "to", "near")]
    assert count_dangling(every) == 2
    told = place.parent / "mountinfo"
    told.write_bytes(_mount(b"/", b"ext4") + _mount(os.fsencode(far), b"nfs4"))
    monkeypatch.setattr(symlinks, "MOUNTS", told)
    asked = noted(monkeypatch)
    assert count_dangling(every) == 1
    assert not [path for path in asked if path.startswith(str(far))]


def test_nothing_is_asked_of_what_lies_around_a_root(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = place.parent / "mountinfo"
    told.write_bytes(
        _mount(b"/", b"ext4") + _mount(os.fsencode(place.parent), b"fuse.x\ry") + b"\n"
        + _mount(os.fsencode(place), b"ext4")
    )  # fmt: skip
    monkeypatch.setattr(symlinks, "MOUNTS", told)
    (place / "up").symlink_to("../missing/file")
    (place / "back").symlink_to("../root/missing")
    (place / "near").symlink_to("missing")
    assert count_dangling([str(place / name) for name in ("up", "back", "near")]) == 1


def test_where_nothing_is_told_of_mounts_no_link_is_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symlinks, "MOUNTS", place / "none")
    (place / "link").symlink_to("missing")
    assert count_dangling([str(place / "link")]) == 0


def _mount(place: bytes, kind: bytes) -> bytes:
    place = place.replace(b" ", b"\\040")
    return b"36 35 98:0 / " + place + b" rw,noatime shared:1 - " + kind + b" /dev/x rw\n"
