"""Which files or directories may be meant by a path that names none."""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Final

from rolltop.core.roots.names import is_sendable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.roots.confine import Root, Roots

_MOST_LOOKED_AT: Final = 50_000
"""Files of all roots: to list their names takes some tenths of a second."""
_MOST_NAMED: Final = 3
_LIKE: Final = 0.75
"""How like a name must be, from 0 to 1: a letter or two of a short one may differ."""
_LONGEST: Final = 255
"""Characters of a name: no file system takes longer ones."""


def near(
    roots: Roots, path: str, *, repo: str | None = None, directories: bool = False
) -> list[str]:
    """Return up to three paths that may be meant, the likeliest first: for that root, or for all.

    They have that name or one much like it. The more of the directories before it are the same,
    counted from the name, the likelier; then where the rest of the path is most alike.
    """
    *above, name = [part for part in path.split("/") if part not in {"", "."}] or [""]
    if not name or "\0" in path or len(name) > _LONGEST:
        return []
    known: defaultdict[str, list[str]] = defaultdict(list)
    for root in roots.named:
        if repo in (None, root.name):
            for one in _paths(roots, root, directories=directories):
                known[one.rpartition("/")[2].lower()].append(one if repo else f"{root.name}/{one}")
    close = [name.lower()] if name.lower() in known else []
    close += get_close_matches(name.lower(), known, n=_MOST_NAMED, cutoff=_LIKE)
    found = [one for each in dict.fromkeys(close) for one in known[each]]

    def unlikeness(one: str) -> tuple[int, bool, bool, float]:
        *others, own = one.split("/")
        alike = SequenceMatcher(None, "/".join(above), "/".join(others)).ratio()
        rest = -alike if alike >= _LIKE else 0.0
        return -_shared(above, others), own.lower() != name.lower(), own != name, rest

    return sorted(found, key=unlikeness)[:_MOST_NAMED]


def _paths(roots: Roots, root: Root, *, directories: bool) -> Iterator[str]:
    """Yield the root's chosen files, or the directories that are or hold any."""
    left = _MOST_LOOKED_AT // len(roots.named)
    for listed in roots.directories(root):
        if not is_sendable(listed.relative):
            continue
        if directories and listed.relative:
            yield listed.relative
        elif not directories:
            prefix = f"{listed.relative}/" if listed.relative else ""
            yield from (f"{prefix}{name}" for name in listed.names if is_sendable(name))
        left -= 1 + len(listed.names)
        if left <= 0:
            return


def _shared(some: list[str], others: list[str]) -> int:
    """Return how many parts are the same, from the last on."""
    count = 0
    for one, other in zip(reversed(some), reversed(others), strict=False):
        if one != other:
            break
        count += 1
    return count
