"""HTML by the tokens and the implied end tags of the HTML standard."""

from __future__ import annotations

import re
from typing import Final

from .html_elements import (
    CLOSED_BY_START,
    ENDS_PARAGRAPH,
    FORMATTING,
    OPTIONAL_END,
    RAW_TEXT,
    SCOPES,
    VOID,
)
from .results import MOST_DIAGNOSTICS, Diagnostic, Syntax, place

_TOKEN: Final = re.compile(
    r"""<!--(?P<comment>>|->|(?:(?!--!?>).)*+(?:--!?>)?)
    |<(?P<declaration>[!?])[^>]*+>?
    |<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)
     (?P<attributes>(?:[\s/]++|(?:=?[^\s/>=]++(?:\s*+=\s*+
        (?:"[^"]*+(?:"|(?P<double>\Z))|'[^']*+(?:'|(?P<single>\Z))|[^\s>"'][^\s>]*+)?)?))*+)
     (?P<close>>)?""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE: Final = re.compile(
    r"""([^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?)?""", re.DOTALL
)
_FOREIGN: Final = frozenset({"svg", "math"})


class _Reader:
    """Walks the tags of one page, keeping the open elements."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.errors: list[tuple[int, str, str]] = []
        self.warnings: list[tuple[int, str, str]] = []
        self.opened: list[tuple[str, int]] = []

    def read(self) -> None:
        """Read all tags and note what is wrong."""
        at = 0
        while (token := _TOKEN.search(self.content, at)) is not None:
            at = token.end()
            if token.group("comment") is not None:
                self._comment(token)
            elif token.group("declaration") is None and self._complete(token):
                name = token.group("name").lower()
                if token.group("end"):
                    self._end(name, token.start())
                else:
                    at = self._start(name, token)
        while self.opened:
            self._pop()

    def _comment(self, token: re.Match[str]) -> None:
        if not token.group().endswith(("-->", "--!>", "<!-->", "<!--->")):
            self.errors.append((token.start(), "Comment is never closed", "HTML_UNCLOSED"))

    def _complete(self, token: re.Match[str]) -> bool:
        """Whether the tag ends; a quote or a tag that never does is an error."""
        for quote in ("double", "single"):
            if token.group(quote) is not None:
                mark = '"' if quote == "double" else "'"
                at = self.content.rfind(mark, token.start(), token.end(quote))
                self.errors.append((at, "Quote is never closed", "HTML_UNCLOSED"))
                return False
        if not token.group("close"):
            shown = f"<{token.group('end')}{token.group('name')[:40]}"
            self.errors.append((token.start(), f"Tag '{shown}' is never closed", "HTML_UNCLOSED"))
            return False
        return not self._runs_on(token)

    def _runs_on(self, token: re.Match[str]) -> bool:
        """Note a tag or a quote that runs into the next tag, and say whether one did."""
        attributes = token.group("attributes")
        if "<" not in attributes:
            return False
        last: re.Match[str] | None = None
        for attribute in _ATTRIBUTE.finditer(attributes):
            name, start = attribute.group(1), token.start("attributes")
            if name.startswith("<"):
                message = f"Tag '<{token.group('name')[:40]}' is never closed"
                self.errors.append((token.start(), message, "HTML_UNCLOSED"))
                return True
            if last is not None and ("'" in name or '"' in name) and "<" in last.group():
                quote = re.search("[\"']", last.group())
                at = start + last.start() + (quote.start() if quote else 0)
                self.errors.append((at, "Quote is never closed", "HTML_UNCLOSED"))
                return True
            last = attribute
        return False

    def _start(self, name: str, token: re.Match[str]) -> int:
        """Open an element and return where reading goes on."""
        self._imply_ends(name)
        self._attributes(token)
        closed = token.group("attributes").rstrip(" \t\r\n").endswith("/")
        foreign = any(one in _FOREIGN for one, _ in self.opened) or name in _FOREIGN
        if name in VOID and not foreign:
            return token.end()
        if closed and foreign:
            return token.end()
        if closed:
            message = f"'/' does not close <{name}>; only an end tag does"
            self.warnings.append((token.start(), message, "HTML_SELF_CLOSING"))
        self.opened.append((name, token.start()))
        if name not in RAW_TEXT or foreign:
            return token.end()
        end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self.content, token.end())
        return end.start() if end else len(self.content)

    def _attributes(self, token: re.Match[str]) -> None:
        if "=" not in token.group("attributes"):
            return
        seen: set[str] = set()
        for attribute in _ATTRIBUTE.finditer(token.group("attributes")):
            key = attribute.group(1).lower()
            if key in seen:
                at = token.start("attributes") + attribute.start()
                message = f"Attribute '{key[:40]}' is given twice; the first one counts"
                self.warnings.append((at, message, "HTML_DUPLICATE_ATTRIBUTE"))
            seen.add(key)

    def _imply_ends(self, name: str) -> None:
        """Close the elements whose end tag the start of `name` implies."""
        closes = CLOSED_BY_START.get(name, frozenset())
        if name in ENDS_PARAGRAPH:
            closes |= {"p"}
        for depth in range(len(self.opened) - 1, -1, -1):
            one = self.opened[depth][0]
            if one in closes:
                while len(self.opened) > depth:
                    self._pop()
            elif one in SCOPES or (one not in OPTIONAL_END and one not in FORMATTING):
                return

    def _end(self, name: str, at: int) -> None:
        matches = [depth for depth, (one, _) in enumerate(self.opened) if one == name]
        if not matches:
            self.errors.append((at, f"</{name}> closes nothing", "HTML_STRAY_END_TAG"))
            return
        if name in FORMATTING:
            above = {one for one, _ in self.opened[matches[-1] + 1 :]}
            if above and above <= FORMATTING:
                message = f"</{name}> is nested wrongly with other formatting"
                self.warnings.append((at, message, "HTML_MISNESTED"))
                del self.opened[matches[-1]]
                return
        while len(self.opened) > matches[-1] + 1:
            self._pop()
        self.opened.pop()

    def _pop(self) -> None:
        name, at = self.opened.pop()
        if name not in OPTIONAL_END:
            self.errors.append((at, f"<{name}> is never closed", "HTML_UNCLOSED"))


def check(content: str, language: str) -> Syntax:
    """Return unclosed quotes, comments and tags and stray end tags; the rest as warnings."""
    del language
    reader = _Reader(content)
    reader.read()

    def located(faults: list[tuple[int, str, str]]) -> list[Diagnostic]:
        return [
            Diagnostic(message, code, *place(content, at))
            for at, message, code in sorted(faults)[:MOST_DIAGNOSTICS]
        ]

    return Syntax(errors=located(reader.errors), warnings=located(reader.warnings))
