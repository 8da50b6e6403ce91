"""Git repositories around and inside a root: their location, settings and own ignore rules."""

# ruff: noqa: PTH112, PTH115, PTH118 - os.path answers False where Path would raise, for any bytes
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from os.path import isdir, join
from pathlib import Path

from rolltop.workspace.git_index import TrackedPaths, tracked_paths
from rolltop.workspace.gitignore import IgnoreRules, read_ignore_file
from rolltop.workspace.safe_open import read_rule_file
from rolltop.workspace.wildmatch import (
    WILDCARDS,
    MalformedPattern,
    byte_view,
    fold,
    wildmatch_regex,
)

_SHA1_BYTES = 20
_SHA256_BYTES = 32
_MAX_POINTER_BYTES = 1 << 16
_MAX_HEAD_BYTES = 255
_SPACES = " \t\n\r"
_SHA1 = re.compile(r"[0-9a-fA-F]{40}")


class Repository:
    """A repository at the time of the call; only its index is cached."""

    def __init__(self, top: str, git_dir: str) -> None:
        self.top = top
        self.git_dir = git_dir
        common = common_directory(git_dir)
        files = [*global_config_files(), join(common, "config")]
        settings = GitConfig(files, git_dir)
        if settings.get_bool("extensions.worktreeconfig"):
            settings = GitConfig([*files, join(git_dir, "config.worktree")], git_dir)
        self.ignore_case = settings.get_bool("core.ignorecase")
        sha256 = settings.get("extensions.objectformat") == "sha256"
        self._id_bytes = _SHA256_BYTES if sha256 else _SHA1_BYTES
        self.rules = _nonempty(
            read_ignore_file(
                join(common, "info", "exclude"), ignore_case=self.ignore_case, follow=True
            ),
            _excludes_file_rules(settings, top, ignore_case=self.ignore_case),
        )

    @cached_property
    def tracked_paths(self) -> TrackedPaths:
        """The tracked paths; read at the first ignored name."""
        return tracked_paths(self.git_dir, id_bytes=self._id_bytes, ignore_case=self.ignore_case)


def repository_at(directory: str) -> Repository | None:
    """Return the repository whose working tree begins at the directory, if one does."""
    git_dir = git_directory(directory)
    return None if git_dir is None else Repository(directory, git_dir)


def enclosing_repository(directory: str) -> Repository | None:
    """Find the nearest repository that contains the directory."""
    for candidate in (directory, *map(str, Path(directory).parents)):
        found = repository_at(candidate)
        if found is not None:
            return found
    return None


def global_rules(top: str) -> list[IgnoreRules]:
    """Load the user's ignore rules, which also apply outside repositories."""
    settings = GitConfig(global_config_files())
    return _nonempty(_excludes_file_rules(settings, top, ignore_case=False))


def _excludes_file_rules(settings: GitConfig, top: str, *, ignore_case: bool) -> IgnoreRules:
    return read_ignore_file(excludes_file(settings, top), ignore_case=ignore_case, follow=True)


def _nonempty(*lists: IgnoreRules) -> list[IgnoreRules]:
    return [rules for rules in lists if rules]


def git_directory(directory: str) -> str | None:
    """Return the git directory that `.git` in the directory is, or names; None for neither."""
    path = join(directory, ".git")
    pointed_at = _first_line(path)
    if pointed_at is not None:
        if not pointed_at.startswith("gitdir: "):
            return None
        path = join(directory, pointed_at.removeprefix("gitdir: "))
    common = common_directory(path)
    if not (_has_head(path) and isdir(join(common, "objects")) and isdir(join(common, "refs"))):
        return None
    return path


def common_directory(git_dir: str) -> str:
    """Find the directory in which a worktree shares its repository's settings."""
    pointed_at = _first_line(join(git_dir, "commondir"))
    return git_dir if pointed_at is None else join(git_dir, pointed_at)


def _has_head(git_dir: str) -> bool:
    """Report whether the directory has a HEAD, by which git recognizes a git directory."""
    path = join(git_dir, "HEAD")
    link = _read_link(path)
    if link is not None:
        return link.startswith("refs/")
    text = _read_text(path)[:_MAX_HEAD_BYTES]
    if text.startswith("ref:"):
        return text.removeprefix("ref:").lstrip(_SPACES).startswith("refs/")
    return _SHA1.match(text) is not None


def _read_link(path: str) -> str | None:
    """Return a symbolic link's target, None for anything else."""
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


def _read_text(path: str) -> str:
    return os.fsdecode(read_rule_file(path, _MAX_POINTER_BYTES) or b"")


def _first_line(path: str) -> str | None:
    """Read a pointer file without its line end; None if there is no such file."""
    text = read_rule_file(path, _MAX_POINTER_BYTES)
    return None if text is None else os.fsdecode(text).rstrip("\r\n")


