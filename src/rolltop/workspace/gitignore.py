"""Ignore files (`.gitignore`, `.ignore`, `info/exclude`) and their rules for a name.

`IgnoreRules` are the rules of a file; `IgnoreRules.inside(prefix)` narrows them to one directory,
so that checking a name takes few look-ups however many rules there are. All names and prefixes
are byte views (see `wildmatch`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rolltop.workspace.safe_open import read_rule_file
from rolltop.workspace.wildmatch import WILDCARDS, MalformedPattern, fold, wildmatch_regex

# A larger file is passed over, as git does with those over 100 MiB, and rules beyond these bounds
# do not count: a name is matched against all patterns at once, which nothing can interrupt.
_MAX_IGNORE_FILE_BYTES = 4 * 1024 * 1024
_MAX_RULES = 100_000
_MAX_PATTERNS = 2_000
_BOM = b"\xef\xbb\xbf"
_EXTENSION = re.compile(r"\*(\.[^.*?[\\]+)")


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file."""

    index: int
    pattern: str  # without its `!`, leading and trailing slash
    negated: bool
    directory_only: bool
    anchored: bool  # it holds a slash, so it names a path and not just a name

    def regex(self, *, ignore_case: bool) -> re.Pattern[str] | None:
        """The expression for the whole text; None if nothing can match."""
        # git compares what precedes the first wildcard by itself, and then matches the rest as
        # a pattern of its own: `**` right behind it counts as the start of a component.
        literal = _literal_start(self.pattern)
        try:
            rest = wildmatch_regex(self.pattern[len(literal) :], ignore_case=ignore_case)
        except MalformedPattern:
            return None
        return re.compile(re.escape(fold(literal) if ignore_case else literal) + rest, re.DOTALL)


class _NameRules:
    """Rules about bare names: the index of the last one that matches, or -1."""

    __slots__ = ("_any_pattern", "_extensions", "_literals", "_patterns")

    def __init__(self, rules: list[_Rule], *, ignore_case: bool) -> None:
        self._literals: dict[str, int] = {}
        self._extensions: dict[str, int] = {}
        patterns: list[tuple[int, re.Pattern[str]]] = []
        for rule in rules:
            pattern = fold(rule.pattern) if ignore_case else rule.pattern
            extension = _EXTENSION.fullmatch(pattern)
            if not WILDCARDS.search(pattern):
                self._literals[pattern] = rule.index
            elif extension:
                self._extensions[extension[1]] = rule.index
            elif (regex := rule.regex(ignore_case=ignore_case)) is not None:
                patterns.append((rule.index, regex))
        self._patterns = patterns[::-1]
        self._any_pattern = _any_of([regex.pattern for _, regex in patterns])

    def last_match(self, name: str) -> int:
        best = self._literals.get(name, -1)
        if self._extensions:
            dot = name.rfind(".")
            if dot >= 0:
                extension = self._extensions.get(name[dot:])
                if extension is not None and extension > best:
                    best = extension
        if self._any_pattern is not None and self._any_pattern.fullmatch(name):
            for index, regex in self._patterns:
                if index < best:
                    break
                if regex.fullmatch(name):
                    return index
        return best


class _AnchoredRule:
    """A rule about a path: tells which directories it can speak about, and matches there."""

    __slots__ = ("_literal", "_slashes", "directory_only", "index", "regex")

    def __init__(self, rule: _Rule, regex: re.Pattern[str], *, ignore_case: bool) -> None:
        literal = _literal_start(rule.pattern)
        self._literal = fold(literal) if ignore_case else literal
        # Where no `**` can span directories, the number of components is fixed.
        varies = "**" in rule.pattern or "[" in rule.pattern
        self._slashes = None if varies else rule.pattern.count("/")
        self.directory_only = rule.directory_only
        self.index = rule.index
        self.regex = regex

    def applies_in(self, prefix: str) -> bool:
        """Report whether anything directly inside the directory `prefix` could match."""
        if self._slashes is not None and self._slashes != prefix.count("/"):
            return False
        return prefix.startswith(self._literal) or self._literal.startswith(prefix)


class DirectoryMatcher:
    """The rules of one file for the names directly inside one directory.

    Each answer is True for ignored, False for brought back by `!`, None where no rule matches.
    """

    __slots__ = ("_anchored", "_directories", "_files", "_fold", "_negated", "_paths", "_prefix")

    def __init__(self, rules: IgnoreRules, prefix: str) -> None:
        self._prefix = prefix
        self._fold = rules.ignore_case
        self._negated = rules.negated
        self._files = rules.file_names
        self._directories = rules.directory_names
        self._paths = rules.literal_paths.get(prefix)
        self._anchored = [rule for rule in rules.anchored if rule.applies_in(prefix)]

    def ignores_file(self, name: str) -> bool | None:
        """Apply the rules to a file (or anything else but a directory)."""
        if self._fold:
            name = fold(name)
        best = self._files.last_match(name)
        if self._paths is not None and name in self._paths:
            best = max(best, self._paths[name][0])
        if self._anchored:
            best = self._last_anchored(name, best, directory=False)
        return None if best < 0 else not self._negated[best]

    def ignores_directory(self, name: str) -> bool | None:
        """Apply the rules to a directory."""
        if self._fold:
            name = fold(name)
        best = self._directories.last_match(name)
        if self._paths is not None and name in self._paths:
            best = max(best, *self._paths[name])
        if self._anchored:
            best = self._last_anchored(name, best, directory=True)
        return None if best < 0 else not self._negated[best]

    def _last_anchored(self, name: str, best: int, *, directory: bool) -> int:
        path = self._prefix + name
        for rule in self._anchored:
            if rule.index < best:
                break
            if (directory or not rule.directory_only) and rule.regex.fullmatch(path):
                return rule.index
        return best


