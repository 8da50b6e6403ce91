"""A summary's text, written line by line within a bound of tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.toolsets.reader.summary import Material
    from rolltop.toolsets.reader.summary.sentences import Sentence

Style = Literal["structured", "extractive", "abstract"]
_LONGEST_TITLE: Final = 60
_ABSTRACT_SHARE: Final = 0.35
_TREE_SHARE: Final = 0.45
_TREE_SHARE_OF_DATA: Final = 0.7
_POOL: Final = 134
_TOKENS_PER_SENTENCE: Final = 6
"""Fewer than any sentence has on average: the pool of candidates grows with the bound."""
_MISSES: Final = 12
"""So many sentences in a row that do not fit end the search for one that does."""
_TOKENS_OF_MARK: Final = 3
"""At most, of the mark of a cut and the line's end."""
_SHORTEST_CUT: Final = 16
"""Characters, with the line's number: less of a line says nothing."""


@dataclass(frozen=True)
class Entry:
    """A section as a summary lists it."""

    title: str
    level: int
    start_line: int
    tokens: int


@dataclass(frozen=True)
class Summary:
    """A summary's text, and which parts it holds. `lines` are those it cites in full."""

    content: str
    keywords: bool
    abstract: bool
    section_headers: bool
    key_findings: bool
    lines: frozenset[int]
    cut: bool
    """Whether it is a single line and not all of that."""


@dataclass
class _Sheet:
    """Lines written so far, and the tokens left."""

    left: int
    lines: list[str] = field(default_factory=list[str])
    cited: set[int] = field(default_factory=set[int])
    told: set[str] = field(default_factory=set[str])

    def write(self, line: str, reserve: int = 0) -> bool:
        """Add the line if it fits and leaves `reserve` tokens; tell whether it was added."""
        cost = tokens.count(line + "\n")
        if cost > self.left - reserve:
            return False
        self.left -= cost
        self.lines.append(line)
        return True

    def write_cut(self, line: str) -> bool:
        """Add as much of a line as fits, marked as cut; tell whether it was worth adding."""
        end = tokens.prefix(line, self.left - _TOKENS_OF_MARK)
        return end >= _SHORTEST_CUT and self.write(line[:end] + "…")

    def block(self, title: str, sentences: Iterable[Sentence], reserve: int = 0) -> bool:
        """Add a titled block of sentences that fit; tell whether any was added."""
        mark, left = len(self.lines), self.left
        misses = 0
        if not self.write(title, reserve):
            return False
        for sentence in sentences:
            if sentence.text in self.told:
                continue
            if self.write(cited(sentence), reserve):
                self.cited.add(sentence.line)
                self.told.add(sentence.text)
                misses = 0
            else:
                misses += 1
                if misses >= _MISSES:
                    break
        if len(self.lines) == mark + 1:
            del self.lines[mark:]
            self.left = left
            return False
        return True


def cited(sentence: Sentence) -> str:
    """Return the sentence as a line of a summary, its own line first."""
    return f"L{sentence.line}: {sentence.text}"


def compose(material: Material, style: Style, limit: int) -> Summary:
    """Return a summary whose content is at most `limit` tokens (cl100k_base)."""
    if limit <= 0:
        return _summary(_Sheet(limit))
    composed = _composed(material, style, _Sheet(limit))
    return composed if composed.content else _cut(material, _Sheet(limit))


def _composed(material: Material, style: Style, sheet: _Sheet) -> Summary:
    """Return a summary of whole sentences and lines, which may be none."""
    if style == "extractive" and material.sentences:
        return _extractive(material, sheet)
    if style == "abstract":
        for title, passage in (
            ("ABSTRACT:", material.stated.abstract),
            ("INTRODUCTION:", material.stated.introduction),
        ):
            if sheet.block(title, passage):
                return _summary(sheet, abstract=title == "ABSTRACT:")
        if material.sentences:
            return _extractive(material, sheet)
    return _structured(material, sheet)


