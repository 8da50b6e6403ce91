"""The summary answer: what a summary says of itself, and how it fits its bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import floor
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from rolltop.core import budget
from rolltop.core.errors import Invalid
from rolltop.toolsets.reader.models import DEFAULT_SUMMARY
from rolltop.toolsets.reader.summary import compose, short_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.reader.models import JsonObject, Style
    from rolltop.toolsets.reader.service.documents import Opened
    from rolltop.toolsets.reader.summary import Material, Summary

_REDUCED_FROM: Final = 10_000
"""Tokens: files over this are reduced to less than a tenth at the default bound."""
_ROOM: Final = 600
"""Tokens a whole answer may take for a smaller file, where that is more than a tenth."""
_WORTH_IT: Final = 40
"""Tokens of content without which a summary of a small file is none."""
_HEADERS_NOTE: Final = "list_sections lists all"


@dataclass(frozen=True)
class _Dress:
    """What surrounds the content: how many headers, how much of a preamble."""

    headers: int
    preamble: int
    content: int
    """Tokens of content below which the next, sparer dress is put on."""
    tools: Sequence[str] = ()
    """The tools it may name: those that are offered."""


_DRESSES: Final = (
    _Dress(20, 3, 200),
    _Dress(8, 3, 150),
    _Dress(0, 3, 120),
    _Dress(0, 2, 80),
    _Dress(0, 1, 0),
)


def summary_answer(
    opened: Opened, style: Style, bound: int, limit: int, tools: Sequence[str]
) -> JsonObject | None:
    """Return the summary of a document as `_summarised` makes it, made once for all calls."""
    key = (style, bound, limit)
    if key not in opened.summaries:
        opened.summaries[key] = _summarised(opened, style, bound, limit, tools)
    return opened.summaries[key]


def _summarised(
    opened: Opened, style: Style, bound: int, limit: int, tools: Sequence[str]
) -> JsonObject | None:
    """Return the summary of a document, None where it would not be shorter than the document.

    `bound` is the most tokens of its content, `limit` of the whole answer (0: none), `tools` what
    it may name.

    Raises:
        Invalid: `limit` is too small for any summary that says something.

    """
    target = min(_target(opened.tokens, bound), opened.tokens - 1)
    allowed = min(target, limit) if limit else target
    least = _WORTH_IT if allowed < target else 0  # a larger limit would say more
    dresses = [replace(dress, tools=tools) for dress in _DRESSES]
    for dress in dresses:
        bare = _answer(opened, style, compose(opened.material, style, 0), dress)
        room = allowed - budget.count(bare)
        if room >= max(least, min(bound, dress.content)):
            return _fitting(opened, style, dress, min(bound, room), allowed)
    needed = budget.count(_answer(opened, style, compose(opened.material, style, 0), dresses[-1]))
    if needed + _WORTH_IT >= opened.tokens:
        return None
    enough = needed + _WORTH_IT
    spare = min(limit or enough, enough)
    answer = _fitting(opened, style, dresses[-1], min(bound, max(0, spare - needed)), spare)
    if spare < enough and (needed > limit or not (answer and answer["content"])):
        raise Invalid(
            f"max_tokens is too small for a summary of this file: it takes at least {enough}",
            hint=f"Call again with max_tokens {enough} or more.",
        )
    return answer


def _target(tokens: int, bound: int) -> int:
    """Return the most tokens of a whole answer: less than a tenth, at the default bound."""
    if bound > DEFAULT_SUMMARY:
        return tokens
    tenth = (tokens - 1) // 10
    return tenth if tokens > _REDUCED_FROM else max(tenth, _ROOM)


def _fitting(
    opened: Opened, style: Style, dress: _Dress, content: int, allowed: int
) -> JsonObject | None:
    """Return the answer with as much content as fits; None if a small file leaves too little."""
    while True:
        summary = compose(opened.material, style, content)
        answer = _answer(opened, style, summary, dress)
        over = answer["summary_tokens"] - allowed
        if over <= 0 or content <= 0:
            break
        content = max(0, content - over)
    small = opened.tokens <= _ROOM and (summary.cut or not summary.content)
    return None if small else answer


def _answer(opened: Opened, style: Style, summary: Summary, dress: _Dress) -> JsonObject:
    """Return the whole answer, its own tokens counted as sent.

    The count is part of what it counts. Where no number is its own count, one more stop is set
    apart at the end, a token of its own, and another number is.
    """
    tokens = DEFAULT_SUMMARY
    stops = 0
    while True:
        tried: set[int] = set()
        while tokens not in tried:
            tried.add(tokens)
            answer = _filled(opened, style, summary, dress, tokens, stops)
            counted = budget.count(answer)
            if counted == tokens:
                return answer
            tokens = counted
        stops += 1


def _filled(
    opened: Opened, style: Style, summary: Summary, dress: _Dress, tokens: int, stops: int
) -> JsonObject:
    """Return the answer as it is when it takes so many tokens."""
    factor = max(1.0, floor(opened.tokens / tokens * 10) / 10)
    score = min(1.0, round(tokens / max(1, opened.tokens), 4))
    excluded = _excluded(opened.material, summary)
    preamble = _preamble(opened, tokens, factor, excluded, dress)
    path = opened.path
    return {
        "_preamble": preamble + "." + " ." * stops,
        "content": summary.content,
        "type": "summary",
        "style": style,
        "original_tokens": opened.tokens,
        "summary_tokens": tokens,
        "reduction_factor": factor,
        "sections": {
            "count": len(opened.sections),
            "headers": [short_title(s.title) for s in opened.sections[: dress.headers]],
            "note": _HEADERS_NOTE if "list_sections" in dress.tools else "",
        },
        "coverage": {
            "included": {
                "abstract": summary.abstract,
                "keywords": summary.keywords,
                "section_headers": summary.section_headers,
                "key_findings": summary.key_findings,
            },
            "excluded": excluded,
            "completeness_score": score,
        },
        "original": {
            "path": path,
            "filename": PurePath(path).name,
            "size_bytes": opened.identity.size,
            "size_tokens": opened.tokens,
        },
        "confidence": {"completeness": score, **_uses(summary, excluded)},
    }


def _excluded(material: Material, summary: Summary) -> dict[str, bool]:
    """Return what the document holds that its summary does not hold in full."""
    return {
        "detailed_methods": not material.methods <= summary.lines,
        "complete_citations": not material.citing <= summary.lines,
        "code_examples": material.seen.code,
        "tables_and_figures": material.seen.tables or material.seen.figures,
    }


def _uses(summary: Summary, excluded: dict[str, bool]) -> dict[str, list[str]]:
    """Return what a summary of these parts is good for, and what not."""
    text = summary.abstract or summary.key_findings
    good = ["initial_understanding"] * text + ["overview"] * (text or summary.section_headers)
    bad = ["detailed_analysis"]
    bad += ["citation"] * excluded["complete_citations"]
    bad += ["implementation"] * (excluded["code_examples"] or excluded["detailed_methods"])
    return {"recommended_for": [*good, "triage"], "not_recommended_for": bad}


def _preamble(
    opened: Opened, tokens: int, factor: float, excluded: dict[str, bool], dress: _Dress
) -> str:
    """Return what a reader must know of a summary, and the calls that get more."""
    path = json.dumps(opened.path, ensure_ascii=False)
    calls = [
        f"list_sections(file_path={path})",
        f"read_section(file_path={path}, section_heading=<id or title>)",
        f'smart_read(file_path={path}, mode="full")',
    ]
    calls = [call for call in calls if call.partition("(")[0] in dress.tools]
    missing = [name.replace("_", " ") for name, out in excluded.items() if out]
    sampled = ["sentences outside an even sample"] * opened.material.sampled
    lost = ", ".join([*missing, *sampled, "other detail"])
    note = f" {opened.document.note}" if opened.document.note else ""
    said = (
        f"SUMMARY, not the full text: {opened.tokens} tokens -> {tokens} ({factor:g}x less). "
        f"May be missing: {lost}.{note} Lnn: is the line a sentence stands on. For more: "
    )
    if dress.preamble == 1:
        said = f"SUMMARY: {opened.tokens} -> {tokens} tokens. "
        calls = calls[:1]
    return said + "; ".join(calls[: dress.preamble])
