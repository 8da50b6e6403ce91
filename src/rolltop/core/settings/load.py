"""The one reader of settings: files, environment and command line, in their order of rank."""

from __future__ import annotations

import math
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from rolltop.core.argument_names import suggest_name
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import values
from rolltop.core.settings.settings import DEFAULT_SOURCE, PREFIX, Notice, Setting, Settings

FILE_NAME: Final = "rolltop.toml"
DOTENV_NAME: Final = ".env"

_MAX_FILE_BYTES: Final = 1 << 20
_MAX_PROJECT_FILE_BYTES: Final = 1 << 16
_MAX_LINE_DOTS: Final = 100
_MAX_SHOWN_CHARACTERS: Final = 80
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)")
_QUOTED: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?""")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
COMMAND_LINE: Final = "command line"
_HINT: Final = "`rolltop config` lists every setting and what it may be."
_PROJECT_FILE_RULE: Final = (
    "a project's file may only set roots (folders inside its directory), lower limits and choose "
    "toolsets"
)


class UnreadableSettings(ValueError):
    """A settings file that cannot be used; the message says why without quoting it."""


def load(
    declared: Iterable[Setting],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
    user_directory: Path,
    command_line: Mapping[str, str] = MappingProxyType({}),
    config: Path | None = None,
) -> Settings:
    """Return the settings of this process.

    Defaults < rolltop.toml in `user_directory` < rolltop.toml and .env in `working_directory` (not
    trusted) < the file `config` < `environment` < `command_line` (keys to texts). Raises
    InvalidConfig: an unknown key or a bad value in a trusted source; one line naming the key, the
    source and what is allowed.
    """
    reading = _SettingsReader(declared, working_directory)
    trusted = [user_directory / FILE_NAME]
    if config is not None:
        try:
            trusted.append(working_directory / config.expanduser())
        except RuntimeError:
            raise InvalidConfig(
                f"The settings file {config} is in the home of nobody who is known", hint=_HINT
            ) from None
    reading.read_trusted_file(trusted[0])
    reading.read_project_files(known=trusted)
    if config is not None:
        reading.read_trusted_file(trusted[1], required=True)
    reading.read_environment(environment)
    reading.read_command_line(command_line)
    return reading.settings()


class _SettingsReader:
    """What has been read so far; a later source takes the place of an earlier one."""

    def __init__(self, declared: Iterable[Setting], working_directory: Path) -> None:
        self.by_key = {setting.key: setting for setting in declared}
        self.variables = _variables(self.by_key.values())
        self.families = tuple({s.family for s in self.by_key.values() if s.family})
        self.directory = working_directory
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.lowered: set[str] = set()
        self.from_project: set[str] = set()
        self.notices: list[Notice] = []

    def settings(self) -> Settings:
        """Return the outcome."""
        return Settings(
            self.by_key.values(),
            self.values,
            self.sources,
            tuple(self.notices),
            self.lowered,
            self.from_project,
        )

    def read_trusted_file(self, path: Path, *, required: bool = False) -> None:
        """Take every value of a TOML file. Raises InvalidConfig."""
        try:
            found = read_toml(path, self.by_key)
        except UnreadableSettings as error:
            raise InvalidConfig(f"The settings file {path} {error}", hint=_HINT) from None
        if found is None:
            if required:
                raise InvalidConfig(f"The settings file {path} does not exist", hint=_HINT)
            return
        for key, value in found:
            setting = self.by_key.get(key)
            if setting is None:
                raise unknown_name_error("setting", key, str(path), self.by_key)
            try:
                self._set_value(setting, values.from_toml(setting, value, path.parent), str(path))
            except values.ValueNotAllowed:
                raise _invalid_value_error(setting, value, str(path)) from None

    def read_project_files(self, *, known: list[Path]) -> None:
        """Take what the files of the working directory may set, and note what they may not."""
        ceilings = Settings(self.by_key.values(), self.values, self.sources)
        path = self.directory / FILE_NAME
        if not any(_is_same_file(path, other) for other in known):
            for key, value in self._project_values(path):
                setting = self.by_key.get(key)
                self._set_untrusted(setting, key, value, path, ceilings)
        path = self.directory / DOTENV_NAME
        ranked = sorted(self._project_values(path), key=lambda pair: pair[0].startswith(PREFIX))
        for name, value in ranked:
            setting, entry = self._find_variable(name)
            whole = value if entry is None else {entry: value}
            self._set_untrusted(setting, name, whole, path, ceilings)

    def read_environment(self, environment: Mapping[str, str]) -> None:
        """Take our variables; an empty one is not set. Raises InvalidConfig."""
        ours = [name for name in environment if name.startswith(PREFIX)]
        for name in [*(seed for seed in self.variables if seed not in ours), *sorted(ours)]:
            text = environment.get(name, "")
            setting, entry = self._find_variable(name)
            source = f"environment {name}"
            if setting is None:
                unknown = unknown_name_error("variable", name, "environment", self.variables)
                self.notices.append(Notice(f"Ignored: {unknown.message}"))
            elif text:
                self._set_text(setting, entry, text, source)
        for name in sorted(environment):
            if name.startswith(self.families) and name not in self.variables:
                if environment[name] and self._is_sensitive(name):
                    raise unknown_name_error("variable", name, "environment", self.variables)
                self.notices.append(Notice(f"environment {name} is no setting and is ignored"))

    def read_command_line(self, given: Mapping[str, str]) -> None:
        """Take keys and texts; `key.entry` sets one entry of a table. Raises InvalidConfig."""
        for key, text in given.items():
            parent, _, entry = key.rpartition(".")
            setting = self.by_key.get(key)
            if setting is not None:
                self._set_text(setting, None, text, COMMAND_LINE)
            elif parent in self.by_key and self.by_key[parent].kind == "table":
                self._set_text(self.by_key[parent], entry, text, COMMAND_LINE)
            else:
                raise unknown_name_error("setting", key, COMMAND_LINE, self.by_key)

    def _project_values(self, path: Path) -> list[tuple[str, Any]]:
        """Return the pairs of a file that may be anybody's; none, and a notice, if unreadable."""
        try:
            if path.name == DOTENV_NAME:
                return read_dotenv(path) or []
            return read_toml(path, self.by_key, trusted=False) or []
        except UnreadableSettings as error:
            self.notices.append(Notice(f"{path} {error} and is passed over"))
            return []

    def _find_variable(self, name: str) -> tuple[Setting | None, str | None]:
        """Return the setting a variable names, and the entry where it names one of a table."""
        if name in self.variables:
            return self.variables[name]
        for setting in self.by_key.values():
            if setting.kind == "table" and name.startswith(f"{setting.variable}_"):
                return setting, name[len(setting.variable) + 1 :].lower()
        return None, None

    def _is_sensitive(self, name: str) -> bool:
        """Return whether a variable that names no setting may not be ignored."""
        words = {word.removesuffix("S") for word in name.split("_")}
        return any(
            word.removesuffix("S") in words
            for setting in self.by_key.values()
            if setting.family and name.startswith(setting.family)
            for word in setting.sensitive
        )

    def _set_value(self, setting: Setting, value: object, source: str) -> None:
        if setting.kind == "table":
            before = self.values.get(setting.key, {})
            value = MappingProxyType({**before, **cast("Mapping[str, Path]", value)})
            earlier = self.sources.get(setting.key)
            source = f"{earlier}, {source}" if earlier else source
        self.values[setting.key] = value
        self.sources[setting.key] = source
        self.lowered.discard(setting.key)
        self.from_project.discard(setting.key)

    def _set_text(self, setting: Setting, entry: str | None, text: str, source: str) -> None:
        try:
            if entry is None:
                value = values.from_text(setting, text, self.directory)
            else:
                value = values.table([(entry, text)], self.directory)
        except values.ValueNotAllowed:
            raise _invalid_value_error(setting, text, source) from None
        self._set_value(setting, value, source)

    def _set_untrusted(
        self, setting: Setting | None, name: str, value: object, path: Path, ceilings: Settings
    ) -> None:
        """Take a value of a project's file, or note why not; the value is never shown."""
        name = name[:_MAX_SHOWN_CHARACTERS]
        if setting is None:
            # A .env file belongs to other programs too: their names are nothing to look into.
            ours = path.name == FILE_NAME or name.startswith((PREFIX, *self.families))
            level = "warn" if ours else "info"
            self.notices.append(Notice(f"{path}: {name} is no setting and is passed over", level))
            return
        if setting.untrusted == "no":
            self.notices.append(Notice(f"{path}: {name} is passed over: {_PROJECT_FILE_RULE}"))
            return
        try:
            if path.name == DOTENV_NAME and isinstance(value, str):
                read = values.from_text(setting, value, path.parent)
            else:
                read = values.from_toml(setting, value, path.parent)
        except values.ValueNotAllowed:
            allowed = f"it must be {setting.allowed_values}"
            self.notices.append(Notice(f"{path}: {name} is passed over: {allowed}"))
            return
        kept = _limit_untrusted(setting, read, ceilings[setting.key], path.parent)
        if kept is None:
            self.notices.append(Notice(f"{path}: {name} is passed over: {_PROJECT_FILE_RULE}"))
        else:
            self._set_value(setting, kept, str(path))
            if kept != ceilings[setting.key]:
                self.from_project.add(setting.key)
            if setting.untrusted == "down" and ceilings.source(setting.key) == DEFAULT_SOURCE:
                self.lowered.add(setting.key)


