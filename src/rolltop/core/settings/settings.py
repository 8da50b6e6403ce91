"""What a setting is, and the settings of one process: read once at start, never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from rolltop.core.settings import values

DEFAULT_SOURCE: Final = "default"
SettingKind = Literal[
    "text",
    "integer",
    "flag",
    "duration",
    "size",
    "path",
    "list",
    "paths",
    "table",
    "store",
    "url",
]
"""What a value is in the program, and how it is written:

- `duration`: whole seconds; written 90s, 5m, 2h or 1d, a bare number in the setting's `unit`
- `size`: bytes; written 512, 64KiB, 32MiB or 1GiB
- `path`: an absolute Path, or None; written relative to the file that sets it, or to the
  working directory; `~` is the home directory
- `list`: a tuple of texts; `paths`: a tuple of absolute Paths
- `table`: names to absolute Paths, joined over all sources name by name
- `store`: a text, the address of a database; a relative path in it is as one of a `path`
- `url`: a text, the address of a web server and maybe a path there, to which more is appended
"""

DurationUnit = Literal["s", "m", "h", "d"]

PREFIX: Final = "ROLLTOP_"

_KIND_DESCRIPTIONS: Final[dict[SettingKind, str]] = {
    "text": "a text",
    "integer": "a whole number",
    "flag": "on or off",
    "duration": "a whole number with s, m, h or d (90s, 5m)",
    "size": "a number of bytes, or one with KiB, MiB or GiB (32MiB)",
    "path": "a path",
    "list": "a list of names",
    "paths": "a list of paths",
    "table": "names, each once and none . or .., with their paths (name = path)",
    "store": "a text",
    "url": "a URL with http:// or https:// and a host, without a query",
}
_MAX_VALUES: Final[dict[SettingKind, int]] = {
    "integer": 1_000_000_000,
    "duration": 3650 * 86400,
    "size": 1 << 50,
}
"""What every clock, file and library can count: no number is larger."""


@dataclass(frozen=True)
class Setting:
    """One setting.

    `default` may be a function of the other settings; `computed` then says in words what it
    gives. `environment` holds names besides ROLLTOP_ + the key in capitals; `entries` pairs
    such a name with the one entry of a table it sets, and `reserved` names that no entry may have.
    `unlimited` is a value allowed beside the bounds that means no limit. `unit` is what a bare
    number of a duration counts. `untrusted` says what a file in the working directory may do with
    it: nothing, set it to folders inside that directory, lower it, or set it freely. `family` is a
    prefix of variables that are ours as well: those that name no setting are reported once and
    ignored, save those in the environment that hold one of the words in `sensitive`, which stop the
    start. `synonyms` are other spellings of choices, in lower case.
    """

    key: str
    kind: SettingKind
    default: Any
    help: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    environment: tuple[str, ...] = ()
    untrusted: Literal["no", "inside", "down", "free"] = "no"
    computed: str = ""
    entries: tuple[tuple[str, str], ...] = ()
    reserved: tuple[str, ...] = ()
    unlimited: int | None = None
    unit: DurationUnit = "s"
    family: str = ""
    sensitive: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that always names it."""
        return PREFIX + self.key.upper().replace(".", "_")

    @property
    def max_value(self) -> int:
        """The largest number it may be."""
        return _MAX_VALUES[self.kind] if self.maximum is None else self.maximum

    @property
    def allowed_values(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            listed = ", ".join(self.choices)
            return f"any of {listed}" if self.kind == "list" else f"one of {listed}"
        bounds = [_KIND_DESCRIPTIONS[self.kind]]
        if self.minimum is not None:
            bounds.append(f"at least {values.format_value(self, self.minimum)}")
        if self.kind in _MAX_VALUES:
            bounds.append(f"at most {values.format_value(self, self.max_value)}")
        said = ", ".join(bounds)
        return said if self.unlimited is None else f"{said}, or {self.unlimited} for no limit"


@dataclass(frozen=True)
class Notice:
    """A line to log about what a file in the working directory may not set; no values in it."""

    text: str
    level: str = "warn"


class Settings(dict[str, Any]):
    """Every declared setting by its key, with its value and where that came from.

    `notices` are to be logged once. `lowered` are the keys whose defaults a project's file, which
    is not trusted, has lowered; `from_project` are the keys whose values such a file has changed.
    """

    def __init__(
        self,
        declared: Iterable[Setting],
        given: Mapping[str, object],
        sources: Mapping[str, str],
        notices: tuple[Notice, ...] = (),
        lowered: Iterable[str] = (),
        from_project: Iterable[str] = (),
    ) -> None:
        """Take values that `load` has checked; compute defaults in the order of declaration."""
        super().__init__()
        self.declared: Mapping[str, Setting] = MappingProxyType({s.key: s for s in declared})
        self.notices = notices
        self.lowered = frozenset(lowered)
        self.from_project = frozenset(from_project)
        self._given = dict(given)
        self._sources = dict(sources)
        for key, setting in self.declared.items():
            default = setting.default
            if key in given:
                self[key] = given[key]
            elif callable(default):
                self[key] = cast("Callable[[Settings], object]", default)(self)
            else:
                self[key] = default

    @classmethod
    def defaults(cls, declared: Iterable[Setting]) -> Settings:
        """Return the settings of a process that is given none."""
        return cls(declared, {}, {})

    def __repr__(self) -> str:
        """Show no values: some are secrets."""
        return f"Settings({', '.join(self)})"

    def source(self, key: str) -> str:
        """Return where the value came from: `default`, a file, a variable, the command line."""
        return self._sources.get(self.declared[key].key, DEFAULT_SOURCE)

    def masked_text(self, key: str) -> str:
        """Return the value as a person would write it, passwords and secrets hidden."""
        return values.format_value(self.declared[key], self[key])

    def replace(self, changes: Mapping[str, object]) -> Settings:
        """Return these settings with some values replaced, taken as they are.

        Raises KeyError: a key that is not declared.
        """
        for key in changes:
            self.declared[key]
        sources = {**self._sources, **dict.fromkeys(changes, "given")}
        kept = (self.lowered - {*changes}, self.from_project - {*changes})
        given = {**self._given, **changes}
        return Settings(self.declared.values(), given, sources, self.notices, *kept)
