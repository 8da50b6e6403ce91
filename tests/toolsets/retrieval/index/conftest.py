"""Indexes of small folders, and files that settle quickly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.toolsets.retrieval.grep.conftest import library, library_files
from tests.toolsets.retrieval.index.indexed import Indexed
from tests.workspace.conftest import own_git_home

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["library", "library_files", "own_git_home"]

QUICK_NS = 40_000_000
"""Ten ticks of the slowest clock that Linux stamps files by."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as settled after 40 ms instead of two seconds."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", QUICK_NS)


@pytest.fixture(autouse=True, scope="module")
def few_are_enough() -> Iterator[None]:
    """Let roots of any size be indexed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("rolltop.toolsets.retrieval.index.trigram_index.MIN_FILES", 1)
        yield


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "code"
    folder.mkdir()
    return folder


@pytest.fixture
def indexed(
    quick: None,  # noqa: ARG001  # for its effect
    code: Path,
) -> Iterator[Indexed]:
    made = Indexed(code.parent / "kept", code)
    yield made
    made.indexes.close()
