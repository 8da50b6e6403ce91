"""Files that were renamed: found by the bytes that were at a path that is gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from rolltop.core.context import AppContext
from rolltop.core.errors import RolltopError
from rolltop.toolsets.retrieval.index.trigram_index import search_roots
from rolltop.workspace import Root, Roots
from rolltop.workspace.file_stat import FileStat
from rolltop.workspace.walk import SkippedEntries

_MAX_FILES: Final = 500
_MAX_BYTES: Final = 1 << 25
"""Files and bytes that are read to find one."""
_CHUNK_BYTES: Final = 1 << 20


def find_renamed(app: AppContext, root: Root, path: str, version: str) -> str | None:
    """Return the path of a file with the bytes that were at a path; None if none is found.

    `version` is the beginning of their SHA-256. As many files are read as take no long time: those
    of the same name first, then of the same type, the last touched first: a renamed file is.
    """
    if os.path.lexists(root.absolute_path(path)):
        return None
    (tree,) = search_roots(app, [root])
    left = _MAX_BYTES
    for entry in _likeliest(tree.files(SkippedEntries()), path)[:_MAX_FILES]:
        if entry.size > left:
            continue
        left -= entry.size
        with suppress(RolltopError, OSError):  # it went or is not to be read: another may do
            if hash_file(app.roots, root, entry.relative).startswith(version):
                return entry.relative
    return None


def _likeliest(entries: Iterable[FileStat], path: str) -> list[FileStat]:
    name, suffix = _name_and_suffix(path)

    def distance(entry: FileStat) -> tuple[bool, bool, int]:
        other, ending = _name_and_suffix(entry.relative)
        return other != name, ending != suffix, -entry.ctime_ns

    return sorted(entries, key=distance)


def _name_and_suffix(path: str) -> tuple[str, str]:
    name = path.rpartition("/")[2]
    return name, name.rpartition(".")[2]


def hash_file(roots: Roots, root: Root, path: str) -> str:
    """Return the SHA-256 of a file. Raises RolltopError."""
    found = hashlib.sha256()
    with roots.open_regular(roots.locate(path, root=root.name)) as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()
