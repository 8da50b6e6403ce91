"""The running text of a document, by paragraph: no code, tables, titles or markup lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.reader.summary.stripping import TAG, comments, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

DATA_KINDS: Final = frozenset({"json", "yaml", "toml", "ini"})
SOURCE_KINDS: Final = frozenset(
    [
        "python",
        "javascript",
        "java",
        "c",
        "go",
        "rust",
        "ruby",
        "php",
        "csharp",
        "shell",
        "kotlin",
        "swift",
    ]
)
_MARKDOWN: Final = frozenset({"markdown", "notebook"})
_FENCE: Final = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_HTML_CODE: Final = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_LIST_ITEM: Final = re.compile(r"(?:[-*+•‣·]|\d{1,4}[.)]|[a-zA-Z][.)])[ \t]+")
_DEFINITION: Final = re.compile(r"\[[^\]]{1,200}\]:[ \t]")
_DIRECTIVE: Final = re.compile(r"\.\.(?:[ \t]|$)")
_PROSE_DIRECTIVE: Final = re.compile(
    r"\.\.[ \t]+(?:note|warning|tip|important|hint|caution|danger|attention|admonition|"
    r"topic|epigraph|seealso|versionadded|versionchanged|deprecated|abstract)::"
)
_ASCIIDOC_BLOCKS: Final = frozenset({"----", "....", "++++", "////", "|==="})
_ORG_COMMENT: Final = re.compile(r"^[ \t]*#(?:[ \t\r].*)?$", re.MULTILINE)
_TEX_COMMAND: Final = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?(?:\{[^{}]*\})*$")
_TEX_PROSE: Final = frozenset(
    {"document", "frontmatter", "titlepage", "multicols"}
    | {"abstract", "keyword", "keywords", "IEEEkeywords"}
    | {"itemize", "enumerate", "quote", "center"}
)
_TEX_ENVIRONMENT: Final = re.compile(r"\\(begin|end)\{([a-zA-Z]+)\*?\}")


class Paragraph(NamedTuple):
    """Lines of running text joined by single spaces, and where each line starts in it."""

    text: str
    line: int
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """Return the document's line that holds the character at `offset`."""
        return self.line + bisect_right(self.starts, offset) - 1


@dataclass(slots=True)
class Seen:
    """What a document holds besides running text, as far as it was looked at."""

    code: bool = False
    tables: bool = False
    figures: bool = False


@dataclass(slots=True)
class _Scan:
    """Where the scan of one stretch of lines stands."""

    kind: str
    headings: Collection[int]
    seen: Seen
    by_line: bool
    ended: Callable[[str], bool] | None = None
    mark: str = ""
    indented: int = -1
    indented_code: bool = False
    """Whether the last line is part of an indented block that is no running text."""
    in_list: bool = False
    first: int = 0
    parts: list[str] = field(default_factory=list[str])

    def skip_to(self, mark: str, ended: Callable[[str], bool]) -> None:
        """Pass lines over up to one that holds `mark` and is an end."""
        self.mark, self.ended = mark, ended

    def pass_over(self, line: str) -> None:
        """Pass a line over, and end there if it is the end."""
        if self.ended is not None and self.mark in line and self.ended(line.strip()):
            self.ended = None

    def is_plain(self, number: int, stripped: str) -> bool:
        """Whether a line that starts with a letter goes on with the open paragraph."""
        return number not in self.headings and "|" not in stripped

    def at_margin(self, line: str) -> None:
        """End what is indented, and the list but for another item of it."""
        self.indented = -1
        self.in_list = self.in_list and _LIST_ITEM.match(line) is not None

    def take(self, number: int, content: str) -> Paragraph | None:
        """Take a line's running text in; return the paragraph that it ends."""
        item = _LIST_ITEM.match(content)
        done = self.close() if item or self.by_line or not content else None
        if item:
            self.in_list = True
            content = content[item.end() :]
        if content:
            self.first = self.first if self.parts else number
            self.parts.append(content)
        return done

    def close(self) -> Paragraph | None:
        """Return the open paragraph, if there is one, and open none."""
        if not self.parts:
            return None
        parts, self.parts = self.parts, []
        if len(parts) == 1:
            return Paragraph(parts[0], self.first, (0,))
        lengths = (len(part) + 1 for part in parts[:-1])
        return Paragraph(" ".join(parts), self.first, tuple(accumulate(lengths, initial=0)))