def unknown_name_error(what: str, name: str, source: str, known: Iterable[str]) -> InvalidConfig:
    """Return the error for a name that is none of ours, naming the nearest that is."""
    own = {full.removeprefix(PREFIX): full for full in known}
    nearest = suggest_name(name.removeprefix(PREFIX), own)
    meant = f"; did you mean {own[nearest]}?" if nearest else ""
    return InvalidConfig(f"{name} ({source}) is no {what} of Rolltop{meant}", hint=_HINT)


def _invalid_value_error(setting: Setting, value: object, source: str) -> InvalidConfig:
    shown = "its value" if setting.secret else f"{str(value)[:_MAX_SHOWN_CHARACTERS]!r}"
    return InvalidConfig(
        f"{setting.key} ({source}) cannot be {shown}: it must be {setting.allowed_values}",
        hint=_HINT,
    )


def _variables(declared: Iterable[Setting]) -> dict[str, tuple[Setting, str | None]]:
    """Return every environment variable with what it sets, the seeds' names first."""
    settings = list(declared)
    seeds: dict[str, tuple[Setting, str | None]] = {}
    for setting in settings:
        seeds.update(dict.fromkeys(setting.environment, (setting, None)))
        seeds.update({name: (setting, entry) for name, entry in setting.entries})
    return seeds | {setting.variable: (setting, None) for setting in settings}


