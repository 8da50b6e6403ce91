"""The one reader of settings: files, environment and command line, in their order of rank."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.errors import ConfigInvalid
from rolltop.core.lazy import lazy
from rolltop.core.settings import sources, values
from rolltop.core.settings.declaration import PREFIX, Setting
from rolltop.core.settings.settings import Notice, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rolltop.core import arguments
else:
    arguments = lazy("rolltop.core.arguments")

COMMAND_LINE: Final = "command line"
_HINT: Final = "`rolltop config` lists every setting and what it may be."
_FIRM: Final = (
    "a project's file may only set roots inside its directory, lower limits and choose toolsets"
)


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

    Defaults < rolltop.toml in `user_directory` < rolltop.toml and .env in `working_directory`
    (not trusted) < the file `config` < `environment` < `command_line` (keys to texts).

    Raises:
        ConfigInvalid: an unknown key or a bad value in a trusted source; one line naming the
            key, the source and what is allowed.

    """
    reading = _Reading(declared, working_directory)
    trusted = [user_directory / sources.FILE_NAME]
    if config is not None:
        trusted.append(working_directory / config.expanduser())
    reading.trusted_file(trusted[0])
    reading.project_files(known=trusted)
    if config is not None:
        reading.trusted_file(trusted[1], required=True)
    reading.environment(environment)
    reading.command_line(command_line)
    return reading.settings()


class _Reading:
    """What has been read so far; a later source takes the place of an earlier one."""

    def __init__(self, declared: Iterable[Setting], working_directory: Path) -> None:
        self.by_key = {setting.key: setting for setting in declared}
        self.variables = _variables(self.by_key.values())
        self.families = tuple({s.family for s in self.by_key.values() if s.family})
        self.directory = working_directory
        self.given: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.notices: list[Notice] = []

    def settings(self) -> Settings:
        """Return the outcome."""
        return Settings(self.by_key.values(), self.given, self.sources, tuple(self.notices))

    def trusted_file(self, path: Path, *, required: bool = False) -> None:
        """Take every value of a TOML file. Raises ConfigInvalid."""
        try:
            found = sources.read_toml(path, self.by_key)
        except sources.Unreadable as error:
            raise ConfigInvalid(f"The settings file {path} {error}", hint=_HINT) from None
        if found is None:
            if required:
                raise ConfigInvalid(f"The settings file {path} does not exist", hint=_HINT)
            return
        for key, value in found:
            setting = self.by_key.get(key)
            if setting is None:
                raise unknown("setting", key, str(path), self.by_key)
            try:
                self._take(setting, values.from_toml(setting, value, path.parent), str(path))
            except values.NotAllowed:
                raise _bad(setting, value, str(path)) from None

    def project_files(self, *, known: list[Path]) -> None:
        """Take what the files of the working directory may set, and note what they may not."""
        ceilings = Settings(self.by_key.values(), dict(self.given), {})
        path = self.directory / sources.FILE_NAME
        if not any(_same(path, other) for other in known):
            for key, value in self._project_values(path):
                setting = self.by_key.get(key)
                self._take_untrusted(setting, key, value, path, ceilings)
        path = self.directory / sources.DOTENV_NAME
        ranked = sorted(self._project_values(path), key=lambda pair: pair[0].startswith(PREFIX))
        for name, value in ranked:
            setting, entry = self._by_variable(name)
            whole = value if entry is None else {entry: value}
            self._take_untrusted(setting, name, whole, path, ceilings)

    def environment(self, environment: Mapping[str, str]) -> None:
        """Take the variables that are ours; an empty one is not set. Raises ConfigInvalid."""
        ours = [name for name in environment if name.startswith(PREFIX)]
        for name in [*(seed for seed in self.variables if seed not in ours), *sorted(ours)]:
            text = environment.get(name, "")
            setting, entry = self._by_variable(name)
            source = f"environment {name}"
            if setting is None:
                raise unknown("variable", name, "environment", self.variables)
            if text:
                self._take_text(setting, entry, text, source)
        for name in sorted(environment):
            if name.startswith(self.families) and name not in self.variables:
                self.notices.append(Notice(f"environment {name} is no setting and is ignored"))

    def command_line(self, given: Mapping[str, str]) -> None:
        """Take keys and texts; `key.entry` sets one entry of a table. Raises ConfigInvalid."""
        for key, text in given.items():
            parent, _, entry = key.rpartition(".")
            setting = self.by_key.get(key)
            if setting is not None:
                self._take_text(setting, None, text, COMMAND_LINE)
            elif parent in self.by_key and self.by_key[parent].kind == "table":
                self._take_text(self.by_key[parent], entry, text, COMMAND_LINE)
            else:
                raise unknown("setting", key, COMMAND_LINE, self.by_key)

    def _project_values(self, path: Path) -> list[tuple[str, Any]]:
        """Return the pairs of a file that may be anybody's; none, and a notice, if unreadable."""
        try:
            if path.name == sources.DOTENV_NAME:
                return sources.read_dotenv(path) or []
            return sources.read_toml(path, self.by_key) or []
        except sources.Unreadable as error:
            self.notices.append(Notice(f"{path} {error} and is passed over"))
            return []

    def _by_variable(self, name: str) -> tuple[Setting | None, str | None]:
        """Return the setting a variable names, and the entry where it names one of a table."""
        if name in self.variables:
            return self.variables[name]
        for setting in self.by_key.values():
            if setting.kind == "table" and name.startswith(f"{setting.variable}_"):
                return setting, name[len(setting.variable) + 1 :].lower()
        return None, None

    def _take(self, setting: Setting, value: object, source: str) -> None:
        if setting.kind == "table":
            before = self.given.get(setting.key, {})
            value = MappingProxyType({**before, **cast("Mapping[str, Path]", value)})
            earlier = self.sources.get(setting.key)
            source = f"{earlier}, {source}" if earlier else source
        self.given[setting.key] = value
        self.sources[setting.key] = source

    def _take_text(self, setting: Setting, entry: str | None, text: str, source: str) -> None:
        try:
            if entry is None:
                value = values.from_text(setting, text, self.directory)
            else:
                value = values.table([(entry, text)], self.directory)
        except values.NotAllowed:
            raise _bad(setting, text, source) from None
        self._take(setting, value, source)

    def _take_untrusted(
        self, setting: Setting | None, name: str, value: object, path: Path, ceilings: Settings
    ) -> None:
        """Take a value of a project's file, or note why not; the value is never shown."""
        if setting is None:
            # A .env file belongs to other programs too: their names are nothing to look into.
            ours = path.name == sources.FILE_NAME or name.startswith((PREFIX, *self.families))
            level = "warn" if ours else "info"
            self.notices.append(Notice(f"{path}: {name} is no setting and is passed over", level))
            return
        if setting.untrusted == "no":
            self.notices.append(Notice(f"{path}: {name} is passed over: {_FIRM}"))
            return
        try:
            if path.name == sources.DOTENV_NAME and isinstance(value, str):
                read = values.from_text(setting, value, path.parent)
            else:
                read = values.from_toml(setting, value, path.parent)
        except values.NotAllowed:
            allowed = f"it must be {setting.allowed}"
            self.notices.append(Notice(f"{path}: {name} is passed over: {allowed}"))
            return
        kept = _within(setting, read, ceilings[setting.key], path.parent)
        if kept is None:
            self.notices.append(Notice(f"{path}: {name} is passed over: {_FIRM}"))
        else:
            self._take(setting, kept, str(path))


