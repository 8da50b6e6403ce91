"""Which files a glob lets through: gitignore's syntax, with braces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final
from unicodedata import normalize

from rolltop.core.errors import InvalidArgument
from rolltop.workspace.gitignore import DirectoryMatcher, IgnoreRules
from rolltop.workspace.wildmatch import MalformedPattern, byte_view, wildmatch_regex

_MAX_ALTERNATIVES: Final = 1000
# Characters of a glob, and of all that its braces expand to.
_MAX_LENGTH: Final = 4_000
_MAX_EXPANDED: Final = 100_000
_EXCEPTIONS: Final = re.compile(r"\n(?=!)")
_GLOB_SIGN: Final = re.compile(r"[*?\[{/.]")
_HERE: Final = re.compile(r"(?:\./+)+")
_HINT: Final = "Write it as a line of .gitignore: *.py, src/**/*.{ts,tsx}, !tests/."


class FileGlob:
    """A glob, with the semantics of a line of a .gitignore file at the root's top.

    A name without a slash matches at any depth, a directory matches everything below it, `{a,b}`
    and a list `a, b` are alternatives, a leading `!` inverts, and `./` at the start says nothing.
    What starts with `!` further on in a list, and further lines, each inverted, take files away.
    A glob that starts with a root's name selects that root and is matched below it. Letters match
    however Unicode composes them, in the glob and in names.

    A comma before a blank separates; one without does where all it separates looks like a glob or
    path of its own: with a wildcard, dot or slash, and not stars alone. So `*.py,*.md` is a list,
    and `*,v` is a name.
    """

    def __init__(self, glob: str, root: str = "", roots: Collection[str] = ()) -> None:
        """Parse the glob for one of several roots. Raises InvalidArgument: FILE_GLOB_INVALID."""
        if len(glob) > _MAX_LENGTH:
            raise _invalid_glob(glob, f"it is longer than {_MAX_LENGTH:,} characters")
        glob, *others = _EXCEPTIONS.split(normalize("NFC", glob))
        root, roots = normalize("NFC", root), [normalize("NFC", one) for one in roots]
        glob, exceptions = _split_exceptions(glob)
        self._exceptions: Final = tuple(
            FileGlob(other, root, roots) for other in (*exceptions, *others)
        )
        self._negated: Final = glob.startswith("!")
        patterns = _in_root(_patterns(glob.removeprefix("!"), glob), root, roots)
        self.selects_root: Final = self._negated or bool(patterns)
        """Whether the glob may match any file of the root."""
        content = "\n".join(_escape_line(pattern) for pattern in patterns)
        self._rules: Final = IgnoreRules(content.encode("latin-1"), ignore_case=False)
        # Directory → the rules for its names; None if everything below it matches.
        self._inside: Final[dict[str, DirectoryMatcher | None]] = {
            "": self._rules.for_directory("")
        }

    def matches(self, relative: str) -> bool:
        """Report whether the glob matches the file at this path from the root."""
        if not relative.isascii():
            relative = normalize("NFC", relative)
        directory, _, name = relative.rpartition("/")
        rules = (
            self._inside[directory] if directory in self._inside else self._rules_inside(directory)
        )
        matched = rules is None or bool(rules.ignores_file(byte_view(name)))
        return matched != self._negated and all(one.matches(relative) for one in self._exceptions)

    def _rules_inside(self, directory: str) -> DirectoryMatcher | None:
        unknown: list[str] = []
        while directory not in self._inside:  # deeper perhaps than calls may nest
            unknown.append(directory)
            directory = directory.rpartition("/")[0]
        rules = self._inside[directory]
        for inner in reversed(unknown):
            name = inner.rpartition("/")[2]
            if rules is not None and not rules.ignores_directory(byte_view(name)):
                rules = self._rules.for_directory(f"{byte_view(inner)}/")
            else:
                rules = None
            self._inside[inner] = rules
        return rules


def _patterns(glob: str, given: str) -> list[str]:
    """Return the glob's alternatives as byte views, each a pattern that can match something."""
    if not glob.strip("/ ") or any(character in glob for character in "\n\r\0"):
        raise _invalid_glob(given, "it matches no file name")
    try:
        alternatives = list(_expand_braces(_as_braces(byte_view(glob))))
        for pattern in alternatives:
            wildmatch_regex(pattern)
    except MalformedPattern:
        raise _invalid_glob(given, "unclosed [, or a trailing backslash") from None
    except (_Unbalanced, UnicodeEncodeError) as problem:
        raise _invalid_glob(
            given, str(problem) or "it contains half a character (a lone surrogate)"
        ) from None
    naming = [pattern for pattern in alternatives if pattern.strip("/ ")]
    if not naming:
        raise _invalid_glob(given, "it matches no file name")
    return [_without_dot(pattern) for pattern in naming]


