"""What a search of an earlier time finds: what was changed since, as it was then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rolltop.core.addresses import RECORD_KINDS, Address, Kind, short_id
from rolltop.core.context import AppContext, import_object
from rolltop.core.db import Tx
from rolltop.core.fulltext import relevance
from rolltop.core.fulltext.bm25 import query_terms
from rolltop.core.fulltext.documents import FoundText, TextQuery
from rolltop.core.journal.snapshot import EarlierThing, JournalSnapshot, Moment, moment_at
from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tags import has_all_tags
from rolltop.toolsets.desk.ranking import score_texts
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.notes.service import NoteService

_MIN_START: Final = 2
"""Letters that a word and its stem surely share."""


@dataclass(frozen=True)
class EarlierTexts:
    """What was changed since a moment, by kind and id, and those texts of then that may answer."""

    moment: Moment
    changed: frozenset[tuple[str, str]]
    found: Sequence[Sequence[FoundText]]
    """Of each kind the texts, best first."""


def read_earlier_texts(tx: Tx, app: AppContext, query: TextQuery, as_of: datetime) -> EarlierTexts:
    """Read what was changed since a time. Raises NotFound where the journal begins later."""
    moment = moment_at(tx, as_of)
    changed, found = set[tuple[str, str]](), list[Sequence[FoundText]]()
    may_answer = _Prefilter(query.words)
    for toolset in app.registry.toolsets:
        kinds = query.kinds & RECORD_KINDS.intersection(toolset.journal_kinds)
        if not toolset.earlier or not kinds:
            continue
        snapshot = JournalSnapshot(tx, moment, toolset.journal_kinds)
        for kind in sorted(kinds):
            things = import_object(toolset.earlier)(app, tx, snapshot, kind)
            changed.update((kind, ref) for ref in things)
            texts = [
                _text_of(kind, ref, thing)
                for ref, thing in things.items()
                if thing is not None
                and may_answer.accepts(thing)
                and _is_wanted(tx, app, query, kind, thing)
            ]
            found.append(_best(query, texts))
    return EarlierTexts(moment, frozenset(changed), found)


def _is_wanted(tx: Tx, app: AppContext, query: TextQuery, kind: str, thing: EarlierThing) -> bool:
    """Whether a search shows what a thing was, if it has the words."""
    if thing.is_deleted or (query.since is not None and thing.at <= query.since):
        return False
    if not query.phrases.admits(f"{thing.title}\n{thing.text}"):
        return False
    if kind == "note":
        notes: NoteService = app.load_service(NOTES.service)
        return notes.meets_filters(query, thing.tags, thing.at, tx.now)
    if not has_all_tags(thing.tags, query.tags):
        return False
    if query.project is not None:
        return query.project in {thing.project, ALL_PROJECTS}
    own = "" if app.settings["names"] == "seed" else tx.scope.project
    return thing.is_shared or not own or thing.project == own


def _text_of(kind: Kind, ref: str, thing: EarlierThing) -> FoundText:
    uri = Address(kind, short_id(ref), version=str(thing.version)).text
    return FoundText(kind, uri, thing.title, thing.text, thing.at, ref)


def _best(query: TextQuery, texts: Sequence[FoundText]) -> list[FoundText]:
    """Return the texts with a word of the query, best first: as many as are asked for."""
    scored = zip(texts, score_texts(query.words, texts), strict=True)
    ranked = sorted((pair for pair in scored if pair[1].score), key=lambda pair: -pair[1].score)
    return [found for found, _score in ranked[: query.limit]]


class _Prefilter:
    """Leaves out texts that surely have no word of a query: to split one into words takes long."""

    def __init__(self, words: str) -> None:
        forms = _forms(words)
        self._starts = [form[: max(_MIN_START, len(form) - 1)] for form in forms]

    def accepts(self, thing: EarlierThing) -> bool:
        """Whether the thing's texts may have one."""
        text = f"{thing.title}\n{thing.text}"
        plain = text.lower().replace("_", "")
        return not text.isascii() or any(start in plain for start in self._starts)


def _forms(words: str) -> Iterator[str]:
    for term in relevance.query_forms(query_terms(words)):
        for form in term.forms:
            yield form.rstrip("*")
