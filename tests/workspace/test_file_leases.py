from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from rolltop.workspace import file_stat
from rolltop.workspace.file_stat import is_open_for_writing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_file_is_held_while_it_is_open_or_mapped_for_writing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"text")
    with (tmp_path / "f").open("rb") as file:
        assert not is_open_for_writing(file.fileno())
        with (tmp_path / "f").open("rb"):
            assert not is_open_for_writing(file.fileno())
        with (tmp_path / "f").open("r+b") as writer:
            assert is_open_for_writing(file.fileno())
            mapped = mmap.mmap(writer.fileno(), 0)
        assert is_open_for_writing(file.fileno())
        mapped.close()
        assert not is_open_for_writing(file.fileno())
        with (tmp_path / "f").open("r+b") as writer:  # no lease is left behind to wait for
            writer.write(b"TEXT")


def test_a_servers_refusal_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"text")
    device = tmp_path.stat().st_dev
    mounts = f"22 1 {os.major(device)}:{os.minor(device)} / /x rw - nfs4 server:/x rw\n"
    (tmp_path / "mounts").write_text("30 22 0:45 / / rw - ext4 /dev/x rw\n" + mounts)
    monkeypatch.setattr(file_stat, "MOUNTS", tmp_path / "mounts")
    with (tmp_path / "f").open("rb") as file, (tmp_path / "f").open("r+b"):
        assert not is_open_for_writing(file.fileno())


def test_where_nothing_is_known_of_file_systems_a_refusal_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"text")
    monkeypatch.setattr(file_stat, "MOUNTS", tmp_path / "missing")
    with (tmp_path / "f").open("rb") as file, (tmp_path / "f").open("r+b"):
        assert is_open_for_writing(file.fileno())
