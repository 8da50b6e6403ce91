"""Indexes of small folders, and files that settle quickly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.core.roots.conftest import own_git_home
from tests.toolsets.retrieval.exact.conftest import library, library_files
from tests.toolsets.retrieval.trigrams.indexed import Indexed

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["library", "library_files", "own_git_home"]

QUICK_NS = 40_000_000
"""Ten ticks of the slowest clock that Linux stamps files by."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as settled after 40 ms instead of two seconds."""
    monkeypatch.setattr("rolltop.core.roots.settling.SETTLED_NS", QUICK_NS)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "code"
    folder.mkdir()
    return folder


@pytest.fixture(params=["watching", "looking", "sentries"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way to learn of changes; processes of their own look at folders of any size."""
    if request.param == "sentries":
        monkeypatch.setattr("rolltop.toolsets.retrieval.trigrams.catalogue.WORTH", 0)
    return request.param


@pytest.fixture
def indexed(
    quick: None,  # noqa: ARG001  # for its effect
    code: Path,
    way: str,
) -> Iterator[Indexed]:
    made = Indexed(code.parent / "kept", code, watch=way == "watching")
    yield made
    made.indexes.close()