def paragraphs(
    text: str,
    kind: str,
    *,
    first_line: int = 1,
    headings: Collection[int] = (),
    seen: Seen,
    fence: str = "",
    by_line: bool = False,
) -> Iterator[Paragraph]:
    """Yield the paragraphs of a stretch of a document that starts at `first_line`.

    `headings` are the lines of titles; `fence` is the code fence the stretch starts in;
    `by_line` makes each line a paragraph, as in logs and transcripts.
    """
    if kind in DATA_KINDS:
        return
    scan = _Scan(kind, headings, seen, by_line)
    if fence:
        scan.skip_to(fence, _fence_end(fence))
    joins = kind != "latex" and not by_line
    for number, line in enumerate(_words(text, kind, seen).split("\n"), first_line):
        if scan.ended is not None:
            scan.pass_over(line)
            continue
        stripped = line.strip()
        if joins and scan.parts and stripped[:1].isalpha() and scan.is_plain(number, stripped):
            scan.parts.append(stripped)
            continue
        if not stripped:
            done = scan.close()
        else:
            done = scan.take(number, _content(scan, number, line, stripped))
        if done:
            yield done
    if last := scan.close():
        yield last


def uncovered(text: str, kind: str) -> str:
    """Return the start of a document with each line of code or comment empty.

    Front matter, titles and the format's own commands stay; of HTML, the visible words.
    """
    scan = _Scan(kind, (), Seen(), by_line=False)
    lines = _words(text, kind, scan.seen).split("\n")
    for at, line in enumerate(lines):
        stripped = line.strip()
        if scan.ended is not None:
            scan.pass_over(line)
        elif stripped:
            scan.indented_code = False
            # Of a line 1 it would take `---` for the start of what is passed over.
            scan.take(at, _content(scan, at + 2, line, stripped))
            if stripped.startswith(".. meta::"):
                scan.indented = -1
            if scan.ended is None and not scan.indented_code:
                continue
        else:
            scan.close()
        lines[at] = ""
    return "\n".join(lines)


def _words(text: str, kind: str, seen: Seen) -> str:
    """Return the text without what is no words in a page, a program or a source of Org."""
    if kind == "html":
        return visible(text, seen)
    if kind == "org":
        return _ORG_COMMENT.sub("", text)
    if kind in SOURCE_KINDS:
        seen.code = True
        return comments(text)
    return text


def _content(scan: _Scan, number: int, line: str, stripped: str) -> str:
    """Return what a line adds to running text, nothing where it is something else."""
    if number == 1 and stripped in {"---", "+++"}:
        scan.skip_to("", lambda text: text in {"---", "...", "+++"})
        return ""
    if number in scan.headings:
        return ""
    if line[0].isalpha() and "|" not in line and scan.kind not in _OWN_BLOCKS:
        scan.at_margin(line)
        return stripped
    while stripped.startswith(">"):
        stripped = stripped[1:].lstrip()
    if _opens_block(scan, stripped) or not any(map(str.isalnum, stripped)):
        return ""
    scan.indented_code = _is_indented_code(scan, line)
    if scan.indented_code or _is_markup(scan, stripped):
        return ""
    return stripped


def _opens_block(scan: _Scan, stripped: str) -> bool:
    """Whether the line starts a block that is no running text; the scan then skips it."""
    if stripped.startswith("<!--"):
        if "-->" not in stripped:
            scan.skip_to("-->", lambda _text: True)
        return True
    fence = _FENCE.match(stripped)
    if fence and (stripped[0] == "`" or scan.kind in _MARKDOWN):  # elsewhere ~~~ underlines titles
        scan.seen.code = True
        scan.skip_to(fence.group(1), _fence_end(fence.group(1)))
        return True
    element = _HTML_CODE.match(stripped) if scan.kind in _MARKDOWN else None
    if element:
        scan.seen.code = True
        end = f"</{element.group(1)}".lower()
        if end not in stripped.lower():
            scan.skip_to("</", lambda text: end in text.lower())
        return True
    own = _OWN_BLOCKS.get(scan.kind)
    return own is not None and own(scan, stripped)


