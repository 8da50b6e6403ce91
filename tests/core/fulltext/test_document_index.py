"""Whole texts are found by all that is asked for, alike on both databases and at any length."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

import rolltop
from rolltop.core.accounts import delete_user
from rolltop.core.db import SYSTEM
from rolltop.core.fulltext import document_index, phrase_query
from rolltop.core.fulltext.bm25 import is_prefix_term
from rolltop.core.fulltext.phrase_query import Phrase, PhraseQuery
from rolltop.core.fulltext.tables import search_whole_words, search_wholes
from tests.campaign import examples

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal

SOURCES: Final = Path(rolltop.__file__).parent
WORDS = st.sampled_from(["storm", "calm", "mast", "日本", "日", "port"])
TEXTS = st.lists(WORDS, max_size=14).map(" ".join)
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join).map(phrase_query.split_phrase)
SOME = st.lists(PHRASES, max_size=2).map(tuple)
RUNS = st.tuples(
    st.sampled_from(["storm", "port_{}", "日本第{}回", "the mast{}", "getItem{}"]),
    st.sampled_from([1, 2, 63, 64, 65, 200, 254, 255, 256, 257, 600]),
)
LONG_TEXTS = st.lists(RUNS, min_size=1, max_size=5).map(
    lambda runs: " ".join(run.format(n) for run, count in runs for n in range(count))
)
"""Texts with words that come more often than a tsvector keeps their places."""


def found(tx: Tx, asked: PhraseQuery) -> set[int]:
    """Return the caller's texts that meet what is asked."""
    own = search_wholes.c.user_id == tx.scope.tenant_id
    values = {"owner": tx.scope.tenant_id, **document_index.values_of(tx, asked)}
    if asked.required:
        shape = document_index.shape_of(tx.kind, asked)
        table = document_index.matching_texts(tx.kind, shape, ranked=True)
        rows = tx.execute(select(table.c.number, table.c.rank), values).all()
        numbers = {row.number for row in rows}
        return set(tx.execute(select(search_wholes.c.id).where(own)).scalars()) & numbers
    without = search_wholes.c.id.not_in(document_index.excluded_numbers(tx.kind))
    return set(tx.execute(select(search_wholes.c.id).where(own, without), values).scalars())


def says(text: str, phrase: Phrase) -> bool:
    """Whether a text has the words in a row, a single character standing for what it begins."""
    has = phrase_query.tokenize(text)
    return any(
        all(
            word == sought or (is_prefix_term(sought) and word.startswith(sought))
            for word, sought in zip(has[at:], phrase, strict=False)
        )
        for at in range(len(has) - len(phrase) + 1)
    )


def follow(tx: Tx, texts: list[str], asked: PhraseQuery, new: str) -> None:
    """Add texts, change the last one, take them away; compare what is found with what they say."""
    numbers = document_index.add(tx, texts)
    said = {**dict(zip(numbers, texts, strict=True)), numbers[-1]: new}
    document_index.replace(tx, numbers[-1], new)
    expected = {
        number
        for number, text in said.items()
        if all(says(text, phrase) for phrase in asked.required)
        and not any(says(text, phrase) for phrase in asked.excluded)
    }
    assert found(tx, asked) == expected
    document_index.remove(tx, numbers)
    assert found(tx, asked) == set()


