"""Files read into the index, each in one certain state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from rolltop.core.roots import PathProblem, is_binary
from rolltop.core.roots.opening import UTF16_MARKS
from rolltop.core.roots.writers import is_held_for_writing
from rolltop.toolsets.retrieval.trigrams.postings import BINARY, TEXT
from rolltop.toolsets.retrieval.trigrams.rulefiles import State, settled, state_of
from rolltop.toolsets.retrieval.trigrams.runs import kept

if TYPE_CHECKING:
    from rolltop.core.roots import Entry, Root, Roots
    from rolltop.toolsets.retrieval.store import Stamp

LARGEST: Final = 32 << 20
"""Bytes of the largest file that is read; a larger one always counts as changed."""

_LARGEST_INTEGER: Final = (1 << 63) - 1
_HEAD: Final = 8192


class Unsettled(Exception):
    """The file changed too lately, may be changing, is too large, or cannot be read.

    `passing` tells that it may be read before it changes again.
    """

    def __init__(self, *, passing: bool = False) -> None:
        """Say whether to try again."""
        super().__init__()
        self.passing: Final = passing


def read(roots: Roots, root: Root, entry: Entry) -> tuple[Stamp, int, str]:
    """Return a file's state, its kind and what is kept of its text. Raises Unsettled."""
    state, data = read_settled(roots, root, entry, LARGEST)
    if is_binary(data[:_HEAD]):
        return state[:4], BINARY, ""
    if data.startswith(UTF16_MARKS):
        data = data.decode("utf-16", "replace").encode()
    return state[:4], TEXT, kept(data)


def read_settled(roots: Roots, root: Root, entry: Entry, largest: int) -> tuple[State, bytes]:
    """Return a file's state and what it holds, of which the state will tell. Raises Unsettled."""
    if entry.size > largest:
        raise Unsettled
    try:
        with roots.open_entry(root, entry) as file:
            state = state_of(os.fstat(file.fileno()))
            if not settled(state) or state[0] > largest or max(state) > _LARGEST_INTEGER:
                raise Unsettled
            if is_held_for_writing(file.fileno()):
                raise Unsettled(passing=True)
            data = file.read(state[0] + 1)
            # The kernel's own files say that they are empty, and change without their times.
            if len(data) != state[0] or state_of(os.fstat(file.fileno())) != state:
                raise Unsettled
    except (OSError, PathProblem):
        raise Unsettled from None
    return state, data
