"""Lists of notes: the query language, which terms must match, and one page at a time.

A query has words, phrases, -words, tag:, before: and after:. A search is empty only if none of its
words occurs in the notes it may list.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from math import log
from typing import Any, Final
from uuid import UUID

from rolltop.core import arguments, times
from rolltop.core import cursor as cursors
from rolltop.core.addresses import record_address
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.fulltext import document_index, phrase_query
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.fulltext.inflections import inflections
from rolltop.core.fulltext.phrase_query import Phrase, PhraseQuery
from rolltop.core.fulltext.query_syntax import QueryPart, split_query
from rolltop.core.fulltext.suggestions import suggest_word
from rolltop.core.pagination import Page
from rolltop.core.settings import Settings
from rolltop.toolsets.notes import edits, search_page
from rolltop.toolsets.notes.models import (
    CURSOR,
    MAX_PREVIEW_LENGTH,
    JsonObject,
    ListQuery,
    MatchMode,
    NoteFilters,
    NotePageRequest,
    NoteSummary,
    Sort,
)
from rolltop.toolsets.notes.store import list_queries, notebooks
from rolltop.toolsets.notes.store.list_queries import NoteSortKey, PageSpec
from rolltop.toolsets.notes.store.notebooks import Notebook

# Ranking reads each match: of more than this the newest come first, unless rank is asked for. So
# many notes may the rarer words of a question have in sum, of which one is enough.
MAX_RANKED: Final = 5000
# The beginnings of the newest notes that suggestions come from.
_MAX_SUGGESTION_NOTES: Final = 200
_MAX_OFFSET: Final = 1 << 40
_MAX_TITLES_READ: Final = 1000
# In cursors, the order of a search with more than MAX_RANKED matches.
_BROAD: Final = "broad"
# Numbers in the sort key of each order.
_KEY_SIZES: Final = {"modified": 1, "created": 1, _BROAD: 1, "rank": 2}
_MAX_KEY: Final = 1e18
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CURSOR_CODE: Final = "INVALID_ARGUMENT"
_DAY_SECONDS: Final = 24 * 3600.0
_EPOCH: Final = date(1970, 1, 1)
_DAY_WORD: Final = re.compile(r"[A-Za-z]{3}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_SYMBOL_LENGTH: Final = 100
_MAX_NAMES: Final = 1000
_TRASH: Final = {0: False, 1: True, 2: None}


@dataclass
class _QueryParts:
    """The parts of a query found so far."""

    now: datetime
    tags: list[str] = field(default_factory=list[str])
    untagged: list[str] = field(default_factory=list[str])
    before: list[float] = field(default_factory=list[float])
    after: list[float] = field(default_factory=list[float])
    names: dict[Phrase, str] = field(default_factory=dict["Phrase", str])
    quoted: list[Phrase] = field(default_factory=list["Phrase"])
    excluded: list[Phrase] = field(default_factory=list["Phrase"])
    symbols: list[str] = field(default_factory=list[str])

    def add(self, part: QueryPart) -> None:
        """Add one part."""
        if part.key == "tag":
            (self.untagged if part.is_excluded else self.tags).append(part.text)
        elif part.key == "before":
            self.before.append(_parse_day(part.text, "before:", self.now) + _DAY_SECONDS)
        elif part.key == "after":
            self.after.append(_parse_day(part.text, "after:", self.now))
        elif words := part.phrase:
            if part.is_excluded or part.is_quoted:
                (self.excluded if part.is_excluded else self.quoted).append(words)
            else:
                self.names.setdefault(words, part.text)
        elif (text := part.text.strip()) and not text.isascii() and not part.is_excluded:
            # Without a letter or digit, ASCII marks are dropped; others (an emoji) are matched.
            self.symbols.append(text[:_MAX_SYMBOL_LENGTH])


@dataclass(frozen=True)
class _Match:
    """Filters with their terms chosen, how many notes match, and how they match the query."""

    filters: NoteFilters
    total: int
    mode: MatchMode | None = None
    suggestion: str | None = None


def list_notes(tx: Tx, settings: Settings, query: ListQuery, request: NotePageRequest) -> Page:
    """Read a page of the caller's notes. Raises InvalidArgument for tags, a date or a cursor."""
    query = replace(query, tags=edits.check_tags(query.tags))
    filters = _parse_query(query, split_query(query.q or ""), tx.now)
    notebook, _account = notebooks.open_notebook(tx, settings)
    match = _TermChoice(notebook, filters).match()
    filters, total = match.filters, match.total
    given = (query.q, list(query.tags), query.trash_s, query.dt_before, query.dt_after)
    order, after, kind = filters.sort, None, cursors.filtered_kind(CURSOR, *given)
    if request.cursor is not None:
        order, after = _parse_cursor(kind, request.cursor, filters.sort)
    elif query.sort is None and filters.sort == "rank" and total > MAX_RANKED:
        order = _BROAD
    if order == _BROAD:
        filters = replace(filters, sort="modified")
    offset = 0 if after else min((request.page - 1) * request.limit, _MAX_OFFSET)
    spec = PageSpec(request.limit + 1, after, offset, request.preview_lines > 0)
    read_page = search_page.read_page if filters.sort == "rank" else list_queries.read_page
    found = read_page(notebook, filters, spec, total) if total else []
    shown, has_more = found[: request.limit], len(found) > request.limit

    def envelope(items: list[JsonObject]) -> JsonObject:
        answer: JsonObject = {"items": items, "total_items": total}
        mode = "some" if filters.is_partial and total else match.mode
        if mode is not None:
            answer["matched"] = mode
        if match.suggestion is not None:
            answer["nearest"] = match.suggestion
        if has_more and after is None and len(items) == len(shown):
            answer["next_page"] = request.page + 1
        return answer

    items = [_list_item(one, request.preview_lines) for one in shown]
    return Page(items, envelope, lambda index: _cursor(kind, order, shown[index]), has_more)


