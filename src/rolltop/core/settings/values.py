"""Values of settings: from text and from TOML to the program's own types, and back to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from rolltop.core.settings.settings import DurationUnit, Setting, SettingKind

_SECONDS: Final[dict[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES: Final = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_FLAGS: Final = {
    "on": True,
    "true": True,
    "yes": True,
    "1": True,
    "off": False,
    "false": False,
    "no": False,
    "0": False,
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_DURATION: Final = re.compile(r"([0-9]{1,12})([smhd]?)")
_SIZE: Final = re.compile(r"([0-9]{1,18})\s*([a-z]*)", re.IGNORECASE)
_NAME: Final = re.compile(r"(?!\.\.?\Z)[\w.-]+")
"""A path may begin with it, and mean nothing else by that."""
_RELATIVE_STORE: Final = re.compile(
    r"(sqlite(?:\+\w+)?:///)(?!/|~|:memory:|[a-z]:|%)(.+)", re.DOTALL | re.IGNORECASE
)
_NOT_IN_URL: Final = re.compile(r"[\s\x00-\x1f?#]")
_URL_PASSWORD: Final = re.compile(r"(?<=://)([^:@]*):.*@")
_QUERY_PASSWORD: Final = re.compile(r"([?&][a-z_]*(?:password|passfile)=)[^&#]*", re.IGNORECASE)
_UNITS: Final[dict[SettingKind, tuple[tuple[str, int], ...]]] = {
    "size": (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)),
    "duration": (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)),
}
MASK: Final = "********"


class ValueNotAllowed(ValueError):
    """A value that is not among those its setting allows."""


def from_text(setting: Setting, text: str, base: Path) -> object:
    """Return the value written as text in a variable or on the command line.

    Relative paths are taken from `base`. Raises ValueNotAllowed.
    """
    if "\0" in text:
        raise ValueNotAllowed
    return _check_bounds(setting, _TEXT_READERS[setting.kind](text, setting, base))


def from_toml(setting: Setting, value: object, base: Path) -> object:
    """Return the value as TOML holds it, without coercion: "5" is not 5. Raises ValueNotAllowed."""
    kind = setting.kind
    if kind in {"list", "paths"}:
        items = _texts(value)
        made: object = items if kind == "list" else tuple(_path(item, base) for item in items)
        return _check_bounds(setting, made)
    if kind == "table":
        if not isinstance(value, dict):
            raise ValueNotAllowed
        entries = cast("dict[str, object]", value)
        return table([(name, _one_text(entry)) for name, entry in entries.items()], base)
    if isinstance(value, bool):
        return _check_bounds(setting, _require(kind == "flag", value))
    if isinstance(value, int):
        return _check_bounds(setting, _number(setting, value))
    text = _one_text(value)
    if kind in {"integer", "flag"}:
        raise ValueNotAllowed
    return from_text(setting, text, base)


def table(pairs: Iterable[tuple[str, str]], base: Path) -> Mapping[str, Path]:
    """Return names and their absolute paths. Raises ValueNotAllowed."""
    entries = [(name.strip(), text.strip()) for name, text in pairs]
    are_named = all(text and _NAME.fullmatch(name) for name, text in entries)
    if not are_named or len(dict(entries)) < len(entries):
        raise ValueNotAllowed
    return MappingProxyType({name: _path(text, base) for name, text in entries})


def format_value(setting: Setting, value: object) -> str:
    """Return a value as a person would write it, passwords and secrets hidden."""
    if value is None or value == "":
        return ""
    if setting.secret:
        return mask_passwords(str(value)) if setting.key.endswith("_url") else MASK
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and setting.kind in _UNITS:
        return _in_units(value, _UNITS[setting.kind])
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        value = tuple(f"{name}={entry}" for name, entry in entries.items())
    items = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
    return ", ".join(str(item) for item in items)


def mask_passwords(secret: str) -> str:
    """Return a URL without its passwords; of any other text nothing."""
    if "://" not in secret:
        return MASK
    without = _URL_PASSWORD.sub(rf"\1:{MASK}@", secret)
    return _QUERY_PASSWORD.sub(rf"\1{MASK}", without)


def _in_units(value: int, units: tuple[tuple[str, int], ...]) -> str:
    """Return the number in the largest unit that divides it."""
    for name, factor in units:
        if value and value % factor == 0:
            return f"{value // factor}{name}"
    return str(value)


def _require(allowed: bool, value: object) -> object:  # noqa: FBT001  # a condition, not an option
    if not allowed:
        raise ValueNotAllowed
    return value


def _one_text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueNotAllowed
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueNotAllowed
    return tuple(_one_text(item) for item in cast("list[object]", value))


def _number(setting: Setting, value: int) -> int:
    """Return a TOML number as the setting's kind."""
    if setting.kind not in {"integer", "duration", "size"}:
        raise ValueNotAllowed
    return value * _SECONDS[setting.unit] if setting.kind == "duration" else value


