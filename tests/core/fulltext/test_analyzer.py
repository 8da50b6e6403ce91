"""Words, snippets and chunks of any text, and queries that people type."""

from __future__ import annotations

import re
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.fulltext.analyzer import (
    CHUNK_CODE_POINTS,
    MAX_BLOCK_LENGTH,
    MAX_CHUNKS,
    MAX_NAME_LENGTH,
    OVERLAP_CODE_POINTS,
    chunks,
    fold,
    tokenize,
    tokenize_unstemmed,
)
from rolltop.core.fulltext.snippets import snippet
from rolltop.core.fulltext.stemmer import completed_stems, stem
from tests.campaign import examples
from tests.growth import count_calls

if TYPE_CHECKING:
    from tests.core.fulltext.conftest import Index

ANY_TEXT: Final = st.text(st.characters())  # lone surrogates and NUL too
SIGNS: Final = "\"'*^():-+|&!<>\\{}%_;,."
PIECES: Final = [
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(a b, 2)",
    "words:",
    "--",
    "gold",
    "Größe",
    "你好",
]
HOSTILE: Final = ["a", "'; DROP TABLE users", "\x00", "\ud800", "🦊", "\u0301"]
SYNTAX: Final = st.lists(st.sampled_from([*SIGNS, *PIECES, *HOSTILE])).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("__ -- ''", []),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("max_result_tokens", ["maxresulttoken", "max", "result", "token"]),
        ("getÜberName", ["getubernam", "get", "uber", "name"]),
        ("sha256 x1", ["sha256", "sha", "256", "x1", "x", "1"]),
        ("9f86d081884c7d65", ["9f86d081884c7d65"]),
        ("eyJhbGciOiJIUzI1NiIsInR5", ["eyjhbgcioijiuzi1niisinr5"]),
        ("\uff21\uff22\uff23 \ufb01ne", ["abc", "fine"]),
        ("Ελλάδα ΕΛΛΆΔΑ", ["ελλαδα", "ελλαδα"]),
        ("東京タワーgo", ["東京", "京タ", "タワ", "ワー", "ー", "go"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
    ],
)
def test_words_of(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_a_name_of_very_many_parts_has_all_of_them() -> None:
    texts = ("test user cannot log in with an expired reset token", "a long name " * 20)
    for words in map(str.split, texts):
        for name in ("_".join(words), "".join(map(str.title, words))):
            assert tokenize(name)[1:] == tokenize(" ".join(words))


@given(ANY_TEXT)
@settings(max_examples=examples(200))
def test_words_are_plain_and_the_same_in_any_case(text: str) -> None:
    for word in tokenize(text):
        assert len(word) >= 1
        assert not set(word) & set(" '\"\\\x00_")
    assert tokenize(text + "\n" + text) == tokenize(text) * 2


@given(st.lists(st.from_regex(r"[a-z]+|[0-9]+|\w+", fullmatch=True)), st.integers(1, 300))
@settings(max_examples=examples(200))
def test_words_are_the_stems_of_those_with_their_endings(names: list[str], length: int) -> None:
    text = " ".join([*names, "a" * length, "7" * length])
    assert tokenize(text) == [stem(word) for word in tokenize_unstemmed(text)]


def test_a_long_line_is_cut_into_words_piece_by_piece() -> None:
    """No call of `re` or `str` takes all of it: meanwhile no other thread would run."""
    names = [f"name{n} parseHTTP,größe_{n};" for n in range(20_000)]
    line = "".join(names)
    assert tokenize(line) == [word for name in names for word in tokenize(name)]
    assert set(tokenize("0a1b" * MAX_BLOCK_LENGTH)) == {("0a1b" * 10)}
    for unit in ("a ", "0a"):
        assert count_calls(lambda unit=unit: tokenize(unit * (20 * MAX_BLOCK_LENGTH))) > 80


def test_a_line_of_any_script_is_folded_at_once() -> None:
    line = "Съешь ещё этих мягких булок, да выпей чаю. " * 1_000
    assert fold(line).startswith("съешь еще этих мягких")
    assert count_calls(lambda: fold(line)) < 100


@given(ANY_TEXT)
@settings(max_examples=examples(200), deadline=None)
def test_the_letters_of_a_decomposed_text_are_those_of_the_composed_one(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(text)


def test_of_a_name_without_end_the_beginning_counts() -> None:
    words = tokenize("some_word_" * 1000)
    assert (len(words), set(words[1:])) == (1 + 2 * MAX_NAME_LENGTH // 10, {"some", "word"})


def english_words() -> list[str]:
    own_words = Path(__file__).read_text(encoding="utf-8")  # the nearest English text
    endings = re.findall(r"\w+", "s es ed ing ly ness ful ize izer ization ational ement tion able")
    roots = re.findall(r"\w+", "relat hope motor cann condit sens form act adopt depend control")
    known = {word for word in own_words.lower().split() if word.isascii() and word.isalpha()}
    return sorted(known | {root + ending for root in roots for ending in endings})


def test_stems_are_those_of_an_independent_porter_stemmer() -> None:
    listed = english_words()
    with closing(sqlite3.connect(":memory:")) as witness:
        witness.execute("CREATE VIRTUAL TABLE w USING fts5(x, tokenize='porter ascii')")
        witness.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, instance)")
        witness.executemany("INSERT INTO w (rowid, x) VALUES (?, ?)", enumerate(listed))
        stems = dict(witness.execute("SELECT doc, term FROM v").fetchall())
    assert {word: stem(word) for word in listed} == {
        word: stems[number] for number, word in enumerate(listed)
    }


def test_every_beginning_of_a_word_leads_to_its_stem() -> None:
    for word in [*english_words(), "running", "stopped", "studies", "deployment", "authentication"]:
        for end in range(3, len(word) + 1):
            start = word[:end]
            assert stem(word).startswith(start) or stem(word) in completed_stems(start), start
    assert completed_stems("bus") == ("bu",)
    assert completed_stems("sail") == ()


@given(st.text(st.sampled_from("ab \n.é"), max_size=6000))
@settings(max_examples=examples(60))
def test_chunks_cover_the_text_and_overlap(text: str) -> None:
    parts = chunks(text)
    assert all(len(part) <= CHUNK_CODE_POINTS for part in parts)
    place = 0
    for part in parts:
        at = text.find(part, max(0, place - OVERLAP_CODE_POINTS))
        assert 0 <= at <= place
        place = at + len(part)
    assert place == len(text)


def test_a_very_long_text_has_a_bounded_number_of_chunks() -> None:
    text = "word and line\n" * 400_000
    parts = chunks(text)
    assert MAX_CHUNKS // 2 < len(parts) <= MAX_CHUNKS * 2
    assert parts[-1].endswith("word and line\n")


@given(ANY_TEXT, ANY_TEXT, st.integers(20, 300))
@settings(max_examples=examples(100))
def test_snippets_are_one_short_line(text: str, query: str, width: int) -> None:
    for given_text in (text, f"{text} " * 60):
        shown = snippet(given_text, query, width)
        assert len(shown) <= width
        assert "\n" not in shown
        assert shown.strip("… ") in " ".join(given_text.split())


def test_a_snippet_shows_where_the_words_are() -> None:
    text = f"{'intro ' * 80}the parser reads a config file here{' outro' * 80}"
    shown = snippet(text, "parsing the config")
    assert "parser reads a config file" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert snippet(text, "nothing").startswith("intro intro")
    for word in ("key", "days", "any", "x1"):
        text = f"{'intro ' * 80}where {word} is{' outro' * 80}"
        assert f"where {word} is" in snippet(text, word)


@given(query=st.one_of(SYNTAX, ANY_TEXT))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_makes_a_search_fail(index: Index, query: str) -> None:
    if not index.ids("gold"):
        index.cell("a", "gold Größe 你好 a AND or near", namespace="it's; --")
        index.embed()
    for mode in ("words", "hybrid", "meaning"):
        hits = index.hits(query, mode, {"namespace": ["it's; --", query.replace("\x00", "")[:9]]})
        assert {hit.id for hit in hits} <= {"a"}


@given(document=ANY_TEXT.filter(tokenize))
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_text_is_found_by_its_own_names(index: Index, document: str) -> None:
    index.cell("a", document)
    for query in [document, *document.split()[:3]]:
        assert index.ids(query) == (["a"] if tokenize(query) else []), query
