"""The prose of a document: its sentences with their lines; no code, tables, titles or markup."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, count
from string import ascii_letters
from typing import Final, NamedTuple, Self

from rolltop.toolsets.reader.summary.comments import FURTHER_SOURCES, comment_text

DATA_KINDS: Final = frozenset({"json", "yaml", "toml", "ini", "csv"})
_PROGRAMS: Final = "python javascript java c go rust ruby php csharp shell kotlin swift"
SOURCE_KINDS: Final = frozenset(_PROGRAMS.split()).union(FURTHER_SOURCES)
_MARKDOWN: Final = frozenset({"markdown", "notebook"})
_COMMENT_FORMATS: Final = dict.fromkeys(SOURCE_KINDS, "markdown") | {"python": "restructuredtext"}

_FENCE: Final = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_HTML_CODE: Final = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_QUOTE_MARKS: Final = "> \t\r\f\v\xa0"
_LIST_ITEM: Final = re.compile(r"(?:[-*+•‣·]|\d{1,4}[.)]|[a-zA-Z][.)])[ \t]+")
_DEFINITION: Final = re.compile(r"\[[^\]]{1,200}\]:[ \t]")
_DIRECTIVE: Final = re.compile(r"\.\.(?:[ \t]|$)")
_PROSE_DIRECTIVE: Final = re.compile(
    r"\.\.[ \t]+(?:note|warning|tip|important|hint|caution|danger|attention|admonition|"
    r"topic|epigraph|seealso|versionadded|versionchanged|deprecated|abstract)::"
)
_DIRECTIVE_INDENT: Final = 3
_ASCIIDOC_BLOCKS: Final = frozenset({"----", "....", "++++", "////", "|==="})
_ORG_PROSE: Final = frozenset({"quote", "center", "verse", "abstract"})
_ORG_COMMENT: Final = re.compile(r"^[ \t]*#(?:[ \t\r].*)?$", re.MULTILINE)
_TEX_COMMAND: Final = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?(?:\{[^{}]*\})*$")
_TEX_ENVIRONMENT: Final = re.compile(r"\\(begin|end)\{([a-zA-Z]+)\*?\}")
_TEX_ENVIRONMENTS: Final = (
    "document frontmatter titlepage multicols abstract keyword keywords IEEEkeywords itemize"
    " enumerate quote center"
)
_TEX_PROSE: Final = frozenset(_TEX_ENVIRONMENTS.split())

_TAG: Final = re.compile(r"<[^<>]*>")
# Of ASCII alone: a long s (U+017F) matches `s` in any case, and begins no script.
_HIDDEN: Final = re.compile(r"(?ai)<(?:!--|(script|style|template|textarea|pre|table|svg|nav)\b)")
# Elements inside words. `sup` is none of them: the number of a note, or a power, is not the word's.
_INLINE: Final = re.compile(
    r"(?i)</?(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|"
    r"q|ruby|s|samp|small|span|strike|strong|sub|time|tt|u|var|wbr)(?:[ \t/][^<>\n]*)?>"
)
_BLANKS: Final = re.compile(r"[ \t]{2,}")
# Python reads no number of so many digits.
_ENDLESS_REFERENCE: Final = re.compile(r"&#[0-9]{1000,};?")
_LINE_FEED: Final = re.compile(r"&(?:#0*10(?!\d)|#[xX]0*[aA](?![0-9A-Fa-f])|NewLine(?=;));?")

MAX_SENTENCE_LENGTH: Final = 600
"""A longer sentence is cut at a word."""
_MIN_SENTENCE_LENGTH: Final = 16
_MIN_WORDS: Final = 4
_ASCII_END: Final = re.compile(r"(?<![.!?])[.!?]++[\"')\]*_]*+\s++")
_END: Final = re.compile(
    r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]*_]*+\s++"
    "|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]*\\s*"
)
_ABBREVIATED: Final = (
    "e.g E.g i.e I.e etc vs cf approx resp Dr Mr Mrs Ms Prof St Jr Sr No Nos Fig Figs Eq Eqs Sec"
    " Tab Ref Refs Vol pp al ca Inc Ltd Co bzw z.B d.h usw Nr"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split()) | frozenset(ascii_letters)
_MAX_ABBREVIATION_LENGTH: Final = max(map(len, _ABBREVIATIONS))
_BEFORE_WORD: Final = re.compile(r"[\s(\[]")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)|<?https?://\S+|`[^`]*`_+")
_NO_LETTERS: Final = bytes(n for n in range(128) if not chr(n).isalpha())
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(slots=True)
class ContentKinds:
    """What a document holds besides prose, as far as it was read."""

    code: bool = False
    tables: bool = False
    figures: bool = False


class Sentence(NamedTuple):
    """A sentence of the document with single spaces, its line, and whether a paragraph opens."""

    text: str
    line: int
    opens: bool


class _Paragraph(NamedTuple):
    """Lines of prose joined by spaces, the number of the first, and where each starts."""

    text: str
    line: int
    starts: tuple[int, ...]

    @classmethod
    def join(cls, parts: list[str], line: int) -> Self:
        starts = accumulate((len(part) + 1 for part in parts[:-1]), initial=0)
        return cls(" ".join(parts), line, tuple(starts))

    def sentences(self) -> Iterator[Sentence]:
        start = 0
        for end in _sentence_ends(self.text):
            sentence = self.text[start:end].strip()
            if _is_prose(sentence):
                line = self.line + bisect_right(self.starts, start) - 1
                yield Sentence(truncate_sentence(sentence), line, start == 0)
            start = end


def extract_sentences(
    text: str,
    kind: str,
    seen: ContentKinds,
    *,
    first_line: int = 1,
    headings: Collection[int] = (),
    ends: re.Pattern[str] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a part of a document that starts at `first_line`.

    `headings` are lines of titles; a paragraph that `ends` matches ends the part.
    """
    reader = ProseReader(kind, seen, headings)
    for paragraph in reader.paragraphs(visible_text(text, kind, seen), first_line):
        if ends is not None and ends.match(paragraph.text):
            return
        yield from paragraph.sentences()


