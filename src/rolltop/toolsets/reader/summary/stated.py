"""What a document says about itself: its keywords, its abstract, its introduction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.reader.summary.belonging import in_front, own
from rolltop.toolsets.reader.summary.prose import (
    DATA_KINDS,
    SOURCE_KINDS,
    Seen,
    paragraphs,
    uncovered,
)
from rolltop.toolsets.reader.summary.sentences import Sentence, sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

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
_HEAD: Final = 60_000
"""Characters at the start of a document in which a label counts as its own."""
_LONGEST_PASSAGE: Final = 20_000
_MOST_KEYWORDS: Final = 12
_LONGEST_KEYWORD: Final = 60
_MOST_WORDS: Final = 6
"""Of a keyword; what has more of them is part of a sentence."""
_SEPARATOR: Final = re.compile(r"[,;|\u00b7\u2022\u3001\uff0c\uff1b]|\\(?:sep|and)\b")
_GO_ON: Final = (",", ";", "\\sep", "\\and")
_EXPLAINED: Final = re.compile(r":(?:\s|$)")


@dataclass(frozen=True)
class Stretch:
    """A section's own text, without its children: where it starts, and its title."""

    title: str
    level: int
    start_line: int
    start: int
    end: int


@dataclass(frozen=True)
class Stated:
    """What a document states of itself; empty where it states nothing."""

    keywords: tuple[str, ...] = ()
    keywords_line: int = 0
    abstract: tuple[Sentence, ...] = ()
    introduction: tuple[Sentence, ...] = ()


