"""C, C++ and C# without a preprocessor: of conditional branches one is read, and no macros.

A grammar sees the text before the preprocessor, so valid files may not parse: directives split
branches that belong together, and macros stand where no identifier may. A file that does not parse
is read again with its conditionals resolved and its macros blanked; errors beside macros are
excused. Offsets never change. C# has no macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from . import c_macros, grammar_gaps, tree_sitter_check
from .results import (
    MAX_DIAGNOSTICS,
    Diagnostic,
    SyntaxResult,
    position_at,
    position_at_byte,
    syntax_error,
)

_DIRECTIVE: Final = re.compile(
    r"[ \t\ufeff]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(.*)", re.DOTALL
)
_GOES_ON: Final = "\v\\\n"  # the end of a line inside a comment
_ANY_DIRECTIVE: Final = re.compile(r"[ \t\ufeff]*#[ \t]*(?:[a-z]{4,15}\b|\d|$|!)", re.MULTILINE)
_OPEN_DIRECTIVE: Final = re.compile(
    r"""^[ \t\ufeff]*(\#)[ \t]*(?:include[ \t]*(?:<[^>\n]*|"[^"\n]*)?
    |(?:define|undef|if|ifdef|ifndef|elif)[ \t]*)\r?$""",
    re.MULTILINE | re.VERBOSE,
)
_FALSE_CONDITION: Final = re.compile(r"\s*(0|false)\s*$")
_CONDITION: Final = re.compile(
    r"^([ \t\ufeff]*#[ \t]*(?:el)?if\b)([ \t]*+[^!\s][^\n]*)", re.MULTILINE
)
_SYMBOL: Final = re.compile(r"\w+")
_SYMBOL_OF_SDK: Final = re.compile(r"DEBUG|TRACE|NET\w*|true")
_CPLUSPLUS: Final = re.compile(r"(?<!!)(?<!! )\b(?:defined\s*\(?\s*)?__cplusplus")
_NEGATED_CPLUSPLUS: Final = re.compile(r"!\s*(?:defined\s*\(?\s*)?__cplusplus")
# Of C++20's modules, which the grammar does not have: directives, and a keyword of interfaces.
_MODULE_NAME: Final = r"[A-Za-z_]\w*(?:[ \t]*\.[ \t]*[A-Za-z_]\w*)*"
_MODULE_DIRECTIVE: Final = re.compile(
    rf"""
    ^[ \t]* (?:
        (export[ \t]+)? module[ \t]+ {_MODULE_NAME} (?:[ \t]*:[ \t]*{_MODULE_NAME})?
      | module (?:[ \t]*:[ \t]*private)?
      | (?:export[ \t]+)? import\b[ \t]* (?: :?[ \t]*{_MODULE_NAME} | <[^>\n]+> | "[^"\n]+" )
    ) [ \t]* (?:\[\[[^;\n]*\]\][ \t]*)? ;
    """,
    re.MULTILINE | re.VERBOSE,
)
_EXPORT: Final = re.compile(r"\bexport\b(?=\s*\{|\s+[A-Za-z_\[:])")
_EMBED: Final = re.compile(r"^[ \t]*#[ \t]*embed\b[^\n]*", re.MULTILINE)
_GRAMMAR_CHOICES: Final = {
    "c": ("c",),
    "h": ("c", "cpp"),
    "cpp": ("cpp",),
    "hpp": ("cpp",),
    "cs": ("cs",),
}
_COMMENT: Final = r"/\*.*?(?:\*/|\Z)|//[^\n]*"
_TEXT: Final = r""""(?:[^"\\\n]++|\\.)*"?|'(?:[^'\\\n]++|\\.)*'?"""
_COMMENT_OR_TEXT: Final = re.compile(
    rf"""{_COMMENT}|\b(?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{{0,16}})\(.*?(?:\)(?P=mark)"|\Z)|{_TEXT}""",
    re.DOTALL,
)
_COMMENT_OR_TEXT_OF_CS: Final = re.compile(
    rf"""
    {_COMMENT}
    | (?:\$@|@\$)"(?:
        [^"{{]++ | "" | \{{\{{
        # what is put in, which may hold strings
      | \{{[^"{{}}]{{0,200}}+(?:"(?:[^"\\\n]|\\.){{0,200}}"[^"{{}}]{{0,200}}+){{1,9}}\}}
      | \{{
    )*"?
    | @"(?:[^"]++|"")*"?
    | (?P<quotes>"{{3,}}+).*?(?:(?P=quotes)|\Z)
    | {_TEXT}
    """,
    re.DOTALL | re.VERBOSE,
)
_MAX_SHOWN: Final = 40
_LOGICAL_LINE: Final = re.compile(r"(?:[^\n\\]|\\\r?\n|\\.|\\\Z)+\n?|\n")


