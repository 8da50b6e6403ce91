"""Stores on the disk, in the test's own folder: these tests look at the files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the URL of a fresh SQLite store in the folder `store`."""
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    shutil.copy(sqlite_template, folder / "desk.db")
    return f"sqlite:///{folder / 'desk.db'}"
