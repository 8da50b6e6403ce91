"""Links that lead nowhere are told from others, and nothing is asked of another machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolltop.core.roots import links
from rolltop.core.roots.links import leading_nowhere


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path)) / "root"
    (place / "folder").mkdir(parents=True)
    (place / "folder" / "file").write_text("x")
    (tmp_path / "outside").write_text("x")
    return place


THERE = (
    "folder", "folder/file", "./folder/../folder//file", "../outside", "/", "/dev/null",
    "../root/folder/file", "x" * 300,
)  # fmt: skip
NOWHERE = (
    "missing", "folder/missing", "missing/../folder", "/nonexistent/at/all", "../missing", "link",
    "other", "folder/file/below",
)  # fmt: skip


@pytest.mark.parametrize("target", [*THERE, *NOWHERE])
def test_a_link_leads_where_the_kernel_would_go(place: Path, target: str) -> None:
    (place / "other").symlink_to("link")
    (place / "link").symlink_to(target)
    assert leading_nowhere([str(place / "link")]) == (target in NOWHERE)


def test_a_link_over_links_is_followed(place: Path) -> None:
    (place / "way").symlink_to("folder")
    (place / "good").symlink_to("way/file")
    (place / "bad").symlink_to(place / "way" / "missing")
    assert leading_nowhere([str(place / name) for name in ("way", "good", "bad")]) == 1


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
    assert leading_nowhere(every) == 2
    told = place.parent / "mountinfo"
    told.write_bytes(_mount(b"/", b"ext4") + _mount(os.fsencode(far), b"nfs4"))
    monkeypatch.setattr(links, "_MOUNTS", told)
    asked: list[str] = []
    look = os.lstat

    def noted(path: str) -> os.stat_result:
        asked.append(path)
        return look(path)

    monkeypatch.setattr(links.os, "lstat", noted)
    assert leading_nowhere(every) == 1
    assert not [path for path in asked if path.startswith(str(far))]


def test_where_nothing_is_told_of_mounts_no_link_is_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "_MOUNTS", place / "none")
    (place / "link").symlink_to("missing")
    assert leading_nowhere([str(place / "link")]) == 0


def _mount(place: bytes, kind: bytes) -> bytes:
    place = place.replace(b" ", b"\\040")
    return b"36 35 98:0 / " + place + b" rw,noatime shared:1 - " + kind + b" /dev/x rw\n"