def _check_bounds(setting: Setting, value: Any) -> object:  # noqa: ANN401  # of the setting's kind
    """Return the value if it keeps the setting's bounds and choices, spelled as they are."""
    if setting.choices:
        items = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        spelled = tuple(_choice(setting, str(item)) for item in items)
        return spelled if isinstance(value, tuple) else spelled[0]
    if isinstance(value, int) and not isinstance(value, bool) and value != setting.unlimited:
        least = value if setting.minimum is None else setting.minimum
        if not least <= value <= setting.max_value:
            raise ValueNotAllowed
    return value


def _choice(setting: Setting, text: str) -> str:
    for choice in setting.choices:
        if choice.casefold() == text.strip().casefold():
            return choice
    for spelling, choice in setting.synonyms:
        if spelling == text.strip().casefold():
            return choice
    raise ValueNotAllowed


def _whole(text: str, _setting: Setting, _base: Path) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise ValueNotAllowed
    return int(text)


def _flag(text: str, _setting: Setting, _base: Path) -> bool:
    try:
        return _FLAGS[text.strip().lower()]
    except KeyError:
        raise ValueNotAllowed from None


def _duration(text: str, setting: Setting, _base: Path) -> int:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueNotAllowed
    unit = cast("DurationUnit", found[2] or setting.unit)
    return int(found[1]) * _SECONDS[unit]


def _size(text: str, _setting: Setting, _base: Path) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None or found[2].lower() not in _BYTES:
        raise ValueNotAllowed
    return int(found[1]) * _BYTES[found[2].lower()]


def _path(text: str, base: Path) -> Path:
    if not text.strip():
        raise ValueNotAllowed
    try:
        return base / Path(text).expanduser()
    except RuntimeError:  # no home directory is known
        raise ValueNotAllowed from None


def _url(text: str, _setting: Setting, _base: Path) -> str:
    """Return the text as it is. Raises ValueNotAllowed for what requests cannot go to."""
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket without the other, a port that is none
        raise ValueNotAllowed from None
    if not is_whole or parts.scheme not in {"http", "https"} or _NOT_IN_URL.search(text):
        raise ValueNotAllowed
    return text


def _store(text: str, _setting: Setting, base: Path) -> str:
    """Return the text; a relative path in it becomes absolute."""
    found = _RELATIVE_STORE.fullmatch(text)
    try:
        return f"{found[1]}{quote(base.as_posix())}/{found[2]}" if found else text
    except UnicodeEncodeError:  # a folder whose name is no text has no URL
        return text


def _split(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for item in _split(text):
        name, equals, path = item.partition("=")
        if not equals:
            raise ValueNotAllowed
        pairs.append((name, path))
    return pairs


_TEXT_READERS: Final[dict[SettingKind, Callable[[str, Setting, Path], object]]] = {
    "text": lambda text, _setting, _base: text,
    "integer": _whole,
    "flag": _flag,
    "duration": _duration,
    "size": _size,
    "path": lambda text, _setting, base: _path(text, base),
    "list": lambda text, _setting, _base: _split(text),
    "paths": lambda text, _setting, base: tuple(_path(item, base) for item in _split(text)),
    "table": lambda text, _setting, base: table(_pairs(text), base),
    "store": _store,
    "url": _url,
}
