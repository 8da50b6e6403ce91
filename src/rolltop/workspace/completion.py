"""Completion of the root and the path in a file's address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Final

from rolltop.workspace.file_stat import FileStat
from rolltop.workspace.sandbox import Root, Roots, is_uri_safe

_MAX_WALKED: Final = 5_000
# Completions that a client gets; of the others only the number.
_MAX_COMPLETED: Final = 100


def complete_file(
    roots: Roots,
    variable: str,
    prefix: str,
    context: Mapping[str, str],
    is_wanted: Callable[[Root, FileStat], bool],
) -> list[str]:
    """List the values of `root` or `path` that start with `prefix`, in order.

    Files after the first hundred may be others than those that are wanted.
    """
    if variable == "root":
        return [root.name for root in roots.named if root.name.startswith(prefix)]
    root = roots.find_root(context.get("root", ""))
    if root is None or variable != "path" or prefix.startswith("/"):
        return []
    walked = islice(_files_from(roots, root, prefix), _MAX_WALKED)
    files = (entry for entry in walked if is_uri_safe(entry.relative))
    wanted = (entry for entry in files if is_wanted(root, entry))
    return [entry.relative for entry in chain(islice(wanted, _MAX_COMPLETED), files)]


def _files_from(roots: Roots, root: Root, prefix: str) -> Iterator[FileStat]:
    """Walk the files whose paths start with a prefix, and no others."""
    for entry in roots.list_directory(root, under=prefix.rpartition("/")[0]):
        if entry.relative.startswith(prefix):
            is_file = isinstance(entry, FileStat)
            yield from [entry] if is_file else roots.walk(root, under=entry.relative)
