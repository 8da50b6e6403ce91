"""What others do meanwhile: other processes to an index, somebody to a file."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.db import sqlite
from rolltop.toolsets.retrieval.store import Connection
from rolltop.workspace.safe_open import OpenFile

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path


@contextmanager
def after_each_statement(acts: Iterable[Callable[[], None] | None]) -> Generator[None, None, None]:
    """Do the next of the acts after each statement; what they ask of an index counts as none."""
    waiting = iter(acts)
    execute = Connection.execute

    def answer(connection: Connection, *asked: Any) -> Any:
        nonlocal waiting
        rows = execute(connection, *asked)
        rest, waiting = waiting, iter(())
        act = next(rest, None)
        if act is not None:
            act()
        waiting = rest
        return rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Connection, "execute", answer)
        yield


@contextmanager
def locked(path: Path) -> Generator[None, None, None]:
    """Keep an index file that nobody has open from all others, who soon give up waiting for it."""
    with closing(sqlite.connect(path)) as holder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("rolltop.toolsets.retrieval.store.BUSY_SECONDS", 0.01)
        holder.execute("PRAGMA journal_mode = delete")
        holder.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def after_the_next_read(act: Callable[[], object]) -> Generator[None, None, None]:
    """Do something as soon as a file has been read for the next time, in part or whole."""
    read = OpenFile.read

    def once_then_act(file: OpenFile, size: int) -> bytes:
        found = read(file, size)
        patched.undo()
        act()
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OpenFile, "read", once_then_act)
        yield
