"""The few git settings that decide which files are ignored, read from git's own files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rolltop.core.roots.gitconditions import Conditions
from rolltop.core.roots.opening import rules_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_INCLUDE_DEPTH = 10
_MAX_FILES = 500  # git gives up on files that include themselves; they may do so many times
_MAX_CONFIG_BYTES = 16 * 1024 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}
_REMOTE_URL = re.compile(r"remote\..*\.url", re.DOTALL)
_FALSE = frozenset({"false", "no", "off", "0", ""})


class GitSettings:
    """Settings by lower-case dotted key; files given later win over earlier ones.

    `git_dir` is the repository that they are for, if any: what they include may depend on it.
    """

    def __init__(self, paths: list[str], git_dir: str | None = None) -> None:
        self._paths = paths
        self._urls: list[str] | None = None
        self._conditions = Conditions(git_dir, self._remote_urls)
        self._values = dict(self._all())

    def text(self, key: str) -> str | None:
        """The value as written, or None where no file sets it."""
        return self._values.get(key)

    def flag(self, key: str) -> bool:
        """The value as a boolean; a key without a value is true."""
        if key not in self._values:
            return False
        value = self._values[key]
        return value is None or value.lower() not in _FALSE

    def _all(self) -> Iterator[tuple[str, str | None]]:
        left = iter(range(_MAX_FILES))
        for path in self._paths:
            yield from self._read(path, left, depth=0)

    def _read(
        self, path: str, left: Iterator[int], *, depth: int
    ) -> Iterator[tuple[str, str | None]]:
        content = rules_in(path, _MAX_CONFIG_BYTES) if next(left, None) is not None else None
        if content is None:
            return
        for key, value in parse_config(content.decode("utf-8", "surrogateescape")):
            yield key, value
            if value and depth < _MAX_INCLUDE_DEPTH and self._includes(key, path):
                included = expanded(value, str(Path(path).parent))
                yield from self._read(included, left, depth=depth + 1)

    def _includes(self, key: str, file: str) -> bool:
        """Whether the value of a key in this file is the path of another to be read here."""
        condition = key.removeprefix("includeif.").removesuffix(".path")
        if key != f"includeif.{condition}.path":
            return key == "include.path"
        return self._conditions.hold(condition, file)

    def _remote_urls(self) -> list[str]:
        """The addresses of all remotes; git lets no file that depends on them add any."""
        if self._urls is None:
            self._urls = []
            found = [value for key, value in self._all() if _REMOTE_URL.fullmatch(key) and value]
            self._urls = found
        return self._urls


def global_config_files() -> list[str]:
    """The system's and the user's configuration files, weakest first."""
    environment = os.environ
    files: list[str] = []
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() in _FALSE:
        files.append(environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environment:
        return [*files, environment["GIT_CONFIG_GLOBAL"]]
    home = environment.get("HOME", "")
    user = _xdg_file("config")
    return [*files, *([user] if user else []), *([f"{home}/.gitconfig"] if home else [])]


def excludes_file(settings: GitSettings, top: str) -> str:
    """Path of the user's own ignore file: `core.excludesFile` or its default; may be ""."""
    value = settings.text("core.excludesfile")
    return _xdg_file("ignore") if value is None else value and expanded(value, top)


def expanded(path: str, relative_to: str) -> str:
    """The path with `~` and `~user` filled in, absolute."""
    # Path.expanduser raises for a user it does not know; git then takes the text as it is.
    return str(Path(relative_to, os.path.expanduser(path)))  # noqa: PTH111


def parse_config(text: str) -> Iterator[tuple[str, str | None]]:
    """Keys (`section.key`, `section.sub.key`) and values in order; stops at the first error."""
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
                value, at = _value(text, at + 1)
                if value is None:
                    return
            elif text[at : at + 1] not in {"\n", ""}:
                return
            yield section + found[1].lower(), value
        else:
            return


def _value(text: str, at: int) -> tuple[str | None, int]:
    """The value that starts at `at`, None where it is malformed, and the position behind it."""
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
