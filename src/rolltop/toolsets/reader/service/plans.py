"""The reading plan: the sections that answer a query best, within a budget of tokens."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from rolltop.core import budget, tokens
from rolltop.core.errors import Invalid
from rolltop.toolsets.reader import rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.text.outline import Section
    from rolltop.toolsets.reader.models import JsonObject
    from rolltop.toolsets.reader.service.documents import Opened

_MOST_LEFT_OUT: Final = 20
_FEWEST_LEFT_OUT: Final = 3
_ENTRY: Final = 50
"""Tokens: about what an entry of left_out costs."""
_SHARE_OF_LEFT_OUT: Final = 4
"""Entries of left_out, but for the fewest, cost at most this part of the budget beside it."""
_FINE: Final = 32
"""How close, as a part of the whole, the content comes to the most that fits."""
_LEAST_PART: Final = 100
"""Tokens: less of a section than this is not worth cutting one for."""
_WORTH_WHOLE: Final = 0.5
"""A whole section that answers less well than this part of one that did not fit gives way to it."""
_WORD: Final = re.compile(r"\w")
_NOTHING: Final = "No section holds a word of the query; left_out lists what there is."
_TOO_LARGE: Final = "The section that answers best does not fit; left_out names it first."


@dataclass(frozen=True)
class _Candidate:
    """A section that may be read, and how well it answers."""

    opened: Opened
    at: int
    score: float
    own: float
    """How well the text before its first subsection answers."""
    tool: str | None
    """What may read on: `read_section`, `smart_read` or nothing that is offered."""

    @property
    def section(self) -> Section:
        return self.opened.sections[self.at]

    @property
    def cost(self) -> int:
        return self.opened.costs[self.at]

    def next(self, given: int = 0) -> JsonObject:
        """Return the field `next`, the call that reads on after so many characters, if any may."""
        if self.tool is None:
            return {}
        arguments: JsonObject = {"file_path": self.opened.path}
        if self.tool == "read_section":
            arguments["section_heading"] = self.section.id
        else:
            arguments["line_start"] = self.section.start_line
        if given:
            arguments["char_start"] = given
        return {"next": {"tool": self.tool, "arguments": arguments}}


@dataclass(frozen=True)
class _Part:
    """A candidate with the text that is given of it."""

    candidate: _Candidate
    text: str
    whole: bool

    @property
    def end_line(self) -> int:
        """The last line of which anything is given."""
        opened, section = self.candidate.opened, self.candidate.section
        last = opened.starts[section.start_line - 1] + len(self.text) - 1
        return section.end_line if self.whole else bisect_right(opened.starts, last)


class _Taken:
    """The lines of each document that are read already: spans that never overlap, in order."""

    def __init__(self, parts: Sequence[_Part] = ()) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}
        for part in parts:
            self.add(part)

    def add(self, part: _Part) -> None:
        """Take a part that overlaps nothing taken before."""
        spans = self._spans.setdefault(part.candidate.opened.path, [])
        insort(spans, (part.candidate.section.start_line, part.end_line))

    def overlaps(self, candidate: _Candidate) -> bool:
        """Whether the candidate shares lines with one that was taken."""
        spans = self._spans.get(candidate.opened.path)
        if not spans:
            return False
        before = bisect_right(spans, candidate.section.end_line, key=itemgetter(0))
        return before > 0 and spans[before - 1][1] >= candidate.section.start_line


def plan_answer(
    documents: Sequence[Opened], query: str, room: int, limit: int, tool: str | None
) -> JsonObject:
    """Return the plan: content of at most `room` tokens, all of it within `limit` (0: none).

    `tool` is what its `next` may name: `read_section`, `smart_read` or None.

    Raises:
        Invalid: the query holds no word, or `limit` is too small for any plan.

    """
    terms = rank.terms_of(query)
    if not terms:
        raise Invalid("query holds no word", hint="Give the words the sections should hold.")
    candidates = _candidates(documents, terms, tool)
    most = room // (_SHARE_OF_LEFT_OUT * _ENTRY)
    most = max(_FEWEST_LEFT_OUT, min(_MOST_LEFT_OUT, most))
    answer = _answer(_chosen(candidates, room), candidates, most)
    if not limit or budget.count(answer) <= limit:
        return answer
    return _fitted(candidates, min(room, limit), limit)


def _fitted(candidates: Sequence[_Candidate], room: int, limit: int) -> JsonObject:
    """Return the plan with about the most content that `limit` has place for."""
    least, bare = 0, None
    for most in (_FEWEST_LEFT_OUT, 0):
        low, high, best = 0, room, None
        while low <= high and (best is None or high - low > room // _FINE):
            middle = (low + high) // 2
            answer = _cut(_chosen(candidates, middle), candidates, most)
            least = budget.count(answer)
            if least <= limit:
                low, best = middle + 1, answer
            else:
                high = middle - 1
        if best is not None and best["sections"]:
            return best
        bare = bare or best
    if bare is not None:
        return bare
    raise Invalid(
        f"max_tokens is too small for a plan: it takes at least {least}",
        hint=f"Call again with max_tokens {least} or more.",
    )


def _candidates(
    documents: Sequence[Opened], terms: Sequence[str], tool: str | None
) -> list[_Candidate]:
    """Return every section of the documents, the best answer first."""
    found: list[_Candidate] = []
    for opened in documents:
        spans = [rank.Span(s.title, *opened.offsets(s)) for s in opened.sections]
        places = rank.places(opened.text, terms)
        own = rank.scores(_own_spans(opened.text, spans), places)
        scored = zip(rank.scores(spans, places), own, strict=True)
        found += [_Candidate(opened, at, *pair, tool) for at, pair in enumerate(scored)]
    return sorted(found, key=lambda candidate: -candidate.score)


def _own_spans(text: str, spans: Sequence[rank.Span]) -> list[rank.Span]:
    """Return each section up to the next one, or with that where its heading stands alone.

    A title that stands alone counts as the words it holds: it is about more than what follows.
    """
    own: list[rank.Span] = []
    following = its_end = len(text)
    for span in reversed(spans):
        title, end = span.title, min(span.end, following)
        if following < span.end and _is_heading_alone(text, span, end):
            title, end = "", its_end
        own.append(rank.Span(title, span.start, end))
        following, its_end = span.start, end
    return own[::-1]


def _is_heading_alone(text: str, span: rank.Span, end: int) -> bool:
    """Whether no word stands between a section's heading and `end`."""
    title = max(span.start, text.find(span.title, span.start, end))
    after = text.find("\n", title, end)
    return after < 0 or not _WORD.search(text, after, end)


