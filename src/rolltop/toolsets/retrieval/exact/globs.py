"""Which files a glob lets through: gitignore's syntax, with braces."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid
from rolltop.core.roots.gitignore import RuleList, RulesInside
from rolltop.core.roots.wildcard import NeverMatches, byte_view, wildcard_regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_ALTERNATIVES: Final = 1000
_HINT: Final = "Write it as a line of .gitignore: *.py, src/**/*.{ts,tsx}, !tests/."


class FileGlob:
    """A glob, read as a line of a .gitignore file at the root's top.

    A name without a slash counts at any depth, a directory stands for all below it, `{a,b}` for
    either, and a leading `!` for everything else.
    """

    def __init__(self, glob: str) -> None:
        """Take the glob. Raises Invalid: FILE_GLOB_INVALID."""
        self._negated: Final = glob.startswith("!")
        patterns = _patterns(glob.removeprefix("!"), glob)
        content = "\n".join(_as_line(pattern) for pattern in patterns)
        self._rules: Final = RuleList(content.encode("latin-1"), ignore_case=False)
        self._inside: Final[dict[str, RulesInside | None]] = {"": self._rules.inside("")}
        """Directory → the rules for the names in it; None where all below it are matched."""

    def chooses(self, relative: str) -> bool:
        """Return whether the file at this path from the root is one of those meant."""
        directory, _, name = relative.rpartition("/")
        rules = self._inside[directory] if directory in self._inside else self._enter(directory)
        matched = rules is None or bool(rules.ignores_file(byte_view(name)))
        return matched != self._negated

    def _enter(self, directory: str) -> RulesInside | None:
        """Return the rules inside a directory, which are kept."""
        unknown: list[str] = []
        while directory not in self._inside:  # deeper perhaps than calls may nest
            unknown.append(directory)
            directory = directory.rpartition("/")[0]
        rules = self._inside[directory]
        for inner in reversed(unknown):
            name = inner.rpartition("/")[2]
            if rules is not None and not rules.ignores_directory(byte_view(name)):
                rules = self._rules.inside(f"{byte_view(inner)}/")
            else:
                rules = None
            self._inside[inner] = rules
        return rules


def _patterns(glob: str, given: str) -> list[str]:
    """Return the glob's alternatives as byte views, each a pattern that can match something."""
    if not glob.strip("/ ") or any(character in glob for character in "\n\r\0"):
        raise _malformed(given, "it names no file")
    try:
        alternatives = list(_expanded(byte_view(glob)))
        for pattern in alternatives:
            wildcard_regex(pattern)
    except NeverMatches:
        raise _malformed(given, "a [ is not closed, or it ends in a backslash") from None
    except (_Unbalanced, UnicodeEncodeError) as problem:
        raise _malformed(given, str(problem) or "it holds half a character") from None
    naming = [pattern for pattern in alternatives if pattern.strip("/ ")]
    if not naming:
        raise _malformed(given, "it names no file")
    return naming


class _Unbalanced(Exception):
    """Braces that don't close or don't open, or too many of them."""


def _expanded(glob: str) -> Iterator[str]:
    """Yield the glob once for each way through its braces."""
    pending = [glob]
    made = 0
    while pending:
        pattern = pending.pop()
        group = _first_group(pattern)
        if group is None:
            yield pattern
            continue
        start, end, choices = group
        made += len(choices)
        if made > _MOST_ALTERNATIVES:
            raise _Unbalanced(f"its braces stand for more than {_MOST_ALTERNATIVES} patterns")
        pending += [pattern[:start] + choice + pattern[end:] for choice in reversed(choices)]


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return where the first outermost `{…}` starts and ends, and its choices."""
    depth = 0
    bounds: list[int] = []
    for at in _unescaped(pattern):
        character = pattern[at]
        depth += (character == "{") - (character == "}")
        if depth < 0:
            raise _Unbalanced("a } closes nothing")
        if (character, depth) in {("{", 1), (",", 1), ("}", 0)}:
            bounds.append(at)
        if bounds and not depth:
            choices = [pattern[start + 1 : end] for start, end in pairwise(bounds)]
            return bounds[0], at + 1, choices
    if depth:
        raise _Unbalanced("a { is not closed")
    return None


def _unescaped(pattern: str) -> Iterator[int]:
    """Yield the places that are neither escaped nor inside a bracket expression."""
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
    """Return the place of the `]` that closes the bracket expression at `at`."""
    first = at + 1
    if pattern[first : first + 1] in {"!", "^"}:
        first += 1
    end = pattern.find("]", first + 1)
    if end < 0:
        raise NeverMatches
    return end


def _as_line(pattern: str) -> str:
    """Return the line of an ignore file that holds the pattern and nothing else."""
    return f"\\{pattern}" if pattern.startswith(("#", "!")) else pattern


def _malformed(glob: str, why: str) -> Invalid:
    return Invalid(
        f"file_glob {glob[:100]!r} is malformed: {why}",
        code="FILE_GLOB_INVALID",
        hint=_HINT,
        data={"file_glob": glob[:100]},
    )
