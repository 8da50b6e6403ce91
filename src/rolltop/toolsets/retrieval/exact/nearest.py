"""A spelling that does occur, for a text that doesn't."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid
from rolltop.core.roots import Skipped, is_sendable
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.globs import FileGlob
from rolltop.toolsets.retrieval.exact.holding import holding
from rolltop.toolsets.retrieval.exact.reading import text_of
from rolltop.toolsets.retrieval.exact.search import MOST_BYTES
from rolltop.toolsets.retrieval.exact.spellings import likenesses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.trees import Tree
    from rolltop.toolsets.retrieval.models import Query

_SHORTEST: Final = 4
_LONGEST: Final = 60
_SMALL: Final = 16 << 20
"""Bytes of trees all of which are looked at where no index tells which files to read."""
_CHECKED_EVERY: Final = 1024
"""Files between looks at the clock."""
_MOST_READ: Final = 200
"""Files of a tree that are read for one spelling: what occurs often is in some of them."""
_MOST_BYTES_READ: Final = 8 << 20
"""Bytes of a large tree's files that are."""
_BEGINNING: Final = 1 << 20
"""Bytes of a file of a large tree that are."""
_LONG_BEGINNING: Final = 4 << 20
"""Bytes of a file of a small one."""


def nearest(
    trees: Sequence[Tree], query: Query, size: int, deadline: float, *, most_bytes: int = MOST_BYTES
) -> str | None:
    """Return a text of the files that is much like the query, None where none is found.

    `size` is how many bytes the search went over that found nothing. Files larger than `most_bytes`
    are passed by.

    Tried in turn: other case, other signs between the words (`fooBar`, `foo_bar`, `foo-bar`),
    one letter too many, too few or wrong; of each, whole words before parts of words. Of large
    trees a few files are read, those first that an index proposes, so that this costs little more
    than the search that found nothing.
    """
    text = query.text.strip()
    if query.regex or not _SHORTEST <= len(text) <= _LONGEST:
        return None
    try:
        expression(query)
    except Invalid:  # no line holds it, nor anything like it
        return None
    small = size <= _SMALL
    for likeness in likenesses(text):
        narrower = replace(query, text=likeness.narrowing, regex=True, case="ignore", context=0)
        part: str | None = None
        for file in _texts(trees, narrower, most_bytes, small=small, deadline=deadline):
            found = likeness.named(file)
            if found is not None and found[1]:
                return found[0]
            part = part or (found and found[0])
            if time.monotonic() >= deadline:
                return part
        if part is not None:
            return part
    return None


def _texts(
    trees: Sequence[Tree], query: Query, most_bytes: int, *, small: bool, deadline: float
) -> Iterator[str]:
    """Yield the texts of a few files that may match, one after the other."""
    glob = None if query.file_glob is None else FileGlob(query.file_glob)

    def admits(entry: Entry) -> bool:
        fits = entry.size <= most_bytes and is_sendable(entry.relative)
        return fits and (glob is None or glob.chooses(entry.relative))

    for tree in trees:
        admitted = _proposed(tree, query, admits, small=small, deadline=deadline)
        left, most = (_SMALL, _LONG_BEGINNING) if small else (_MOST_BYTES_READ, _BEGINNING)
        for entry in islice(admitted, _MOST_READ):
            text = text_of(tree.roots, tree.root, entry, most)
            if text is not None:
                yield text
            left -= min(entry.size, most)
            if left <= 0:
                break


def _proposed(
    tree: Tree,
    query: Query,
    admits: Callable[[Entry], bool],
    *,
    small: bool,
    deadline: float,
) -> Iterable[Entry]:
    """Return files that may match: those of a large tree that come first, while no index tells.

    None of a large tree that has no index: to look there takes longer than the search did.
    """
    if tree.index is None and not small:
        return ()
    candidates = None if tree.index is None else tree.index.candidates(query)
    if candidates is not None:
        return filter(admits, _until(deadline, candidates))
    admitted = filter(admits, _until(deadline, tree.files(Skipped())))
    if not small:
        return admitted
    some = list(admitted)
    found = holding(tree.root, query, some, deadline)
    return (entry for entry in some if entry in found)


def _until(deadline: float, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the files until the deadline."""
    for number, entry in enumerate(entries):
        if not number % _CHECKED_EVERY and time.monotonic() >= deadline:
            return
        yield entry