def _chosen(candidates: Sequence[_Candidate], room: int) -> list[_Part]:
    """Return whole sections, best first, while they fit; then a part of the best that did not.

    Sections that answer much less well than that one are not given: it has the room.
    """
    parts: list[_Part] = []
    passed: list[_Candidate] = []
    missed: _Candidate | None = None
    taken = _Taken()
    left = room
    for candidate in candidates:
        if not candidate.score or left < 1:
            break
        if taken.overlaps(candidate):
            continue
        if missed and left >= _LEAST_PART and candidate.score < missed.own * _WORTH_WHOLE:
            break
        if candidate.cost <= left:
            left -= candidate.cost
            start, end = candidate.opened.offsets(candidate.section)
            parts.append(_Part(candidate, candidate.opened.text[start:end], whole=True))
            taken.add(parts[-1])
            if missed and taken.overlaps(missed):
                passed = [other for other in passed if not taken.overlaps(other)]
                missed = max(passed, key=_own, default=None)
        else:
            passed.append(candidate)
            missed = max(missed or candidate, candidate, key=_own)
    if missed and left >= _LEAST_PART:
        parts.append(_Part(missed, _beginning(missed, left), whole=False))
    return parts


def _own(candidate: _Candidate) -> float:
    """Return what a part of a section is chosen by: it is its beginning, not its subsections."""
    return candidate.own


def _beginning(candidate: _Candidate, room: int) -> str:
    """Return the first lines of a section that cost at most `room` tokens.

    A line is cut where those before it would leave more than half of the room unused.
    """
    start, end = candidate.opened.offsets(candidate.section)
    text = candidate.opened.text[start : min(end, start + room * 128)]
    length = tokens.prefix(text, room)
    lines = text.rfind("\n", 0, length) + 1
    return text[: lines if lines > length // 2 else length]


def _answer(parts: Sequence[_Part], candidates: Sequence[_Candidate], most: int) -> JsonObject:
    taken = _Taken(parts)
    left = [candidate for candidate in candidates if not taken.overlaps(candidate)]
    answer: JsonObject = {
        "type": "plan",
        "sections": [_shown(part) for part in parts],
        "tokens": sum(tokens.count(part.text) for part in parts),
        "left_out": [_priced(candidate) for candidate in left[:most]],
        "left_out_count": len(left),
        "left_out_tokens": _without_children(left),
    }
    best = candidates[0] if candidates else None
    if best is None or not best.score:
        answer["note"] = _NOTHING
    elif best in left[:most]:
        answer["note"] = _TOO_LARGE
    return answer


def _cut(parts: Sequence[_Part], candidates: Sequence[_Candidate], most: int) -> JsonObject:
    """Return the answer marked as cut, with the call that goes on.

    It reads the rest of the section that was begun, else the best that nothing is given of.
    """
    answer = _answer(parts, candidates, most)
    for part in parts:
        if not part.whole:
            return {**answer, "truncated": True, **part.candidate.next(len(part.text))}
    taken = _Taken(parts)
    for candidate in candidates:
        if candidate.score and not taken.overlaps(candidate):
            return {**answer, "truncated": True, **candidate.next()}
    return answer


def _without_children(left: Sequence[_Candidate]) -> int:
    """Return the tokens of the sections, each line counted once."""
    ordered = sorted(left, key=lambda c: (c.opened.path, c.section.start_line, -c.cost))
    total, path, covered = 0, "", 0
    for candidate in ordered:
        if candidate.opened.path != path:
            path, covered = candidate.opened.path, 0
        if candidate.section.start_line > covered:
            total += candidate.cost
            covered = candidate.section.end_line
    return total


def _priced(candidate: _Candidate) -> JsonObject:
    section = candidate.section
    return {
        "path": candidate.opened.path,
        "id": section.id,
        "title": section.title,
        "tokens": candidate.cost,
    }


def _shown(part: _Part) -> JsonObject:
    section = part.candidate.section
    return {
        **_priced(part.candidate),
        "start_line": section.start_line,
        "end_line": section.end_line,
        "whole": part.whole,
        "content": part.text,
        **({} if part.whole else part.candidate.next(len(part.text))),
    }
