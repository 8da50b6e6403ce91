"""The comments and documentation of a program, by the tokens that its outline is found with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from rolltop.documents.outline import python, source
else:
    python = lazy("rolltop.documents.outline.python")  # their expressions take long
    source = lazy("rolltop.documents.outline.source")

# Languages without an outline, of which lines that are comments are known: by their extensions the
# marks of a comment of one line, and what begins and ends one of several lines.
_FURTHER: Final = {
    "scala sc dart zig groovy gradle proto sol css scss less": (r"//[/!]*", r"/\*+(?!/)", r"\*/"),
    "m mm": (r"(?://[/!]*|%+)", r"/\*+(?!/)", r"\*/"),  # Objective-C and MATLAB
    "fs": (r"//[/!]*", r"\(\*+(?!\))", r"\*\)"),
    "sql": (r"--+", r"/\*+(?!/)", r"\*/"),
    "lua": (r"--+(?!\[=*\[)", r"--\[=*\[", r"\]=*\]"),
    "hs elm purs": (r"--+[ ]?[|^]?", r"\{-(?!#)[ ]?\|?", r"-\}"),
    "ex exs": (r"#+", r'@(?:module|type)?doc[ ]+(?:~[sS])?"""', '"""'),
    "jl graphql": (r"#+", '"""', '"""'),
    "pl pm": (r"#+", r"=(?!cut\b)[a-z]\w*+", r"^=cut\b"),
    "ps1": (r"#+", "<#", "#>"),
    "r tcl nim cr tf cmake awk mk": (r"#+'?", r"(?!)", r"\Z"),
    "clj cljs el lisp scm rkt asm": (r";+", r"(?!)", r"\Z"),
    "erl hrl": (r"%+", r"(?!)", r"\Z"),
    "vim": (r'"', r"(?!)", r"\Z"),
}
FURTHER_SOURCES: Final = {
    ending: found for names, found in _FURTHER.items() for ending in names.split()
}
_EXAMPLE: Final = re.compile(r"\{\{\{.*?(?:\}\}\}|\Z)", re.DOTALL)  # in documentation of Scala
_STAR: Final = re.compile(r"^[ \t]*+\*+[ \t]?", re.MULTILINE)
_LINE: Final = r"(?<!\S)\#[^\n]*+"
_HERE_DOCUMENT: Final = r"[\"'\\]?(?P<here>[A-Z_]\w*+)"
_SCRIPTS: Final = {
    "ruby": rf"{_LINE}|^=begin\b(?>.*?^=end\b|.*)|^__END__\n.*|(?<![<\w])<<[-~]?{_HERE_DOCUMENT}",
    "shell": rf"{_LINE}|(?<![<\w])<<-?[ ]?{_HERE_DOCUMENT}",
}
_HERE_END: Final = re.compile(r"^[ \t]*+([A-Z_]\w*+)[ \t\r]*+$", re.MULTILINE)
_WITH_HASH: Final = frozenset({"python", "php", *_SCRIPTS})
"""In the others a hash begins a directive."""
_QUOTES: Final = ('"', "'")
_PREFIXES: Final = "rRuUbBfFtT"
_MARK: Final = re.compile(r"[ \t]*(?:/{2,}[!<]*[ ]?|(?:/?\*+[!<]*|#+[!:]*|=begin\b)[ \t]*)")


def comment_text(text: str, kind: str) -> str:
    """Return a program's comments and documentation on the lines where they stand.

    Those of Python keep their indentation. A comment behind code is left out.
    """
    if kind in FURTHER_SOURCES:
        return _further_pattern(kind).sub(_comment_words, text)
    parts: list[str] = []
    depth = end = 0
    ends = _here_ends(text) if kind in _SCRIPTS else {}
    at, tokens = 0, _tokens(kind)
    while token := tokens.search(text, at):
        at = token.end()
        if token.lastgroup == "bracket":
            depth = max(0, depth + (1 if token.group() in "([{" else -1))
        elif token.lastgroup == "declaration":
            depth = 0  # ends a bracket that was never closed
        else:
            if token.lastgroup == "here":
                at = _end_here(ends, token["here"], at)
            before, whole = text[end : token.start()], text[token.start() : at]
            end = at
            is_first = not parts or "\n" in before
            parts.append("\n" * before.count("\n"))
            prose = _prose(whole, before, kind, depth) if is_first else None
            parts.append("\n" * whole.count("\n") if prose is None else prose)
    parts.append("\n" * text.count("\n", end))
    return "".join(parts)


@cache
def _further_pattern(kind: str) -> re.Pattern[str]:
    line, begin, end = FURTHER_SOURCES[kind]
    blocks = rf"^[ \t]*+{begin}(?P<block>.*?)(?:{end}[^\n]*+|\Z)"
    return re.compile(
        rf"{blocks}|^[ \t]*+{line}[ ]?(?P<line>[^\n]*+)|^[^\n]++", re.MULTILINE | re.DOTALL
    )


def _comment_words(found: re.Match[str]) -> str:
    """Return a comment without its marks, of code nothing; the lines stay."""
    if found["block"] is None:
        return found["line"] or ""
    words = _EXAMPLE.sub(lambda example: "\n" * example[0].count("\n"), found["block"])
    return _STAR.sub("", words)


def _here_ends(text: str) -> dict[str, list[int]]:
    """Return where each name stands alone on a line that may end a here-document."""
    ends = defaultdict[str, list[int]](list)
    for found in _HERE_END.finditer(text):
        ends[found[1]].append(found.end())
    return ends


def _end_here(ends: Mapping[str, Sequence[int]], name: str, start: int) -> int:
    """Return where a here-document ends; `start`, behind its name, of what is none."""
    found = ends.get(name, ())
    at = bisect_right(found, start)
    return found[at] if at < len(found) else start


def _prose(token: str, before: str, kind: str, depth: int) -> str | None:
    """Return the text of a comment or of Python's documentation; None if a token is neither.

    `before` is the code before it, from its line or an earlier one on.
    """
    is_string = kind == "python" and token[0] in _QUOTES
    code = before.rstrip(" \t\f" + _PREFIXES * is_string)
    if code and code[-1] != "\n":
        return None
    indent = before[len(code) :].rstrip(_PREFIXES)
    if is_string:
        is_statement = not depth and not code.endswith(("\\\n", "\\\r\n"))
        return indent + _unquote(token) if is_statement else None
    if not token.startswith(("//", "/*", *("#", "=begin") * (kind in _WITH_HASH))):
        return None
    lines = (_without_mark(line, kind) for line in token.split("\n"))
    return "\n".join(indent + line if kind == "python" else line for line in lines)


@cache
def _tokens(kind: str) -> re.Pattern[str]:
    """Return a pattern of what is a comment or may hide one."""
    if kind == "python":
        tokens = (
            rf"\#[^\n]*+|{python.STRING}|(?P<bracket>[()\[\]{{}}])"
            r"|^(?P<declaration>class|def|async)\b"
        )
    else:
        tokens = _SCRIPTS.get(kind) or source.quote_pattern(source.LANGUAGES[kind])
    return re.compile(tokens, re.VERBOSE | re.MULTILINE | re.DOTALL)


def _without_mark(line: str, kind: str) -> str:
    """Return a comment's line without its mark; titles and directives in it are blank."""
    line = line.rstrip().removesuffix("*/")
    if kind not in _WITH_HASH and line.lstrip("/*! \t").startswith("#"):
        return ""
    marked = _MARK.match(line)
    return line[marked.end() :] if marked else line.lstrip()


def _unquote(string: str) -> str:
    """Return a string without its quotes."""
    quote = string[:3] if string[:3] in {'"""', "'''"} else string[0]
    return string[len(quote) :].removesuffix(quote)
