"""The word that is kept and that a word of a question is a misspelling of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import func, select

from rolltop.core.argument_names import suggest_name
from rolltop.core.db import Tx
from rolltop.core.fulltext.bm25 import is_function_word
from rolltop.core.fulltext.filters import OWNER, build_filter, filter_clauses
from rolltop.core.fulltext.stemmer import stem
from rolltop.core.fulltext.tables import search_parts, search_texts

_WORD: Final = re.compile(r"\w{4,40}")
_MAX_WORDS_ASKED: Final = 8
_MAX_SLIPS: Final = 2
_MAX_SIMILAR_WORDS: Final = 2000
_MAX_PARTS: Final = 200
_MAX_PART_LENGTH: Final = 10_000


def suggest_word(texts: Iterable[str], question: str) -> str | None:
    """Return the word of the texts that a word of the question is a misspelling of, if any.

    No other word is compared than those that share the first or the last letter.
    """
    words: list[str] = _WORD.findall(question.casefold())
    asked = [word for word in dict.fromkeys(words) if not is_function_word(word)]
    known: set[str] = set()
    for text in texts if asked else ():
        known.update(_WORD.findall(text.casefold()))
    for word in asked[:_MAX_WORDS_ASKED]:
        similar = sorted(
            found
            for found in known
            if abs(len(word) - len(found)) <= _MAX_SLIPS
            and (word[0] == found[0] or word[-1] == found[-1])
        )
        is_known = stem(word) in map(stem, similar)
        if not is_known and (found := suggest_name(word, similar[:_MAX_SIMILAR_WORDS])):
            return found
    return None


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
