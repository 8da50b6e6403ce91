"""The settings of one process: read once at start, never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.settings import values

if TYPE_CHECKING:
    from rolltop.core.settings.declaration import Setting

DEFAULT: Final = "default"


@dataclass(frozen=True)
class Notice:
    """A line to log about what a file in the working directory may not set; no values in it."""

    text: str
    level: str = "warn"


class Settings(Mapping[str, Any]):
    """Every declared setting by its key, with its value and where that came from.

    `notices` are to be logged once.
    """

    def __init__(
        self,
        declared: Iterable[Setting],
        given: Mapping[str, object],
        sources: Mapping[str, str],
        notices: tuple[Notice, ...] = (),
    ) -> None:
        """Keep the values as they are: `load` has checked them."""
        self.declared: Mapping[str, Setting] = MappingProxyType({s.key: s for s in declared})
        self.notices = notices
        self._given = dict(given)
        self._sources = dict(sources)

    @classmethod
    def defaults(cls, declared: Iterable[Setting]) -> Settings:
        """Return the settings of a process that is told nothing."""
        return cls(declared, {}, {})

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  # each setting has its own kind
        """Return the value of the setting `key`, in the type its kind names."""
        if key in self._given:
            return self._given[key]
        default = self.declared[key].default
        if callable(default):
            return cast("Callable[[Settings], object]", default)(self)
        return default

    def __iter__(self) -> Iterator[str]:
        """Return the keys in the order of their declaration."""
        return iter(self.declared)

    def __len__(self) -> int:
        """Return how many settings are declared."""
        return len(self.declared)

    def source(self, key: str) -> str:
        """Return where the value came from: `default`, a file, a variable, the command line."""
        return self._sources.get(self.declared[key].key, DEFAULT)

    def masked(self, key: str) -> str:
        """Return the value as a person would write it, passwords and secrets hidden."""
        return values.shown(self.declared[key], self[key])

    def with_(self, changes: Mapping[str, object]) -> Settings:
        """Return these settings with some values replaced, taken as they are.

        Raises:
            KeyError: a key that is not declared.

        """
        for key in changes:
            self.declared[key]
        sources = {**self._sources, **dict.fromkeys(changes, "given")}
        return Settings(self.declared.values(), {**self._given, **changes}, sources, self.notices)