@pytest.mark.parametrize("part", [5000, 7])
def test_what_is_matched_is_what_is_said(
    database: Database, me: Principal, them: Principal, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With parts of seven words, of which six are shared, long texts are those of eight words.

    A phrase has up to six: 日本 counts as two.
    """
    monkeypatch.setattr(document_index, "MAX_PART_WORDS", part)
    monkeypatch.setattr(document_index, "OVERLAP_WORDS", min(part - 1, 64))

    @settings(
        max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None
    )
    @given(st.lists(TEXTS, min_size=1, max_size=5), SOME, SOME, TEXTS)
    def compare(
        texts: list[str], wanted: tuple[Phrase, ...], unwanted: tuple[Phrase, ...], new: str
    ) -> None:
        if wanted or unwanted:
            database.write_sync(them, document_index.add, texts)
            database.write_sync(me, follow, texts, PhraseQuery(wanted, unwanted), new)

    compare()


def test_every_phrase_is_found_however_often_its_words_come_back(
    database: Database, me: Principal
) -> None:
    """Phrases are those of a text and those with other words between, names by their parts too."""

    @settings(
        max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None
    )
    @given(st.lists(LONG_TEXTS, min_size=1, max_size=3), LONG_TEXTS, st.data())
    def compare(texts: list[str], new: str, data: st.DataObject) -> None:
        names = st.sampled_from(new.split()).map(phrase_query.split_name)
        asked = st.lists(st.one_of(_phrases_of(new), _phrases_of(texts[0]), names), max_size=2)
        wanted, unwanted = data.draw(asked), data.draw(asked)
        if wanted or unwanted:
            database.write_sync(me, follow, texts, PhraseQuery(tuple(wanted), tuple(unwanted)), new)

    compare()


def _phrases_of(text: str) -> st.SearchStrategy[Phrase]:
    """Return some of the words in a row of a text; sometimes one of them is another."""
    has = phrase_query.tokenize(text)
    places = st.integers(0, len(has) - 1)

    def phrase(start: int, length: int, other: str) -> Phrase:
        return (*has[start : start + length], *([other] if other else []))

    lengths = st.one_of(st.integers(1, 4), st.integers(1, phrase_query.MAX_WORDS - 1))
    return st.builds(phrase, places, lengths, st.sampled_from(["", "", "storm", "5"]))


def test_nothing_is_left_of_a_user_who_is_deleted(database: Database, me: Principal) -> None:
    database.write_sync(me, lambda tx: document_index.add(tx, ["storm"]))
    database.write_sync(SYSTEM, delete_user, me.user_id)

    def left(tx: Tx) -> tuple[int, int]:
        rows = tx.execute(select(search_wholes.c.id)).all()
        if tx.kind != "sqlite":
            return len(rows), 0
        asked = search_whole_words.c.search_whole_words.op("MATCH")('"storm"')
        return len(rows), len(tx.execute(select(search_whole_words.c.rowid).where(asked)).all())

    assert database.read_sync(SYSTEM, left) == (0, 0)


def test_only_notes_are_indexed_whole() -> None:
    """They count what they find by the index alone, so nothing else may be in it."""
    users = {
        source.relative_to(SOURCES).parts[1]
        for source in SOURCES.glob("toolsets/**/*.py")
        if re.search(
            r"core\.fulltext(\.document_index| import .*document_index)", source.read_text("utf-8")
        )
    }
    assert users == {"notes"}


@pytest.mark.parametrize("typed", ["{}", "{}*", "test_user_cannot_log_in_with_an_expired_res*"])
def test_a_name_of_many_parts_is_found_where_it_was_indexed_whole(
    database: Database, me: Principal, typed: str
) -> None:
    """Earlier releases indexed of such a name only the whole, and of that forty letters."""
    name = "test_user_cannot_log_in_with_an_expired_reset_token"
    whole = "testusercannotloginwithanexpiredresettok"
    asked = phrase_query.split_name(typed.format(name))

    def run(tx: Tx) -> None:
        texts = [f"{name}s", f"see {whole}", name.replace("_", " "), "an expired reset token"]
        numbers = document_index.add(tx, texts)
        assert found(tx, PhraseQuery((asked,))) == {*numbers[:3]}
        assert found(tx, PhraseQuery((), (asked,))) == {numbers[3]}

    database.write_sync(me, run)


def test_numbers_are_never_given_twice(database: Database, me: Principal) -> None:
    def run(tx: Tx) -> None:
        first = document_index.add(tx, ["a", "b", "c"])
        assert first == sorted(first)
        document_index.remove(tx, first)
        (new,) = document_index.add(tx, ["d"])
        assert new > first[-1]

    database.write_sync(me, run)


def test_a_name_is_sought_by_its_parts_and_a_phrase_as_it_stands() -> None:
    assert phrase_query.split_name("parseHTTPHeader") == ("pars", "http", "header")
    assert phrase_query.split_phrase("parseHTTPHeader")[1:] == phrase_query.split_name(
        "parseHTTPHeader"
    )
    assert phrase_query.split_name("foo-bar") == phrase_query.split_phrase("foo bar")
    assert phrase_query.split_name("東京都") == ("東京", "京都")
    assert phrase_query.split_name("parsing_ht*") == ("pars", "ht*")
    assert phrase_query.split_name("parsings*") == ("parsings*",)
    assert phrase_query.split_name("東京都*") == ("東京", "京都*")
    assert phrase_query.split_name("!?") == ()
    assert len(phrase_query.split_phrase("word " * 500)) == phrase_query.MAX_WORDS