def _restructured_block(scan: _Scan, stripped: str) -> bool:
    if stripped == "::":
        scan.seen.code = True
        scan.indented = 0
        return True
    if _DIRECTIVE.match(stripped):
        scan.indented = -1 if _PROSE_DIRECTIVE.match(stripped) else 0
        return True
    return False


def _org_block(scan: _Scan, stripped: str) -> bool:
    if stripped[:8].lower() != "#+begin_":
        return False
    name = stripped[8:].split(" ", 1)[0].lower()
    if name not in {"quote", "center", "verse", "abstract"}:
        scan.seen.code = True
        scan.skip_to("#+", lambda text: text.lower().startswith("#+end_"))
    return True


def _latex_block(scan: _Scan, stripped: str) -> bool:
    mark = _TEX_ENVIRONMENT.match(stripped)
    if mark is None:
        return False
    side, name = mark.groups()
    if side == "begin" and name not in _TEX_PROSE:
        scan.seen.tables |= name.startswith("tab")
        scan.seen.figures |= name == "figure"
        scan.seen.code |= name in {"verbatim", "lstlisting", "minted"}
        scan.skip_to(f"\\end{{{name}", lambda _text: True)
    return True


def _asciidoc_block(scan: _Scan, stripped: str) -> bool:
    if stripped.startswith(("[", ":", "//", "include::", "image::")):
        scan.seen.figures |= stripped.startswith("image::")
        return True
    if stripped in _ASCIIDOC_BLOCKS:
        scan.seen.tables |= stripped == "|==="
        scan.seen.code |= stripped != "|==="
        scan.skip_to(stripped, lambda text: text == stripped)
        return True
    return False


_OWN_BLOCKS: Final[dict[str, Callable[[_Scan, str], bool]]] = {
    "restructuredtext": _restructured_block,
    "org": _org_block,
    "latex": _latex_block,
    "asciidoc": _asciidoc_block,
}


def _fence_end(fence: str) -> Callable[[str], bool]:
    def ends(stripped: str) -> bool:
        inner = stripped.lstrip("> \t")
        return inner.startswith(fence) and not inner.strip(fence[0])

    return ends


def _is_indented_code(scan: _Scan, line: str) -> bool:
    """Whether the line belongs to an indented block that is no running text."""
    space = len(line) - len(line.lstrip())
    if line[:1] == "\t":
        space += 3
    if space == 0:
        scan.at_margin(line)
        return False
    if scan.kind == "restructuredtext":
        return scan.indented >= 0
    deep = 10 if scan.in_list else 4
    code = scan.kind == "markdown" and not scan.parts and space >= deep
    if code and not _LIST_ITEM.match(line.strip()):
        scan.seen.code = True
        return True
    return False


def _is_markup(scan: _Scan, stripped: str) -> bool:
    """Whether the line is a table row, an image, a tag, a link definition or a command."""
    first = stripped[0]
    if first == "|" or stripped.count("|") > 1 or stripped.startswith("+-"):
        scan.seen.tables = True
        return True
    if first == "!" or stripped.startswith("[!["):
        scan.seen.figures |= stripped.startswith("![")
        return stripped.endswith((")", "]"))
    if first == "<" and not any(map(str.isalnum, TAG.sub("", stripped))):
        scan.seen.figures |= "<img" in stripped
        return True
    if first == "[" and _DEFINITION.match(stripped):
        return True
    return _is_command(scan, stripped)


def _is_command(scan: _Scan, stripped: str) -> bool:
    """Whether the line is one of its format's own commands."""
    if scan.kind == "latex":
        return stripped[0] == "%" or _TEX_COMMAND.match(stripped) is not None
    if scan.kind == "restructuredtext" and stripped.endswith("::") and not scan.in_list:
        scan.indented = 0
        scan.seen.code = True
        return False
    return scan.kind == "org" and stripped.startswith(("#+", ":"))
