"""Any order of puts, drops and new filters leaves an index that answers like a plain dictionary."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from rolltop.core.fulltext import indexer
from tests.campaign import examples

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from tests.core.fulltext.conftest import Index

WORDS: Final = ("amber", "bronze", "copper", "dune")
NAMES: Final = ("a", "b", "c")
TEXTS: Final = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
TAGS: Final = st.lists(st.sampled_from(("x", "y")), unique=True)
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), st.lists(TEXTS, min_size=1), TAGS),
        st.tuples(st.just("drop"), st.sampled_from(NAMES), st.just([]), st.just([])),
        st.tuples(st.just("tag"), st.sampled_from(NAMES), st.just([]), TAGS),
        st.tuples(st.just("embed"), st.just(""), st.just([]), st.just([])),
    ),
    max_size=8,
)
Step = tuple[str, str, list[str], list[str]]


@given(steps=STEPS)
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_index_answers_like_a_dictionary(index: Index, steps: list[Step]) -> None:
    index.drop(*NAMES)
    stored: dict[str, tuple[list[str], list[str]]] = {}
    for kind, name, parts, tags in steps:
        take(index, (kind, name, parts, tags))
        if kind == "put":
            stored[name] = (parts, tags)
        elif kind == "drop":
            stored.pop(name, None)
        elif kind == "tag" and name in stored:
            stored[name] = (stored[name][0], tags)
    index.embed()
    for word, tag, mode in itertools.product(WORDS, (None, "x", "y"), ("words", "meaning")):
        expected = {
            name
            for name, (parts, tags) in stored.items()
            if (tag is None or tag in tags) and any(word in part.split() for part in parts)
        }
        asked = {} if tag is None else {"tags": [tag]}
        assert set(index.ids(word, mode, filters=asked)) == expected
    if index.database.url_kind == "sqlite":
        index.database.write_sync(index.scope, check_integrity)


def take(index: Index, step: Step) -> None:
    kind, name, parts, tags = step
    if kind == "put":
        index.cell(name, *parts, tags=tags)
    elif kind == "drop":
        index.drop(name)
    elif kind == "tag":
        index.database.write_sync(
            index.scope, indexer.update_filters, "cell", [name], {"tags": tags}
        )
    else:
        index.embed(limit=2)


def check_integrity(tx: Tx) -> None:
    """Let FTS5 compare its index with the texts; raises where they differ."""
    tx.execute(text("INSERT INTO search_words (search_words) VALUES ('integrity-check')"))