_MAX_INCLUDE_DEPTH = 10
# Of all files together: git refuses files that include themselves; one may do so many times.
_MAX_CONFIG_BYTES = 4 * 1024 * 1024
# What each file counts as at least.
_MIN_CONFIG_BYTES = 8 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_CONDITION = re.compile(r"includeif\.(gitdir|gitdir/i|onbranch):(.+)\.path", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_FALSE = frozenset({"false", "no", "off", "0", ""})


class GitConfig:
    """Settings by lower-case dotted key; files given later win over earlier ones.

    Those that a condition includes count if it holds for the repository, if there is one.
    """

    def __init__(self, paths: Sequence[str], git_dir: str = "") -> None:
        self._values: dict[str, str | None] = {}
        left = [_MAX_CONFIG_BYTES]
        for path in paths:
            self._values.update(_read_config(path, git_dir, left, depth=0))

    def get(self, key: str) -> str | None:
        """Return the value as written, None if no file sets it."""
        return self._values.get(key)

    def get_bool(self, key: str) -> bool:
        """Return the value as a boolean; a key without a value is true."""
        if key not in self._values:
            return False
        value = self._values[key]
        return value is None or value.lower() not in _FALSE


def global_config_files() -> list[str]:
    """Return the system's and the user's configuration files, weakest first."""
    environment = os.environ
    files: list[str] = []
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() in _FALSE:
        files.append(environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environment:
        return [*files, environment["GIT_CONFIG_GLOBAL"]]
    home = environment.get("HOME", "")
    user = _xdg_file("config")
    return [*files, *([user] if user else []), *([f"{home}/.gitconfig"] if home else [])]


def excludes_file(settings: GitConfig, top: str) -> str:
    """Return the path of the user's own ignore file: `core.excludesFile` or its default, or ""."""
    value = settings.get("core.excludesfile")
    return _xdg_file("ignore") if value is None else value and expand_user(value, top)


def expand_user(path: str, relative_to: str) -> str:
    """Return the absolute path with `~` and `~user` filled in."""
    # Path.expanduser raises for a user it does not know; git then uses the text unchanged.
    return str(Path(relative_to, os.path.expanduser(path)))  # noqa: PTH111


def _read_config(
    path: str, git_dir: str, left: list[int], *, depth: int
) -> Iterator[tuple[str, str | None]]:
    """Yield the settings of a file and of those it includes, while bytes are `left` to read."""
    content = read_rule_file(path, left[0]) if left[0] > 0 else None
    if content is None:
        return
    left[0] -= max(len(content), _MIN_CONFIG_BYTES)
    for key, value in parse_config(content.decode("utf-8", "surrogateescape")):
        yield key, value
        if value and depth < _MAX_INCLUDE_DEPTH and _is_included(key, path, git_dir):
            included = expand_user(value, str(Path(path).parent))
            yield from _read_config(included, git_dir, left, depth=depth + 1)


def _is_included(key: str, path: str, git_dir: str) -> bool:
    """Whether a key of the file at `path` includes another one, as `includeIf` may."""
    condition = _CONDITION.fullmatch(key)
    if condition is None or not git_dir:
        return key == "include.path"
    kind, pattern = condition.groups()
    ignore_case = kind == "gitdir/i"
    if kind == "onbranch":
        subject = _branch(git_dir)
    else:
        subject, pattern = os.path.realpath(git_dir), _absolute_pattern(pattern, path)
    pattern += "**" if pattern.endswith("/") else ""
    view = fold(byte_view(subject)) if ignore_case else byte_view(subject)
    with suppress(MalformedPattern):
        regex = wildmatch_regex(byte_view(pattern), ignore_case=ignore_case)
        return re.fullmatch(regex, view, re.DOTALL) is not None
    return False


def _absolute_pattern(pattern: str, path: str) -> str:
    """Return the pattern of a git directory in the configuration file at `path`."""
    first, slash, rest = pattern.partition("/")
    if first == ".":
        folder = os.path.realpath(Path(path).parent)
        return WILDCARDS.sub(r"\\\g<0>", folder) + slash + rest
    if first.startswith("~"):
        first = os.path.realpath(os.path.expanduser(first))  # noqa: PTH111
    return f"{first}{slash}{rest}" if first[:1] in {"", "/"} else f"**/{pattern}"


def _branch(git_dir: str) -> str:
    """Return the branch that is checked out, "" for none."""
    head = join(git_dir, "HEAD")
    ref = _read_link(head) or _read_text(head).removeprefix("ref:").strip(_SPACES)
    branch = ref.removeprefix("refs/heads/")
    return branch if branch != ref else ""


def parse_config(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield keys (`section.key`, `section.sub.key`) and values in order, up to the first error."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    section = ""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = _end_of_line(text, at)
        elif found := _SECTION.match(text, at):
            subsection = re.sub(r"\\(.)", r"\1", found[2]) + "." if found[2] is not None else ""
            section = f"{found[1].lower()}.{subsection}"
            at = found.end()
        elif section and (found := _KEY.match(text, at)):
            at = found.end()
            value = None
            if text[at : at + 1] == "=":
                value, at = _parse_value(text, at + 1)
                if value is None:
                    return
            elif text[at : at + 1] not in {"\n", ""}:
                return
            yield section + found[1].lower(), value
        else:
            return


def _parse_value(text: str, at: int) -> tuple[str | None, int]:
    """Return the value that starts at `at`, None if it is malformed, and the position after it."""
    while text[at : at + 1] in {" ", "\t"}:
        at += 1
    parts: list[str] = []
    kept = 0  # white space after this many parts is dropped, unless more follows
    quoted = False
    while at < len(text) and text[at] != "\n":
        character = text[at]
        if character == "\\":
            at += 1
            escaped = text[at : at + 1]
            if escaped != "\n" and escaped not in _ESCAPES:
                return None, at
            parts.append(_ESCAPES.get(escaped, ""))
            kept = len(parts)
        elif character == '"':
            quoted = not quoted
            kept = len(parts)
        elif character in "#;" and not quoted:
            at = _end_of_line(text, at)
            break
        else:
            parts.append(character)
            kept = len(parts) if quoted or not character.isspace() else kept
        at += 1
    return (None if quoted else "".join(parts[:kept])), at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _xdg_file(name: str) -> str:
    folder, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if not folder and home:
        folder = f"{home}/.config"
    return f"{folder}/git/{name}" if folder else ""
