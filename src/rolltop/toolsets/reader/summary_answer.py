"""The summary answer: what it says about itself, and how it fits its bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from math import floor
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core import pagination
from rolltop.core.pagination import AddressText
from rolltop.toolsets.reader.models import DEFAULT_SUMMARY_TOKENS, JsonObject, SummaryStyle
from rolltop.toolsets.reader.summary.material import Material
from rolltop.toolsets.reader.summary.render import Summary, SummaryRenderer, truncate_title

if TYPE_CHECKING:
    from rolltop.toolsets.reader.document_cache import OpenDocument

_LARGE_FILE_TOKENS: Final = 10_000
"""Larger files are reduced to less than a tenth at the default bound."""
_SMALL_FILE_TOKENS: Final = 600
"""A whole answer for a smaller file may take so many, where that is more than a tenth."""
_MIN_CONTENT_TOKENS: Final = 40
_MAX_COUNTS: Final = 8
MAX_SUMMARIES: Final = 8
"""Answers that are cached with a document; they are no part of its weight."""
_WARNING: Final = "⚠️ DOCUMENT SUMMARY (NOT FULL CONTENT)"
_HEADERS_NOTE: Final = "list_sections lists all"


class _Layout(NamedTuple):
    """How many headers and calls an answer has, and the least tokens of content beside them."""

    headers: int
    calls: int
    min_content: int


_LAYOUTS: Final = (
    _Layout(20, 3, 200),
    _Layout(8, 3, 150),
    _Layout(0, 3, 120),
    _Layout(0, 2, 80),
    _Layout(0, 1, 0),
)


def summary_answer(
    document: OpenDocument,
    uri: AddressText | None,
    style: SummaryStyle,
    bound: int,
    limit: int,
    tools: Sequence[str],
) -> JsonObject | None:
    """Summarize a document; None if that would not be shorter than the document.

    `bound` is the maximum of tokens of its content, `limit` of the whole answer (0: none); `tools`
    are those it may name. The last answers are cached with the document. Raises InvalidArgument:
    `limit` is too small for any summary that says something.
    """
    cached, key = document.summaries, (uri, style, bound, limit)
    with suppress(KeyError):
        return cached[key]
    answer = _AnswerBuilder(document, uri, style, bound, tools).build(limit)
    cached[key] = answer
    for old in list(cached)[:-MAX_SUMMARIES]:
        cached.pop(old, None)  # another thread may have
    return answer


class _AnswerBuilder:
    """Builds the answers of one call."""

    def __init__(
        self,
        document: OpenDocument,
        uri: AddressText | None,
        style: SummaryStyle,
        bound: int,
        tools: Sequence[str],
    ) -> None:
        self._document: Final = document
        self._named: Final = {"uri": uri} if uri else {}
        self._style: Final[SummaryStyle] = style
        self._bound: Final = bound
        self._tools: Final = tools
        self._renderer: Final = SummaryRenderer(document.material, style, bound)

    def build(self, limit: int) -> JsonObject | None:
        """Return the richest answer within `limit` tokens."""
        target = self._target()
        allowed = min(target, limit) if limit else target
        least = _MIN_CONTENT_TOKENS if allowed < target else 0  # a larger limit would say more
        needed = 0
        for layout in _LAYOUTS:
            needed = pagination.count_tokens(self._answer(self._renderer.render(0), layout))
            room = allowed - needed
            if room >= max(least, min(self._bound, layout.min_content)):
                return self._fit(layout, min(self._bound, room), allowed)
        enough = needed + _MIN_CONTENT_TOKENS
        if enough >= self._document.tokens:
            return None
        spare = min(limit or enough, enough)
        content = min(self._bound, max(0, spare - needed))
        answer = self._fit(_LAYOUTS[-1], content, spare)
        if spare < enough and (needed > limit or not (answer and answer["content"])):
            raise pagination.BudgetTooSmall(enough, "a summary of this file")
        return answer

    def _target(self) -> int:
        """Return the maximum of tokens of a whole answer: below a tenth, at the default bound."""
        tokens = self._document.tokens
        if self._bound > DEFAULT_SUMMARY_TOKENS:
            return tokens - 1
        tenth = (tokens - 1) // 10
        return (
            tenth
            if tokens > _LARGE_FILE_TOKENS
            else min(tokens - 1, max(tenth, _SMALL_FILE_TOKENS))
        )

    def _fit(self, layout: _Layout, content: int, allowed: int) -> JsonObject | None:
        """Return the answer with all content that fits; None if a small file leaves too little."""
        while True:
            summary = self._renderer.render(content)
            answer = self._answer(summary, layout)
            excess = answer["summary_tokens"] - allowed
            if excess <= 0 or content <= 0:
                break
            content = max(0, content - excess)
        is_small = self._document.tokens <= _SMALL_FILE_TOKENS
        return None if is_small and (summary.cut or not summary.content) else answer

    def _answer(self, summary: Summary, layout: _Layout) -> JsonObject:
        """Return the whole answer with its own tokens counted as sent.

        The count is part of what it counts. Where no number is its own count, one more stop, which
        is a token of its own, changes it.
        """
        tokens = DEFAULT_SUMMARY_TOKENS
        for stops in count():
            for _ in range(_MAX_COUNTS):
                answer = self._fill(summary, layout, tokens, stops)
                counted = pagination.count_tokens(answer)
                if counted == tokens:
                    return answer
                tokens = counted
        raise AssertionError  # unreachable: `count` never ends

    def _fill(self, summary: Summary, layout: _Layout, tokens: int, stops: int) -> JsonObject:
        """Return the answer as it is if it takes so many tokens."""
        document = self._document
        factor = max(1.0, floor(document.tokens / tokens * 10) / 10)
        score = min(1.0, round(tokens / max(1, document.tokens), 4))
        excluded = _excluded_parts(document.material, summary)
        preamble = self._preamble(tokens, factor, excluded, layout)
        return {
            "_preamble": preamble + "." + " ." * stops,
            "content": summary.content,
            "type": "summary",
            **self._named,
            "style": self._style,
            "original_tokens": document.tokens,
            "summary_tokens": tokens,
            "reduction_factor": factor,
            "sections": {
                "count": len(document.sections),
                "headers": [truncate_title(s.title) for s in document.sections[: layout.headers]],
                "note": _HEADERS_NOTE if "list_sections" in self._tools else "",
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
                "path": document.path,
                "filename": PurePath(document.path).name,
                "size_bytes": document.state[0],
                "size_tokens": document.tokens,
            },
            "confidence": {"completeness": score, **_uses(summary, excluded)},
        }

    def _preamble(
        self, tokens: int, factor: float, excluded: dict[str, bool], layout: _Layout
    ) -> str:
        """Return what a reader must know about a summary, and the calls that get more."""
        document = self._document
        path = json.dumps(document.path, ensure_ascii=False)
        calls = {
            "outline": ("list_sections", f"list_sections(file_path={path})"),
            "section": (
                "read_section",
                f"read_section(file_path={path}, section_heading=<id or title>)",
            ),
            "full text": ("smart_read", f'smart_read(file_path={path}, mode="full")'),
        }
        lines = [f"{aim}: {call}" for aim, (tool, call) in calls.items() if tool in self._tools]
        missing = [name.replace("_", " ") for name, is_out in excluded.items() if is_out]
        missing += ["sentences outside an even sample"] * document.material.sampled
        about = f"Original: {document.tokens:,} tokens → Summary: {tokens:,} tokens"
        if layout.calls > 1:
            about += (
                f" ({factor:g}x less). Lnn: is the line a sentence stands on."
                f"\nMay be missing: {', '.join([*missing, 'other detail'])}."
            )
            about += f" {document.document.note}" if document.document.note else ""
        return "\n".join([_WARNING, about, *lines[: layout.calls]])


def _excluded_parts(material: Material, summary: Summary) -> dict[str, bool]:
    """Say what the document holds that its summary does not hold in full."""
    return {
        "detailed_methods": not material.methods <= summary.lines,
        "complete_citations": not material.citing <= summary.lines,
        "code_examples": material.seen.code,
        "tables_and_figures": material.seen.tables or material.seen.figures,
    }


def _uses(summary: Summary, excluded: dict[str, bool]) -> dict[str, list[str]]:
    """Say what a summary is good for, and what not."""
    text = summary.abstract or summary.key_findings
    good = ["initial_understanding"] * text + ["overview"] * (text or summary.section_headers)
    bad = ["detailed_analysis"]
    bad += ["citation"] * excluded["complete_citations"]
    bad += ["implementation"] * (excluded["code_examples"] or excluded["detailed_methods"])
    return {"recommended_for": [*good, "triage"], "not_recommended_for": bad}