def _cut(material: Material, sheet: _Sheet) -> Summary:
    """Return as much as fits of the best sentence, else of the first line."""
    for sentence in (*material.ranking.best(1), *material.opening[:1]):
        if sheet.write_cut(cited(sentence)):
            return _summary(sheet, key_findings=bool(material.sentences), cut=True)
    return _summary(sheet)


def _extractive(material: Material, sheet: _Sheet) -> Summary:
    """Return the best sentences in the document's order."""
    chosen: list[Sentence] = []
    misses, left = 0, sheet.left
    for sentence in material.ranking.best(_pool(sheet.left)):
        cost = tokens.count(cited(sentence) + "\n")
        misses = 0 if cost <= left else misses + 1
        if cost <= left:
            chosen.append(sentence)
            left -= cost
        if misses >= _MISSES:
            break
    for sentence in sorted(chosen, key=lambda s: s.line):
        if sheet.write(cited(sentence)):
            sheet.cited.add(sentence.line)
    return _summary(sheet, key_findings=bool(sheet.lines))


def _structured(material: Material, sheet: _Sheet) -> Summary:
    """Return keywords, abstract, section tree and key findings, each where there is one."""
    whole = sheet.left
    said = material.stated
    keywords = False
    if said.keywords:
        keywords = sheet.write(f"KEYWORDS (L{said.keywords_line}): {', '.join(said.keywords)}")
    elif material.terms:
        keywords = sheet.write(f"KEYWORDS (extracted): {', '.join(material.terms)}")
    abstract = sheet.block("ABSTRACT:", said.abstract, sheet.left - int(whole * _ABSTRACT_SHARE))
    share = _TREE_SHARE if material.sentences else _TREE_SHARE_OF_DATA
    tree = _tree(material.entries, sheet, sheet.left - int(sheet.left * share))
    findings = sheet.block("KEY FINDINGS:", material.ranking.best(_pool(sheet.left)))
    if not (abstract or findings):
        sheet.block("BEGINNING:", material.opening)
    return _summary(
        sheet, keywords=keywords, abstract=abstract, section_headers=tree, key_findings=findings
    )


def _tree(entries: Sequence[Entry], sheet: _Sheet, reserve: int) -> bool:
    """Add the section tree, the higher levels first where not all fit; tell whether any was."""
    room = sheet.left - reserve
    more = f"(… more sections of {len(entries)})"
    heading = "SECTIONS (tokens):"
    room -= tokens.count(heading + "\n") + tokens.count(more + "\n")
    top = min((entry.level for entry in entries), default=1)
    order = sorted(range(len(entries)), key=lambda at: (entries[at].level, at))
    chosen: dict[int, str] = {}
    for at in order:
        line = _tree_line(entries[at], top)
        room -= tokens.count(line + "\n")
        if room < 0:
            break
        chosen[at] = line
    if not chosen:
        return False
    sheet.write(heading)
    for at in sorted(chosen):
        sheet.write(chosen[at])
    if len(chosen) < len(entries):
        sheet.write(more)
    return True


def _tree_line(entry: Entry, top: int) -> str:
    return f"{'  ' * (entry.level - top)}- {short_title(entry.title)} ({entry.tokens})"


def short_title(title: str) -> str:
    """Return a title within 60 characters, the mark of a cut counted."""
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def _pool(limit: int) -> int:
    return max(_POOL, limit // _TOKENS_PER_SENTENCE)


def _summary(
    sheet: _Sheet,
    *,
    keywords: bool = False,
    abstract: bool = False,
    section_headers: bool = False,
    key_findings: bool = False,
    cut: bool = False,
) -> Summary:
    return Summary(
        content="\n".join(sheet.lines),
        keywords=keywords,
        abstract=abstract,
        section_headers=section_headers,
        key_findings=key_findings,
        lines=frozenset(sheet.cited),
        cut=cut,
    )