def blank_code(text: str, kind: str) -> str:
    """Blank each line of code or comment; of HTML keep the visible words.

    Front matter, titles and the format's own commands stay.
    """
    scanner = _LineScanner(kind, ContentKinds())
    visible = visible_text(text, kind, scanner.seen)
    lines = _without_marks(visible, kind, scanner.seen).split("\n")
    for at, line in enumerate(lines):
        scanner.scan(at + 1, line)
        if scanner.is_code:
            lines[at] = ""
    return "\n".join(lines)


class ProseReader:
    """Reads a document's visible text part by part, from its first on.

    What a part begins inside of, it knows by the parts before it.
    """

    def __init__(
        self,
        kind: str,
        seen: ContentKinds,
        headings: Collection[int] = (),
        *,
        by_line: bool = False,
    ) -> None:
        """Take lines of titles; `by_line` makes each line a paragraph, as in logs."""
        self._kind: Final = kind
        self._seen: Final = seen
        self._by_line: Final = by_line
        self._scanner: Final = _LineScanner(_COMMENT_FORMATS.get(kind, kind), seen, headings)

    def sentences(self, part: str, first_line: int) -> Iterator[Sentence]:
        """Yield the sentences of the next part; it must be read to its end."""
        for paragraph in self.paragraphs(part, first_line):
            yield from paragraph.sentences()

    def paragraphs(self, part: str, first_line: int) -> Iterator[_Paragraph]:
        """Yield the paragraphs of the next part; it must be read to its end."""
        parts: list[str] = []
        first = 0
        for number, content in enumerate(self._contents(part, first_line), first_line):
            item = _LIST_ITEM.match(content)
            if parts and (item or self._by_line or not content):
                yield _Paragraph.join(parts, first)
                parts = []
            if content := content[item.end() :] if item else content:
                first = first if parts else number
                parts.append(content)
        if parts:
            yield _Paragraph.join(parts, first)

    def skip(self, part: str, first_line: int) -> str:
        """Return the prose of the next part, of which no sentences are wanted."""
        if self._scanner.is_plain(part):
            return part
        return "\n".join(self._contents(part, first_line))

    def _contents(self, part: str, first_line: int) -> Iterator[str]:
        text = _without_marks(part, self._kind, self._seen)
        yield from map(self._scanner.scan, count(first_line), text.removesuffix("\n").split("\n"))


