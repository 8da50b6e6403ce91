"""Suggestions: a spelling that occurs, for a query that does not (`meta.nearest`)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.retrieval.grep.ripgrep import parse_query, split_batches
from rolltop.toolsets.retrieval.grep.search import MAX_FILE_BYTES
from rolltop.toolsets.retrieval.grep.term_finder import escape, find_names
from rolltop.toolsets.retrieval.grep.verifier import head_is_text
from rolltop.toolsets.retrieval.models import Query, SearchRoot
from rolltop.workspace import FileStat, SkippedEntries, is_utf8_path
from rolltop.workspace.globs import globs_by_root

_MIN_LENGTH: Final = 4
_MAX_FOUND: Final = 100  # of which the first in a text file is named
_MAX_LENGTH: Final = 60
# Trees up to this size are read as a whole if there is no index.
_MAX_UNINDEXED_BYTES: Final = 16 << 20
MAX_FILES_READ: Final = 200  # with an index: a frequent spelling is in some of them
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_MIN_WORD_LENGTH: Final = 3
_MIN_HALVED_LENGTH: Final = 9  # half of it is rare enough to propose files by
_SEPARATORS: Final = r"(?:[^\S\r\n]|[_.:\-]){0,2}"
_LETTER: Final = "[0-9A-Za-z_]"


def find_suggestion(
    search_roots: Sequence[SearchRoot],
    query: Query,
    size: int,
    deadline: float,
    *,
    max_bytes: int = MAX_FILE_BYTES,
) -> str | None:
    """Find a text in the files that resembles the query; None if there is none.

    Preference: other case, other word separators (`fooBar`, `foo_bar`, `foo-bar`), one letter
    changed; of each, a whole word before part of one. `size` is the number of bytes that the failed
    search covered; files over `max_bytes` are not read.
    """
    text = query.text.strip()
    if query.regex or not _MIN_LENGTH <= len(text) <= _MAX_LENGTH:
        return None
    try:
        parse_query(query)
    except InvalidArgument:  # no line contains it or anything like it
        return None
    patterns = list(_similar_patterns(text))
    ways = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    globs = globs_by_root(query.file_glob, [tree.root.name for tree in search_roots])
    for tree in search_roots:
        glob = globs[tree.root.name]
        files = [
            entry
            for entry in _list_files(tree, text, size)
            if entry.size <= max_bytes and is_utf8_path(entry.relative)
            if glob is None or glob.matches(entry.relative)
        ]
        if tree.index is not None and size > _MAX_UNINDEXED_BYTES:
            files = files[:MAX_FILES_READ]
        best = _find_best(tree, "|".join(patterns), ways, files, deadline)
        if best is not None:
            return best
    return None


def _find_best(
    tree: SearchRoot,
    pattern: str,
    ways: Sequence[re.Pattern[str]],
    files: Sequence[FileStat],
    deadline: float,
) -> str | None:
    """Return the likest text of the files, the first in their order."""
    found: list[tuple[int, bool, int, str]] = []
    order = {entry: number for number, entry in enumerate(files)}
    for batch in split_batches(files):
        if time.monotonic() >= deadline:
            break
        for entry, name in find_names(tree.root, pattern, batch, deadline):
            if time.monotonic() >= deadline:
                break
            for way, is_part, text in _compare(ways, name):
                found.append((way, is_part, order[entry], text))
        found = nsmallest(_MAX_FOUND, found)
        if found and min(found)[:2] == (0, False):
            break
    likeliest = sorted(set(found))
    return next((text for *_, at, text in likeliest if head_is_text(tree, files[at])), None)


def _compare(ways: Sequence[re.Pattern[str]], name: str) -> Iterator[tuple[int, bool, str]]:
    """Yield the way in which a part of a name is like the text, whether it is a part, and it."""
    for number, way in enumerate(ways):
        if match := way.search(name):
            yield number, not _is_whole_word(name, *match.span()), match[0]
            return


def _is_whole_word(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]
    return not (re.fullmatch(r"\w\w", before) or re.fullmatch(r"\w\w", after))


def _list_files(tree: SearchRoot, text: str, size: int) -> Iterable[FileStat]:
    """List files that may contain a similar text; none of a large root without an index."""
    if size > _MAX_UNINDEXED_BYTES and tree.index is None:
        return ()
    if tree.index is not None and size > _MAX_UNINDEXED_BYTES:
        *_, one_letter_off = _similar_patterns(text)
        if len(text) >= _MIN_HALVED_LENGTH:
            # Whichever letter is off, one half is as it was, or the two in the middle are swapped.
            half = len(text) // 2
            swapped = text[: half - 1] + text[half] + text[half - 1] + text[half + 1 :]
            one_letter_off = "|".join(map(escape, (text[:half], text[half:], swapped)))
        words = ".*".join(map(escape, _WORD.findall(text))) or escape(text)
        query = Query(f"{escape(text)}|{words}|{one_letter_off}", regex=True, case="ignore")
        proposed = tree.index.candidates(query)
        if proposed is not None:
            return proposed
    return tree.files(SkippedEntries())


def _similar_patterns(text: str) -> Iterator[str]:
    """Yield expressions for similar texts, most similar first; to be matched in any case."""
    yield escape(text)
    words = _WORD.findall(text)
    if len(words) > 1 and max(map(len, words)) >= _MIN_WORD_LENGTH:
        yield _SEPARATORS.join(map(escape, words))
    places = range(len(text))
    around = [(escape(text[:at]), escape(text[at]), escape(text[at + 1 :])) for at in places]
    swapped = (text[:at] + text[at + 1] + text[at] + text[at + 2 :] for at in places[:-1])
    yield "|".join([
        *(f"{before}{_LETTER}{letter}{after}" for before, letter, after in around),  # missing
        *map(escape, swapped),
        *(f"{before}{_LETTER}{after}" for before, _, after in around),  # wrong
        *(before + after for before, _, after in around),  # too many
    ])  # fmt: skip
