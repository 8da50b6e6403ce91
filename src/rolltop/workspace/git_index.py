"""Which files a git repository tracks, read from its index (versions 2, 3 and 4, split or not).

The format is the one of `gitformat-index(5)`. A damaged index counts as tracking nothing: the
ignore rules then apply unsoftened, and nothing fails. Of a split one all names count, those too
that only its older half has.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from rolltop.workspace.safe_open import open_rule_file
from rolltop.workspace.wildmatch import fold

_HEADER_BYTES = 12
_STAT_BYTES = 40
_TYPE_OFFSET = 26
_SUBMODULE_TYPE = 0o16
_LONG_NAME = 0xFFF
_EXTENDED_FLAG = 0x40
_VERSIONS = range(2, 5)
_COMPRESSED_NAMES_VERSION = 4
_MAX_VARINT_BYTES = 9
_SHARED_INDEX = b"link"
"""The extension that names the other half: the first, where there is one."""
# Of a path from the top of a working tree; Linux opens no longer one.
_MAX_NAME_BYTES = 4096
# Names of version 4 say how much of the one before they begin with: how many times the length of
# the file all of them may have. The name is a small part of an entry.
_MAX_EXPANSION = 4


class TrackedPaths:
    """The paths in an index, as byte views from the top of the working tree."""

    def __init__(
        self, names: Iterable[str], submodules: Iterable[str], *, ignore_case: bool
    ) -> None:
        self._paths = sorted(map(fold, names) if ignore_case else names)
        self._submodules = frozenset(map(fold, submodules) if ignore_case else submodules)
        self._ignore_case = ignore_case

    def has(self, path: str) -> bool:
        """Report whether this path is tracked."""
        path = fold(path) if self._ignore_case else path
        at = bisect_left(self._paths, path)
        return at < len(self._paths) and self._paths[at] == path

    def has_below(self, directory: str) -> bool:
        """Report whether anything inside the directory is tracked."""
        start = (fold(directory) if self._ignore_case else directory) + "/"
        at = bisect_left(self._paths, start)
        return at < len(self._paths) and self._paths[at].startswith(start)

    def has_submodule(self, directory: str) -> bool:
        """Report whether the directory is a submodule."""
        return (fold(directory) if self._ignore_case else directory) in self._submodules


class _DamagedIndex(Exception):
    """The index file violates its format."""


_CACHED_INDEXES = 16
# What git notes of more than a million files.
_MAX_INDEX_BYTES = 128 * 1024 * 1024
_NOTHING_TRACKED = TrackedPaths((), (), ignore_case=False)


def tracked_paths(git_dir: str, *, id_bytes: int, ignore_case: bool) -> TrackedPaths:
    """Load the paths tracked by the index in `git_dir`; cached until the file changes.

    `id_bytes` is the length of the repository's object ids: 20, or 32 with SHA-256.
    """
    path = f"{git_dir}/index"
    try:
        status = os.stat(path)  # noqa: PTH116 - any bytes in a name
        state = status.st_mtime_ns, status.st_size, status.st_ino
        return _load_index(path, state, id_bytes, ignore_case=ignore_case)
    except (OSError, ValueError):  # a path that was read from a file may hold a NUL
        return _NOTHING_TRACKED


@lru_cache(maxsize=_CACHED_INDEXES)
def _load_index(
    path: str, _state: tuple[int, int, int], id_bytes: int, *, ignore_case: bool
) -> TrackedPaths:
    try:
        names, submodules, shared_id = _read_entries(path, id_bytes)
        if any(shared_id):
            shared_path = f"{path.rpartition('/')[0]}/sharedindex.{shared_id.hex()}"
            more, more_submodules, _ = _read_entries(shared_path, id_bytes)
            names, submodules = names + more, submodules + more_submodules
    except (ValueError, IndexError, _DamagedIndex):
        return _NOTHING_TRACKED
    return TrackedPaths(names, submodules, ignore_case=ignore_case)


def _read_entries(path: str, id_bytes: int) -> tuple[list[str], list[str], bytes]:
    """Read the names of an index's entries, and of those that are submodules.

    Of a split index the id of the other half comes with them.
    """
    with open_rule_file(path, _MAX_INDEX_BYTES) as file:
        content = file.read()
    version = int.from_bytes(content[4:8], "big")
    if content[:4] != b"DIRC" or version not in _VERSIONS:
        raise _DamagedIndex
    compressed = version >= _COMPRESSED_NAMES_VERSION
    flags_offset = _STAT_BYTES + id_bytes
    names, submodules = list[str](), list[str]()
    left = _MAX_EXPANSION * len(content)
    at = _HEADER_BYTES
    name = b""
    for _ in range(int.from_bytes(content[8:12], "big")):
        flags = content[at + flags_offset]
        start = at + flags_offset + (4 if flags & _EXTENDED_FLAG else 2)
        submodule = content[at + _TYPE_OFFSET] >> 4 == _SUBMODULE_TYPE
        if compressed:
            dropped, start = _varint(content, start)
            end = content.index(b"\0", start)
            name = name[: len(name) - dropped] + content[start:end]
            at = end + 1
        else:
            length = (flags << 8 | content[at + flags_offset + 1]) & _LONG_NAME
            end = start + length if length < _LONG_NAME else content.index(b"\0", start)
            name = content[start:end]
            at += (end - at + 8) & ~7  # NUL bytes up to a multiple of eight, one at least
        left -= len(name)
        if len(name) > _MAX_NAME_BYTES or left < 0:
            raise _DamagedIndex
        if name:  # one that replaces an entry of the other half has none
            names.append(name.decode("latin-1"))
        if submodule:
            submodules.append(name.decode("latin-1"))
    is_split = content[at : at + 4] == _SHARED_INDEX
    return names, submodules, content[at + 8 : at + 8 + id_bytes] if is_split else b""


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """An offset in the packed form of `gitformat-pack(5)`, and the position behind it."""
    byte = content[at]
    value = byte & 0x7F
    last = at + _MAX_VARINT_BYTES
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = (value + 1) << 7 | (byte & 0x7F)
        if at == last:
            raise _DamagedIndex
    return value, at + 1
