"""What other processes do to an index between two statements of a search."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.retrieval.store.files import Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


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
