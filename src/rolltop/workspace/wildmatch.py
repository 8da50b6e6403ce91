"""Git's wildcard patterns as regular expressions of bounded running time.

Text and pattern are *byte views*: strings whose characters stand for the bytes of a file name
(`byte_view`), because git matches bytes: `?` is one byte, not one letter.

A pattern becomes a chain of atomic groups. Each `*` takes the leftmost position where the
characters after it match, which is always right: the text that remains for the next `*` only
grows. `**/` works the same way, one path component at a time. Matching costs at most the product
of the two lengths for each component, since a hostile pattern has nothing to backtrack into.
"""

from __future__ import annotations

import os
import re

_ALL_BYTES = frozenset(map(chr, range(1, 256)))
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_PRINTED = frozenset(map(chr, range(0x20, 0x7F)))
# git's own character tables: ASCII only, and white space is four characters.
_SPACES = frozenset(" \t\n\r")
_NAMED_CLASSES = {
    "alnum": _LOWER | _UPPER | _DIGITS,
    "alpha": _LOWER | _UPPER,
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, range(1, 0x20))) | {"\x7f"},
    "digit": _DIGITS,
    "graph": _PRINTED - {" "},
    "lower": _LOWER,
    "print": _PRINTED,
    "punct": _PRINTED - _LOWER - _UPPER - _DIGITS - {" "},
    "space": _SPACES,
    "upper": _UPPER,
    "xdigit": _DIGITS | frozenset("abcdefABCDEF"),
}

WILDCARDS = re.compile(r"[*?[\\]")

_STAR = "*"
_DIRECTORIES = "**/"
_SOME_DIRECTORIES = r"**\/"
_ANYTHING = "**"
_SLASH = "/"
_MARKERS = frozenset({_STAR, _DIRECTORIES, _SOME_DIRECTORIES, _ANYTHING, _SLASH})


class MalformedPattern(Exception):
    """The pattern is malformed in a way that makes git match nothing with it."""


def byte_view(name: str) -> str:
    """Map the bytes of a file name to one character each."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def fold(view: str) -> str:
    """Lower the ASCII letters of a byte view, as git does under `core.ignorecase`."""
    return view.lower() if view.isascii() else view.encode("latin-1").lower().decode("latin-1")


def wildmatch_regex(pattern: str, *, ignore_case: bool = False) -> str:
    """Translate a pattern to a regular expression for `fullmatch`; needs `re.DOTALL`.

    With `ignore_case` the caller folds the text. Raises MalformedPattern: the pattern ends in a
    backslash, or a bracket expression is broken.
    """
    return _assemble(_tokenize(pattern, ignore_case=ignore_case))


def _tokenize(pattern: str, *, ignore_case: bool) -> list[str]:
    """Split the pattern into markers (`*`, `**/`, …) and expressions for one byte each."""
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            token, at = _parse_stars(pattern, at)
        elif character == "?":
            token, at = "[^/]", at + 1
        elif character == "[":
            token, at = _parse_bracket(pattern, at + 1, ignore_case=ignore_case)
        else:
            if character == "\\":
                at += 1
                if at == len(pattern):
                    raise MalformedPattern
                character = pattern[at]
            literal = fold(character) if ignore_case else character
            token, at = _SLASH if literal == "/" else re.escape(literal), at + 1
        tokens.append(token)
    return tokens


def _parse_stars(pattern: str, at: int) -> tuple[str, int]:
    """Parse the run of stars at `at`; return its marker and the position after it."""
    end = at
    while pattern[end : end + 1] == "*":
        end += 1
    starts_component = at == 0 or pattern[at - 1] == "/"
    if end - at == 1 or not starts_component:
        return _STAR, end
    if end == len(pattern):
        return _ANYTHING, end
    if pattern[end] == "/":
        return _DIRECTORIES, end + 1
    # An escaped slash ends the component as well, but git then wants one directory at least.
    if pattern[end : end + 2] == r"\/":
        return _SOME_DIRECTORIES, end + 2
    return _STAR, end


def _parse_bracket(pattern: str, at: int, *, ignore_case: bool) -> tuple[str, int]:
    """Parse a bracket expression, whose inside starts at `at`, into a one-byte expression."""
    negated = pattern[at : at + 1] in {"!", "^"}
    at += negated
    members: set[str] = set()
    previous = ""
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        added, previous, at = _parse_bracket_member(pattern, at, previous, ignore_case=ignore_case)
        members |= added
    chosen = (_ALL_BYTES - members if negated else members) - {"/"}
    if not chosen:
        raise MalformedPattern
    return _character_class(chosen), at + 1


def _parse_bracket_member(
    pattern: str, at: int, previous: str, *, ignore_case: bool
) -> tuple[frozenset[str], str, int]:
    """Parse a member; return its characters, a possible range's start, and the next position."""
    character = _escape_character(pattern, at)
    after = pattern[at + 1 : at + 2]
    if character == "\\":
        escaped = _escape_character(pattern, at + 1)
        return frozenset(escaped), escaped, at + 2
    if character == "-" and previous and after and after != "]":
        at += 1 if after != "\\" else 2
        return _range(previous, _escape_character(pattern, at), ignore_case=ignore_case), "", at + 1
    if character == "[" and after == ":":
        close = pattern.find("]", at + 2)
        if close < 0:
            raise MalformedPattern
        if close > at + 2 and pattern[close - 1] == ":":
            name = pattern[at + 2 : close - 1]
            return _named_class(name, ignore_case=ignore_case), "", close + 1
    return frozenset(character), character, at + 1


