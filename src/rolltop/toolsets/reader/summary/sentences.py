"""Sentences of running text, each with the line it starts on."""

from __future__ import annotations

import re
from string import ascii_letters
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.toolsets.reader.summary.prose import Paragraph

LONGEST: Final = 600
"""Characters: a longer sentence is given up to here, at a word, and ends in `…`."""
_SHORTEST: Final = 16
_FEWEST_WORDS: Final = 4
_WIDE_STOP: Final = "[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]*"
_ASCII_END: Final = re.compile(r"[.!?]+[\"')\]*_]*\s+")
_END: Final = re.compile(rf"[.!?]+[\"'\u201d\u2019)\]*_]*\s+|{_WIDE_STOP}\s*")
_ABBREVIATED: Final = """
e.g E.g i.e I.e etc vs cf approx resp Dr Mr Mrs Ms Prof St Jr Sr No Nos Fig Figs Eq Eqs Sec Tab Ref
Refs Vol pp al ca Inc Ltd Co bzw z.B d.h usw Nr
"""
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split()) | frozenset(ascii_letters)
_LONGEST_ABBREVIATION: Final = max(map(len, _ABBREVIATIONS))
_BEFORE_WORD: Final = re.compile(r"[\s(\[]")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*[^()]*\)|<?https?://\S+|`[^`]*`_+")
_NO_LETTERS: Final = bytes(n for n in range(128) if not chr(n).isalpha())
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_MOST_OF: Final = 0.5


class Sentence(NamedTuple):
    """One sentence as it stands in the document, white space between lines as one space."""

    text: str
    line: int
    opens: bool
    """Whether it is the first of its paragraph."""


def sentences(paragraph: Paragraph) -> Iterator[Sentence]:
    """Yield the paragraph's sentences in order, those that say nothing left out."""
    text = paragraph.text
    start = 0
    for end in _ends(text):
        piece = text[start:end].strip()
        if is_telling(piece):
            yield Sentence(clipped(piece), paragraph.line_at(start), start == 0)
        start = end


def clipped(text: str) -> str:
    """Return the sentence, cut at a word within `LONGEST` characters, the mark counted."""
    if len(text) <= LONGEST:
        return text
    place = text.rfind(" ", LONGEST // 2, LONGEST)
    return text[: place if place > 0 else LONGEST - 1] + "…"


def is_telling(text: str) -> bool:
    """Whether a sentence is made of words: not a label, a list of links, or figures."""
    if not text.isascii() and len(_WIDE.findall(text[:LONGEST])) >= _SHORTEST // 2:
        return True
    if len(text) < _SHORTEST:
        return False
    head = text[:LONGEST]
    if "](" in head or "://" in head or "`_" in head:
        bare = _LINK.sub(" ", head)
        if len(bare.split()) < max(_FEWEST_WORDS, _MOST_OF * len(head.split())):
            return False
    if head.count(" ") < _FEWEST_WORDS - 1:
        return False
    encoded = head.encode("utf-8", "replace")
    return len(encoded.translate(None, _NO_LETTERS)) >= _MOST_OF * len(encoded)


def _ends(text: str) -> Iterator[int]:
    """Yield the offset behind each sentence of a paragraph."""
    ending = _ASCII_END if text.isascii() else _END
    for found in ending.finditer(text):
        end = found.end()
        following = text[end : end + 1]
        if following.islower() or (text[found.start()] == "." and _is_inner(text, found.start())):
            continue
        if following:
            yield end
    yield len(text)


def _is_inner(text: str, dot: int) -> bool:
    """Whether the full stop at `dot` ends an abbreviation or a list's number."""
    before = text[max(0, dot - _LONGEST_ABBREVIATION - 1) : dot]
    return _BEFORE_WORD.split(before)[-1] in _ABBREVIATIONS
