"""Forests."""

from __future__ import annotations

import os
import resource
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.limits import LONG
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.workspace.conftest import own_git_home

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager

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


@pytest.fixture
def full_disk() -> Callable[[], AbstractContextManager[None]]:
    """A limit that lets no file grow over 48 KiB: less than the first files of an index take."""

    @contextmanager
    def fill() -> Generator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (48 << 10, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return fill


@pytest.fixture
def much_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A call that ends all waiting for another attempt."""
    now = time.monotonic
    return lambda: monkeypatch.setattr(time, "monotonic", lambda: now() + LONG)