def find_texts(tx: Tx, settings: Settings, query: TextQuery) -> list[FoundText]:
    """Return the notes that answer a search best, whole. Raises InvalidArgument for a date."""
    filters = _parse_query(ListQuery(tags=query.tags), query.parts, tx.now)
    if query.since is not None:
        filters = replace(filters, after=max(query.since.timestamp(), filters.after or 0.0))
    notebook, _account = notebooks.open_notebook(tx, settings)
    match = _TermChoice(notebook, filters).match()
    read_page = search_page.read_page if match.filters.sort == "rank" else list_queries.read_page
    page = PageSpec(query.limit)
    found = read_page(notebook, match.filters, page, match.total) if match.total else []
    if not found:
        return []
    ids = [one.id for one in found]
    notes, words = notebook.get_many(ids), list_queries.read_words(notebook, ids)
    return [
        FoundText(
            "note",
            record_address("note", one.id),
            one.title.lstrip("# "),
            notes[one.id].text,
            times.moment_of(one.modified),
            ref=one.id,
            words=words.get(one.id, ""),
        )
        for one in found
        if one.id in notes
    ]


def meets_filters(query: TextQuery, tags: Sequence[str], modified: datetime, now: datetime) -> bool:
    """Whether a note has the tags and the days of a search. Raises InvalidArgument."""
    filters = _parse_query(ListQuery(tags=query.tags), query.parts, now)
    has, moment = set(map(notebooks.fold_tag, tags)), modified.timestamp()
    return (
        has.issuperset(map(notebooks.fold_tag, filters.tags))
        and has.isdisjoint(map(notebooks.fold_tag, filters.untagged))
        and (filters.before is None or moment < filters.before)
        and (filters.after is None or moment > filters.after)
    )


