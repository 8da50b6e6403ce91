"""C, C++ and C# without a preprocessor: conditional branches and macros are skipped as needed.

A grammar sees the text before the preprocessor, so valid files may not parse: directives split
branches that belong together, and macros stand where no identifier may. If a file does not parse,
its conditionals are resolved and macro-like words near each fault are blanked, as long as that
leaves fewer faults. Offsets never change. C# has no macros.
"""

from __future__ import annotations

import re
import time
from typing import Final

from . import grammar_gaps, tree_sitter_check
from .results import Diagnostic, SyntaxResult, syntax_error

_DIRECTIVE: Final = re.compile(
    r"[ \t\ufeff]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.DOTALL
)
_MACRO: Final = re.compile(
    r"\b(?:_*[A-Z][A-Z0-9_]{2,}|_[A-Z]\w*_|[A-Z]\w{0,20}(?:_[A-Z0-9]{2,20}){2,9}|__(?:cdecl|stdcall|fastcall|declspec|extension__))\b"
    r"(?:[ \t]*(?=(\()))?"
)
_FALSE_CONDITION: Final = re.compile(r"\s*(0|false)\s*$")
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
_LOGICAL_LINE: Final = re.compile(r"(?:[^\n\\]|\\\r?\n|\\.|\\\Z)+\n?|\n")
_MAX_REPAIRED_BYTES: Final = 256 * 1024
_SECONDS: Final = 2.0
"""Of processor time, so that the load of the machine changes no result."""
_SLOW_SECONDS: Final = 0.1
_MAX_ROUNDS: Final = 400
_LINES_BACK: Final = 3
_NO_CODE: Final = re.compile(r"\s*(?:$|//|/\*|\*)", re.MULTILINE)
_ARGUMENT_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[()]', re.DOTALL)
_Spans = tuple[tuple[int, int], ...]


def check(content: str, language: str) -> SyntaxResult:
    """Find the syntax errors that remain once macros and conditionals are skipped."""
    unbalanced = find_unbalanced(content, language)
    if unbalanced is not None:
        return SyntaxResult([unbalanced], by="grammar")
    began = time.thread_time()
    found = tree_sitter_check.check(content, language)
    if found.errors and (plain := _without_modules(content, language)) != content:
        content, found = plain, tree_sitter_check.check(plain, language)
    if not found.errors or len(content) > _MAX_REPAIRED_BYTES:
        return found
    if time.thread_time() - began > _SLOW_SECONDS:
        return found
    until = time.thread_time() + _SECONDS
    best = found
    for read_as in _GRAMMAR_CHOICES[language]:
        # Without alternatives there is only one text.
        texts = dict.fromkeys(
            _without_conditionals(content, read_as, keep_first=first) for first in (True, False)
        )
        readings = [_repair(text, read_as, until) for text in texts]
        faulty = [syntax for syntax, _ in readings if syntax.errors]
        if not faulty:
            passed_over = _skipped_macros_warning(max(blanked for _, blanked in readings))
            return SyntaxResult(warnings=[passed_over], by="grammar")
        best = min([*faulty, best], key=lambda syntax: len(syntax.errors))
    return best


def find_unbalanced(content: str, language: str) -> Diagnostic | None:
    """Find the first conditional directive that has no partner.

    C# reads no comments and strings in a branch that is left out, which any may be.
    """
    if language == "cs" and _first_alone(content) is None:
        return None
    pattern = _COMMENT_OR_TEXT_OF_CS if language == "cs" else _COMMENT_OR_TEXT
    return _first_alone(pattern.sub(lambda one: _blank(one.group()), content))


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


def _skipped_macros_warning(blanked: int) -> Diagnostic:
    what = f"conditional branches and {blanked} macros" if blanked else "conditional branches"
    message = f"Read without a preprocessor: {what} were passed over"
    return Diagnostic(message, "PREPROCESSOR_PASSED_OVER", details={"macros": blanked})


def _without_modules(content: str, language: str) -> str:
    """Blank the directives of C++20's modules and, in an interface, `export`."""
    if language not in ("cpp", "hpp"):
        return content
    is_interface = any(one.group(1) for one in _MODULE_DIRECTIVE.finditer(content))
    content = _MODULE_DIRECTIVE.sub(lambda one: _blank(one.group()), content)
    return _EXPORT.sub(lambda one: _blank(one.group()), content) if is_interface else content


def _without_conditionals(content: str, language: str, *, keep_first: bool) -> str:
    """Blank the conditional directives and all but one branch of each conditional."""
    lines = _LOGICAL_LINE.findall(content)
    directives = [_DIRECTIVE.match(line) for line in lines]
    alternatives = _with_alternatives(directives)
    branches: list[tuple[bool, bool]] = []  # (this branch is kept, one was kept before)
    kept: list[str] = []
    for number, (line, directive) in enumerate(zip(lines, directives, strict=True)):
        if directive is None:
            kept.append(line if all(now for now, _ in branches) else _blank(line))
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
    return "".join(kept)


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


def _repair(text: str, language: str, until: float) -> tuple[SyntaxResult, int]:
    """Blank the macros that are in the way; return the errors left and the number of macros."""
    found, blanked, tried = tree_sitter_check.check(text, language), 0, set[_Spans]()
    plain = grammar_gaps.rewrite(text, language)
    if found.errors and _score(then := tree_sitter_check.check(plain, language)) < _score(found):
        text, found = plain, then
    for _ in range(0 if language == "cs" else _MAX_ROUNDS):
        if not found.errors or time.thread_time() > until:
            break
        candidate = next((one for one in _candidates(text, found) if one not in tried), None)
        if candidate is None:
            break
        tried.add(candidate)
        shorter = text
        for start, end in candidate:
            shorter = shorter[:start] + _blank(shorter[start:end]) + shorter[end:]
        then = tree_sitter_check.check(shorter, language)
        if _score(then) < _score(found):
            text, found, blanked = shorter, then, blanked + len(candidate)
    return found, blanked


def _score(found: SyntaxResult) -> tuple[int, float]:
    """Fewer faults are better; with as many, a first fault further down is."""
    if not found.errors:
        return 0, 0.0
    return len(found.errors), -float(found.errors[0].line)


def _candidates(text: str, found: SyntaxResult) -> list[_Spans]:
    """List the macro-like words near the first faults: each of a line, then all of it."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    candidates: list[_Spans] = []
    for fault in found.errors[:3]:
        left = _LINES_BACK
        for line in range(min(fault.line + 1, len(starts)), 0, -1):
            end = starts[line] if line < len(starts) else len(text)
            start = starts[line - 1]
            if line < fault.line and _NO_CODE.match(text, start, end):
                continue
            left -= line < fault.line
            if left < 0:
                break
            spans = _macros(text, start, end)
            candidates += [(span,) for span in spans]
            candidates += [tuple(spans)] if len(spans) > 1 else []
    return candidates


def _macros(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for word in _MACRO.finditer(text, start, end):
        until = _after_arguments(text, word.end()) if word.group(1) else word.end()
        spans.append((word.start(), until))
    return spans


def _after_arguments(text: str, opening: int) -> int:
    depth = 0
    for token in _ARGUMENT_TOKEN.finditer(text, opening):
        if token.group() == "(":
            depth += 1
        elif token.group() == ")":
            depth -= 1
            if depth == 0:
                return token.end()
    return opening


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