def unknown(what: str, name: str, source: str, known: Iterable[str]) -> ConfigInvalid:
    """Return the error for a name that is none of ours, naming the nearest that is."""
    own = {full.removeprefix(PREFIX): full for full in known}
    nearest = arguments.nearest(name.removeprefix(PREFIX), own)
    meant = f"; did you mean {own[nearest]}?" if nearest else ""
    return ConfigInvalid(f"{name} ({source}) is no {what} of Rolltop{meant}", hint=_HINT)


def _bad(setting: Setting, value: object, source: str) -> ConfigInvalid:
    shown = "its value" if setting.secret else f"{str(value)[:80]!r}"
    return ConfigInvalid(
        f"{setting.key} ({source}) cannot be {shown}: it must be {setting.allowed}", hint=_HINT
    )


def _variables(declared: Iterable[Setting]) -> dict[str, tuple[Setting, str | None]]:
    """Return every environment variable with what it sets, the seeds' names first."""
    settings = list(declared)
    seeds: dict[str, tuple[Setting, str | None]] = {}
    for setting in settings:
        seeds.update(dict.fromkeys(setting.environment, (setting, None)))
        seeds.update({name: (setting, entry) for name, entry in setting.entries})
    return seeds | {setting.variable: (setting, None) for setting in settings}


def _within(setting: Setting, value: Any, ceiling: Any, directory: Path) -> object:  # noqa: ANN401  # of the setting's kind
    """Return what an untrusted file may make of the setting, None if not this."""
    if setting.untrusted == "free":
        return value
    if setting.untrusted == "down":
        return value if _height(setting, value) <= _height(setting, ceiling) else None
    inside = directory.resolve()
    if setting.kind == "path":
        return _inside(value, inside)
    if setting.kind == "paths":
        real = [_inside(path, inside) for path in value]
        return None if None in real else tuple(real)
    entries = {name: _inside(path, inside) for name, path in value.items()}
    return None if None in entries.values() else entries


def _height(setting: Setting, value: float) -> float:
    """Return the value as a limit: none at all is the highest."""
    return math.inf if value == setting.unlimited else value


def _inside(path: Path, directory: Path) -> Path | None:
    """Return the real path, so that no later link can lead out; None if it is outside."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return None
    return real if real.is_relative_to(directory) else None


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
