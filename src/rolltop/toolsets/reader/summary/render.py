"""A summary's text, written line by line within a token bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rolltop.core import token_counter
from rolltop.toolsets.reader.summary.material import Material
from rolltop.toolsets.reader.summary.prose import Sentence

_MAX_TITLE_LENGTH: Final = 60
_ABSTRACT_SHARE: Final = 0.35
_TREE_SHARE: Final = 0.45
_TREE_SHARE_OF_DATA: Final = 0.7
_MIN_POOL: Final = 134
_MIN_SENTENCE_TOKENS: Final = 6
"""On average: the pool of candidates grows with the bound."""
_MAX_MISSES: Final = 12
"""Sentences in a row that do not fit; then the search for one that does ends."""
_ELLIPSIS_TOKENS: Final = 3
"""At most, with the line's end."""
_MIN_TRUNCATED_LENGTH: Final = 16


@dataclass(frozen=True)
class Summary:
    """A summary's text and which parts it holds.

    `lines` are those it cites in full; `cut` says that it is part of a single line.
    """

    content: str
    lines: frozenset[int]
    keywords: bool = False
    abstract: bool = False
    section_headers: bool = False
    key_findings: bool = False
    cut: bool = False


class SummaryRenderer:
    """Writes summaries of one document in one style, for one call."""

    def __init__(
        self,
        material: Material,
        style: Literal["structured", "extractive", "abstract"],
        max_tokens: int,
    ) -> None:
        """Choose sentences for summaries of up to `max_tokens`."""
        self.material: Final = material
        self._style: Final = style
        pool = max(_MIN_POOL, max_tokens // _MIN_SENTENCE_TOKENS)
        self._choice: Final = material.ranking.best(pool)
        self._chosen: Final[list[Sentence]] = []

    def render(self, limit: int) -> Summary:
        """Write a summary of at most `limit` tokens (cl100k_base), which may be too few for any."""
        sheet = _Sheet(limit)
        if limit <= 0:
            return sheet.summary()
        metadata = self.material.metadata
        summary = None
        if self._style == "abstract":
            if sheet.add_block("ABSTRACT:", metadata.abstract):
                return sheet.summary(abstract=True)
            if sheet.add_block("INTRODUCTION:", metadata.introduction):
                return sheet.summary()
        if self._style == "structured" or not self.material.has_sentences:
            summary = self._render_structured(sheet)
        else:
            best = sorted(sheet.fit(self._best()), key=lambda sentence: sentence.line)
            sheet.add_sentences(best)
            summary = sheet.summary(key_findings=bool(best))
        return summary if summary.content else self._truncate_best(limit)

    def _best(self) -> Iterator[Sentence]:
        """Yield the best sentences, each chosen only once for all renderings."""
        yield from self._chosen
        for sentence in self._choice:
            self._chosen.append(sentence)
            yield sentence

    def _render_structured(self, sheet: _Sheet) -> Summary:
        """Write keywords, abstract, section tree and key findings, each if there is one."""
        material, limit = self.material, sheet.left
        metadata = material.metadata
        keywords = ""
        if metadata.keywords:
            words = ", ".join(metadata.keywords)
            keywords = f"KEYWORDS (L{metadata.keywords_line}): {words}"
        elif material.terms:
            keywords = f"KEYWORDS (extracted): {', '.join(material.terms)}"
        has_keywords = bool(keywords) and sheet.add(keywords)
        abstract = sheet.add_block(
            "ABSTRACT:", metadata.abstract, sheet.left - int(limit * _ABSTRACT_SHARE)
        )
        share = _TREE_SHARE if material.has_sentences else _TREE_SHARE_OF_DATA
        tree = self._add_tree(sheet, int(sheet.left * share))
        findings = sheet.add_block("KEY FINDINGS:", self._best())
        has_text = abstract or findings or sheet.add_block("BEGINNING:", material.opening)
        if not (has_text or tree) and (cut := self._truncate_best(limit)).content:
            return cut  # tells more than keywords alone
        return sheet.summary(
            keywords=has_keywords, abstract=abstract, section_headers=tree, key_findings=findings
        )

    def _add_tree(self, sheet: _Sheet, room: int) -> bool:
        """Write the section tree in at most `room` tokens, higher levels first."""
        sections = self.material.sections
        heading, more = "SECTIONS (tokens):", f"(… more sections of {len(sections)})"
        room -= token_counter.count(f"{heading}\n") + token_counter.count(f"{more}\n")
        top = min((section.level for section in sections), default=1)
        lines: dict[int, str] = {}
        for at in sorted(range(len(sections)), key=lambda at: sections[at].level):
            indent = "  " * (sections[at].level - top)
            title = truncate_title(sections[at].title)
            line = f"{indent}- {title} ({self.material.costs[at]})"
            room -= token_counter.count(f"{line}\n")
            if room < 0:
                break
            lines[at] = line
        if not lines:
            return False
        for line in (heading, *(lines[at] for at in sorted(lines))):
            sheet.add(line)
        if len(lines) < len(sections):
            sheet.add(more)
        return True

    def _truncate_best(self, limit: int) -> Summary:
        """Write as much as fits of the best sentence, else of the first line."""
        sheet = _Sheet(limit)
        for sentence in (*self.material.ranking.best(1), *self.material.opening[:1]):
            if sheet.add_truncated(_cite(sentence)):
                return sheet.summary(key_findings=self.material.has_sentences, cut=True)
        return sheet.summary()


class _Sheet:
    """The lines written so far and the tokens left."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self._lines: list[str] = []
        self._cited: set[int] = set()
        self._texts: set[str] = set()

    def add(self, line: str) -> bool:
        """Write the line if it fits."""
        cost = token_counter.count(f"{line}\n")
        if cost > self.left:
            return False
        self.left -= cost
        self._lines.append(line)
        return True

    def add_truncated(self, line: str) -> bool:
        """Write as much of a line as fits, if that is worth reading."""
        end = token_counter.prefix_length(line, self.left - _ELLIPSIS_TOKENS)
        return end >= _MIN_TRUNCATED_LENGTH and self.add(line[:end] + "…")

    def fit(self, sentences: Iterable[Sentence], reserve: int = 0) -> list[Sentence]:
        """Take the sentences that fit and leave `reserve` tokens, none twice."""
        taken: list[Sentence] = []
        misses = 0
        for sentence in sentences:
            if sentence.text in self._texts:
                continue
            cost = token_counter.count(f"{_cite(sentence)}\n")
            misses = 0 if cost <= self.left - reserve else misses + 1
            if not misses:
                self.left -= cost
                self._texts.add(sentence.text)
                taken.append(sentence)
            elif misses >= _MAX_MISSES:
                break
        return taken

    def add_sentences(self, sentences: Iterable[Sentence]) -> None:
        """Write sentences that `fit` took."""
        for sentence in sentences:
            self._lines.append(_cite(sentence))
            self._cited.add(sentence.line)

    def add_block(self, title: str, sentences: Iterable[Sentence], reserve: int = 0) -> bool:
        """Write the sentences that fit under a title, if any does."""
        cost = token_counter.count(f"{title}\n")
        self.left -= cost
        taken = self.fit(sentences, reserve)
        if not taken:
            self.left += cost
            return False
        self._lines.append(title)
        self.add_sentences(taken)
        return True

    def summary(self, **parts: bool) -> Summary:
        """Return what was written; `parts` are the fields of Summary that say so."""
        return Summary("\n".join(self._lines), frozenset(self._cited), **parts)


def _cite(sentence: Sentence) -> str:
    return f"L{sentence.line}: {sentence.text}"


def truncate_title(title: str) -> str:
    """Cut a title to 60 characters, the ellipsis included."""
    return title if len(title) <= _MAX_TITLE_LENGTH else title[: _MAX_TITLE_LENGTH - 1] + "…"