def check(content: str, language: str) -> SyntaxResult:
    """Find the syntax errors that no macro and no branch of a conditional excuses."""
    unbalanced = _find_open_comment(content, language) or find_unbalanced(content, language)
    if unbalanced is not None:
        return SyntaxResult([unbalanced], by="grammar")
    found = tree_sitter_check.check(content, language)
    if found.errors and (plain := _without_new_directives(content, language)) != content:
        content, found = plain, tree_sitter_check.check(plain, language)
    readings = _read_as_cs(content) if language == "cs" else _read_without_macros(content, language)
    # Of as many, those that no macro excuses are meant.
    most = len(found.errors) - (language == "cs")
    for errors in readings if found.errors else ():
        if not errors:
            message = "Read without a preprocessor: of conditional branches one, and no macros"
            passed_over = Diagnostic(message, "PREPROCESSOR_PASSED_OVER")
            return SyntaxResult(warnings=[passed_over], by="grammar")
        if len(errors) <= most:
            found, most = SyntaxResult(errors, by="grammar"), len(errors) - 1
    if language == "cs" and found.errors and _reads_without_symbols(content):
        first = found.errors[0]
        message = f"Read only where the symbol of its '#if' is defined: {first.message}"
        skipped = replace(first, message=message, code="PREPROCESSOR_PASSED_OVER")
        return SyntaxResult(warnings=[skipped], by="grammar")
    return found


def _find_open_comment(content: str, language: str) -> Diagnostic | None:
    """Find the comment that a text of C or C++ ends in, which a reading without comments hides."""
    opened = content.rfind("/*")
    if language == "cs" or opened < 0 or opened + 1 < content.rfind("*/"):
        return None
    for found in _COMMENT_OR_TEXT.finditer(content):
        text = found.group()
        if text.startswith("/*") and (len(text) < len("/**/") or not text.endswith("*/")):
            return syntax_error("Comment is never closed", *position_at(content, found.start()))
    return None


def _read_as_cs(content: str) -> Iterator[list[Diagnostic]]:
    readings = (tree_sitter_check.check(text, "cs").errors for text in _branches(content, "cs"))
    yield next(filter(None, readings), list[Diagnostic]())


def _reads_without_symbols(content: str) -> bool:
    """Whether it is C# but for the branches of symbols that neither it nor .NET's SDK defines."""
    defined = c_macros.find_defined(content)

    def resolve(found: re.Match[str]) -> str:
        names = set(_SYMBOL.findall(found[2]))
        is_known = names & defined or any(map(_SYMBOL_OF_SDK.fullmatch, names))
        return found[0] if is_known else f"{found[1]} false".ljust(len(found[0]))

    read = _without_directives(_CONDITION.sub(resolve, content), "cs", keep_first=True)
    return not tree_sitter_check.check(read, "cs").errors


def _read_without_macros(content: str, language: str) -> Iterator[list[Diagnostic]]:
    """Yield the errors that have no excuse, as each grammar and branch has them."""
    source = content.encode("utf-8", "replace")
    code = _COMMENT_OR_TEXT.sub(_without_comment, source.decode("latin-1"))  # offsets are a tree's
    defined = c_macros.find_defined(code)
    for grammar in _GRAMMAR_CHOICES[language]:
        readings = (
            _find_inexcusable(source, one, defined, grammar) for one in _branches(code, grammar)
        )
        yield next(filter(None, readings), list[Diagnostic]())


def _find_inexcusable(
    source: bytes, code: str, defined: set[str], grammar: str
) -> list[Diagnostic]:
    code = grammar_gaps.rewrite(code, grammar)
    reading = c_macros.MacroReading(code, defined, is_cpp=grammar == "cpp")
    if reading.faults:
        faults = reading.faults[:MAX_DIAGNOSTICS]
        return [syntax_error(message, *position_at_byte(source, at)) for at, message in faults]
    plain = reading.plain.encode("latin-1")
    return tree_sitter_check.find_unexcused(plain, source, grammar, reading.excuses)


def _without_comment(found: re.Match[str]) -> str:
    """Blank a comment, whose inner lines a directive goes on after."""
    text = found.group()
    return _blank(text).replace("  \n", _GOES_ON) if text[0] == "/" else text


