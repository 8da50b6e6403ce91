"""What a setting is: one declaration that feeds the reader, `rolltop config` and the pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

from rolltop.core.settings.values import shown

Kind = Literal[
    "text",
    "integer",
    "number",
    "flag",
    "duration",
    "size",
    "path",
    "list",
    "paths",
    "table",
    "url",
]
"""What a value is in the program, and how it is written:

- `duration`: whole seconds; written 90s, 5m, 2h or 1d, a bare number in the setting's `unit`
- `size`: bytes; written 512, 64KiB, 32MiB or 1GiB
- `path`: an absolute Path, or None; written relative to the file that sets it, or to the
  working directory; `~` is the home directory
- `list`: a tuple of texts; `paths`: a tuple of absolute Paths
- `table`: names to absolute Paths, joined over all sources name by name
- `url`: a text, the address of a web server and maybe a path there, to which more is appended
"""

Unit = Literal["s", "m", "h", "d"]

PREFIX: Final = "ROLLTOP_"

_FORMS: Final[dict[Kind, str]] = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "flag": "on or off",
    "duration": "a whole number with s, m, h or d (90s, 5m)",
    "size": "a number of bytes, or one with KiB, MiB or GiB (32MiB)",
    "path": "a path",
    "list": "a list of names",
    "paths": "a list of paths",
    "table": "names, each once and none . or .., with their paths (name = path)",
    "url": "a URL with http:// or https:// and a host, without a query",
}
_MOST: Final[dict[Kind, float]] = {
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
    such a name with the one entry of a table it sets. `unlimited` is a value allowed beside
    the bounds that means no limit. `unit` is what a bare number of a duration counts.
    `untrusted` says what a file in the working directory may do with it: nothing, set it to
    paths inside that directory, lower it, or set it freely. `family` is a prefix of variables
    that are ours as well: those that name no setting are reported once and ignored.
    """

    key: str
    kind: Kind
    default: Any
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    environment: tuple[str, ...] = ()
    untrusted: Literal["no", "inside", "down", "free"] = "no"
    computed: str = ""
    entries: tuple[tuple[str, str], ...] = ()
    unlimited: int | None = None
    unit: Unit = "s"
    family: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that always names it."""
        return PREFIX + self.key.upper().replace(".", "_")

    @property
    def most(self) -> float:
        """The largest number it may be."""
        return _MOST.get(self.kind, math.inf) if self.maximum is None else self.maximum

    @property
    def allowed(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            listed = ", ".join(self.choices)
            return f"any of {listed}" if self.kind == "list" else f"one of {listed}"
        bounds = [_FORMS[self.kind]]
        if self.minimum is not None:
            bounds.append(f"at least {self._written(self.minimum)}")
        if self.most < math.inf:
            bounds.append(f"at most {self._written(self.most)}")
        said = ", ".join(bounds)
        return said if self.unlimited is None else f"{said}, or {self.unlimited} for no limit"

    def _written(self, bound: float) -> str:
        return f"{bound:g}" if self.kind == "number" else shown(self, int(bound))