class _LineScanner:
    """Tells prose from code and markup, line by line."""

    def __init__(self, kind: str, seen: ContentKinds, headings: Collection[int] = ()) -> None:
        self.seen: Final = seen
        self.is_code = False
        """Whether the last line was code or a comment."""
        self._kind: Final = kind
        self._headings: Final = headings
        self._has_titles: Final = kind != "text"  # its parts may begin anywhere
        self._ends_block: Callable[[str], bool] | None = None
        self._is_code_block = True
        self._in_paragraph = False
        self._in_list = False
        self._indent = 0
        """Of the line at hand."""
        self._literal_indent = -1
        """In reStructuredText, what is indented deeper than this is code."""

    def is_plain(self, text: str) -> bool:
        """Whether lines are prose all through, as far as that is told at a glance."""
        if self._ends_block is not None or self._kind in {*_RST_LIKE, "html"}:
            return False
        return not any(mark in text for mark in ("```", "~~~", "<", "|", "![", "\n    ", "\n\t"))

    def scan(self, number: int, line: str) -> str:
        """Return the prose of a line, "" if it has none."""
        stripped = line.strip()
        content = ""
        if self._has_titles and number in self._headings:
            self._ends_block, self._literal_indent = None, -1  # a title is in no block
        self.is_code = self._ends_block is not None and self._is_code_block
        if self._ends_block is not None:
            if self._ends_block(stripped):
                self._ends_block = None
        elif stripped:
            content = self._prose(number, line, stripped)
            self.is_code |= self._ends_block is not None and self._is_code_block
        self._in_paragraph = bool(content)
        return content

    def _prose(self, number: int, line: str, stripped: str) -> str:
        has_front_matter = number == 1 and stripped in {"---", "+++"}
        if has_front_matter:
            self._skip_until(lambda text: text in {"---", "...", "+++"}, is_code=False)
        if has_front_matter or number in self._headings:
            return ""
        if stripped[0].isalpha() and "|" not in stripped:
            if self._in_paragraph and self._kind != "latex":
                if stripped.endswith("::"):
                    self._indent = _indentation(line)
                    self._begin_literal(stripped)
                return stripped
            if line[0] == stripped[0] and self._kind not in _RST_LIKE:
                self._dedent(line)
                return stripped
        self._indent = _indentation(line)
        if stripped[0] == ">" and not self._is_session(stripped):
            stripped = stripped.lstrip(_QUOTE_MARKS)
        if self._opens_block(stripped) or not any(map(str.isalnum, stripped)):
            return ""
        if self._is_indented_code(line):
            self.is_code = self._is_code_block
            return ""
        self._in_list = self._in_list or _LIST_ITEM.match(stripped) is not None
        return "" if self._is_markup(stripped) else stripped

    def _skip_until(self, ends: Callable[[str], bool], *, is_code: bool = True) -> None:
        self._ends_block, self._is_code_block = ends, is_code

    def _dedent(self, line: str) -> None:
        """End what is indented, and the list unless another item follows."""
        self._literal_indent = -1
        self._in_list = self._in_list and _LIST_ITEM.match(line) is not None

    def _begin_literal(self, stripped: str) -> None:
        """What is indented deeper than a line that ends in `::` is code."""
        if self._kind == "restructuredtext":
            item = _LIST_ITEM.match(stripped)
            self._literal_indent = self._indent + (item.end() if item else 0)
            self._is_code_block = True
            self.seen.code = True

    def _opens_block(self, stripped: str) -> bool:
        """Whether the line begins a block without prose, which is skipped from then on."""
        if stripped.startswith("<!--"):
            if "-->" not in stripped:
                self._skip_until(lambda text: "-->" in text)
            return True
        fence = _FENCE.match(stripped)
        if fence and (stripped[0] == "`" or self._kind in _MARKDOWN):  # elsewhere ~~~ underlines
            mark = fence.group(1)
            self.seen.code = True
            self._skip_until(lambda text: _closes_fence(text, mark))
            return True
        element = _HTML_CODE.match(stripped) if self._kind in _MARKDOWN else None
        if element:
            self.seen.code = True
            end = f"</{element.group(1)}".lower()
            if end not in stripped.lower():
                self._skip_until(lambda text: end in text.lower())
            return True
        opens = {
            "restructuredtext": self._opens_rst_block,
            "org": self._opens_org_block,
            "latex": self._opens_latex_block,
            "asciidoc": self._opens_asciidoc_block,
        }.get(self._kind)
        return opens is not None and opens(stripped)

    def _opens_rst_block(self, stripped: str) -> bool:
        if 0 <= self._literal_indent < self._indent:
            return False
        prose = _PROSE_DIRECTIVE.match(stripped)
        if stripped == "::":
            self._begin_literal("")
        elif prose:
            is_open = stripped[prose.end() :].endswith("::")
            self._literal_indent = self._indent + _DIRECTIVE_INDENT if is_open else -1
            self._is_code_block = True
        elif _DIRECTIVE.match(stripped):
            self.seen.code |= stripped.startswith((".. code", ".. sourcecode::"))
            self.seen.tables |= "table::" in stripped
            self.seen.figures |= stripped.startswith((".. image::", ".. figure::"))
            self._literal_indent = self._indent
            self._is_code_block = not stripped.startswith(".. meta::")
        elif self._is_session(stripped):  # of Python's, up to a blank line
            self.seen.code = True
            self._skip_until(lambda text: not text)
        else:
            return False
        return True

    def _is_session(self, stripped: str) -> bool:
        return self._kind == "restructuredtext" and stripped.startswith(">>>")

    def _opens_org_block(self, stripped: str) -> bool:
        if stripped[:8].lower() != "#+begin_":
            return False
        if stripped[8:].split(" ", 1)[0].lower() not in _ORG_PROSE:
            self.seen.code = True
            self._skip_until(lambda text: text.lower().startswith("#+end_"))
        return True

    def _opens_latex_block(self, stripped: str) -> bool:
        environment = _TEX_ENVIRONMENT.match(stripped)
        if environment is None:
            return False
        side, name = environment.groups()
        if side == "begin" and name not in _TEX_PROSE:
            self.seen.tables |= name.startswith("tab")
            self.seen.figures |= name == "figure"
            self.seen.code |= name in {"verbatim", "lstlisting", "minted"}
            end = f"\\end{{{name}"
            self._skip_until(lambda text: end in text)
        return True

    def _opens_asciidoc_block(self, stripped: str) -> bool:
        if stripped.startswith(("[", ":", "//", "include::", "image::")):
            self.seen.figures |= stripped.startswith("image::")
            return True
        if stripped in _ASCIIDOC_BLOCKS:
            self.seen.tables |= stripped == "|==="
            self.seen.code |= stripped != "|==="
            self._skip_until(lambda text: text == stripped)
            return True
        return False

    def _is_indented_code(self, line: str) -> bool:
        if self._indent == 0:
            self._dedent(line)
            return False
        if self._kind == "restructuredtext":
            if self._indent <= self._literal_indent:
                self._literal_indent = -1
            return self._literal_indent >= 0
        is_deep = self._indent >= (10 if self._in_list else 4)
        if self._kind != "markdown" or self._in_paragraph or not is_deep:
            return False
        if _LIST_ITEM.match(line.strip()):
            return False
        self.seen.code = self._is_code_block = True
        return True

    def _is_markup(self, stripped: str) -> bool:
        """Whether the line is a table row, an image, a tag, a link definition or a command."""
        first = stripped[0]
        if first == "|" or stripped.count("|") > 1 or stripped.startswith("+-"):
            self.seen.tables = True
            return True
        if first == "!" or stripped.startswith("[!["):
            self.seen.figures |= stripped.startswith("![")
            return stripped.endswith((")", "]"))
        if first == "<" and not any(map(str.isalnum, _TAG.sub("", stripped))):
            self.seen.figures |= "<img" in stripped
            return True
        if first == "[" and _DEFINITION.match(stripped):
            return True
        if self._kind == "latex":
            return first == "%" or _TEX_COMMAND.match(stripped) is not None
        if stripped.endswith("::"):
            self._begin_literal(stripped)
        return self._kind == "org" and stripped.startswith(("#+", ":"))