def _branches(content: str, language: str) -> dict[str, None]:
    """List the texts without directives: with the first branches, and with the last."""
    return dict.fromkeys(
        _without_directives(content, language, keep_first=first) for first in (True, False)
    )


def find_unbalanced(content: str, language: str) -> Diagnostic | None:
    """Find a directive that is not whole, or the first conditional one that has no partner.

    C# reads no comments and strings in a branch that is left out, which any may be.
    """
    if language == "cs" and _first_alone(content) is None:
        return None
    pattern = _COMMENT_OR_TEXT_OF_CS if language == "cs" else _COMMENT_OR_TEXT
    plain = pattern.sub(lambda one: _blank(one.group()), content)
    for found in _OPEN_DIRECTIVE.finditer(content):
        if plain[found.start(1)] == "#":  # which stands in no comment
            message = f"Incomplete directive {found.group().strip()[:_MAX_SHOWN]!r}"
            return syntax_error(message, *position_at(content, found.start(1)))
    return _first_alone(plain)


def _first_alone(plain: str) -> Diagnostic | None:
    opened: list[tuple[str, int]] = []
    number = 1
    for line in _LOGICAL_LINE.findall(plain) if "#" in plain else ():
        directive = _DIRECTIVE.match(line)
        word = directive.group(1) if directive else ""
        if word.startswith("if"):
            opened.append((word, number))
        elif word and (not opened or (word != "endif" and opened[-1][0] == "else")):
            return syntax_error(f"'#{word}' belongs to no '#if'", number)
        elif word == "endif":
            opened.pop()
        elif word:
            opened[-1] = word, opened[-1][1]
        number += line.count("\n")
    return syntax_error("'#if' is never closed", opened[-1][1]) if opened else None


def _without_new_directives(content: str, language: str) -> str:
    """Blank the directives of C++20's modules, `export` in an interface, and C23's `#embed`."""
    content = _EMBED.sub(lambda one: "0".ljust(len(one.group())), content)
    if language not in ("cpp", "hpp"):
        return content
    is_interface = any(one.group(1) for one in _MODULE_DIRECTIVE.finditer(content))
    content = _MODULE_DIRECTIVE.sub(lambda one: _blank(one.group()), content)
    return _EXPORT.sub(lambda one: _blank(one.group()), content) if is_interface else content


def _without_directives(content: str, language: str, *, keep_first: bool) -> str:
    """Blank the directives and all but one branch of each conditional."""
    lines = _LOGICAL_LINE.findall(content)
    directives = [_DIRECTIVE.match(line) for line in lines]
    alternatives = _with_alternatives(directives)
    branches: list[tuple[bool, bool]] = []  # (this branch is kept, one was kept before)
    kept: list[str] = []
    for number, (line, directive) in enumerate(zip(lines, directives, strict=True)):
        if directive is None:
            is_code = all(now for now, _ in branches) and not _ANY_DIRECTIVE.match(line)
            kept.append(line if is_code else _blank(line))
            continue
        kept.append(_blank(line))
        word, condition = directive.group(1), directive.group(2)
        if word.startswith("if"):
            first = keep_first or number not in alternatives
            now = _takes_first_branch(word, condition, language, keep_first=first)
            branches.append((now, now))
        elif word == "endif" and branches:
            branches.pop()
        elif branches:
            before = branches[-1][1]
            now = not before and (word == "else" or not _FALSE_CONDITION.match(condition))
            branches[-1] = (now, before or now)
    return "".join(kept).replace(_GOES_ON, "  \n")


def _with_alternatives(directives: list[re.Match[str] | None]) -> set[int]:
    """Find the lines of the conditionals that have an `#elif` or `#else`."""
    opened: list[int] = []
    found: set[int] = set()
    for number, directive in enumerate(directives):
        word = directive.group(1) if directive else ""
        if word.startswith("if"):
            opened.append(number)
        elif word == "endif" and opened:
            opened.pop()
        elif word and opened:
            found.add(opened[-1])
    return found


def _takes_first_branch(word: str, condition: str, language: str, *, keep_first: bool) -> bool:
    cplusplus = language == "cpp"
    if word == "ifndef":
        return not cplusplus or "__cplusplus" not in condition
    if _NEGATED_CPLUSPLUS.search(condition):
        return not cplusplus
    if _CPLUSPLUS.search(condition):
        return cplusplus
    return keep_first and not _FALSE_CONDITION.match(condition)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
