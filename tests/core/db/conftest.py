"""Stores on the disk, in the test's own folder: these tests look at the files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from rolltop.core.db import revisions
from tests.core.db.later_program import LaterProgram

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the URL of a fresh SQLite store in the folder `store`."""
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    shutil.copy(sqlite_template, folder / "desk.db")
    return f"sqlite:///{folder / 'desk.db'}"


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LaterProgram:
    """Return the version of the program that opens stores from now on."""
    program = LaterProgram(tmp_path / "later")
    monkeypatch.setattr(revisions, "branches", lambda: program.branches)
    return program
