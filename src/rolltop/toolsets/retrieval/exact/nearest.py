"""A spelling that does occur, for a text that doesn't."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid, TimedOut
from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval.exact.content import CUT
from rolltop.toolsets.retrieval.exact.globs import FileGlob
from rolltop.toolsets.retrieval.exact.search import MOST_BYTES, search
from rolltop.toolsets.retrieval.exact.spellings import likenesses
from rolltop.toolsets.retrieval.models import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.trees import Index, Tree
    from rolltop.toolsets.retrieval.models import Query

_SHORTEST: Final = 4
_LONGEST: Final = 60
_SMALL: Final = 16 << 20
"""Bytes of trees that are searched again without a second thought."""
_MOST_READ: Final = 500
"""Files of a large tree that are read for one spelling: what occurs often is in some of them."""


def nearest(
    trees: Sequence[Tree], query: Query, size: int, deadline: float, *, most_bytes: int = MOST_BYTES
) -> str | None:
    """Return a text of the files that is much like the query, None where none is found.

    `size` is how many bytes the search went over that found nothing. Files larger than `most_bytes`
    are passed by.

    Tried in turn: other case, other signs between the words (`fooBar`, `foo_bar`, `foo-bar`),
    one letter too many, too few or wrong. Of large trees a few files are read, those first that an
    index proposes, so that this costs little more than the search that found nothing.
    """
    text = query.text.strip()
    if query.regex or not _SHORTEST <= len(text) <= _LONGEST:
        return None
    small = size <= _SMALL
    for likeness in likenesses(text):
        tried = replace(query, text=likeness.asked, regex=True, case="ignore", context=0)
        narrower = replace(tried, text=likeness.narrowing)
        some = trees if small else _narrowed(trees, narrower)
        if not some:
            continue
        try:
            found = search(
                some, tried, limit=likeness.lines, deadline=deadline, most_bytes=most_bytes
            )
        except (TimedOut, Invalid):
            return None
        for hit in found.hits:
            name = likeness.named(hit.preview.strip(CUT))
            if name is not None or time.monotonic() >= deadline:
                return name
    return None


def _narrowed(trees: Sequence[Tree], query: Query) -> list[Tree]:
    """Return the trees with a few of the files that may match, those without any left out.

    The first of all files where an index cannot tell; nothing where there is to be none.
    """
    glob = None if query.file_glob is None else FileGlob(query.file_glob)
    some: list[Tree] = []
    for tree in trees:
        if tree.index is None:
            return []
        candidates = tree.index.candidates(query)
        files = tree.files(Skipped()) if candidates is None else candidates
        admitted = (entry for entry in files if glob is None or glob.chooses(entry.relative))
        if chosen := list(islice(admitted, _MOST_READ)):
            some.append(replace(tree, index=_Chosen(tree.index, chosen)))
    return some


@dataclass(frozen=True)
class _Chosen:
    """An index that proposes some files whatever is asked."""

    index: Index
    entries: Sequence[Entry]

    def candidates(self, query: Query) -> Sequence[Entry]:  # noqa: ARG002  # always the same
        return self.entries

    def is_text(self, entry: Entry) -> bool | None:
        """Return what the index itself knows."""
        return self.index.is_text(entry)

    def texts(self, most_bytes: int) -> None:
        """Keep no list: it is always proposed from."""

    def marks(self, most_bytes: int) -> None:  # as above
        """Know nothing of what is still to be read: nobody goes on."""

    def totals(self, skipped: Skipped, most_bytes: int) -> Totals:  # noqa: ARG002  # nobody asks
        return Totals(0, 0, 0, 0, 0)