_RST_LIKE: Final = frozenset({"restructuredtext", "org", "latex", "asciidoc"})
"""Formats whose blocks may begin with a letter."""


def _indentation(line: str) -> int:
    """Return how far a line is indented; a tab at its start counts as 4."""
    return len(line) - len(line.lstrip()) + (3 if line[:1] == "\t" else 0)


def _closes_fence(stripped: str, fence: str) -> bool:
    inner = stripped.lstrip("> \t")
    return inner.startswith(fence) and not inner.strip(fence[0])


def visible_text(text: str, kind: str, seen: ContentKinds) -> str:
    """Return a whole text line by line, without hidden elements of a page, code and data."""
    if kind in DATA_KINDS:
        return "\n" * text.count("\n")
    if kind == "html":
        return _without_hidden_elements(text, seen)
    if kind in SOURCE_KINDS:
        seen.code = True
        return comment_text(text, kind)
    return text


def _without_hidden_elements(text: str, seen: ContentKinds) -> str:
    parts: list[str] = []
    endless: set[str] = set()
    """Names of elements that end nowhere in the rest of the text."""
    at = start = 0
    while (opening := _HIDDEN.search(text, at)) is not None:
        at, name = opening.end(), (opening[1] or "").lower()
        end = None if name in endless else _end_of_element(name).search(text, at)
        if end is None:
            endless.add(name)
            continue
        seen.tables |= name == "table"
        seen.code |= name == "pre"
        at = end.end()
        newlines = text.count("\n", opening.start(), at)
        parts += [text[start : opening.start()], "\n" * newlines or " "]
        start = at
    return "".join([*parts, text[start:]])