class IgnoreRules:
    """The rules of one ignore file; false when it has none."""

    __slots__ = (
        "_everywhere",
        "anchored",
        "directory_names",
        "file_names",
        "ignore_case",
        "literal_paths",
        "negated",
    )

    def __init__(self, content: bytes, *, ignore_case: bool) -> None:
        rules = _parse(content)
        names = [rule for rule in rules if not rule.anchored]
        self.ignore_case = ignore_case
        self.negated = tuple(rule.negated for rule in rules)
        self.directory_names = _NameRules(names, ignore_case=ignore_case)
        self.file_names = _NameRules(
            [rule for rule in names if not rule.directory_only], ignore_case=ignore_case
        )
        # Directory → name → index of the last rule for anything, and for directories only.
        self.literal_paths: dict[str, dict[str, tuple[int, int]]] = {}
        self.anchored: list[_AnchoredRule] = []
        for rule in rules:
            if rule.anchored:
                self._add_anchored(rule)
        self.anchored.reverse()
        plain = not self.anchored and not self.literal_paths
        self._everywhere = DirectoryMatcher(self, "") if plain else None

    def __bool__(self) -> bool:
        return bool(self.negated)

    def for_directory(self, prefix: str) -> DirectoryMatcher:
        """Narrow the rules to one directory; `prefix` is its path from the file's directory."""
        if self._everywhere is not None:
            return self._everywhere
        return DirectoryMatcher(self, fold(prefix) if self.ignore_case else prefix)

    def _add_anchored(self, rule: _Rule) -> None:
        if WILDCARDS.search(rule.pattern):
            regex = rule.regex(ignore_case=self.ignore_case)
            if regex is not None:
                self.anchored.append(_AnchoredRule(rule, regex, ignore_case=self.ignore_case))
            return
        pattern = fold(rule.pattern) if self.ignore_case else rule.pattern
        directory, slash, name = pattern.rpartition("/")
        inside = self.literal_paths.setdefault(directory + slash, {})
        any_kind, directories = inside.get(name, (-1, -1))
        inside[name] = (any_kind, rule.index) if rule.directory_only else (rule.index, directories)


def read_ignore_file(path: str, *, ignore_case: bool, follow: bool = False) -> IgnoreRules:
    """Read the rules of the file at `path`; none if it is missing, unreadable or not regular.

    A symbolic link is followed only on request: git refuses one in the working tree.
    """
    content = read_rule_file(path, _MAX_IGNORE_FILE_BYTES, follow=follow)
    return _NO_RULES if content is None else parse_rules(content, ignore_case=ignore_case)


@lru_cache(maxsize=2048)
def parse_rules(content: bytes, *, ignore_case: bool = False) -> IgnoreRules:
    """Parse the content of an ignore file."""
    return IgnoreRules(content, ignore_case=ignore_case)


def _parse(content: bytes) -> list[_Rule]:
    rules: list[_Rule] = []
    patterns = 0
    for line in content.removeprefix(_BOM).split(b"\n"):
        if not line or line.startswith(b"#"):
            continue
        text = line.removesuffix(b"\r").split(b"\0", 1)[0].decode("latin-1")
        rule = _parse_rule(len(rules), _without_trailing_spaces(text))
        if rule is None:
            continue
        is_extension = not rule.anchored and _EXTENSION.fullmatch(rule.pattern)
        is_pattern = bool(WILDCARDS.search(rule.pattern)) and not is_extension
        patterns += is_pattern
        if not is_pattern or patterns <= _MAX_PATTERNS:
            rules.append(rule)
        if len(rules) == _MAX_RULES:
            break
    return rules


def _parse_rule(index: int, text: str) -> _Rule | None:
    pattern = text.removeprefix("!")
    directory_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    return _Rule(index, pattern, text.startswith("!"), directory_only, anchored)


def _without_trailing_spaces(text: str) -> str:
    """Strip trailing spaces, except one that a backslash escapes."""
    kept = len(text)
    at = 0
    spaces_from: int | None = None
    while at < kept:
        if text[at] == " ":
            spaces_from = at if spaces_from is None else spaces_from
        else:
            spaces_from = None
            at += text[at] == "\\"
            if at == kept:
                return text
        at += 1
    return text if spaces_from is None else text[:spaces_from]


def _literal_start(pattern: str) -> str:
    wildcard = WILDCARDS.search(pattern)
    return pattern[: wildcard.start()] if wildcard else pattern


def _any_of(sources: list[str]) -> re.Pattern[str] | None:
    return (
        re.compile("|".join(f"(?:{source})" for source in sources), re.DOTALL) if sources else None
    )


_NO_RULES = IgnoreRules(b"", ignore_case=False)
