"""Whose an abstract is: the whole document's, or that of a chapter or of one paper of many."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rolltop.toolsets.reader.summary.stated import Stretch

_LONGEST_FRONT: Final = 4_000
"""Characters before an abstract: what a cover, authors and acknowledgements take."""
_MAIN: Final = 0.4
"""The part of a document that its text makes at least, beside appendices and translations."""
_MOST_VERSIONS: Final = 3
"""Abstracts that follow one another: of more, each is another's."""
_CHAPTER: Final = re.compile(
    r"(?:chapter|part|paper|article|essay|lecture|lesson|session|module|unit|volume|vol\.|book|"
    r"kapitel|teil|band|beitrag|chapitre|partie|cap[ií]tulo|capitolo|parte|глава|часть|第)"
    r"(?:\W|\d|$)",
    re.IGNORECASE,
)


def own(stretches: Sequence[Stretch], title: re.Pattern[str]) -> Iterator[int]:
    """Yield the places of sections of such a title that are the document's, not a chapter's.

    Around one stand only the document's title: its first section, or the only one of its level.
    Where others of its level have its title, each is its chapter's.
    """
    levels = Counter(stretch.level for stretch in stretches)
    titles = Counter((stretch.level, stretch.title) for stretch in stretches)
    for at, around in _with_those_around(stretches):
        stretch = stretches[at]
        is_top = all(not outer or levels[stretches[outer].level] == 1 for outer in around)
        is_single = titles[stretch.level, stretch.title] == 1
        if is_top and is_single and title.fullmatch(stretch.title):
            yield at


def in_front(
    stretches: Sequence[Stretch], title: re.Pattern[str], introduction: re.Pattern[str]
) -> int | None:
    """Return the place of the first section of such a title if it stands in front of the whole.

    Before it comes no introduction, no chapter and not much text. It may stand in a section of
    the front, in one that is the main part, or be followed by versions in other languages.
    """
    found = [at for at, stretch in enumerate(stretches) if title.fullmatch(stretch.title)]
    if not found or not _is_early(stretches, found[0], introduction):
        return None
    levels = Counter(stretch.level for stretch in stretches)
    around = next(around for at, around in _with_those_around(stretches) if at == found[0])
    holder = next((at for at in around if levels[stretches[at].level] > 1), None)
    if holder is None:
        is_own = _has_versions(stretches, found)
    else:
        is_own = not _CHAPTER.match(stretches[holder].title) and (
            _is_front(stretches, holder, found, introduction)
            or (holder == around[-1] and _is_main(stretches, holder, found, introduction))
        )
    return found[0] if is_own else None


def _with_those_around(stretches: Sequence[Stretch]) -> Iterator[tuple[int, list[int]]]:
    """Yield each section's place with the places of those it is in, the outermost first."""
    around: list[int] = []
    for at, stretch in enumerate(stretches):
        while around and stretches[around[-1]].level >= stretch.level:
            around.pop()
        yield at, around
        around.append(at)


def _after(stretches: Sequence[Stretch], at: int) -> int:
    """Return the place of the first section that is not in this one."""
    later = range(at + 1, len(stretches))
    return next(
        (one for one in later if stretches[one].level <= stretches[at].level), len(stretches)
    )


def _is_early(stretches: Sequence[Stretch], at: int, introduction: re.Pattern[str]) -> bool:
    """Whether what comes before a section can be the front of a document."""
    before = range(at)
    whole = (one for one in before if _after(stretches, one) <= at)
    return (
        stretches[at].start - stretches[0].start <= _LONGEST_FRONT
        and not any(introduction.fullmatch(stretches[one].title) for one in before)
        and all(_after(stretches, one) == one + 1 for one in whole)
    )


def _has_versions(stretches: Sequence[Stretch], found: Sequence[int]) -> bool:
    """Whether abstracts that no section holds are versions of one, and the text comes after."""
    end = _after(stretches, found[-1])
    follow = all(_after(stretches, one) == other for one, other in pairwise(found))
    if not follow or len(found) > _MOST_VERSIONS or end == len(stretches):
        return False
    return stretches[-1].end - stretches[end].start >= stretches[end].start


def _is_front(
    stretches: Sequence[Stretch],
    holder: int,
    found: Sequence[int],
    introduction: re.Pattern[str],
) -> bool:
    """Whether a section is all front: right after it the introduction to the whole comes."""
    end = _after(stretches, holder)
    if end == len(stretches) or any(holder < one < end for one in found[1:]):
        return False
    return introduction.fullmatch(stretches[end].title) is not None


def _is_main(
    stretches: Sequence[Stretch],
    holder: int,
    found: Sequence[int],
    introduction: re.Pattern[str],
) -> bool:
    """Whether a section is the main part of a document, and none beside it is like it."""
    end = _after(stretches, holder)
    length = stretches[end - 1].end - stretches[holder].start
    level = stretches[holder].level
    if length < _MAIN * stretches[-1].end or any(holder < one < end for one in found[1:]):
        return False
    has_more = _after(stretches, found[0]) < end or found[0] > holder + 1
    abstracts = frozenset(found)
    others = [at for at in range(end, len(stretches)) if stretches[at].level == level]
    return (has_more or len(found) == 1) and not any(
        _is_chapter(stretches, at, abstracts, introduction) for at in others
    )


def _is_chapter(
    stretches: Sequence[Stretch], at: int, found: frozenset[int], introduction: re.Pattern[str]
) -> bool:
    """Whether a section is one of several that are alike, by its title or by what is in it."""
    inside = range(at + 1, _after(stretches, at))
    return (
        _CHAPTER.match(stretches[at].title) is not None
        or any(introduction.fullmatch(stretches[one].title) for one in inside)
        or (len(inside) > 1 and not found.isdisjoint(inside))
    )