def matching_ids(tx: Tx, settings: Settings, prefix: str) -> list[str]:
    """List ids of notes whose id or title has a prefix, in any case, last modified first."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    folded = prefix.strip().casefold()
    return [
        note_id
        for note_id, title in notebook.newest_titles(_MAX_TITLES_READ)
        if note_id.casefold().startswith(folded) or title.casefold().startswith(folded)
    ]


@dataclass
class _TermChoice:
    """Chooses which terms of a query must match, so that something does."""

    notebook: Notebook
    filters: NoteFilters
    _known: dict[Phrase, int] = field(default_factory=dict[Phrase, int], init=False)

    def match(self) -> _Match:
        """Match all words if some note has them, else those that discriminate best."""
        if not self.filters.names:
            total = list_queries.count_matching(self.notebook, self.filters)
            is_search = bool(self.filters.phrases.required and total)
            return _Match(self.filters, total, "all" if is_search else None)
        return self._match_significant() or self._match_any() or self._suggest()

    def _match_significant(self) -> _Match | None:
        """Match all significant terms, and rank the notes with some of them behind."""
        names, is_prefix = self._significant_names()
        counts = self._counts(names)
        every = self._with_terms(required=names)
        total = list_queries.count_matching(self.notebook, every) if all(counts.values()) else 0
        mode: MatchMode = "prefix" if is_prefix else "all"
        if total and (len(names) <= 1 or self.filters.sort != "rank"):
            return _Match(every, total, mode)
        counts |= self._counts(_single_words(name for name in names if not counts[name]))
        rare = _rarest(counted := counts | self._counts(_other_forms(names)))
        if rare:
            weights = self._weights(counted, rare)
            some = self._with_terms(any_of=rare, weights=weights, every=names if total else ())
            return self._match_or_none(some, mode if total or is_prefix else "some")
        if total:
            return _Match(every, total, mode)
        # All are common: the rarest that occur together.
        ordered = sorted((name for name in counts if counts[name]), key=counts.__getitem__)
        for size in range(len(ordered), 0, -1):
            fewer = self._with_terms(required=tuple(ordered[:size]))
            if match := self._match_or_none(fewer, "prefix" if is_prefix else "some"):
                return match
        return None

    def _match_any(self) -> _Match | None:
        """Match any word at all, however common."""
        names = self.filters.names
        words = list(dict.fromkeys([*names, *_single_words(names)]))
        for symbols in dict.fromkeys((self.filters.symbols, ())):
            for at in range(0, len(words), phrase_query.MAX_PHRASES):
                some = tuple(words[at : at + phrase_query.MAX_PHRASES])
                filters = self._with_terms(any_of=some, weights=(1.0,) * len(some))
                if match := self._match_or_none(replace(filters, symbols=symbols), "some"):
                    return match
        last = self._with_terms(required=(self._last_prefix(),))
        match = self._match_or_none(last, "prefix")
        quoted = bool(self.filters.phrases.required)
        return match or (self._match_or_none(self.filters, "some") if quoted else None)

    def _suggest(self) -> _Match:
        """Answer an empty list with the nearest word of the newest notes."""
        texts = self.notebook.newest_texts(_MAX_SUGGESTION_NOTES)
        nearest = suggest_word(texts, " ".join(self.filters.typed))
        return _Match(self.filters, 0, suggestion=nearest)

    def _significant_names(self) -> tuple[tuple[Phrase, ...], bool]:
        """Choose the significant names; the last is a prefix if nothing has it whole."""
        given = self.filters.names
        names = tuple(filter(phrase_query.is_significant, given))
        if not names and not self.filters.phrases.required:
            names = given
        names = names[: phrase_query.MAX_PHRASES]
        if any(name[-1].endswith("*") for name in names):
            return names, True
        if names and names[-1] == given[-1] and not self._counts(names)[names[-1]]:
            last = self._last_prefix()
            if self._counts([last])[last]:
                return (*names[:-1], last), True
        return names, False

    def _last_prefix(self) -> Phrase:
        """Return the last name with its last word standing for all that it begins."""
        return phrase_query.split_name(f"{self.filters.typed[-1]}*")

    def _counts(self, names: Iterable[Phrase]) -> dict[Phrase, int]:
        asked = list(names)
        new = (name for name in asked if name not in self._known)
        self._known |= document_index.counts(self.notebook.tx, new, MAX_RANKED + 1)
        return {name: self._known[name] for name in asked}

    def _weights(self, counts: dict[Phrase, int], rare: Iterable[Phrase]) -> tuple[float, ...]:
        """Compute the IDF of each term; SQLite does so itself."""
        if self.notebook.tx.kind == "sqlite":
            return ()
        bare = replace(self.filters, phrases=PhraseQuery(), tags=(), symbols=())
        total = max(list_queries.count_matching(self.notebook, bare), *counts.values())
        return tuple(log(1 + (total - counts[n] + 0.5) / (counts[n] + 0.5)) for n in rare)

    def _with_terms(
        self,
        required: Sequence[Phrase] = (),
        any_of: tuple[Phrase, ...] = (),
        weights: tuple[float, ...] = (),
        every: tuple[Phrase, ...] = (),
    ) -> NoteFilters:
        given = self.filters.phrases
        phrases = tuple(dict.fromkeys([*given.required, *required]))
        query = PhraseQuery(phrases, given.excluded, any_of, weights, every)
        return replace(self.filters, phrases=query)

    def _match_or_none(self, filters: NoteFilters, mode: MatchMode) -> _Match | None:
        total = list_queries.count_matching(self.notebook, filters)
        return _Match(filters, total, mode) if total else None


def _single_words(names: Iterable[Phrase]) -> tuple[Phrase, ...]:
    words = (word for name in names if len(name) > 1 for word in name)
    return tuple(dict.fromkeys((word,) for word in words))


def _other_forms(names: Iterable[Phrase]) -> tuple[Phrase, ...]:
    forms = (form for name in names if len(name) == 1 for form in inflections(name[0]))
    return tuple((form,) for form in forms)


def _rarest(counts: dict[Phrase, int]) -> tuple[Phrase, ...]:
    """Choose the rarest terms that occur, until they have MAX_RANKED notes in sum."""
    rare: list[Phrase] = []
    total = 0
    for name in sorted((name for name in counts if counts[name]), key=counts.__getitem__):
        total += counts[name]
        if total > MAX_RANKED or len(rare) == phrase_query.MAX_PHRASES:
            break
        rare.append(name)
    return tuple(rare)


def _parse_query(query: ListQuery, split: Iterable[QueryPart], now: datetime) -> NoteFilters:
    """Parse the query of a list; of each kind of part only so many count as a search can bear.

    Raises InvalidArgument: INVALID_DATE.
    """
    parts = _QueryParts(now, tags=list(query.tags))
    if query.dt_before is not None:
        parts.before.append(_parse_day(query.dt_before, "dt_before", now) + _DAY_SECONDS)
    if query.dt_after is not None:
        parts.after.append(_parse_day(query.dt_after, "dt_after", now))
    for part in split:
        parts.add(part)
    quoted, excluded, names = (
        tuple(dict.fromkeys(some)) for some in (parts.quoted, parts.excluded, parts.names)
    )
    symbols = tuple(dict.fromkeys(parts.symbols))
    significant = tuple(filter(phrase_query.is_significant, names)) or names
    counted = max(len(quoted), len(symbols), len(significant))
    is_partial = counted > phrase_query.MAX_PHRASES or len(excluded) > _MAX_NAMES
    is_search = bool(quoted or parts.names)
    sort = query.sort or ("rank" if is_search else "modified")
    return NoteFilters(
        phrases=phrase_query.PhraseQuery(quoted[: phrase_query.MAX_PHRASES], excluded[:_MAX_NAMES]),
        names=names[:_MAX_NAMES],
        typed=tuple(parts.names.values())[:_MAX_NAMES],
        tags=tuple(dict.fromkeys(parts.tags)),
        untagged=tuple(dict.fromkeys(parts.untagged)),
        trash=_TRASH[query.trash_s],
        before=min(parts.before, default=None),
        after=max(parts.after, default=None),
        symbols=symbols[: phrase_query.MAX_PHRASES],
        is_partial=is_partial,
        sort="modified" if sort == "rank" and not is_search else sort,
    )


def _parse_day(text: str, name: str, now: datetime) -> float:
    """Parse YYYY-MM-DD, or a day in words, to the time at which the day begins in UTC."""
    try:
        if _DAY_WORD.search(text):
            span = times.parse_span(text, name, now)
            is_day = span.is_day or not (now - span.start) % timedelta(days=1)
            day = date.fromisoformat(f"{span.start:%Y-%m-%d}" if is_day else "")
        else:
            # fromisoformat() alone takes week dates and days without dashes too.
            day = date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except (ValueError, InvalidArgument):
        raise InvalidArgument(
            f"{name} needs a date as YYYY-MM-DD; got {arguments.value_preview(text)}",
            code="INVALID_DATE",
            hint=f"Write a day of the calendar, as {now:%Y-%m-%d}, which is today; to search for"
            " the words, quote them.",
        ) from None
    return (day - _EPOCH).days * _DAY_SECONDS


def _list_item(note: NoteSummary, preview_lines: int) -> JsonObject:
    item: JsonObject = {
        "id": note.id,
        "uri": record_address("note", note.id),
        "local_version": note.local_version,
        "title_prev": note.title,
        "tags": list(note.tags),
        "modified_at": int(note.modified // 1),
        "trash": note.trash,
        "sync_state": note.sync_state,
    }
    if preview_lines:
        preview = "\n".join((note.head or "").split("\n")[:preview_lines])
        is_long = len(preview) > MAX_PREVIEW_LENGTH
        item["preview"] = preview[: MAX_PREVIEW_LENGTH - 1] + "…" if is_long else preview
    return item


def _cursor(kind: str, order: str, note: NoteSummary) -> str:
    """Encode the position after a note, briefly: a cursor stands twice in an answer.

    Its bytes are the order's first letter, the note's key and its id; a capital marks a UUID.
    """
    letter, last = order[0], note.id.encode()
    if _UUID.fullmatch(note.id):
        letter, last = letter.upper(), UUID(note.id).bytes
    key = note.key[: _KEY_SIZES[order]]
    raw = struct.pack(f">c{len(key)}d", letter.encode(), *key) + last
    return cursors.encode(kind, [cursors.pack_bytes(raw)])


def _parse_cursor(kind: str, text: str, sort: Sort) -> tuple[str, NoteSortKey]:
    """Decode the order and the position of a cursor. Raises InvalidArgument."""
    orders = {sort, _BROAD} if sort == "rank" else {sort}
    try:
        (packed,) = cursors.decode(kind, text, code=_CURSOR_CODE)
        order, key, note_id = _unpack_cursor(cursors.unpack_bytes(packed))
    except (ValueError, TypeError, KeyError, struct.error):
        raise cursors.invalid_cursor(_CURSOR_CODE) from None
    if order not in orders or "\x00" in note_id or not all(abs(one) < _MAX_KEY for one in key):
        raise cursors.invalid_cursor(_CURSOR_CODE)
    return order, NoteSortKey(key[0], key[-1] if order == "rank" else 0.0, note_id)


def _unpack_cursor(raw: bytes) -> tuple[str, list[Any], str]:
    letter = raw[:1].decode()
    order = {one[0]: one for one in _KEY_SIZES}[letter.lower()]
    form = struct.Struct(f">c{_KEY_SIZES[order]}d")
    _letter, *key = form.unpack_from(raw)
    last = raw[form.size :]
    return order, key, str(UUID(bytes=last)) if letter.isupper() else last.decode()
