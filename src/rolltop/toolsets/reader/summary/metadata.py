"""What a document states about itself: its keywords, its abstract, its introduction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from rolltop.toolsets.reader.summary.prose import (
    DATA_KINDS,
    SOURCE_KINDS,
    ContentKinds,
    Sentence,
    blank_code,
    extract_sentences,
)

_NUMBER: Final = r"(?:(?:\d+(?:\.\d+)*|[ivxIVX]+)[.)]?[ \t]+)?"
_MARKS: Final = r"[ \t>*_#=]{0,10}"
_BOLD: Final = r"[*_]{0,3}"
_ABSTRACT_NAMES: Final = (
    r"abstract|executive summary|tl;?dr|synopsis|zusammenfassung|kurzfassung|résumé|resumen|"
    r"riassunto|resumo|аннотация|摘要|要旨|概要"
)
_ABSTRACT_TITLE: Final = re.compile(rf"{_NUMBER}(?:{_ABSTRACT_NAMES})\W*", re.IGNORECASE)
_SUMMARY_TITLE: Final = re.compile(rf"{_NUMBER}(?:summary|overview|in short)\W*", re.IGNORECASE)
_INTRODUCTION_TITLE: Final = re.compile(
    rf"{_NUMBER}(?:introduction|intro|background|about|description|motivation|einleitung|"
    rf"einführung|introducción|introduzione|introdução|введение|引言|介绍|はじめに)\b.{{0,40}}",
    re.IGNORECASE,
)
_CHAPTER_TITLE: Final = re.compile(
    r"(?:chapter|part|paper|article|essay|lecture|lesson|session|module|unit|volume|vol\.|book|"
    r"kapitel|teil|band|beitrag|chapitre|partie|cap[ií]tulo|capitolo|parte|глава|часть|第)"
    r"(?:\W|\d|$)",
    re.IGNORECASE,
)
_AFTER_LABEL: Final = (
    rf"{_BOLD}[ \t]*(?:(?:[:.\u2013\u2014]|-{{1,3}}(?=[ \t]))+{_BOLD}[ \t]*|(?=\r?$))"
)
_ABSTRACT_LABEL: Final = re.compile(
    rf"(?im)^{_MARKS}{_NUMBER}{_BOLD}(?:(?:{_ABSTRACT_NAMES}){_AFTER_LABEL}|"
    rf"(?:\\begin\{{|#\+begin_)abstract\b\}}?|"
    rf":abstract:|\.\.[ ]+(?:abstract::|topic::[ ]+abstract[ \t\r]*$)|"
    rf"\[abstract(?:[#.,%][^\]\n]*)?\][ \t\r]*\n(?P<fence>={{4,}}|_{{4,}}|--(?=\s))?)"
)
_KEYWORD_LABEL: Final = re.compile(
    rf"(?im)^{_MARKS}{_NUMBER}{_BOLD}(?:(?:[:+]?key[ -]?words(?: and phrases)?|index terms|"
    rf"schlüsselwörter|stichwörter|mots[ -]clés|palabras clave|parole chiave|palavras[ -]chave|"
    rf"ключевые слова|关键词|關鍵詞|キーワード){_AFTER_LABEL}|"
    r"\\keywords[ \t]*\{|\\begin\{(?:IEEE)?keywords?\})"
)
_DEDENT: Final = re.compile(r"\n(?=\S)")
_ENDS: Final = {
    "\\b": re.compile(r"\\end\{(?:abstract|\w*keywords?)\}"),
    "\\k": re.compile(r"\}"),
    "#+": re.compile(r"(?i)#\+end_"),
    ":a": _DEDENT,
    "..": _DEDENT,
}
"""What ends the passage behind a label that is part of its format, by the label's first letters."""
_NEXT_LABEL: Final = re.compile(
    rf"{_MARKS}{_NUMBER}{_BOLD}(?:key[ -]?words|index terms|introduction|einleitung|"
    r"ccs concepts|contents|table of contents|\\end\{abstract\})",
    re.IGNORECASE,
)
_HEAD_CHARACTERS: Final = 60_000
"""Characters at the start of a document in which a label counts as its own."""
_MAX_FRONT_LENGTH: Final = 4_000
"""Characters before an abstract: a cover, authors, acknowledgements."""
_MIN_MAIN_SHARE: Final = 0.4
"""Of the text, in the main section of a document with appendices and translations."""
_MAX_VERSIONS: Final = 3
"""Abstracts in several languages that follow one another."""
_MAX_PASSAGE_LENGTH: Final = 20_000
_MAX_KEYWORDS: Final = 12
_MAX_KEYWORD_LENGTH: Final = 60
_MAX_KEYWORD_WORDS: Final = 6
_SEPARATOR: Final = re.compile(r"[,;|\u00b7\u2022\u3001\uff0c\uff1b]|\\(?:sep|and)\b")
_CONTINUATION_MARKS: Final = (",", ";", "\\sep", "\\and")
_EXPLAINED: Final = re.compile(r":(?:\s|$)")