def stated(text: str, kind: str, stretches: Sequence[Stretch]) -> Stated:
    """Return what a document states of itself, found by title or by label.

    Programs and data state nothing: their names and keys are titles and labels of no text.
    """
    if kind in SOURCE_KINDS or kind in DATA_KINDS:
        return Stated()
    head = uncovered(text[: _HEAD + _LONGEST_PASSAGE], kind)
    keywords, line = _keywords(head, stretches)
    titled = next(own(stretches, _ABSTRACT_TITLE), None)
    if titled is None:
        titled = in_front(stretches, _ABSTRACT_TITLE, _INTRODUCTION_TITLE)
    if titled is not None:
        abstract = _passage(text, kind, *_with_children(stretches, titled, len(text) // 2))
    else:
        abstract = _labelled(head, kind, stretches)
    if not abstract:
        summary = next(own(stretches, _SUMMARY_TITLE), None)
        if summary is not None and stretches[summary].start <= len(text) // 4:
            abstract = _passage(text, kind, stretches[summary])
    return Stated(keywords, line, abstract, _introduction(text, kind, stretches))


def _introduction(text: str, kind: str, stretches: Sequence[Stretch]) -> tuple[Sentence, ...]:
    """Return the introduction's sentences: by title, else the first text under a title."""
    titled = next(own(stretches, _INTRODUCTION_TITLE), None)
    if titled is None:
        titled = in_front(stretches, _INTRODUCTION_TITLE, _INTRODUCTION_TITLE)
    if titled is not None and (found := _passage(text, kind, stretches[titled])):
        return found
    return _passage(text, kind, stretches[0]) if len(stretches) > 1 else ()


def _with_children(stretches: Sequence[Stretch], at: int, longest: int) -> Sequence[Stretch]:
    """Return an abstract's section and those in it, up to its keywords.

    It is given alone where all are longer than `longest`: such a section holds the text itself.
    """
    found = [stretches[at]]
    for below in islice(stretches, at + 1, None):
        if below.level <= found[0].level or _KEYWORD_LABEL.match(below.title):
            break
        found.append(below)
    return found if found[-1].end - found[0].start <= longest else found[:1]


def _passage(text: str, kind: str, *stretches: Stretch) -> tuple[Sentence, ...]:
    """Return the sentences of sections that follow one another, without their children's."""
    first, last = stretches[0], stretches[-1]
    end = min(last.end, first.start + _LONGEST_PASSAGE)
    titles = {stretch.start_line for stretch in stretches}
    return tuple(_until_label(text[first.start : end], kind, first.start_line, titles))


def _labelled(head: str, kind: str, stretches: Sequence[Stretch]) -> tuple[Sentence, ...]:
    """Return the sentences behind a label such as `**Abstract.**` at the start of a line."""
    passage, line = _behind(_ABSTRACT_LABEL, head, stretches, _title_lines(head, stretches))
    # Of HTML only the words are left.
    return tuple(_until_label(passage, "text" if kind == "html" else kind, line, set()))


def _title_lines(head: str, stretches: Sequence[Stretch]) -> set[int]:
    """Return the lines of titles, which are judged by where they stand: those under a line too."""
    lines = head.split("\n")
    first = {stretch.start_line for stretch in stretches}
    overlines = {
        at for at in first if at <= len(lines) and not any(map(str.isalnum, lines[at - 1]))
    }
    return first | {at + 1 for at in overlines}


def _behind(
    label: re.Pattern[str],
    head: str,
    stretches: Sequence[Stretch],
    besides: Collection[int] = (),
) -> tuple[str, int]:
    """Return what stands behind a label up to the next title, and its line; ("", 0) without.

    Labels on the lines `besides` are passed over.
    """
    labels = label.finditer(head, 0, _HEAD)
    found = next((f for f in labels if head.count("\n", 0, f.start()) + 1 not in besides), None)
    if found is None:
        return "", 0
    line = head.count("\n", 0, found.end()) + 1
    passage = head[found.end() : found.end() + _LONGEST_PASSAGE]
    mark = found.group().lstrip().lower()
    if mark[0] == "[":  # ends with its fence, without one at a blank line
        end = re.search(rf"(?m)^{found['fence'] or ''}[ \t\r]*$", passage)
    else:
        end = _ENDS[mark[:2]].search(passage) if mark[:2] in _ENDS else None
    lines = passage[: end.start() if end else None].split("\n")
    following = (s.start_line - line for s in stretches if s.start_line > line)
    return "\n".join(lines[: next(following, None)]), line


def _until_label(text: str, kind: str, line: int, titles: set[int]) -> Iterator[Sentence]:
    """Yield the sentences up to the next labelled passage."""
    for paragraph in paragraphs(text, kind, first_line=line, headings=titles, seen=Seen()):
        if _NEXT_LABEL.match(paragraph.text):
            return
        for sentence in sentences(paragraph):
            if _KEYWORD_LABEL.match(sentence.text):  # where lines of a page are one paragraph
                return
            yield sentence


def _keywords(head: str, stretches: Sequence[Stretch]) -> tuple[tuple[str, ...], int]:
    """Return the keywords a document states and their line, ((), 0) if it states none."""
    passage, line = _behind(_KEYWORD_LABEL, head, stretches)
    lines = passage.split("\n")
    under_title = not lines[0].strip()
    while under_title and lines and not any(map(str.isalnum, lines[0])):
        lines.pop(0)  # blank, or the title's underline
        line += 1
    listed = _keyword_lines(lines)
    words = tuple(_split(listed))[:_MOST_KEYWORDS]
    if not words or (under_title and _is_running_text(listed)):
        return (), 0
    return words, line


def _keyword_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that list keywords: one line, its continuations, or a list's items."""
    kept: list[str] = []
    for raw in lines:
        line = raw.strip()
        item = line.startswith(("- ", "* "))
        continued = bool(kept) and (kept[-1].endswith(_GO_ON) or line.startswith("\\sep"))
        if not line or (kept and not item and not continued):
            break
        kept.append(line[2:] if item else line)
    return kept


def _is_running_text(lines: Sequence[str]) -> bool:
    """Whether lines under a title "Keywords" tell of keywords, or of something else."""
    parts = [part for line in lines for part in _SEPARATOR.split(line)]
    told = len(parts) == 1 and " " in parts[0] and parts[0].endswith((".", "!", "?"))
    table = lines[0].startswith("|")
    return told or table or any(_EXPLAINED.search(p) or len(p.split()) > _MOST_WORDS for p in parts)


def _split(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for part in _SEPARATOR.split(line.strip("[]{} ")):
            word = part.strip(" \t\"'*_`.{}\\")
            if word and len(word) <= _LONGEST_KEYWORD:
                yield word
