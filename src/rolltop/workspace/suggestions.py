"""Suggestions ("did you mean") for a path that names no file or directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest, nsmallest
from itertools import islice, takewhile
from sys import maxsize
from time import monotonic
from typing import Final

from rolltop.workspace.sandbox import Root, Roots, is_possible_path, is_utf8_path
from rolltop.workspace.walk import DirectoryEntry

# A guess may not cost more than the call itself would: every step is bounded.
_MAX_FILES: Final = 100_000
_SCAN_TIMEOUT: Final = 0.5  # seconds
_MIN_FILES: Final = 5_000  # in any time, so that answers for small trees are always the same
_MAX_SUGGESTIONS: Final = 3
_MIN_SIMILARITY: Final = 0.75  # of 1; a letter or two of a short name may differ
_MAX_NAME_LENGTH: Final = 255
_FRAGMENTS: Final = 8  # a slip of the keys leaves all but one or two of them
_MAX_TEXTS_COMPARED: Final = 50
_MAX_PATHS_COMPARED: Final = 50
_MAX_COMPARED_LENGTH: Final = 150  # characters; comparing is quadratic


def suggest_paths(
    roots: Roots, path: str, *, repo: str | None = None, directories: bool = False
) -> list[str]:
    """Suggest up to three paths in that root, or in all, most likely first.

    They have the same name or a similar one. They rank by the number of equal directories before
    the name, then by the similarity of the rest of the path.
    """
    *above, name = [part for part in path.split("/") if part not in {"", "."}] or [""]
    if not name or not is_possible_path(path) or len(name) > _MAX_NAME_LENGTH:
        return []
    known: defaultdict[str, list[str]] = defaultdict(list)
    searched = [root for root in roots.named if repo in (None, root.name)]
    for root in searched:
        end = monotonic() + _SCAN_TIMEOUT / len(searched)
        for one in _list_paths(
            roots, root, _MAX_FILES // len(searched), end, directories=directories
        ):
            known[one.rpartition("/")[2].lower()].append(one if repo else f"{root.name}/{one}")
    similar = [one for each in _similar_names(name.lower(), known) for one in known[each]]
    return _rank_paths(similar, above, name)


def _list_paths(
    roots: Roots, root: Root, most: int, end: float, *, directories: bool
) -> Iterator[str]:
    """List chosen files, or directories, among the first `most` entries and those before `end`."""
    counted = enumerate(islice(roots.list_directory(root, depth=maxsize), most))
    in_time = takewhile(lambda one: one[0] < _MIN_FILES or monotonic() < end, counted)
    for _, entry in in_time:
        if is_utf8_path(entry.relative) and isinstance(entry, DirectoryEntry) is directories:
            yield entry.relative


def _similar_names(name: str, known: Collection[str]) -> list[str]:
    """Return the name if it is known, and those that are much like it."""
    longest, shortest = (
        len(name) * (2 - _MIN_SIMILARITY) / _MIN_SIMILARITY,
        len(name) * _MIN_SIMILARITY / (2 - _MIN_SIMILARITY),
    )
    fitting = (one for one in known if shortest <= len(one) <= longest and one != name)
    found = [name] if name in known else []
    return found + similar_texts(name, fitting, _MAX_SUGGESTIONS, _MIN_SIMILARITY)


def similar_texts(text: str, others: Iterable[str], count: int, cutoff: float) -> list[str]:
    """Return the texts most like one, letter by letter, at least by `cutoff` of 1.

    Only those with most of its parts are compared so, which takes long.
    """
    size = max(2, len(text) // _FRAGMENTS)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    def likeness(one: str) -> tuple[int, int]:
        return sum([piece in one for piece in pieces]), -abs(len(one) - len(text))

    likeliest = nlargest(_MAX_TEXTS_COMPARED, others, key=likeness)
    return get_close_matches(text, likeliest, n=count, cutoff=cutoff)


def _rank_paths(found: Sequence[str], above: list[str], name: str) -> list[str]:
    """Return the likeliest of the paths that have nearly that name, in order."""
    asked = set(above)

    def unlikeness(one: str) -> tuple[int, bool, bool]:
        *others, own = one.split("/")
        return -_common_suffix_length(above, others), own.lower() != name.lower(), own != name

    def key(one: str) -> tuple[tuple[int, bool, bool], int]:
        return unlikeness(one), -len(asked.intersection(one.split("/")))

    before = SequenceMatcher(None, b="/".join(above)[-_MAX_COMPARED_LENGTH:], autojunk=False)

    def similarity(one: str) -> float:
        before.set_seq1(one.rpartition("/")[0][-_MAX_COMPARED_LENGTH:])
        ratio = before.ratio() if before.quick_ratio() >= _MIN_SIMILARITY else 0.0
        return ratio if ratio >= _MIN_SIMILARITY else 0.0

    likeliest = nsmallest(_MAX_PATHS_COMPARED, found, key=key)
    likeliest.sort(key=lambda one: (unlikeness(one), -similarity(one)))
    return likeliest[:_MAX_SUGGESTIONS]


def _common_suffix_length(some: list[str], others: list[str]) -> int:
    pairs = zip(reversed(some), reversed(others), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