def _without_dot(pattern: str) -> str:
    start = _HERE.match(pattern)
    rest = pattern[start.end() :] if start else pattern
    return "**" if rest in {"", "."} else rest


def _is_top(glob: str) -> bool:
    return all(part in {"", "."} for part in glob.strip().split("/"))


def glob_below(path: str, glob: str) -> str:
    """Return a glob for what a glob selects below a path, or which has that path already."""
    glob, exceptions = _split_exceptions(glob)
    if exceptions:
        return "\n".join([glob_below(path, glob), *(_exception_below(path, e) for e in exceptions)])
    if glob.startswith("!") and not _is_top(path):
        return f"{path}\n{_exception_below(path, glob)}"
    if _is_top(path) or _is_top(glob):
        return path if _is_top(glob) else glob
    with suppress(MalformedPattern):
        path, glob = _as_braces(path), _as_braces(glob)
    path, glob = _without_dot(path).rstrip("/"), _without_dot(glob)
    if glob.startswith(f"{path}/"):
        return glob
    return f"{path}/{'' if '/' in glob.rstrip('/') else '**/'}{glob.lstrip('/')}"


def _exception_below(path: str, exception: str) -> str:
    return f"!{glob_below(path, exception[1:]) if exception.strip('!/ ') else ''}"


def globs_by_root(glob: str | None, roots: Sequence[str]) -> dict[str, FileGlob | None]:
    """Parse a glob for each of the roots; None for one that lets everything through.

    That is also what a caller names by the top as a path: blank, `.`, `./` or `/`. Raises
    InvalidArgument: FILE_GLOB_INVALID.
    """
    if glob is None or _is_top(glob):
        return dict.fromkeys(roots)
    return {root: FileGlob(glob, root, roots) for root in roots}


def _in_root(patterns: list[str], root: str, roots: Collection[str]) -> list[str]:
    """Return the patterns that may match in the root, without its name at their start."""
    names = {byte_view(name): name for name in roots}
    meant: list[str] = []
    for pattern in patterns:
        first, _, rest = pattern.partition("/")
        if first not in names:
            meant.append(pattern)
        elif names[first] == root:
            meant.append(f"/{rest}" if rest.strip("/ ") else "**")
    return meant


def _split_exceptions(glob: str) -> tuple[str, list[str]]:
    """Take out of a list what starts with `!` after its first part.

    An inverted list keeps it as one more part, without the `!`: nothing is to be taken from it.
    """
    try:
        first, *others = _list_parts(glob) or [glob]
    except MalformedPattern:  # refused where the glob is parsed
        return glob, []
    exceptions = [other for other in others if other.startswith("!")]
    if not exceptions:
        return glob, []
    if first.startswith("!"):
        return ", ".join([first, *(other.removeprefix("!") for other in others)]), []
    return ", ".join([first, *(o for o in others if not o.startswith("!"))]), exceptions


def _as_braces(glob: str) -> str:
    """Write a list of globs as braces, with itself as one of them: a name may hold commas.

    Raises MalformedPattern.
    """
    listed = _list_parts(glob)
    if listed in ([], _strip_parts([glob])):
        return glob
    quoted = ("\\,".join(_split_at(part, _commas(part))) for part in (glob, *listed))
    return f"{{{','.join(quoted)}}}"


