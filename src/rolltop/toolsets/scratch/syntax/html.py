"""HTML by the tokens and the implied end tags of the HTML standard."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from .results import SyntaxResult, locate_diagnostics


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID: Final = _words(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source "
    "track wbr"
)
RAW_TEXT: Final = _words("script style textarea title xmp iframe noembed noframes plaintext")
# https://html.spec.whatwg.org/multipage/syntax.html#optional-tags
OPTIONAL_END: Final = _words(
    "html head body li dt dd p rt rp optgroup option colgroup caption thead tbody tfoot tr td th "
    "plaintext"
)
FORMATTING: Final = _words("a b big code em font i nobr s small strike strong tt u")
SCOPES: Final = _words("table template ul ol dl select button object marquee applet html svg math")
ENDS_PARAGRAPH: Final = _words(
    "address article aside blockquote center details dialog dir div dl dd dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search "
    "section summary table ul"
)
_CELLS: Final = frozenset({"td", "th"})
_ROWS: Final = _CELLS | {"tr"}
_GROUPS: Final = _ROWS | {"thead", "tbody", "tfoot", "caption", "colgroup"}
CLOSED_BY_START: Final[dict[str, frozenset[str]]] = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "rt": frozenset({"rt", "rp"}),
    "rp": frozenset({"rt", "rp"}),
    "option": frozenset({"option"}),
    "optgroup": frozenset({"option", "optgroup"}),
    "body": frozenset({"head"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS | {"caption", "colgroup"},
    "thead": _GROUPS,
    "tbody": _GROUPS,
    "tfoot": _GROUPS,
    "colgroup": frozenset({"caption"}),
}
_TOKEN: Final = re.compile(
    r"""<!--(?P<comment>>|->|(?:(?!--!?>).)*(?:--!?>)?)
    |<!\[CDATA\[(?P<cdata>)
    |<(?P<declaration>[!?])[^>]*+>?
    |<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)
     (?P<attributes>(?:[\s/]++|(?:=?[^\s/<>=][^\s/>=]*+(?:\s*+=\s*+
        (?:"[^"]*+(?:"|(?P<double>\Z))|'[^']*+(?:'|(?P<single>\Z))|[^\s>"'][^\s>]*+)?)?))*)
     (?P<close>>)?""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE: Final = re.compile(
    r"""([^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?)?""", re.DOTALL
)
_IMPLIED: Final = _words("html head body")  # their start tags may be left out
_FOREIGN_ELEMENTS: Final = ("svg", "math")
_HTML_WITHIN: Final = ("foreignobject", "annotation-xml")
"""Elements of SVG and MathML that hold HTML again."""
_SCRIPT_PART: Final = re.compile(r"<!--(?:-?>)?|-->|<(/?)script(?=[\s/>])", re.IGNORECASE)


class _TagReader:
    """Walks the tags of one page, keeping the open elements."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.errors: dict[int, tuple[str, str]] = {}
        self.warnings: list[tuple[int, str, str]] = []
        self.opened: list[tuple[str, int]] = []
        self.count = Counter[str]()
        self.swallowed = False

    def read(self) -> None:
        """Read all tags and note what is wrong."""
        at = 0
        while (token := _TOKEN.search(self.content, at)) is not None:
            at = token.end()
            if token.group("comment") is not None:
                self._comment(token)
            elif token.group("cdata") is not None:
                at = self._after_cdata(token)
            elif token.group("declaration") is None:
                at = self._tag(token)
        # What stands open because the rest was swallowed is no error of its own.
        while self.opened and not self.swallowed:
            self._pop()

    def _comment(self, token: re.Match[str]) -> None:
        if not token.group().endswith(("-->", "--!>", "<!-->", "<!--->")):
            self._error(token.start(), "Comment is never closed", "HTML_UNCLOSED")
            self.swallowed = True

    def _after_cdata(self, token: re.Match[str]) -> int:
        """Return the offset after a section, or after the comment that it is outside SVG."""
        end = "]]>" if self._is_foreign() else ">"
        found = self.content.find(end, token.end())
        return len(self.content) if found < 0 else found + len(end)

    def _is_foreign(self) -> bool:
        """Whether SVG or MathML is open, with no HTML within."""
        opened, within = (
            sum(self.count[name] for name in names) for names in (_FOREIGN_ELEMENTS, _HTML_WITHIN)
        )
        return opened > within

    def _tag(self, token: re.Match[str]) -> int:
        """Open or close an element; return the offset to continue at."""
        name, broken_at = token.group("name").lower(), self._report_unterminated(token)
        if token.group("end"):
            self._end(name, token.start())
        elif broken_at is None:
            return self._start(name, token)
        elif name not in VOID:
            self._push(name, token.start())
        return token.end() if broken_at is None else broken_at

    def _report_unterminated(self, token: re.Match[str]) -> int | None:
        """Report a tag or quote that does not end; return where the next tag may begin."""
        for quote, mark in (("double", '"'), ("single", "'")):
            if token.group(quote) is not None:
                at = self.content.rfind(mark, token.start(), token.end(quote))
                self._error(at, "Quote is never closed", "HTML_UNCLOSED")
                self.swallowed = True
                return token.end()
        if "<" in token.group("attributes"):
            at = self._report_run_on(token)
            if at is not None:
                return at
        if not token.group("close"):
            shown = f"<{token.group('end')}{token.group('name')[:40]}"
            self._error(token.start(), f"Tag '{shown}' is never closed", "HTML_UNCLOSED")
            return token.end()
        return None

    def _report_run_on(self, token: re.Match[str]) -> int | None:
        """Report a tag or a quote that runs into the next tag; return the offset to continue at."""
        last: re.Match[str] | None = None
        start = token.start("attributes")
        for attribute in _ATTRIBUTE.finditer(token.group("attributes")):
            name = attribute.group(1)
            if last is not None and ("'" in name or '"' in name) and "<" in last.group():
                quote = re.search("[\"']", last.group())
                at = start + last.start() + (quote.start() if quote else 0)
                self._error(at, "Quote is never closed", "HTML_UNCLOSED")
                return token.end()
            last = attribute
        return None

    def _start(self, name: str, token: re.Match[str]) -> int:
        """Open an element; return the offset to continue at."""
        self._imply_ends(name)
        self._attributes(token)
        closed = token.group("attributes").rstrip(" \t\r\n").endswith("/")
        foreign = name in _FOREIGN_ELEMENTS or self._is_foreign()
        if (closed and foreign) or (name in VOID and not foreign):
            return token.end()
        if closed:
            message = f"'/' does not close <{name[:40]}>; only an end tag does"
            self.warnings.append((token.start(), message, "HTML_SELF_CLOSING"))
        self._push(name, token.start())
        if name not in RAW_TEXT or foreign:
            return token.end()
        end = _raw_text_end(name, self.content, token.end())
        if end is not None:
            return end
        self._error(token.start(), f"<{name}> is never closed", "HTML_UNCLOSED")
        self.swallowed = True
        return len(self.content)

    def _attributes(self, token: re.Match[str]) -> None:
        if "=" not in token.group("attributes"):
            return
        seen: set[str] = set()
        for attribute in _ATTRIBUTE.finditer(token.group("attributes")):
            key = attribute.group(1).lower()
            at = token.start("attributes") + attribute.start()
            if '"' in key or "'" in key:
                message = "A quote in an attribute's name: the quote before it is not closed"
                self._error(at, message, "HTML_UNCLOSED")
            if key in seen:
                message = f"Attribute '{key[:40]}' is given twice; the first one counts"
                self.warnings.append((at, message, "HTML_DUPLICATE_ATTRIBUTE"))
            seen.add(key)

    def _imply_ends(self, name: str) -> None:
        """Close the elements whose end tag the start of `name` implies."""
        closes = CLOSED_BY_START.get(name, frozenset())
        if name in ENDS_PARAGRAPH:
            closes |= {"p"}
        if not any(self.count[one] for one in closes):
            return
        for depth in range(len(self.opened) - 1, -1, -1):
            one = self.opened[depth][0]
            if one in closes:
                while len(self.opened) > depth:
                    self._pop()
            elif one in SCOPES or (one not in OPTIONAL_END and one not in FORMATTING):
                return

    def _end(self, name: str, at: int) -> None:
        if not self.count[name]:
            if name in _IMPLIED:
                return
            self._error(at, f"</{name[:40]}> closes nothing", "HTML_STRAY_END_TAG")
            return
        depth = len(self.opened) - 1
        while self.opened[depth][0] != name:
            depth -= 1
        if name in FORMATTING:
            above = {one for one, _ in self.opened[depth + 1 :]}
            if above and above <= FORMATTING:
                message = f"</{name}> is nested wrongly with other formatting"
                self.warnings.append((at, message, "HTML_MISNESTED"))
                self.count[name] -= 1
                del self.opened[depth]
                return
        while len(self.opened) > depth + 1:
            self._pop()
        self.opened.pop()
        self.count[name] -= 1

    def _push(self, name: str, at: int) -> None:
        self.opened.append((name, at))
        self.count[name] += 1

    def _pop(self) -> None:
        """Close the innermost element without an end tag."""
        name, at = self.opened.pop()
        self.count[name] -= 1
        if name not in OPTIONAL_END:
            self._error(at, f"<{name[:40]}> is never closed", "HTML_UNCLOSED")

    def _error(self, at: int, message: str, code: str) -> None:
        """Report an error; of two at one offset the first says more."""
        self.errors.setdefault(at, (message, code))


def _raw_text_end(name: str, content: str, start: int) -> int | None:
    """Find the end tag of an element whose text has no tags.

    The end tag of a script that a comment within a script holds is not that of the outer one.
    """
    if name != "script":
        end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(content, start)
        return end and end.start()
    in_comment = is_nested = False
    for part in _SCRIPT_PART.finditer(content, start):
        if part.group(1) is None:
            in_comment = not part.group().endswith(">")
            is_nested = is_nested and in_comment
        elif not part.group(1):
            is_nested = in_comment
        elif not is_nested:
            return part.start()
        else:
            is_nested = False
    return None


def check(content: str, _language: str) -> SyntaxResult:
    """Find unclosed quotes, comments and tags and stray end tags; the rest are warnings."""
    reader = _TagReader(content)
    reader.read()
    errors = [(at, *what) for at, what in reader.errors.items()]
    return SyntaxResult(
        errors=locate_diagnostics(content, errors),
        warnings=locate_diagnostics(content, reader.warnings),
    )
