"""A disk that fails and loses what was not synced: nothing acknowledged is lost or half done.

Needs root, /dev/fuse and libfuse; `make faults` installs what is missing and runs these.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from rolltop.core.accounts import list_users
from rolltop.core.db import SYSTEM, Database
from tests.campaign import examples
from tests.forks import Forked
from tests.torture.attempts import LIVES, PAIRS

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

POINTS: Final = 10
NEW_STORES: Final = 0.2
FAULTS: Final = {
    "power-cut": 180,
    "sync-error": 25,
    "names-sync-error": 7,
    "write-error": 150,
    "torn-write": 150,
    "full-disk": 150,
}
"""Before how many operations of its kind a fault comes."""


@contextmanager
def lossy_disk(folder: Path, *arguments: object) -> Generator[Path]:
    """Mount a disk with the folder's files; they are then what a power cut leaves of it."""
    mount = folder.with_suffix(".mount")
    mount.mkdir()
    program = [sys.executable, "-m", "tests.torture.lossy_disk", mount, folder, *arguments]
    library = {"FUSE_LIBRARY_PATH": "libfuse3.so.3"}
    with subprocess.Popen([str(word) for word in program], env=os.environ | library) as disk:
        try:
            while not mount.is_mount():
                assert disk.poll() is None, "the disk cannot be mounted: see CONTRIBUTING.md"
            yield mount
        finally:
            subprocess.run(["umount", str(mount)], check=False)  # noqa: S607  # the system's
            assert disk.wait(60) == 0


def open_and_close(url: str) -> None:
    """Make a store."""
    database = Database(url)
    database.open()
    database.close()


def write(mount: Path) -> list[str]:
    """Return what a process said that wrote to a store there, killed at the last."""
    program = ["-m", "tests.torture.attempts", f"sqlite:///{mount / 'desk.db'}"]
    with Forked(program) as process:
        said = [line.decode().strip() for line in process.stdout]
        process.wait()
        return said


def kept_pairs(file: Path) -> set[str]:
    """Return the pairs of a whole store; fails where it is none, or has half of a pair."""
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database = Database(f"sqlite:///{file}")
    rows = {user.email for user in database.read_sync(SYSTEM, list_users)}
    database.close()
    pairs = {row.removesuffix("-1@x") for row in rows if row.endswith("-1@x")}
    assert rows == {f"{pair}-{half}@x" for pair in pairs for half in (1, 2)}
    return pairs


def require_silence(said: list[str]) -> None:
    """Require that a life of the store acknowledges nothing once the disk has failed it."""
    failed = {line.split()[1][:2] for line in said if " The disk failed" in line}
    for life in failed:
        of_life = [line for line in said if line.startswith((life, f"refused {life}"))]
        first = next(at for at, line in enumerate(of_life) if " The disk failed" in line)
        assert all(" The disk failed" in line for line in of_life[first:]), of_life


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_acknowledged_is_lost(fault: str, tmp_path: Path) -> None:
    draw = random.Random(fault)  # noqa: S311  # no secret
    reached = 0
    for run in range(examples(POINTS)):
        folder = tmp_path / str(run)
        folder.mkdir()
        file = folder / "desk.db"
        is_new = draw.random() < NEW_STORES
        if not is_new:
            open_and_close(f"sqlite:///{file}")
        number = draw.randint(1, FAULTS[fault] * (2 if is_new else 1))
        with lossy_disk(folder, fault, number, run) as mount:
            said = write(mount)
        require_silence(said)
        acknowledged = {line for line in said if not line.startswith("refused")}
        kept: set[str] = kept_pairs(file) if file.exists() else set()
        assert acknowledged <= kept, f"{fault} at {number}, run {run}: {said}"
        reached += len(acknowledged) < LIVES * PAIRS
    assert reached, "some of the faults have kept pairs from being written"