def _list_parts(glob: str) -> list[str]:
    """Return the parts of a list that are not blank; of what is no list, itself.

    Raises MalformedPattern.
    """
    separating = [at for at in _commas(glob) if glob[at + 1 : at + 2] in {" ", "\t"}]
    listed: list[str] = []
    for part in _strip_parts(_split_at(glob, separating)):
        smaller = _strip_parts(_split_at(part, _commas(part)))
        listed += smaller if all(map(_is_whole_glob, smaller)) else [part]
    return listed


def _is_whole_glob(part: str) -> bool:
    """Whether a part between commas looks like a glob or path of its own."""
    positive = part.removeprefix("!")
    return bool(positive.strip("*") and (positive != part or _GLOB_SIGN.search(positive)))


def _commas(glob: str) -> list[int]:
    """Return where the commas outside braces are. Raises MalformedPattern."""
    depth, found = 0, list[int]()
    for at in _unescaped_positions(glob):
        depth += (glob[at] == "{") - (glob[at] == "}")
        if glob[at] == "," and not depth:
            found.append(at)
    return found


def split_list(glob: str) -> list[str]:
    """Split a list of globs at its commas, blanks included; what is malformed stays whole."""
    with suppress(MalformedPattern):
        return _split_at(glob, _commas(glob))
    return [glob]


def _split_at(glob: str, ends: Sequence[int]) -> list[str]:
    return [glob[start + 1 : end] for start, end in pairwise([-1, *ends, len(glob)])]


def _strip_parts(parts: Sequence[str]) -> list[str]:
    """Return the parts that are not blank, of which a byte view may end with a byte of a letter."""
    return [part.strip(" \t") for part in parts if part.strip(" \t")]


class _Unbalanced(Exception):
    """Braces that don't close or don't open, or too many of them."""


def _expand_braces(glob: str) -> Iterator[str]:
    """Yield the glob once for each way through its braces."""
    pending = [glob]
    made = characters = 0
    while pending:
        pattern = pending.pop()
        group = _first_group(pattern)
        if group is None:
            yield pattern
            continue
        start, end, choices = group
        made += len(choices)
        if made > _MAX_ALTERNATIVES:
            raise _Unbalanced(f"its braces expand to more than {_MAX_ALTERNATIVES} patterns")
        expanded = [pattern[:start] + choice + pattern[end:] for choice in reversed(choices)]
        characters += sum(map(len, expanded))
        if characters > _MAX_EXPANDED:
            raise _Unbalanced(f"its braces expand to more than {_MAX_EXPANDED:,} characters")
        pending += expanded


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return where the first outermost `{…}` starts and ends, and its choices."""
    depth = 0
    bounds: list[int] = []
    for at in _unescaped_positions(pattern):
        character = pattern[at]
        depth += (character == "{") - (character == "}")
        if depth < 0:
            raise _Unbalanced("unmatched }")
        if (character, depth) in {("{", 1), (",", 1), ("}", 0)}:
            bounds.append(at)
        if bounds and not depth:
            choices = [pattern[start + 1 : end] for start, end in pairwise(bounds)]
            return bounds[0], at + 1, choices
    if depth:
        raise _Unbalanced("unclosed {")
    return None


def _unescaped_positions(pattern: str) -> Iterator[int]:
    """Yield the positions outside escapes and bracket expressions."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 2
        elif pattern[at] == "[":
            at = _bracket_end(pattern, at) + 1
        else:
            yield at
            at += 1


def _bracket_end(pattern: str, at: int) -> int:
    """Find the `]` that closes the bracket expression at `at`."""
    first = at + 1
    if pattern[first : first + 1] in {"!", "^"}:
        first += 1
    end = pattern.find("]", first + 1)
    if end < 0:
        raise MalformedPattern
    return end


def _escape_line(pattern: str) -> str:
    """Quote a pattern so that it fills one line of an ignore file."""
    return f"\\{pattern}" if pattern.startswith(("#", "!")) else pattern


def _invalid_glob(glob: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f"file_glob {glob[:100]!r} is malformed: {why}",
        code="FILE_GLOB_INVALID",
        hint=_HINT,
        data={"file_glob": glob[:100]},
    )
