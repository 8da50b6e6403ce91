"""The lines of a text that show why it was found."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

from rolltop.core.fulltext import relevance
from rolltop.core.fulltext.analyzer import tokenize_joined
from rolltop.core.fulltext.bm25 import query_terms
from rolltop.core.fulltext.snippets import snippet

_MAX_SCANNED: Final = 50_000
"""Code points in which the best line is looked for; beyond them the first with a word will do."""
_MAX_COMPARED: Final = 400
"""Lines with a beginning of a word that are split into words."""
_BEGINNING: Final = 2
"""Letters that a word and its stem surely share."""


class LinesSize(NamedTuple):
    """How many lines are shown, and code points of them."""

    lines: int
    length: int


SIZES: Final = (
    LinesSize(1, 60),
    LinesSize(1, 120),
    LinesSize(2, 200),
    LinesSize(4, 320),
    LinesSize(8, 640),
)
"""From the shortest to the longest."""


class Excerpts:
    """The best lines of a text, in several sizes."""

    def __init__(self, text: str, query: str) -> None:
        """Look at nothing yet."""
        self._query: Final = query
        self._lines: Final = text.split("\n")

    def select_lines(self, size: LinesSize) -> str:
        """Return the best line and what follows it."""
        shown: list[str] = []
        room = size.length
        for line in self._lines[self.start : self.start + size.lines]:
            if room <= 0:
                break
            own = line.rstrip()
            shown.append(own if len(own) <= room else snippet(own, self._query, room))
            room -= len(shown[-1]) + 1
        return "\n".join(shown).rstrip()

    @cached_property
    def start(self) -> int:
        """How many lines are before the best one: that with most words of the query.

        Of equal ones it is that with most in the next one too.
        """
        forms = {
            form.rstrip("*")
            for term in relevance.query_forms(query_terms(self._query))
            for form in term.forms
        }
        starts = {form[:_BEGINNING] for form in forms}
        found: dict[int, set[str]] = {}
        scanned = 0
        for at, line in enumerate(self._lines):
            is_far = scanned > _MAX_SCANNED
            if is_far:
                if found:
                    break
                starts = {form[: max(_BEGINNING, len(form) - 1)] for form in forms}
            scanned += len(line) + 1
            lowered = line.lower().replace("_", "")
            if (is_far or line.isascii()) and not any(start in lowered for start in starts):
                continue
            words = f" {tokenize_joined(line[:_MAX_SCANNED])} "
            if has := {form for form in forms if f" {form} " in words}:
                found[at] = has
            if len(found) == _MAX_COMPARED:
                break
        if not found:
            return next((at for at, line in enumerate(self._lines) if line.strip()), 0)
        return max(
            found, key=lambda at: (len(found[at]), len(found[at] | found.get(at + 1, set())), -at)
        )