@cache
def _end_of_element(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?ai)</{name}\s*>" if name else "-->")


def _without_marks(text: str, kind: str, seen: ContentKinds) -> str:
    """Return a part of a text without HTML's tags or Org's comments, line by line."""
    if kind == "org":
        return _ORG_COMMENT.sub("", text)
    if kind != "html":
        return text
    seen.figures |= "<img" in text.lower()
    text = _TAG.sub(_blank, _INLINE.sub("", text))
    text = _LINE_FEED.sub(" ", _ENDLESS_REFERENCE.sub("\ufffd", text))  # lines stay as they are
    return _BLANKS.sub(" ", html.unescape(text))


def _blank(found: re.Match[str]) -> str:
    return "\n" * found.group().count("\n") or " "


def truncate_sentence(text: str) -> str:
    """Cut a sentence at a word, to `MAX_SENTENCE_LENGTH` characters with the ellipsis."""
    if len(text) <= MAX_SENTENCE_LENGTH:
        return text
    at = text.rfind(" ", MAX_SENTENCE_LENGTH // 2, MAX_SENTENCE_LENGTH)
    return text[: at if at > 0 else MAX_SENTENCE_LENGTH - 1] + "…"


def _is_prose(text: str) -> bool:
    """Whether a sentence is made of words: no label, list of links, or figures."""
    head = text[:MAX_SENTENCE_LENGTH]
    if not text.isascii() and len(_CJK.findall(head)) >= _MIN_SENTENCE_LENGTH // 2:
        return True
    if len(text) < _MIN_SENTENCE_LENGTH or head.count(" ") < _MIN_WORDS - 1:
        return False
    if "](" in head or "://" in head or "`_" in head:
        words = len(_LINK.sub(" ", head).split())
        if words < max(_MIN_WORDS, len(head.split()) / 2):
            return False
    encoded = head.encode("utf-8", "replace")
    return 2 * len(encoded.translate(None, _NO_LETTERS)) >= len(encoded)


def _sentence_ends(text: str) -> Iterator[int]:
    """Yield the offset behind each sentence of a paragraph."""
    for found in (_ASCII_END if text.isascii() else _END).finditer(text):
        end, at = found.end(), found.start()
        if end == len(text) or text[end].islower():
            continue
        before = _BEFORE_WORD.split(text[max(0, at - _MAX_ABBREVIATION_LENGTH - 1) : at])[-1]
        if text[at] != "." or before not in _ABBREVIATIONS:
            yield end
    yield len(text)
