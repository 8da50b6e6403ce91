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
_PATIENCE: Final = 5.0
"""Seconds for one look: a file that nobody can read to its end may be among those looked at."""
_POINTER: Final = 12
"""Bytes that an argument takes besides its name."""


def holding(root: Root, query: Query, entries: Sequence[Entry], deadline: float) -> set[Entry]:
    """Return the files with a line that matches.

    Among them may be binary ones, and those that could not be looked at: not by ripgrep, or not
    before the deadline, on the monotonic clock.
    """
    wanted = expression(query)
    found: set[Entry] = set()
    for group in _groups(entries):
        left = deadline - time.monotonic()
        if left <= 0:
            found.update(group)
            continue
        names = {b"./" + os.fsencode(entry.relative): entry for entry in group}
        run = ripgrep.names_run(
            wanted, [name.removeprefix(b"./") for name in names], str(root.path)
        )
        try:
            written, complaints = run.result(min(_PATIENCE, left))
        except ripgrep.Stuck:
            found.update(group)
            continue
        holders = ripgrep.matching(written) | ripgrep.unread(complaints)
        found.update(entry for name in holders if (entry := names.get(b"./" + name)))
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
