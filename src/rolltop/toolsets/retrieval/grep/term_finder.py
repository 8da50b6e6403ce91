"""Finds the files that contain each of a query's terms, in one pass of ripgrep."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from rolltop.core.errors import DeadlineExceeded
from rolltop.core.fulltext.analyzer import tokenize_joined
from rolltop.toolsets.retrieval.grep.ripgrep import FileRun, Pattern, split_batches
from rolltop.toolsets.retrieval.models import TermFiles
from rolltop.workspace import FileStat, Root

_MAX_BATCH: Final = 4096
# Lines of a file that are listed for the terms in them.
_MAX_LINES: Final = 20
# Share of the files from which on a term is dropped, if a rarer one was found.
_COMMON_SHARE: Final = 0.25
# Seconds after which the search ends if this many files contain all terms.
_PREFERRED_TIMEOUT: Final = 2.0
_ENOUGH_FILES: Final = 60
# Seconds that the first batch may take past the deadline.
_MIN_TIMEOUT: Final = 1.0
# Shorter texts in ASCII only match at the start of names: most names contain them.
_MIN_INFIX: Final = 3
_NAME_BYTES: Final = r"(?-u:[0-9A-Za-z_\x80-\xff])"
# Of a name, on each side of the part that matches.
_MAX_AROUND: Final = 200
# Names of files may contain line breaks; what is found in them has neither these nor a NUL.
_ROW: Final = re.compile(rb"([^\0]+)\0([^\n]*)\n")
# A line may hold millions of matches; a file that has more of them is known by these.
MAX_PRINTED_BYTES: Final = 32 << 20
_OPTIONS: Final = (
    "--only-matching",
    "--no-line-number",
    f"--max-count={_MAX_LINES}",
)


def find_term_files(
    root: Root,
    texts: Mapping[str, Sequence[str]],
    entries: Sequence[FileStat],
    total: int,
    deadline: float,
    last: float,
) -> TermFiles:
    """Find the files that contain each of the terms, by lower-case texts for each.

    All terms are searched for at once, in batches of files from everywhere in the root, so that the
    first batches are a sample of it. A term in many of the root's `total` files is dropped as soon
    as that shows. The search ends at `deadline`, or, if nothing has been found, at `last`; both are
    on the monotonic clock. Raises Unavailable: ripgrep cannot run.
    """
    by_term: dict[str, set[FileStat]] = {term: set() for term in texts}
    counts = dict.fromkeys(texts, 0.0)
    preferred = min(deadline, time.monotonic() + _PREFERRED_TIMEOUT)
    searched, asked = 0, list(texts)
    for batch in _interleave(entries):
        now = time.monotonic()
        end = deadline if any(by_term.values()) else last
        if searched and (now >= end or (now >= preferred and _has_enough_files(by_term))):
            break
        end = max(end, now + _MIN_TIMEOUT)
        wanted = {term: texts[term] for term in asked}
        for entry, terms in _find_terms(root, wanted, batch, end):
            for term in terms.intersection(asked):
                by_term[term].add(entry)
        searched += len(batch)
        counts |= {term: len(by_term[term]) * len(entries) / searched for term in asked}
        rare = [term for term in asked if counts[term] < _COMMON_SHARE * total]
        asked = rare if any(by_term[term] for term in rare) else asked
    return TermFiles(by_term, counts, len(entries) - searched)


def _has_enough_files(by_term: Mapping[str, set[FileStat]]) -> bool:
    first, *others = by_term.values()
    return len(first.intersection(*others)) >= _ENOUGH_FILES


def _interleave(entries: Sequence[FileStat]) -> Iterator[list[FileStat]]:
    step = -(-len(entries) // _MAX_BATCH)
    for start in range(step):
        yield from split_batches(entries[start::step], _MAX_BATCH)


def _find_terms(
    root: Root, texts: Mapping[str, Sequence[str]], batch: Sequence[FileStat], deadline: float
) -> Iterator[tuple[FileStat, frozenset[str]]]:
    """Yield files, each with the terms of one name that contains a text.

    Files whose listed lines may be filled by frequent terms are searched again for the others.
    """
    terms: dict[str, frozenset[str]] = {}
    while texts and batch:
        longest_first = sorted(set(chain(*texts.values())), key=lambda text: (-len(text), text))
        pattern = "|".join(map(_pattern, longest_first))
        printed = Counter[FileStat]()
        names: dict[str, set[FileStat]] = {}
        for entry, name, count in _run(root, pattern, batch, deadline):
            printed[entry] += count
            names.setdefault(name, set()).add(entry)
            if name not in terms:
                words = f" {tokenize_joined(name)} "
                terms[name] = frozenset(term for term in texts if f" {term} " in words)
            yield entry, terms[name]
        batch = [entry for entry, count in printed.items() if count >= _MAX_LINES]
        texts = _rarer(texts, names, batch)


def _rarer(
    texts: Mapping[str, Sequence[str]],
    names: Mapping[str, set[FileStat]],
    entries: Collection[FileStat],
) -> dict[str, Sequence[str]]:
    """Drop the terms whose texts are in many of these files, compared with the most frequent."""
    holders: dict[str, set[FileStat]] = {term: set() for term in texts}
    for name, found in names.items():
        lowered = name.lower()
        for term, spellings in texts.items():
            if any(one in lowered for one in spellings):
                holders[term] |= found
    counts = {term: len(found.intersection(entries)) for term, found in holders.items()}
    return {term: texts[term] for term in texts if 2 * counts[term] < max(counts.values())}


def find_names(
    root: Root, pattern: str, batch: Sequence[FileStat], deadline: float
) -> Iterator[tuple[FileStat, str]]:
    """Yield files and the names in them around a match of the expression, in any case.

    Only the first matching lines of each file are searched; nothing is found after the deadline.
    """
    around = f"{_NAME_BYTES}{{0,{_MAX_AROUND}}}"
    for entry, name, _ in _run(root, f"{around}(?:{pattern}){around}", batch, deadline):
        yield entry, name


def _run(
    root: Root, pattern: str, batch: Sequence[FileStat], deadline: float
) -> Iterator[tuple[FileStat, str, int]]:
    """Yield files, the texts that match in them and how often; nothing after the deadline."""
    asked = Pattern(f"(?:{pattern})".encode("utf-8", "replace"), ("--ignore-case",))
    try:
        run = FileRun(asked, _OPTIONS, batch, str(root.path), MAX_PRINTED_BYTES)
        printed = run.result(deadline)
    except DeadlineExceeded:
        return
    if len(printed) == MAX_PRINTED_BYTES and len(batch) > 1:
        for half in (batch[::2], batch[1::2]):
            yield from _run(root, pattern, half, deadline)
        return
    for (name, found), count in Counter(row.groups() for row in _ROW.finditer(printed)).items():
        entry = run.entries.get(name.removeprefix(b"./"))
        if entry is not None:
            yield entry, found.decode("utf-8", "replace"), count


def _pattern(text: str) -> str:
    """Build an expression for whole names that contain a text; a short text only starts them."""
    only_at_start = len(text) < _MIN_INFIX and text.isascii()
    before = r"(?:\b|_)" if only_at_start else f"{_NAME_BYTES}*"
    return f"{before}{escape(text)}{_NAME_BYTES}*"


def escape(text: str) -> str:
    """Quote a literal text for both ripgrep's and Python's expressions."""
    return re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", text)
