"""Which files a git repository tracks, read from its index (versions 2, 3 and 4, split or not).

The format is the one of `gitformat-index(5)`. A damaged index counts as tracking nothing: the
ignore rules then apply unsoftened, and nothing fails.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

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
_WORD_BITS = 64
_WORD_BYTES = 8
_RUN_LENGTH_MASK = 0xFFFFFFFF
_MAX_VARINT_BYTES = 9
# Of a path from the top of a working tree; no system opens a longer one.
_MAX_NAME_BYTES = 1 << 16


class TrackedPaths:
    """The paths in an index, as byte views from the top of the working tree."""

    def __init__(self, entries: list[IndexEntry], *, ignore_case: bool) -> None:
        views = [entry.name.decode("latin-1") for entry in entries]
        names = list(map(fold, views)) if ignore_case else views
        self._paths = sorted(names)
        self._submodules = frozenset(
            name for name, entry in zip(names, entries, strict=True) if entry.submodule
        )
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


class IndexEntry(NamedTuple):
    """The relevant fields of an index entry."""

    name: bytes
    submodule: bool


class _DamagedIndex(Exception):
    """The index file violates its format."""


_CACHED_INDEXES = 16
# What git notes of some five million files.
_MAX_INDEX_BYTES = 512 * 1024 * 1024
_NOTHING_TRACKED = TrackedPaths([], ignore_case=False)


def tracked_paths(git_dir: str, *, id_bytes: int, ignore_case: bool) -> TrackedPaths:
    """Load the paths tracked by the index in `git_dir`; cached until the file changes.

    `id_bytes` is the length of the repository's object ids: 20, or 32 with SHA-256.
    """
    path = f"{git_dir}/index"
    try:
        status = os.stat(path)  # noqa: PTH116 - any bytes in a name
        state = status.st_mtime_ns, status.st_size, status.st_ino
        return _load_index(path, state, id_bytes, ignore_case=ignore_case)
    except (OSError, ValueError, _DamagedIndex):
        return _NOTHING_TRACKED


@lru_cache(maxsize=_CACHED_INDEXES)
def _load_index(
    path: str, _state: tuple[int, int, int], id_bytes: int, *, ignore_case: bool
) -> TrackedPaths:
    with open_rule_file(path, _MAX_INDEX_BYTES) as file:
        entries = read_index(file.read(), path.rpartition("/")[0], id_bytes)
    return TrackedPaths(entries, ignore_case=ignore_case)


def read_index(content: bytes, git_dir: str, id_bytes: int) -> list[IndexEntry]:
    """Read the entries of an index file, including those of its shared index."""
    try:
        entries, end = _read_entries(content, id_bytes)
        link = _extension(content, end, b"link", id_bytes)
        if link is None or not any(link[:id_bytes]):
            return entries
        with open_rule_file(
            f"{git_dir}/sharedindex.{link[:id_bytes].hex()}", _MAX_INDEX_BYTES
        ) as file:
            shared, _ = _read_entries(file.read(), id_bytes)
        return _merge_shared(entries, shared, link[id_bytes:])
    except (IndexError, ValueError) as error:
        raise _DamagedIndex from error


def _read_entries(content: bytes, id_bytes: int) -> tuple[list[IndexEntry], int]:
    """Read the entries of the file itself; return them and the position after them."""
    version = int.from_bytes(content[4:8], "big")
    if content[:4] != b"DIRC" or version not in _VERSIONS:
        raise _DamagedIndex
    compressed = version >= _COMPRESSED_NAMES_VERSION
    flags_offset = _STAT_BYTES + id_bytes
    entries: list[IndexEntry] = []
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
            if len(name) > _MAX_NAME_BYTES:
                raise _DamagedIndex
            at = end + 1
        else:
            length = (flags << 8 | content[at + flags_offset + 1]) & _LONG_NAME
            end = start + length if length < _LONG_NAME else content.index(b"\0", start)
            name = content[start:end]
            at += (end - at + 8) & ~7  # NUL bytes up to a multiple of eight, one at least
        entries.append(IndexEntry(name, submodule))
    return entries, at


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


def _extension(content: bytes, at: int, signature: bytes, id_bytes: int) -> bytes | None:
    """Find the data of the extension with that signature, if the file has it."""
    while at + 8 <= len(content) - id_bytes:
        size = int.from_bytes(content[at + 4 : at + 8], "big")
        if content[at : at + 4] == signature:
            return content[at + 8 : at + 8 + size]
        at += 8 + size
    return None


def _merge_shared(
    entries: list[IndexEntry], shared: list[IndexEntry], bitmaps: bytes
) -> list[IndexEntry]:
    """Merge the shared entries, except deleted ones, with the file's own.

    Entries that replace a shared one come first and have its name.
    """
    if not bitmaps:
        return shared + entries
    deleted_bits, end = _ewah_bits(bitmaps, 0, len(shared))
    replaced_bits, _ = _ewah_bits(bitmaps, end, len(shared))
    deleted = set(deleted_bits)
    kept = [entry for at, entry in enumerate(shared) if at not in deleted]
    return kept + entries[len(list(replaced_bits)) :]


def _ewah_bits(content: bytes, at: int, count: int) -> tuple[list[int], int]:
    """Positions of the ones among the `count` bits of an EWAH bitmap, and where its data ends."""
    words = int.from_bytes(content[at + 4 : at + 8], "big")
    start = at + 8
    end = start + words * _WORD_BYTES
    if end > len(content):
        raise _DamagedIndex
    return list(_ewah_ones(content, start, end, count)), end + 4


def _ewah_ones(content: bytes, at: int, end: int, count: int) -> Iterator[int]:
    position = 0
    while at < end and position < count:
        marker = int.from_bytes(content[at : at + _WORD_BYTES], "big")
        at += _WORD_BYTES
        run = (marker >> 1 & _RUN_LENGTH_MASK) * _WORD_BITS
        if marker & 1:
            yield from range(position, min(position + run, count))
        position += run
        literals = marker >> 33
        if literals > (end - at) // _WORD_BYTES:
            raise _DamagedIndex
        for _ in range(literals):
            word = int.from_bytes(content[at : at + _WORD_BYTES], "big")
            yield from (position + bit for bit in range(_WORD_BITS) if word >> bit & 1)
            position += _WORD_BITS
            at += _WORD_BYTES