class TextSpan(NamedTuple):
    """A section's own text, without its subsections."""

    title: str
    level: int
    start_line: int
    start: int
    end: int


@dataclass(frozen=True)
class DocumentMetadata:
    """What a document states about itself; empty where it states nothing."""

    keywords: tuple[str, ...] = ()
    keywords_line: int = 0
    abstract: tuple[Sentence, ...] = ()
    introduction: tuple[Sentence, ...] = ()


def read_metadata(text: str, kind: str, spans: Sequence[TextSpan]) -> DocumentMetadata:
    """Find what a document states about itself, by titles or labels.

    Programs and data state nothing: their names and keys are no titles or labels of text.
    """
    if kind in SOURCE_KINDS or kind in DATA_KINDS:
        return DocumentMetadata()
    head = blank_code(text[: _HEAD_CHARACTERS + _MAX_PASSAGE_LENGTH], kind)
    keywords, line = _find_keywords(head, spans)
    at = _find_own_section(spans, _ABSTRACT_TITLE)
    if at is not None:
        end = _end_of_abstract(spans, at, len(text) // 2)
        abstract = _section_sentences(text, kind, spans[at:end])
    else:
        abstract = _labelled_abstract(head, kind, spans)
    at = None if abstract else _find_own_section(spans, _SUMMARY_TITLE, anywhere=False)
    if at is not None and spans[at].start <= len(text) // 4:
        abstract = _section_sentences(text, kind, spans[at : at + 1])
    at = _find_own_section(spans, _INTRODUCTION_TITLE)
    introduction = () if at is None else _section_sentences(text, kind, spans[at : at + 1])
    if not introduction and len(spans) > 1:
        introduction = _section_sentences(text, kind, spans[:1])
    return DocumentMetadata(keywords, line, abstract, introduction)


def _find_own_section(
    spans: Sequence[TextSpan], title: re.Pattern[str], *, anywhere: bool = True
) -> int | None:
    """Find the section of such a title that is the document's, not that of a chapter or paper.

    It is the only one of its level and title, and inside nothing but the document's title; or
    else (`anywhere`) it is part of the front of the document.
    """
    found = [at for at, span in enumerate(spans) if title.fullmatch(span.title)]
    levels = Counter(span.level for span in spans)
    titles = Counter((span.level, span.title) for span in spans)
    parents = _find_parents(spans) if found else []
    for at in found:
        is_top = all(not outer or levels[spans[outer].level] == 1 for outer in parents[at])
        if is_top and titles[spans[at].level, spans[at].title] == 1:
            return at
    if not found or not anywhere or not _is_early(spans, found[0]):
        return None
    crowded = [outer for outer in parents[found[0]] if levels[spans[outer].level] > 1]
    is_own = _is_in_front(spans, found, crowded[-1]) if crowded else _are_versions(spans, found)
    return found[0] if is_own else None


def _is_early(spans: Sequence[TextSpan], at: int) -> bool:
    """Whether before a section come no introduction, no chapter and little text."""
    before = spans[: at + 1]
    return (
        spans[at].start - spans[0].start <= _MAX_FRONT_LENGTH
        and not any(_INTRODUCTION_TITLE.fullmatch(span.title) for span in before[:-1])
        and not any(one + 1 < _end_of_section(before, one) <= at for one in range(at))
    )


def _are_versions(spans: Sequence[TextSpan], found: Sequence[int]) -> bool:
    """Whether sections are one in a few languages, followed by most of the text."""
    end = _end_of_section(spans, found[-1])
    return (
        len(found) <= _MAX_VERSIONS
        and end < len(spans)
        and all(_end_of_section(spans, one) == other for one, other in pairwise(found))
        and spans[-1].end >= 2 * spans[end].start
    )


def _is_in_front(spans: Sequence[TextSpan], found: Sequence[int], parent: int) -> bool:
    """Whether the parent of the first section found is front matter or the main part."""
    end = _end_of_section(spans, parent)
    if _CHAPTER_TITLE.match(spans[parent].title) or any(parent < at < end for at in found[1:]):
        return False
    if end < len(spans) and _INTRODUCTION_TITLE.fullmatch(spans[end].title):
        return True
    length = spans[end - 1].end - spans[parent].start
    others = [at for at in range(end, len(spans)) if spans[at].level == spans[parent].level]
    return length >= _MIN_MAIN_SHARE * spans[-1].end and not any(
        _CHAPTER_TITLE.match(spans[at].title) or at + 2 < _end_of_section(spans, at)
        for at in others
    )


def _find_parents(spans: Sequence[TextSpan]) -> list[tuple[int, ...]]:
    """Return for each section the positions of those around it, the outermost first."""
    parents: list[tuple[int, ...]] = []
    around: list[int] = []
    for at, span in enumerate(spans):
        while around and spans[around[-1]].level >= span.level:
            around.pop()
        parents.append(tuple(around))
        around.append(at)
    return parents


def _end_of_section(spans: Sequence[TextSpan], at: int) -> int:
    """Return the position of the first section that is not inside this one."""
    later = range(at + 1, len(spans))
    return next((one for one in later if spans[one].level <= spans[at].level), len(spans))


def _end_of_abstract(spans: Sequence[TextSpan], at: int, max_length: int) -> int:
    """Return the position after an abstract's subsections, which end at its keywords.

    If they are longer than `max_length` they are the document's text, and not the abstract's.
    """
    end = at + 1
    while end < len(spans) and spans[end].level > spans[at].level:
        if _KEYWORD_LABEL.match(spans[end].title):
            break
        end += 1
    return end if spans[end - 1].end - spans[at].start <= max_length else at + 1


def _section_sentences(text: str, kind: str, spans: Sequence[TextSpan]) -> tuple[Sentence, ...]:
    """Return the sentences of adjacent sections, up to the next label."""
    start = spans[0].start
    end = min(spans[-1].end, start + _MAX_PASSAGE_LENGTH)
    titles = {span.start_line for span in spans}
    return tuple(_until_label(text[start:end], kind, spans[0].start_line, titles))


def _until_label(text: str, kind: str, line: int, titles: set[int]) -> Iterator[Sentence]:
    for sentence in extract_sentences(
        text, kind, ContentKinds(), first_line=line, headings=titles, ends=_NEXT_LABEL
    ):
        if _KEYWORD_LABEL.match(sentence.text):  # in the middle of a paragraph
            return
        yield sentence


def _labelled_abstract(head: str, kind: str, spans: Sequence[TextSpan]) -> tuple[Sentence, ...]:
    """Return the sentences behind a label such as `**Abstract.**` at the start of a line."""
    lines = head.split("\n")
    titles = {span.start_line for span in spans}
    # Of a title with an overline, the text is on the next line.
    titles |= {at + 1 for at in titles if at <= len(lines) and not _has_word(lines[at - 1])}
    passage, line = _passage_after(_ABSTRACT_LABEL, head, spans, except_lines=titles)
    kind = "text" if kind == "html" else kind  # the tags are gone
    return tuple(_until_label(passage, kind, line, set()))


def _has_word(line: str) -> bool:
    return any(map(str.isalnum, line))


def _passage_after(
    label: re.Pattern[str],
    head: str,
    spans: Sequence[TextSpan],
    except_lines: Collection[int] = (),
) -> tuple[str, int]:
    """Return the text between a label and the next title, and its line; ("", 0) if none."""
    for found in label.finditer(head, 0, _HEAD_CHARACTERS):
        if head.count("\n", 0, found.start()) + 1 not in except_lines:
            break
    else:
        return "", 0
    line = head.count("\n", 0, found.end()) + 1
    passage = head[found.end() : found.end() + _MAX_PASSAGE_LENGTH]
    mark = found.group().lstrip().lower()
    if mark[0] == "[":  # ends with its fence, without one at a blank line
        end = re.search(rf"(?m)^{found['fence'] or ''}[ \t\r]*$", passage)
    else:
        end = _ENDS[mark[:2]].search(passage) if mark[:2] in _ENDS else None
    lines = passage[: end.start() if end else None].split("\n")
    next_titles = (span.start_line - line for span in spans if span.start_line > line)
    return "\n".join(lines[: next(next_titles, None)]), line


def _find_keywords(head: str, spans: Sequence[TextSpan]) -> tuple[tuple[str, ...], int]:
    """Return the keywords a document states and their line, ((), 0) if it states none."""
    passage, line = _passage_after(_KEYWORD_LABEL, head, spans)
    lines = passage.split("\n")
    is_under_title = not lines[0].strip()
    while is_under_title and lines and not _has_word(lines[0]):
        lines.pop(0)  # blank, or the title's underline
        line += 1
    listed = _keyword_lines(lines)
    if not listed or (is_under_title and _is_running_text(listed)):
        return (), 0
    parts = [part for one in listed for part in _SEPARATOR.split(one.strip("[]{} "))]
    words = (part.strip(" \t\"'*_`.{}\\") for part in parts)
    keywords = [word for word in words if word and len(word) <= _MAX_KEYWORD_LENGTH]
    return tuple(keywords[:_MAX_KEYWORDS]), line if keywords else 0


def _keyword_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that list keywords: one line, its continuations, or a list's items."""
    found: list[str] = []
    for raw in lines:
        line = raw.strip()
        item = line.startswith(("- ", "* "))
        continued = found and (found[-1].endswith(_CONTINUATION_MARKS) or line.startswith("\\sep"))
        if not line or (found and not item and not continued):
            break
        found.append(line[2:] if item else line)
    return found


def _is_running_text(lines: Sequence[str]) -> bool:
    """Whether lines under a title "Keywords" are about keywords, or about something else."""
    parts = [part for line in lines for part in _SEPARATOR.split(line)]
    is_sentence = len(parts) == 1 and " " in parts[0] and parts[0].endswith((".", "!", "?"))
    return (
        is_sentence
        or lines[0].startswith("|")
        or any(_EXPLAINED.search(p) or len(p.split()) > _MAX_KEYWORD_WORDS for p in parts)
    )
