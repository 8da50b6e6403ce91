"""Headings of Ruby and shell: declarations whose end stands at the declaration's indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rolltop.core.text.lines import TextLines
from rolltop.documents.outline.sections import Heading

_RUBY: Final = re.compile(
    r"""^(?P<skip>=begin\b(?>.*?^=end\b|.*)|__END__\n.*)
      | ^(?P<indent>[ \t]*+)(?:
          (?P<word>class|module|(?:\w++[ \t]++)?def)[ \t]++(?P<name>(?:self\.)?[^\s(;<]++)[^\n]*+
        | (?P<end>end)\b[^\n]*+)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
MAX_LINE_END: Final = 200
"""Code points at the end of a line that tell whether a declaration ends on it."""

_RUBY_ENDED: Final = re.compile(
    r"[;\s]end\s*$|(?:\)\s*|\bdef[ \t]+[^\s(]+[ \t]+)=\s"
    # `def a = b` is whole but for what goes on with the next line.
    r"(?!\s*(?:begin|case|if|unless|while)\b|[^\n]*"
    r"(?:(?:\bdo|\{)(?:[ \t]*\|[^|\n]*\|)?|[\[({,.&|+*/=\\-]|<<[~-][^\n]*)\s*(?:\#[^\n]*)?$)"
)
_SHELL: Final = re.compile(
    r"""^(?P<indent>[ \t]*+)(?:
          (?P<word>function[ \t]++)?(?P<name>[\w:.-]++)(?(word)|[ \t]*+\([ \t]*+\))[^\n]*+
        | (?P<end>\}|\))[^\n]*+)""",
    re.VERBOSE | re.MULTILINE,
)
_SHELL_ENDED: Final = re.compile(r"[^\s(][ \t]*[})]\s*$")


def ruby(text: str) -> Iterator[Heading]:
    """Yield classes, modules and methods; a method is one level below its class."""
    return _declarations(text, _RUBY, _RUBY_ENDED)


def shell(text: str) -> Iterator[Heading]:
    """Yield the functions of a shell script, but those inside others."""
    found = _declarations(text, _SHELL, _SHELL_ENDED)
    return (heading for heading in found if heading.level == 1)


def _declarations(text: str, tokens: re.Pattern[str], ended: re.Pattern[str]) -> Iterator[Heading]:
    """Yield what `tokens` declare; `ended` finds the end of one on its own line."""
    found: list[tuple[str, int, int]] = []
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []  # indentation and index
    lines = TextLines(text)
    for token in tokens.finditer(text):
        if token["indent"] is None:
            continue  # what hides declarations
        line = lines.line_at(token.start("indent"))
        indent = len(token["indent"].expandtabs(8))
        if token["end"]:
            while opened and opened[-1][0] > indent:
                opened.pop()
            if opened and opened[-1][0] == indent:
                ends[opened.pop()[1]] = line
            continue
        while opened and opened[-1][0] >= indent:
            opened.pop()
        if token["name"].startswith(("<<", "#{")):  # a singleton class, a here-document
            continue
        found.append((token["name"].removeprefix("self."), len(opened) + 1, line))
        if ended.search(token.group()[-MAX_LINE_END:]):
            ends[len(found) - 1] = line
        else:
            opened.append((indent, len(found) - 1))
    for index, (name, level, at) in enumerate(found):
        yield Heading(name, level, at, ends.get(index))
