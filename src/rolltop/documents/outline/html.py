"""Headings of HTML: h1 to h6, read with the rules by which a browser finds tags.

Comments and the raw text of scripts, styles, titles and text areas hold no tags; attribute
values may hold any character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.patterns import repetition
from rolltop.documents.outline.sections import Heading

_RAW_TEXT_ELEMENTS: Final = (
    "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes",
)  # fmt: skip
# Only the tags that matter are looked for; what they could be hidden in is a token of its own.
_TOKEN: Final = re.compile(
    rf"""<!--(?P<comment>)
      | <!\[CDATA\[(?P<data>)
      | <(?P<raw>{"|".join(_RAW_TEXT_ELEMENTS)})(?=[\s/>])
      | <(?P<close>/?)h(?P<level>[1-6])(?=[\s/>])
      | <[A-Za-z](?P<tag>)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# No two alternatives match the same text and nothing is given back: a quote that is never closed
# goes on to the end of the text, and with it the tag.
_VALUE: Final = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+|(?=>|\Z))"""
_ATTRIBUTE: Final = rf"[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE})?"
_REST_OF_TAG: Final = re.compile(r"[^\s/>]*+" + repetition(r"[\s/]++", _ATTRIBUTE) + ">")
_COMMENT_END: Final = re.compile(r"--!?>")
_TAG: Final = re.compile(r"<[!/?A-Za-z][^<>]*+(?:>|\Z)")  # the last may be cut
# A tag at which words end; others, as of `code` or `b`, stand inside words too.
_BREAK: Final = re.compile(
    r"<(?:br|hr|img|/?(?:p|div|li|ul|ol|dl|dt|dd|table|tr|td|th))(?=[\s/>])[^<>]*+>", re.IGNORECASE
)
# A link to the heading itself, which sites put beside it: a sign, or nothing that shows.
_LINK: Final = re.compile(r"<a\s[^<>]*+>([^<>]*+)</a\s*>", re.IGNORECASE)
_SIGNS: Final = re.compile("[\\s#\xa7\xb6\u200b\ue000-\uf8ff\U0001f517]*+")
_MAX_TITLE: Final = 2_000


def headings(text: str) -> Iterator[Heading]:
    """Yield the headings with their text; entities are resolved."""
    level = begin = inside = 0  # of the open heading
    lines = TextLines(text)
    for next_level, start, end in (*_heading_tags(text), (0, len(text), len(text))):
        if level:
            yield Heading(_plain_text(text, inside, start), level, lines.line_at(begin))
        level, begin, inside = next_level, start, end


def _heading_tags(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield level (0 for an end tag), start and end of each heading's tags."""
    at = 0
    last_data_end = text.rfind("]]>")
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["comment"] is not None:
            at = _after(_COMMENT_END, text, at)
            continue
        if token["data"] is not None:
            at = text.find("]]>", at) if at <= last_data_end else at
            continue
        rest = _REST_OF_TAG.match(text, at)
        if rest is None:
            return  # a tag that never ends swallows the rest
        at = rest.end()
        if token["raw"]:
            closing = re.compile(rf"</{token['raw']}(?=[\s/>])", re.IGNORECASE)
            at = _after(closing, text, at)
        elif token["level"]:
            yield (0 if token["close"] else int(token["level"])), token.start(), at


def _after(end: re.Pattern[str], text: str, at: int) -> int:
    found = end.search(text, at)
    return found.end() if found else len(text)


def _without_permalink(link: re.Match[str]) -> str:
    return "" if _SIGNS.fullmatch(unescape(link[1])) else link[0]


def _plain_text(text: str, start: int, end: int) -> str:
    title = _LINK.sub(_without_permalink, text[start : min(end, start + _MAX_TITLE)])
    return unescape(_TAG.sub("", _BREAK.sub(" ", title)))
