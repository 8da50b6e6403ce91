"""One order out of two kinds of nearness: of words and of meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rolltop.core.search.documents import Mode

WORDS_WEIGHT: Final = 0.5
"""What the words count for beside the meaning; chosen on the tuning sets of the evaluation."""

UNRELATED: Final = 0.15
"""A cosine below which meaning alone is no reason to show something."""

_DIGITS: Final = 6  # a sum's last digits depend on the order it was made in


@dataclass(frozen=True, slots=True)
class Candidate:
    """A part that may be shown: `words` 0 to 1, `meaning` a cosine or None without a vector."""

    number: int
    kind: str
    ref: str
    part: int
    words: float
    meaning: float | None

    def score(self, mode: Mode) -> float:
        """Return how well it answers, higher is better."""
        meaning = max(self.meaning or 0.0, 0.0)
        if mode == "words":
            return round(self.words, _DIGITS)
        if mode == "meaning":
            return round(meaning, _DIGITS)
        return round(WORDS_WEIGHT * self.words + (1 - WORDS_WEIGHT) * meaning, _DIGITS)

    def answers(self, mode: Mode) -> bool:
        """Whether there is a reason to show it."""
        by_words = self.words > 0 and mode != "meaning"
        return by_words or (mode != "words" and (self.meaning or 0.0) >= UNRELATED)


def ranked(candidates: Iterable[Candidate], mode: Mode, limit: int) -> list[Candidate]:
    """Return the best part of each thing, best first; equal scores by kind, id and part."""
    ordered = sorted(
        (c for c in candidates if c.answers(mode)),
        key=lambda c: (-c.score(mode), c.kind, c.ref, c.part),
    )
    best: dict[tuple[str, str], Candidate] = {}
    for candidate in ordered:
        best.setdefault((candidate.kind, candidate.ref), candidate)
    return list(best.values())[:limit]
