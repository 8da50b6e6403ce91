"""Which of some files have a line that matches, by a look at all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.exact import ripgrep
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.looking import named_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.roots import Entry, Root
    from rolltop.toolsets.retrieval.models import Query

_AT_ONCE: Final = 4096
_PATIENCE: Final = 5.0
"""Seconds for one look: a file that nobody can read to its end may be among those looked at."""


def holding(root: Root, query: Query, entries: Sequence[Entry], deadline: float) -> set[Entry]:
    """Return the files with a line that matches.

    Among them may be binary ones, and those that could not be looked at: not by ripgrep, or not
    before the deadline, on the monotonic clock.
    """
    wanted = expression(query)
    found: set[Entry] = set()
    rest = iter(entries)
    while group := named_together(rest, _AT_ONCE):
        left = deadline - time.monotonic()
        if left <= 0:
            found.update(group.values())
            continue
        run = ripgrep.names_run(wanted, group, str(root.path))
        try:
            written, complaints = run.result(min(_PATIENCE, left))
        except ripgrep.Stuck:
            found.update(group.values())
            continue
        holders = ripgrep.matching(written) | ripgrep.unread(complaints)
        found.update(entry for name in holders if (entry := group.get(name)))
    return found
