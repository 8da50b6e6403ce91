"""Find the sections that a heading, a number, an id or a title path names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from rolltop.core.fulltext.analyzer import UNSPACED_SCRIPTS
from rolltop.documents.outline import Section
from rolltop.documents.outline.sections import MAX_LEVEL
from rolltop.workspace.suggestions import similar_texts

_NUMBER: Final = re.compile(
    r"(?:(?:section|chapter|part|appendix|§+)\s*)?((?:\d+|[a-z])(?:\.\d+)*)(?:[.):]+|(?=\s|$))\s*",
    re.IGNORECASE,
)
_NUMBER_QUERY: Final = re.compile(
    r"(?:(?:section|chapter|part|appendix|§+)\s*)?(\d+(?:\.\d+)*|[a-z](?:\.\d+)+)[.):]*",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"[*_`]+|!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_SPACED: Final = rf"[^\W{UNSPACED_SCRIPTS}]"
"""A letter or digit of a script that has spaces between words."""
_ELLIPSIS: Final = re.compile(r"\s*(?:…|\.\.\.)$")
"""The end of a title that an answer showed cut."""
_MAX_TITLE_LENGTH: Final = 2_000
"""Longer than any title, or a path of six."""
_MAX_SECTIONS_COMPARED: Final = 3_000
"""Titles of which those most like a heading are found."""
_MAX_COMPARED_LENGTH: Final = 80
_MIN_SIMILARITY: Final = 0.5


def find_sections(sections: Sequence[Section], heading: str) -> list[Section]:
    """Return the sections that a heading names equally well, in order.

    In this order: id, exact title, exact number, start of a title, whole words, any part. Of titles
    that differ in markup alone, as `render` and `_render`, those that are spelled as the heading.
    """
    section_id = heading.strip().lstrip("#").strip().lower()
    if by_id := [section for section in sections if section.id == section_id]:
        return by_id
    title = normalize_title(heading)
    if len(title) > _MAX_TITLE_LENGTH:
        return []
    titles = [normalize_title(section.title) for section in sections]
    found = [at for at, other in enumerate(titles) if other == title]
    if not found and ">" in title:
        found = _find_cut(titles, title) or _find_by_path(sections, titles, heading)
    elif not found:
        found = _best_matches(titles, title)
    return [sections[at] for at in _prefer_spelled(sections, found, heading)]


def normalize_title(title: str) -> str:
    """Normalize a title for comparison: one case, single spaces, no markup, no leading #s."""
    plain = _MARKUP.sub(lambda found: found.group(1) or "", title.strip().lstrip("#"))
    return _fold(plain if plain.strip() else title)


def _fold(title: str) -> str:
    return " ".join(title.split()).casefold()


def _prefer_spelled(sections: Sequence[Section], found: list[int], heading: str) -> list[int]:
    """Return the positions whose titles are the heading, markup included; all if none is."""
    spelled = _fold(heading.strip().lstrip("#"))
    return [at for at in found if _fold(sections[at].title) == spelled] or found


def section_number(title: str) -> str | None:
    """Return the number that a normalized title starts with: `3.1` of `3.1 core protocol`."""
    found = _NUMBER.match(title)
    return found.group(1) if found else None


def suggest_sections(sections: Sequence[Section], heading: str, count: int) -> list[Section]:
    """Suggest sections for a heading that was not found: by shared words, then by likeness."""
    title = normalize_title(heading[:_MAX_TITLE_LENGTH])
    words = set(re.findall(r"\w+", title))
    titles = [normalize_title(section.title) for section in sections]
    shared = [(len(words & set(re.findall(r"\w+", t))), at) for at, t in enumerate(titles)]
    best = sorted((s for s in shared if s[0]), key=lambda pair: (-pair[0], pair[1]))[:count]
    chosen = [at for _, at in best]
    if len(chosen) < count:
        heads = [other[:_MAX_COMPARED_LENGTH] for other in titles[:_MAX_SECTIONS_COMPARED]]
        wanted = title[:_MAX_COMPARED_LENGTH]
        near = similar_texts(wanted, dict.fromkeys(heads), count, _MIN_SIMILARITY)
        positions = (at for like in near for at, other in enumerate(heads) if other == like)
        chosen += [at for at in positions if at not in chosen]
    return [sections[at] for at in chosen[:count]]


def _find_by_path(sections: Sequence[Section], titles: Sequence[str], path: str) -> list[int]:
    """Return the positions of sections at the end of a path such as `Methods > Sampling`."""
    found, inside = list[int](), list(range(len(sections)))
    for number, part in enumerate(part for part in path.split(">") if part.strip()):
        if number:
            inside = list(_find_inside(sections, set(found)))
        matching = _best_matches([titles[at] for at in inside], normalize_title(part))
        found = _prefer_spelled(sections, [inside[at] for at in matching], part)
    return found


def _find_inside(sections: Sequence[Section], parents: Collection[int]) -> Iterator[int]:
    """Yield the positions of the sections inside any of those at the positions `parents`."""
    ends = [0] * MAX_LEVEL  # of the parents so far, the last line by level
    for at, section in enumerate(sections):
        if max(ends[: section.level - 1], default=0) >= section.end_line:
            yield at
        if at in parents:
            ends[section.level - 1] = max(ends[section.level - 1], section.end_line)


def _best_matches(titles: Sequence[str], title: str) -> list[int]:
    """Return the positions of the titles that match in the strictest way any does."""
    if not title:
        return []
    for matches in _title_matchers(title):
        if found := [at for at, other in enumerate(titles) if matches(other)]:
            return found
    return _find_cut(titles, title)


def _find_cut(titles: Sequence[str], title: str) -> list[int]:
    """Return the positions of the titles that an answer showed cut as this one."""
    begun = _ELLIPSIS.sub("", title)
    if begun in {"", title}:
        return []
    return [at for at, other in enumerate(titles) if other.startswith(begun)]


def _title_matchers(title: str) -> tuple[Callable[[str], bool], ...]:
    """Return the ways in which another title may match, the strictest first."""
    part = re.escape(title)
    # A number is never found inside a longer one: 3.1 is not part of 13.1, 3.1.2 or 3.15.
    before = r"(?<![\d])(?<!\d\.)" if title[0].isdigit() else ""
    after = r"(?!\d)(?!\.\d)" if title[-1].isdigit() else ""
    prefix = re.compile(part + after)
    whole_words = re.compile(rf"(?<!{_SPACED}){before}{part}{after}(?!{_SPACED})")
    substring = re.compile(before + part + after)
    numbered = _NUMBER_QUERY.fullmatch(title)
    number = numbered.group(1) if numbered else None
    return (
        lambda other: other == title,
        lambda other: title.removesuffix(".") in _without_period(other),
        lambda other: number is not None and section_number(other) == number,
        lambda other: prefix.match(other) is not None,
        lambda other: whole_words.search(other) is not None,
        lambda other: substring.search(other) is not None,
    )


def _without_period(title: str) -> tuple[str, str]:
    """Return a title without its final period: behind its number, and with that."""
    number = _NUMBER.match(title)
    bare = title.removesuffix(".")
    return (bare[number.end() :] if number else bare), bare
