"""Which section of a document a heading, a number, an id or a title path means."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rolltop.core.text.outline import Section

_NUMBER: Final = re.compile(
    r"(?:(?:section|chapter|part|appendix|§+)\s*)?((?:\d+|[a-z])(?:\.\d+)*)(?:[.):]+|(?=\s|$))\s*",
    re.IGNORECASE,
)
_NUMBER_ASKED: Final = re.compile(
    r"(?:(?:section|chapter|part|appendix|§+)\s*)?(\d+(?:\.\d+)*|[a-z](?:\.\d+)+)[.):]*",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"[*_`]+|!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_LONGEST: Final = 2_000
"""Characters: no title is as long, nor a path of six."""
_LOOKED_AT: Final = 3_000
"""Titles compared letter by letter where no word of the heading occurs in any."""


@dataclass(frozen=True)
class Choice:
    """The section meant, and those that would have been as good a choice."""

    section: Section
    also: tuple[Section, ...]


def choose(sections: Sequence[Section], heading: str) -> Choice | None:
    """Return the section a heading means, None if none does.

    In this order: id, exact title, exact number, start of a title, whole words, any part.
    """
    asked = normal(heading)
    by_id = next((s for s in sections if s.id == heading.strip().lstrip("#").strip()), None)
    if by_id is not None:
        return Choice(by_id, ())
    if len(asked) > _LONGEST:
        return None
    titles = [normal(section.title) for section in sections]
    found = _matching(titles, asked, first=1)
    if not found and ">" in asked:
        return _by_path(sections, titles, asked)
    found = found or _matching(titles, asked)
    return _choice([sections[at] for at in found])


def normal(title: str) -> str:
    """Return a title as it is compared: one case, single spaces, no markup, no leading #s."""
    plain = _MARKUP.sub(lambda found: found.group(1) or "", title.strip().lstrip("#"))
    words = (plain if plain.strip() else title).split()
    return " ".join(words).casefold()


def number_of(title: str) -> str | None:
    """Return the number a normal title starts with: `3.1` of `3.1 core protocol`."""
    found = _NUMBER.match(title)
    return found.group(1) if found else None


def suggestions(sections: Sequence[Section], heading: str, count: int) -> list[Section]:
    """Return the sections whose titles are nearest to a heading that was not found."""
    asked = normal(heading[:_LONGEST])
    words = set(re.findall(r"\w+", asked))
    titles = [normal(section.title) for section in sections]
    shared = [(len(words & set(re.findall(r"\w+", t))), at) for at, t in enumerate(titles)]
    best = sorted((s for s in shared if s[0]), key=lambda pair: (-pair[0], pair[1]))[:count]
    chosen = [at for _, at in best]
    if len(chosen) < count:
        different = dict.fromkeys(titles[:_LOOKED_AT])
        near = difflib.get_close_matches(asked[:200], different, n=count, cutoff=0.5)
        places = (at for like in near for at, title in enumerate(titles) if title == like)
        chosen += [at for at in places if at not in chosen]
    return [sections[at] for at in chosen[:count]]


def _choice(found: Sequence[Section]) -> Choice | None:
    return Choice(found[0], tuple(found[1:])) if found else None


def _by_path(sections: Sequence[Section], titles: Sequence[str], asked: str) -> Choice | None:
    """Return the section at the end of a path such as `methods > sampling`."""
    parts = [part.strip() for part in asked.split(">") if part.strip()]
    if not parts:
        return None
    inside = range(len(sections))
    for part in parts[:-1]:
        parents = [inside[at] for at in _matching([titles[at] for at in inside], part)]
        inside = [at for at in range(len(sections)) if _is_inside(sections, at, parents)]
    found = _matching([titles[at] for at in inside], parts[-1])
    return _choice([sections[inside[at]] for at in found])


def _is_inside(sections: Sequence[Section], at: int, parents: Sequence[int]) -> bool:
    section = sections[at]
    return any(
        parent < at
        and sections[parent].end_line >= section.end_line
        and sections[parent].level < section.level
        for parent in parents
    )


def _matching(titles: Sequence[str], asked: str, *, first: int | None = None) -> list[int]:
    """Return the places of the titles that match in the first way any does.

    `first` tries only so many ways.
    """
    if not asked:
        return []
    for matches in _ways(asked)[:first]:
        found = [at for at, title in enumerate(titles) if matches(title)]
        if found:
            return found
    return []


def _ways(asked: str) -> tuple[Callable[[str], bool], ...]:
    """Return the ways a title may match, the strictest first."""
    part = re.escape(asked)
    # A number is never found inside a longer one: 3.1 is not part of 13.1, 3.1.2 or 3.15.
    before = r"(?<![\d])(?<!\d\.)" if asked[0].isdigit() else ""
    after = r"(?!\d)(?!\.\d)" if asked[-1].isdigit() else ""
    starting = re.compile(part + after)
    worded = re.compile(rf"(?<!\w){before}{part}{after}(?!\w)")
    anywhere = re.compile(before + part + after)
    number = _NUMBER_ASKED.fullmatch(asked)
    wanted = number.group(1) if number else None
    return (
        lambda title: title == asked,
        lambda title: asked.removesuffix(".") in _without_period(title),
        lambda title: wanted is not None and number_of(title) == wanted,
        lambda title: starting.match(title) is not None,
        lambda title: worded.search(title) is not None,
        lambda title: anywhere.search(title) is not None,
    )


def _without_period(title: str) -> tuple[str, str]:
    """Return a normal title without the period at its end: behind its number, and with that."""
    found = _NUMBER.match(title)
    ended = title.removesuffix(".")
    return (ended[found.end() :] if found else ended), ended
