"""Headings of plain text: underlined titles, numbered titles, and equal parts where it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rolltop.core.text.lines import TextLines, line_starts
from rolltop.documents.outline.sections import Heading

PART_CODE_POINTS: Final = 8_000
"""Code points of a part of a text without titles: about 2,000 tokens."""

MAX_PARTS: Final = 200

MAX_TITLE_LENGTH: Final = 120

MIN_NUMBERED_TITLES: Final = 2
"""A single numbered line may be anything."""

# Both begin with a line break, which is found fastest; the line before is checked afterwards.
_UNDERLINE: Final = re.compile(
    rf"\n(?P<line>([=\-~^*+_#])\2{{2,{MAX_TITLE_LENGTH}}})[ \t\r]*(?=\n|\Z)"
)
_UNDERLINED: Final = re.compile(r"(?:[^\W_]|[\"'(\[#§«“¿¡])[^\n]*")
_GAP: Final = r"[ \t]{1,40}"  # bounded, since titles are read in quadratic time
_RULE: Final = re.compile(r"[=\-~^*+_#]{3,}")
# Above an underlined title: dashes may be the fence of a line of code.
_OVERLINE: Final = re.compile(r"[=~^*+_#]{3,}")
# `3.1  Title`, `4. Title`, `Appendix B. Title`, `Chapter 5`, before a blank line or a rule.
_NUMBERED: Final = re.compile(
    rf"""\n[ ]{{0,3}}(?P<title>(?:
          (?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,5}})\.?{_GAP}(?=[^\W\d_]|["'(<`])
        | (?i:chapter|appendix|part|section){_GAP}(?i:[0-9]{{1,3}}|[ivxlc]{{1,7}}|[a-z])\b
      )[^\n]{{0,{MAX_TITLE_LENGTH}}})
      (?=\n[ \t\r\f]*(?:{_RULE.pattern}[ \t\r]*)?(?:\n|\Z)|\Z)""",
    re.VERBOSE,
)
_LEADERS: Final = re.compile(r"(?:\.[ ]?){3,}|\s{3,}\d+\s*$")
_SENTENCE_END: Final = re.compile(r"[.;:,!][\s\"')]*$")
# A title with a period is one sentence behind `8.`, `3.1`, `Chapter 5` or `Section 1 --`.
_ENDS_AS_SENTENCE: Final = re.compile(
    r"(?:(?:\d+\.)+\d*|[^\W\d]+ +\w+(?=[.:]| +[-\u2013\u2014])[.:]?)(?: +[-\u2013\u2014]+)? *"
    r"(?P<words>(?:(?!(?<=\w\w)[.;:!?]\s)[^\n])*)(?<!\.)\."
)
_ITEM: Final = re.compile(r"\s*(\d{1,3}(?:\.\d{1,3}){0,5})[.)]?[ \t]")
_MAX_LOOKBACK: Final = 500
"""Code points in which the paragraph before a title is searched for."""
_LENGTHS_APART: Final = 2


def headings(text: str) -> Iterator[Heading]:
    """Yield underlined and numbered titles in order of their lines."""
    source = "\n" + text  # the patterns begin with a line break
    lines = TextLines(source)
    numbered = list(_find_numbered_titles(source))
    if len(numbered) < MIN_NUMBERED_TITLES:
        numbered = []
    found = sorted([*_find_underlined_titles(source), *numbered], key=lambda item: item[0])
    last = -1
    for start, level, title in found:
        if start != last:
            last = start
            yield Heading(title, level, lines.line_at(start) - 1)


def _find_underlined_titles(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield offset, level and text of titles with an underline of their own length."""
    styles: dict[str, int] = {}
    for found in _UNDERLINE.finditer(text):
        longest = len(found["line"]) + _LENGTHS_APART + 1
        start = text.rfind("\n", max(0, found.start() - longest), found.start()) + 1
        title = text[start : found.start()].rstrip()
        if abs(len(title) - len(found["line"])) > _LENGTHS_APART or not start:
            continue
        if _UNDERLINED.match(title) and _begins_block(text, start, _OVERLINE):
            yield start, styles.setdefault(found["line"][0], len(styles) + 1), title


def _find_numbered_titles(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield offset, level and text of lines that begin with a number and stand alone."""
    for found in _NUMBERED.finditer(text):
        title, start = found["title"].strip(), found.start() + 1
        if _LEADERS.search(title):
            continue
        if _SENTENCE_END.search(title) and not _is_title_despite_period(text, found):
            continue
        if _begins_block(text, start, _RULE):
            yield start, found["number"].count(".") + 1 if found["number"] else 1, title


def _is_title_despite_period(text: str, found: re.Match[str]) -> bool:
    """Whether a numbered line that ends as a sentence may be a title, as `8. Grants.` may.

    Items of lists begin in lower case, or have an item of the same depth before or after them.
    """
    sentence = _ENDS_AS_SENTENCE.fullmatch(found["title"].strip())
    if sentence is None or sentence["words"][:1].islower():
        return False
    if not found["number"]:
        return True
    depth = found["number"].count(".")
    if _is_item(_ITEM.match(text, found.end()), depth):
        return False
    start = found.start()
    return not _is_item(_ITEM.match(text, _paragraph_before(text, start), start), depth)


def _paragraph_before(text: str, end: int) -> int:
    """Return where the last paragraph before `end` begins, within `_MAX_LOOKBACK`."""
    least = max(0, end - _MAX_LOOKBACK)
    first = at = least + len(text[least:end].rstrip())
    while at > least:
        start = max(least, text.rfind("\n", least, at) + 1)
        if not text[start:at].strip():
            break
        first, at = start, start - 1
    return first


def _is_item(found: re.Match[str] | None, depth: int) -> bool:
    return found is not None and found.group(1).count(".") == depth


def _begins_block(text: str, start: int, rule: re.Pattern[str]) -> bool:
    """Whether a line is the text's first or has a blank one, or a rule, before it."""
    before = text.rfind("\n", 0, start - 1) + 1
    line = text[before : start - 1].strip(" \t\r\f")
    return not line or rule.fullmatch(line) is not None


def equal_parts(text: str) -> Iterator[Heading]:
    """Yield equal parts of a text without titles, each beginning at a line; none for a short one.

    A part begins after a blank line where there is one near.
    """
    if len(text) < 2 * PART_CODE_POINTS:
        return
    starts = line_starts(text)
    size = max(PART_CODE_POINTS, len(text) // MAX_PARTS)
    firsts = _first_lines(text, starts, size)
    for first, following in zip(firsts, [*firsts[1:], len(starts)], strict=True):
        yield Heading(f"Lines {first + 1}-{following}", 1, first + 1)


def _first_lines(text: str, starts: Sequence[int], size: int) -> list[int]:
    """Return the 0-based first lines of parts of about `size` code points."""
    firsts = [0]
    for index, start in enumerate(starts):
        length = start - starts[firsts[-1]]
        if length >= size or (length >= size * 3 // 4 and _blank_before(text, start)):
            firsts.append(index)
    if len(firsts) > 1 and len(text) - starts[firsts[-1]] < size // 4:
        firsts.pop()
    return firsts


def _blank_before(text: str, start: int) -> bool:
    return text.endswith(("\n\n", "\n\r\n"), max(0, start - 3), start)
