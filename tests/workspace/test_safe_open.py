"""Opening what was located: regular files only, and only the ones that may be read."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from rolltop.workspace import (
    PathError,
    ResolvedPath,
    Roots,
    is_binary,
    safe_open,
)
from rolltop.workspace.safe_open import OpenFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(params=["handle", "steps"])
def roots(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Roots:
    """A root with one file and a secret beside it, opened with and without /proc."""
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/sub/f").write_text("fine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("secret")
    if request.param == "steps":
        monkeypatch.setattr(safe_open, "OPEN_FILES", str(tmp_path / "no-such-directory"))
    return Roots.open({"code": tmp_path / "root"}, base=tmp_path)


def code_of_opening(roots: Roots, located: ResolvedPath) -> str:
    with pytest.raises(PathError) as caught:
        roots.open_regular(located)
    return caught.value.code


def test_a_regular_file_opens(roots: Roots) -> None:
    with roots.open_regular(roots.locate("sub/f")) as file:
        assert file.read() == b"fine"


def test_what_a_walk_comes_to_opens(roots: Roots) -> None:
    code = roots.named[0]
    (entry,) = roots.walk(code)
    with roots.open_entry(code, entry) as file:
        assert file.read() == b"fine"


def test_special_files_are_refused_and_never_waited_for(roots: Roots, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "root/fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "root/socket"))
        for path in ("fifo", "socket", "sub"):
            assert code_of_opening(roots, roots.locate(path)) == "FILE_UNREADABLE"


def test_a_root_that_is_no_file_is_named(roots: Roots, tmp_path: Path) -> None:
    with pytest.raises(PathError, match=r"^'code' is not a regular file"):
        roots.open_regular(roots.locate("code"))
    assert roots.locate("code").base == (tmp_path / "root").resolve()


def test_a_device_is_refused(tmp_path: Path) -> None:
    devices = Roots.open({"dev": "/dev"}, base=tmp_path)
    assert code_of_opening(devices, devices.locate("null")) == "FILE_UNREADABLE"


def test_a_file_swapped_for_a_link_out_is_not_opened(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub/f").unlink()
    (tmp_path / "root/sub/f").symlink_to(tmp_path / "outside/f")
    with pytest.raises(PathError):
        roots.open_regular(located)


def test_a_folder_swapped_for_a_link_out_is_not_entered(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub").rename(tmp_path / "root/moved")
    (tmp_path / "root/sub").symlink_to(tmp_path / "outside")
    assert code_of_opening(roots, located) == "FILE_NOT_FOUND"


def test_a_folder_swapped_for_a_link_to_hidden_files_is_judged_anew(
    roots: Roots, tmp_path: Path
) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub").rename(tmp_path / "root/.hidden")
    (tmp_path / "root/sub").symlink_to(".hidden")
    assert code_of_opening(roots, located) == "FILE_NOT_FOUND"


def test_a_file_that_went_away_is_not_found(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub/f").unlink()
    assert code_of_opening(roots, located) == "FILE_NOT_FOUND"


class Swapping:
    """A folder that is a link to another while the system is asked some questions of a call.

    Which ones is said by the bits of `turns`; at all others the folder lies where it belongs.
    """

    def __init__(self, top: Path, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sub, self._kept, self._link = (top / "root" / name for name in ("sub", "kept", "ln"))
        self._link.symlink_to(top / "outside")
        self._turns = turns
        for name in ("open", "stat", "lstat", "fstat", "readlink"):
            monkeypatch.setattr(os, name, partial(self._swapped, getattr(os, name)))

    def _swapped(self, asked: Callable[..., object], *given: object, **more: object) -> object:
        swaps, self._turns = self._turns % 2, self._turns // 2
        if not swaps:
            return asked(*given, **more)
        self._sub.rename(self._kept)
        self._link.rename(self._sub)
        try:
            return asked(*given, **more)
        finally:
            self._sub.rename(self._link)
            self._kept.rename(self._sub)


def test_no_swap_during_the_call_shows_what_lies_outside(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    for one, other in combinations(range(40), 2):
        with pytest.MonkeyPatch.context() as patched:
            Swapping(tmp_path, 1 << one | 1 << other, patched)
            with suppress(PathError), roots.open_regular(located) as file:
                assert file.read() == b"fine"
        (tmp_path / "root/ln").unlink()


def test_a_link_to_a_file_beside_it_is_not_followed(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub/f").rename(tmp_path / "root/sub/g")
    (tmp_path / "root/sub/f").symlink_to("g")
    assert code_of_opening(roots, located) == "FILE_UNREADABLE"


def test_a_folder_replaced_by_a_file_holds_nothing(roots: Roots, tmp_path: Path) -> None:
    located = roots.locate("sub/f")
    (tmp_path / "root/sub").rename(tmp_path / "root/moved")
    (tmp_path / "root/sub").write_text("a file")
    assert code_of_opening(roots, located) == "FILE_NOT_FOUND"


def test_binary_is_a_nul_byte_early_on_and_no_utf16_mark() -> None:
    assert is_binary(b"ab\0c")
    assert not is_binary(b"plain \xff text")
    assert not is_binary("text".encode("utf-16"))
    assert not is_binary(b"\xfe\xff\0t")
    assert not is_binary(b"")
    assert not is_binary(b"x" * 8192 + b"\0")


def test_a_file_that_has_nothing_to_read_yet_is_unreadable() -> None:
    read, write = os.pipe2(os.O_NONBLOCK)
    with OpenFile(read, os.fstat(read)) as file, pytest.raises(BlockingIOError):
        file.read(10)
    os.close(write)
