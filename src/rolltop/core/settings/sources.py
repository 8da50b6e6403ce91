"""Where settings come from: TOML files, .env files, as plain pairs of name and value."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    import tomllib
    from collections.abc import Collection, Iterator
    from pathlib import Path
else:
    tomllib = lazy("tomllib")

FILE_NAME: Final = "rolltop.toml"
DOTENV_NAME: Final = ".env"

_LARGEST: Final = 1 << 20
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*)")
_QUOTED: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?""")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


class Unreadable(ValueError):
    """A settings file that cannot be used; the message says why without quoting it."""


def read_toml(path: Path, keys: Collection[str]) -> list[tuple[str, object]] | None:
    """Return the file's values as dotted keys, None if there is no such file.

    A table whose dotted name is among `keys` stays one value. Raises Unreadable.
    """
    text = _text(path)
    if text is None:
        return None
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = re.search(r"\(at (?:line \d+, column \d+|end of document)\)", str(error))
        raise Unreadable(f"is no TOML {found[0] if found else ''}".rstrip()) from None
    return list(_flat(document, keys))


def read_dotenv(path: Path) -> list[tuple[str, str]] | None:
    """Return the file's NAME=value lines, None if there is no such file.

    Lines may start with `export`; values may be quoted; nothing is expanded. Lines of any
    other form are passed over. Raises Unreadable.
    """
    text = _text(path)
    if text is None:
        return None
    found = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    return [(match[1], _unquoted(match[2])) for match in found if match]


def _text(path: Path) -> str | None:
    """Return the text of a regular file of at most 1 MiB; a FIFO or device is never waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise Unreadable("is larger than 1 MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None


def _flat(
    document: dict[str, object], keys: Collection[str], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    """Yield each value under its dotted key, tables among `keys` whole."""
    for name, value in document.items():
        key = prefix + name
        if key not in keys and isinstance(value, dict) and value:
            yield from _flat(cast("dict[str, object]", value), keys, f"{key}.")
        else:
            yield key, value


def _unquoted(text: str) -> str:
    """Return the value of a .env line without quotes, escapes and comment."""
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        return re.split(r"\s#", text, maxsplit=1)[0].strip()
    if quoted[1] is None:
        return quoted[2]
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), quoted[1])
