"""Which files or directories may be meant by a path that names none.

A guess may not cost what the call itself would not: every step is bounded, and what is likeliest
comes first in it, so that a bound takes from a large tree what is hardly meant.
"""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest, nsmallest
from time import monotonic
from typing import TYPE_CHECKING, Final

from rolltop.core.roots.names import could_exist, is_sendable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rolltop.core.roots.confine import Root, Roots

_MOST_LOOKED_AT: Final = 100_000
"""Files of all roots: to list their names takes some tenths of a second."""
_DIRECTORY: Final = 10
"""Files that could be listed in the time a directory takes."""
_LONGEST_LOOK: Final = 0.5
"""Seconds, for disks that take longer: a directory begun is listed to its end."""
_FEW: Final = 2_000
"""What is looked at in any case, so that answers for small trees do not hang on the time."""
_MOST_NAMED: Final = 3
_LIKE: Final = 0.75
"""How like a name must be, from 0 to 1: a letter or two of a short one may differ."""
_LONGEST: Final = 255
"""Characters of a name: no file system takes longer ones."""
_PIECES: Final = 8
"""Of a name, that may be found in others: a slip of the keys leaves all but one or two of them."""
_MOST_NAMES: Final = 50
_MOST_PATHS: Final = 1_000
"""How many are compared letter by letter: those that have most of the pieces, or directories."""
_MOST_COMPARED: Final = 1_000_000
"""Letters of a path times those of the other: a third of a tenth of a second."""
_LONGEST_COMPARED: Final = 150
"""Characters, of what differs between two paths."""


def near(
    roots: Roots, path: str, *, repo: str | None = None, directories: bool = False
) -> list[str]:
    """Return up to three paths that may be meant, the likeliest first: for that root, or for all.

    They have that name or one much like it. The more of the directories before it are the same,
    counted from the name, the likelier; then where the rest of the path is most alike.
    """
    *above, name = [part for part in path.split("/") if part not in {"", "."}] or [""]
    if not name or not could_exist(path) or len(name) > _LONGEST:
        return []
    known: defaultdict[str, list[str]] = defaultdict(list)
    chosen = [root for root in roots.named if repo in (None, root.name)]
    for root, one in _paths(roots, chosen, above, directories=directories):
        known[one.rpartition("/")[2].lower()].append(one if repo else f"{root.name}/{one}")
    return _likeliest(
        [one for each in _names(name.lower(), known) for one in known[each]], above, name
    )


def _paths(
    roots: Roots, chosen: Sequence[Root], above: Iterable[str], *, directories: bool
) -> Iterator[tuple[Root, str]]:
    """Yield chosen files, or directories, first of those directories that are in the path."""
    asked = frozenset(part.lower() for part in above)
    left = _MOST_LOOKED_AT
    for others, root in zip(range(len(chosen) - 1, -1, -1), chosen, strict=True):
        kept = left * others // (others + 1)  # for the roots after it
        end = monotonic() + _LONGEST_LOOK / len(chosen)
        for listed in roots.likeliest(root, asked):
            if is_sendable(listed.relative):
                if not directories:
                    prefix = f"{listed.relative}/" if listed.relative else ""
                    yield from ((root, prefix + own) for own in listed.names if is_sendable(own))
                elif listed.relative:
                    yield root, listed.relative
            left -= _DIRECTORY + len(listed.names)
            is_late = left < _MOST_LOOKED_AT - _FEW and monotonic() > end
            if left <= kept or is_late:
                break


def _names(name: str, known: Collection[str]) -> list[str]:
    """Return the name if it is known, and those that are much like it."""
    size = max(2, len(name) // _PIECES)
    pieces = [name[at : at + size] for at in range(0, len(name), size)]
    longest, shortest = len(name) * (2 - _LIKE) / _LIKE, len(name) * _LIKE / (2 - _LIKE)

    def likeness(one: str) -> tuple[int, int]:
        return sum([piece in one for piece in pieces]), -abs(len(one) - len(name))

    fitting = (one for one in known if shortest <= len(one) <= longest and one != name)
    first = nlargest(_MOST_NAMES, fitting, key=likeness)
    found = [name] if name in known else []
    return found + get_close_matches(name, first, n=_MOST_NAMED, cutoff=_LIKE)


def _likeliest(found: Sequence[str], above: list[str], name: str) -> list[str]:
    """Return those of the paths that are likeliest meant by the path in parts, in order."""
    lower, asked = name.lower(), set(above)

    def unlikeness(one: str) -> tuple[int, bool, bool]:
        *others, own = one.split("/")
        return -_shared(above, others), own.lower() != lower, own != name

    def preferred(one: str) -> tuple[tuple[int, bool, bool], int]:
        return unlikeness(one), -len(asked.intersection(one.split("/")))

    before = "/".join(above)
    left = _MOST_COMPARED
    ordered: list[tuple[tuple[int, bool, bool], float, int, str]] = []
    for at, one in enumerate(nsmallest(_MOST_PATHS, found, key=preferred)):
        alike, cost = _alike(before, one.rpartition("/")[0]) if left > 0 else (0.0, 0)
        left -= cost
        ordered.append((unlikeness(one), -alike if alike >= _LIKE else 0.0, at, one))
    return [one for *_, one in sorted(ordered)[:_MOST_NAMED]]


def _alike(some: str, other: str) -> tuple[float, int]:
    """Return how alike two paths are, from 0 to 1, and how many letters times letters it took."""
    start = _same(some, other)
    rest, opposite = some[start:], other[start:]
    end = _same(rest[::-1], opposite[::-1])
    rest, opposite = rest[: len(rest) - end], opposite[: len(opposite) - end]
    same = 2.0 * (start + end)
    whole = len(some) + len(other)
    if same + 2 * min(len(rest), len(opposite)) < _LIKE * whole:
        return 0.0, 0
    rest, opposite = rest[-_LONGEST_COMPARED:], opposite[-_LONGEST_COMPARED:]
    between = SequenceMatcher(None, rest, opposite, autojunk=False)
    same += between.ratio() * (len(rest) + len(opposite))
    return same / whole if whole else 1.0, len(rest) * len(opposite)


def _shared(some: list[str], others: list[str]) -> int:
    """Return how many parts are the same, from the last on."""
    return _same(some[::-1], others[::-1])


def _same(some: Sequence[str], others: Sequence[str]) -> int:
    """Return with how many of the same parts or letters both begin."""
    differ = (at for at, (one, other) in enumerate(zip(some, others, strict=False)) if one != other)
    return next(differ, min(len(some), len(others)))
