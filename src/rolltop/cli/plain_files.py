"""Folders of files that a person can read: safe names, careful writes and reads."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from rolltop.cli.lazy_modules import bootstrap
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import replace_surrogates
from rolltop.workspace.safe_open import open_rule_file

MAX_FILE_BYTES: Final = 1 << 30
_NAME_SEPARATOR: Final = re.compile(r"[^\w]+")
_MAX_STEM_LENGTH: Final = 60
# Windows opens a device under these names, whatever their suffix.
_DEVICE_NAME: Final = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³])", re.IGNORECASE)


def file_stem(title: str, default: str) -> str:
    """Make the stem of a file name from a title's words, for any file system."""
    plain = unicodedata.normalize("NFKC", title[: 4 * _MAX_STEM_LENGTH])
    stem = _NAME_SEPARATOR.sub("-", plain).strip("-")[:_MAX_STEM_LENGTH].rstrip("-") or default
    return f"{stem}-" if _DEVICE_NAME.fullmatch(stem) else stem


class FreeNames:
    """Gives out names that differ on file systems that ignore case, too."""

    def __init__(self) -> None:
        self._taken: Final[set[str]] = set()
        self._numbers: Final[dict[str, int]] = {}

    def take(self, stem: str, suffix: str = "") -> str:
        """Return the stem with the suffix, numbered from the second time on."""
        key = stem.casefold()
        while True:
            number = self._numbers[key] = self._numbers.get(key, 0) + 1
            name = f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}"
            if name.casefold() not in self._taken:
                self._taken.add(name.casefold())
                return name


def require_empty(folder: Path) -> None:
    """Raise InvalidArgument unless nothing is there, or an empty folder."""
    with _map_os_errors(folder):
        is_there = folder.is_symlink() or folder.exists()
        is_free = not is_there or (folder.is_dir() and not any(folder.iterdir()))
    if not is_free:
        raise InvalidArgument(f"{folder} is there already", hint="Name a new or an empty folder.")


def make_folder(path: Path) -> None:
    """Make a new folder, for its owner alone. Raises InvalidArgument where anything is there."""
    with _map_os_errors(path):
        bootstrap.make_directory(path.parent)
        path.mkdir(mode=0o700)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file, whole or not at all, and its folders, for their owner alone.

    Raises InvalidArgument where a file is there.
    """
    with _map_os_errors(path):
        bootstrap.make_directory(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


@contextmanager
def _map_os_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be written ({error.strerror})", hint="Choose another place."
        ) from None


class FoundFile(NamedTuple):
    """A file below a folder; `name` is its path from there, with slashes, as it can be shown."""

    name: str
    path: Path


class FileContent(NamedTuple):
    """What a file holds, and when it was written, in UNIX seconds."""

    data: bytes
    modified: float


def list_files(root: Path, below: str = "") -> Iterator[FoundFile | InvalidArgument]:
    """Yield the files of a folder below the root in order; no link is followed.

    A link, or what cannot be read, yields a complaint. Files and folders whose names
    begin with a dot are other programs' own.
    """
    top = root / below
    pending = [top]
    while pending:
        path = pending.pop()
        name = replace_surrogates(path.relative_to(root).as_posix())
        try:
            if path != top and path.is_symlink():
                yield InvalidArgument(f"{name} is a link")
            elif path == top or path.is_dir():
                entries = sorted(path.iterdir(), key=lambda entry: entry.name, reverse=True)
                pending += [entry for entry in entries if not entry.name.startswith(".")]
            else:
                yield FoundFile(name, path)
        except OSError as error:
            yield InvalidArgument(f"{name} cannot be read ({error.strerror})")


def read_file(found: FoundFile) -> FileContent:
    """Read a regular file, through no link. Raises InvalidArgument."""
    try:
        with open_rule_file(str(found.path), MAX_FILE_BYTES, follow=False) as file:
            return FileContent(file.read(MAX_FILE_BYTES), file.status.st_mtime)
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise InvalidArgument(f"{found.name} cannot be read ({reason})") from None
    except ValueError:
        reason = "no file can have this name"
        raise InvalidArgument(f"{found.name} cannot be read ({reason})") from None