def _escape_character(pattern: str, at: int) -> str:
    if at >= len(pattern):
        raise MalformedPattern
    return pattern[at]


def _range(low: str, high: str, *, ignore_case: bool) -> frozenset[str]:
    members = frozenset(map(chr, range(ord(low), ord(high) + 1)))
    if ignore_case:
        members |= {letter for letter in _LOWER if letter.upper() in members}
    return members


def _named_class(name: str, *, ignore_case: bool) -> frozenset[str]:
    if name not in _NAMED_CLASSES:
        raise MalformedPattern
    members = _NAMED_CLASSES[name]
    return members | _LOWER if ignore_case and name == "upper" else members


def _character_class(characters: set[str] | frozenset[str]) -> str:
    """Write a character class in Python's syntax."""
    runs: list[tuple[int, int]] = []
    for code in sorted(map(ord, characters)):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return "[" + "".join(f"\\x{low:02x}-\\x{high:02x}" for low, high in runs) + "]"


def _assemble(tokens: list[str]) -> str:
    """Join the tokens: a group for each `**/`, containing a group for each `*`."""
    parts: list[str] = []
    in_group = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in {_DIRECTORIES, _SOME_DIRECTORIES}:
            parts.append(")(?>" if in_group else "(?>")
            parts.append("[^/]*+/" if token == _SOME_DIRECTORIES else "")
            parts.append("(?:[^/]*+/)*?")
            in_group = True
        elif token == _ANYTHING:
            parts.append(").*" if in_group else ".*")
            in_group = False
        elif token == _STAR:
            run, at = _fixed_run(tokens, at + 1)
            parts.append(f"(?>[^/]*?{run})")
            continue
        else:
            parts.append(token)
        at += 1
    return "".join(parts) + (r"\Z)" if in_group else "")


def _fixed_run(tokens: list[str], at: int) -> tuple[str, int]:
    """Join the one-byte tokens after a `*`, with the end of their component if it follows."""
    end = at
    while end < len(tokens) and tokens[end] not in _MARKERS:
        end += 1
    run = "".join(tokens[at:end])
    if end == len(tokens):
        return run + r"\Z", end
    if tokens[end] == _SLASH:
        return run + "/", end + 1
    return run, end
