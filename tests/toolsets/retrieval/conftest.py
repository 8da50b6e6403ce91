"""Forests."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.workspace.conftest import own_git_home

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_git_home"]


@pytest.fixture
def forest(tmp_path: Path) -> Forest:
    return make_forest(tmp_path, "docs", "code")


@pytest.fixture
def open_forest() -> Iterator[Forest]:
    """Return a forest that any user may enter; tmp_path lets in its owner alone."""
    with TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder))
        made = make_forest(top, "docs")
        top.chmod(0o755)
        yield made
