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
          (?P<word>class|module|def)[ \t]++(?P<name>(?:self\.)?[^\s(;<]++)[^\n]*+
        | (?P<end>end)\b[^\n]*+)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
MAX_LINE_END: Final = 200
"""Code points at the end of a line that tell whether a declaration ends on it."""

_ONE_LINE: Final = re.compile(r"[;\s]end\s*$|\)\s*=\s|^\S+\s*=\s")
_SHELL: Final = re.compile(
    r"""^(?P<indent>[ \t]*+)(?:
          (?:function[ \t]++)?(?P<name>[\w:.-]++)[ \t]*+\([ \t]*+\)(?P<rest>[^\n]*+)
        | function[ \t]++(?P<named>[\w:.-]++)(?P<more>[^\n]*+)
        | (?P<end>\}|\))[^\n]*+)""",
    re.VERBOSE | re.MULTILINE,
)


def ruby(text: str) -> Iterator[Heading]:
    """Yield classes, modules and methods; a method is one level below its class."""
    found: list[tuple[str, int, int]] = []
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []  # indentation and index
    lines = TextLines(text)
    for token in _RUBY.finditer(text):
        if token["skip"]:
            continue
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
        if token["name"] == "<<":
            continue
        found.append((token["name"].removeprefix("self."), len(opened) + 1, line))
        if _ONE_LINE.search(token.group()[-MAX_LINE_END:]):
            ends[len(found) - 1] = line
        else:
            opened.append((indent, len(found) - 1))
    for index, (name, level, at) in enumerate(found):
        yield Heading(name, level, at, ends.get(index))


def shell(text: str) -> Iterator[Heading]:
    """Yield the functions of a shell script."""
    open_function: tuple[str, int, int] | None = None  # name, indentation, line
    lines = TextLines(text)
    for token in _SHELL.finditer(text):
        line = lines.line_at(token.start())
        indent = len(token["indent"].expandtabs(8))
        if token["end"]:
            if open_function is not None and open_function[1] == indent:
                yield Heading(open_function[0], 1, open_function[2], line)
                open_function = None
            continue
        if open_function is not None:
            if indent > open_function[1]:
                continue  # a function inside a function
            yield Heading(open_function[0], 1, open_function[2])
        open_function = None
        name, rest = token["name"] or token["named"], token["rest"] or token["more"] or ""
        if rest.rstrip().endswith(("}", ")")) and len(rest.strip()) > 1:
            yield Heading(name, 1, line, line)
        else:
            open_function = (name, indent, line)
    if open_function is not None:
        yield Heading(open_function[0], 1, open_function[2])
