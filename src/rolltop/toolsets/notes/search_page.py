"""The order of notes that a search found: the best by the index, ranked as all texts are."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rolltop.core.fulltext import document_index, phrase_query, relevance
from rolltop.core.fulltext.bm25 import MAX_NUMBERS, TermStatistics, is_function_word
from rolltop.toolsets.notes.models import NoteFilters, NoteSummary
from rolltop.toolsets.notes.store import list_queries
from rolltop.toolsets.notes.store.list_queries import NoteSortKey, PageSpec
from rolltop.toolsets.notes.store.notebooks import Notebook

# The keys of ranked notes come before all of the index's own, of which the least is about -1,000.
_RANKED: Final = -10_000.0


def read_page(
    notebook: Notebook, filters: NoteFilters, page: PageSpec, total: int
) -> list[NoteSummary]:
    """Read a page of a search by rank: the best of the index ranked anew, then the others."""
    after, terms = page.after, _terms(filters)
    if after is not None and after.first > _RANKED:
        rest = page._replace(after=list_queries.follow_rank(notebook, filters, after))
        return list_queries.read_page(notebook, filters, rest, total)
    if not terms:
        return list_queries.read_page(notebook, filters, page, total)
    first = PageSpec(relevance.MAX_RERANKED, with_head=page.with_head)
    found = list_queries.read_page(notebook, filters, first, total)
    ranked = _rank(notebook, filters, terms, found) if found else []
    if after is not None:
        ranked = _following(ranked, after)
    shown = ranked[page.offset : page.offset + page.limit]
    if len(found) < relevance.MAX_RERANKED or len(shown) == page.limit:
        return shown
    last = NoteSortKey(*found[-1].key, found[-1].id)
    rest = page._replace(
        limit=page.limit - len(shown), after=last, offset=max(0, page.offset - len(ranked))
    )
    return shown + list_queries.read_page(notebook, filters, rest, total)


def _following(ranked: list[NoteSummary], after: NoteSortKey) -> list[NoteSummary]:
    """Return the notes after a place: after its note, whose score every write changes."""
    for at, note in enumerate(ranked):
        if (note.id, note.key[1]) == (after.id, after.second):
            return ranked[at + 1 :]
    return [note for note in ranked if _order(note) > (after.first, -after.second, after.id)]


def _terms(filters: NoteFilters) -> list[relevance.QueryTerm]:
    """Return the terms of a query: the words of its names and phrases, and what completes them.

    A number of several parts is one more term, as in `bm25.joined_numbers`.
    """
    phrases = filters.phrases
    chosen = (*phrases.required, *phrases.all_of, *phrases.any_of, *filters.names)
    words = dict.fromkeys(word for phrase in chosen for word in phrase)
    numbers = [" ".join(one) for one in chosen if len(one) > 1 and one[0][0].isdigit()]
    significant = [*numbers[:MAX_NUMBERS], *(word for word in words if not is_function_word(word))]
    return relevance.query_forms(significant or words)[: phrase_query.MAX_WORDS]


def _rank(
    notebook: Notebook,
    filters: NoteFilters,
    terms: list[relevance.QueryTerm],
    found: list[NoteSummary],
) -> list[NoteSummary]:
    """Order notes by their words; in a search without function words those with all come first."""
    words = list_queries.read_words(notebook, [note.id for note in found])
    texts = {note_id: [text] for note_id, text in words.items()}
    idf = _statistics(notebook, terms).idf
    ranked = relevance.rank(terms, texts, [idf(*term.forms) for term in terms], texts.keys())
    is_question = not all(map(phrase_query.is_significant, filters.names))
    keyed: list[NoteSummary] = []
    for note in found:
        score, _part, has_all = ranked[note.id]
        rank = _RANKED - score - (has_all and not is_question)
        keyed.append(replace(note, key=(rank, note.key[1])))
    return sorted(keyed, key=_order)


def _statistics(notebook: Notebook, terms: list[relevance.QueryTerm]) -> TermStatistics:
    total = list_queries.count_some(notebook)
    forms = [tuple(form.split()) for term in terms for form in term.forms]
    counts = document_index.counts(notebook.tx, forms, relevance.MAX_COUNTED)
    return TermStatistics(total, 0.0, {" ".join(form): counts[form] for form in forms})


def _order(note: NoteSummary) -> tuple[float, float, str]:
    return note.key[0], -note.key[1], note.id
