"""Shelves of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.toolsets.reader.shelf import Shelf, make_shelf

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return make_shelf(tmp_path / "docs")