def _limit_untrusted(setting: Setting, value: Any, ceiling: Any, directory: Path) -> object:  # noqa: ANN401  # of the setting's kind
    """Return the value as far as an untrusted file may set it; None if it may not."""
    if setting.untrusted == "free":
        return value
    if setting.untrusted == "down":
        return value if _as_limit(setting, value) <= _as_limit(setting, ceiling) else None
    inside = directory.resolve()
    if setting.kind == "path":
        return _folder_inside(value, inside)
    if setting.kind == "paths":
        real = [_folder_inside(path, inside) for path in value]
        return None if None in real else tuple(real)
    entries = {name: _folder_inside(path, inside) for name, path in value.items()}
    is_usable = None not in entries.values() and entries.keys().isdisjoint(setting.reserved)
    return entries if is_usable else None


def _as_limit(setting: Setting, value: float) -> float:
    """Return the value as a limit: none at all is the highest."""
    return math.inf if value == setting.unlimited else value


def _folder_inside(path: Path, directory: Path) -> Path | None:
    """Return the real path of a folder, so that no later link can lead out.

    None if it is outside, or no folder that can be listed: there a root would stop the start.
    """
    with suppress(OSError, RuntimeError):  # RuntimeError: a loop of links
        real = path.resolve()
        if real.is_relative_to(directory):
            with os.scandir(real):
                return real
    return None


def _is_same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def read_toml(
    path: Path, keys: Collection[str], *, trusted: bool = True
) -> list[tuple[str, object]] | None:
    """Return the file's values as dotted keys, None if there is no such file.

    A table whose dotted name is among `keys` stays one value. Raises UnreadableSettings.
    """
    text = _read_text(path, _MAX_FILE_BYTES if trusted else _MAX_PROJECT_FILE_BYTES)
    if text is None:
        if trusted and path.is_symlink():  # to a disk that is not mounted, for example
            raise UnreadableSettings("is a link to a file that is not there")
        return None
    # What tomllib makes of a key grows by the square of its dots.
    if not trusted and any(line.count(".") > _MAX_LINE_DOTS for line in text.split("\n")):
        raise UnreadableSettings(f"has a line of more than {_MAX_LINE_DOTS} dots")
    try:
        return list(_flatten(tomllib.loads(text), keys))
    except (ValueError, RecursionError) as error:
        found = re.search(r"\(at (?:line \d+, column \d+|end of document)\)", str(error))
        raise UnreadableSettings(f"is no TOML {found[0] if found else ''}".rstrip()) from None


def read_dotenv(path: Path) -> list[tuple[str, str]] | None:
    """Return the file's NAME=value lines, None if there is no such file.

    Lines may start with `export`; values may be quoted; nothing is expanded. Lines of any
    other form are passed over. Raises UnreadableSettings.
    """
    text = _read_text(path, _MAX_PROJECT_FILE_BYTES)
    if text is None:
        return None
    found = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    return [(match[1], _unquote(match[2])) for match in found if match]


def _read_text(path: Path, most: int) -> str | None:
    """Return the text of a regular file of at most `most` bytes; wait for no FIFO or device."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableSettings(f"cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableSettings("is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UnreadableSettings(f"is larger than {most >> 10} KiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableSettings("is not UTF-8") from None


def _flatten(
    document: dict[str, object], keys: Collection[str], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    """Yield each value under its dotted key, tables among `keys` whole; others may be empty."""
    for name, value in document.items():
        key = prefix + name
        if key not in keys and isinstance(value, dict):
            yield from _flatten(cast("dict[str, object]", value), keys, f"{key}.")
        else:
            yield key, value


def _unquote(text: str) -> str:
    """Return the value of a .env line without quotes, escapes and comment."""
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        return re.split(r"\s#", text, maxsplit=1)[0].strip()
    if quoted[1] is None:
        return quoted[2]
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[1])
