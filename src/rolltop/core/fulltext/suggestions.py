"""The word that is kept and that a word of a question is a misspelling of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import func, select

from rolltop.core.argument_names import suggest_name
from rolltop.core.db import Tx
from rolltop.core.fulltext.filters import OWNER, build_filter, filter_clauses
from rolltop.core.fulltext.tables import search_parts, search_texts

_WORD: Final = re.compile(r"\w{4,40}")
_MAX_WORDS_ASKED: Final = 8
_MAX_SLIPS: Final = 2
_MAX_SIMILAR_WORDS: Final = 2000
_MAX_PARTS: Final = 200
_MAX_PART_LENGTH: Final = 10_000


def suggest_word(texts: Iterable[str], question: str) -> str | None:
    """Return the word of the texts that a word of the question is a misspelling of, if any."""
    words: list[str] = _WORD.findall(question.casefold())
    asked = list(dict.fromkeys(words))[:_MAX_WORDS_ASKED]
    similar: dict[str, set[str]] = {word: set() for word in asked}
    for text in texts:
        words = _WORD.findall(text.casefold())
        for found in set(words):
            for word, candidates in similar.items():
                is_similar = word[0] == found[0] and abs(len(word) - len(found)) <= _MAX_SLIPS
                if is_similar and len(candidates) < _MAX_SIMILAR_WORDS:
                    candidates.add(found)
    suggestions = (suggest_name(word, sorted(similar[word])) for word in asked)
    return next((found for found in suggestions if found), None)


def suggest_indexed_word(
    tx: Tx, question: str, kinds: Sequence[str], filters: Mapping[str, Sequence[str]]
) -> str | None:
    """Return such a word of the newest parts in the index that a query may find, if any."""
    allowed = build_filter(tx, kinds, filters)
    statement = (
        select(func.substr(search_texts.c.text, 1, _MAX_PART_LENGTH))
        .join(search_parts, search_parts.c.id == search_texts.c.id)
        .where(search_parts.c.user_id == OWNER, *filter_clauses(allowed.shape))
        .order_by(search_parts.c.id.desc())
        .limit(_MAX_PARTS)
    )
    return suggest_word(tx.execute(statement, allowed.values).scalars(), question)
