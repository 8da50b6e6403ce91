"""Which of some files have a line that matches, by a look at all of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.exact import ripgrep
from rolltop.toolsets.retrieval.exact.expression import expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rolltop.core.roots import Entry, Root
    from rolltop.toolsets.retrieval.models import Query

_AT_ONCE: Final = 4096
_ARGUMENT_BYTES: Final = 900_000
_POINTER: Final = 12
"""Bytes that an argument takes besides its name."""


def holding(root: Root, query: Query, entries: Sequence[Entry], deadline: float) -> set[Entry]:
    """Return the files with a line that matches; binary ones may be among them.

    Files that are not looked at before the deadline, on the monotonic clock, are left out.
    """
    wanted = expression(query)
    found: set[Entry] = set()
    for group in _groups(entries):
        names = {b"./" + os.fsencode(entry.relative): entry for entry in group}
        run = ripgrep.names_run(
            wanted, [name.removeprefix(b"./") for name in names], str(root.path)
        )
        try:
            written, _ = run.result(deadline - time.monotonic())
        except ripgrep.Stuck:
            break
        found.update(names[b"./" + name] for name in ripgrep.matching(written))
    return found


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield the files in groups that are short enough to name."""
    group: list[Entry] = []
    length = 0
    for entry in entries:
        size = len(os.fsencode(entry.relative)) + _POINTER
        if group and (len(group) == _AT_ONCE or length + size > _ARGUMENT_BYTES):
            yield group
            group, length = [], 0
        group.append(entry)
        length += size
    if group:
        yield group
