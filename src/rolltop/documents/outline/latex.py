r"""Headings of LaTeX: `\part` to `\subparagraph`, outside comments and verbatim text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.sections import Heading

_COMMANDS: Final = (
    "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph",
)  # fmt: skip
_VERBATIM: Final = "verbatim|Verbatim|lstlisting|minted|comment|filecontents|alltt"
_TOKEN: Final = re.compile(
    rf"""%[^\n]*
      | \\begin\{{(?P<verbatim>(?:{_VERBATIM})\*?)\}}
      | \\(?P<end>end)\{{document\}}
      | \\verb\*?(?P<bar>[^\w\s*])[^\n]{{0,500}}?(?P=bar)
      | \\(?P<command>{"|".join(_COMMANDS)})\*?(?![A-Za-z@])
      | \\.
    """,
    re.VERBOSE,
)
_OPTION: Final = re.compile(r"\s{0,80}\[[^\[\]\n]{0,400}\]")
_BRACE: Final = re.compile(r"\s{0,80}\{")
_BRACES: Final = re.compile(r"\\.|[{}]")
_FORMATTING: Final = re.compile(
    r"\\(?:text(?:bf|it|tt|sc|sf|rm|up|normal)|emph|ensuremath|mathrm|label|texorpdfstring)\b\s*"
)
_ARGUMENT: Final = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
# What shows as no word: marks, references, and formulas before the words that stand for them.
_UNREADABLE: Final = re.compile(
    r"\\(?:label|footnote|thanks|index|cite[a-z]*|(?:[cC]|eq|auto)?ref|texorpdfstring)"
    rf"\*?\s*(?:\[[^\[\]]*\])*{_ARGUMENT}"
)
_MAX_TITLE: Final = 2_000
_MAX_BRACES: Final = 30


def headings(text: str) -> Iterator[Heading]:
    """Yield the sectioning commands of a text; the highest one it uses is level 1."""
    lines = TextLines(text)
    found = list(_commands(text))
    top = min((rank for _, rank, _ in found), default=0)
    for title, rank, start in found:
        yield Heading(title, rank - top + 1, lines.line_at(start))


def _commands(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each title, its rank from part (0) down, and its offset."""
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["end"]:
            return
        if token["verbatim"]:
            closing = text.find(f"\\end{{{token['verbatim']}}}", at)
            at = closing if closing >= 0 else len(text)
        elif token["command"]:
            title = _argument(text, at)
            if title is not None:
                yield title, _COMMANDS.index(token["command"]), token.start()


def _argument(text: str, at: int) -> str | None:
    """Return the command's argument in braces as plain text, None if it has none."""
    option = _OPTION.match(text, at)
    opening = _BRACE.match(text, option.end() if option else at)
    if opening is None:
        return None
    depth = 1
    braces = _BRACES.finditer(text, opening.end(), opening.end() + _MAX_TITLE)
    for brace in islice(braces, _MAX_BRACES):
        depth += {"{": 1, "}": -1}.get(brace.group(), 0)
        if depth == 0:
            return _plain(text[opening.end() : brace.start()])
    return None


def _plain(title: str) -> str:
    title = _FORMATTING.sub("", _UNREADABLE.sub("", title)).replace("~", " ").replace("\\\\", " ")
    return re.sub(r"\\(?=[&%$#_{}])|(?<!\\)[{}]", "", title)
