"""Texts are ranked by all of their words and by the lines in which most of the query meets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rolltop.core.fulltext import relevance
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.bm25 import query_terms
from tests.growth import Sample, check_growth

if TYPE_CHECKING:
    from tests.core.fulltext.conftest import Index

FILLER = "\n".join(f"Ada: some other words about number{n} here" for n in range(30))


def ranked(query: str, *texts: str) -> list[int]:
    """Return the numbers of the texts that answer, best first."""
    terms = relevance.query_forms(query_terms(query))
    words = {at: [tokenize_lines(text)] for at, text in enumerate(texts)}
    found = relevance.rank(terms, words, [1.0] * len(terms), words.keys())
    return sorted((at for at in found if found[at].score), key=lambda at: -found[at].score)


def test_words_in_one_line_count_more_than_words_far_apart() -> None:
    apart = f"Ada: I bought a kayak\n{FILLER}\nBen: the lake is cold"
    together = f"{FILLER}\nAda: I took the kayak to the lake\nBen: nice"
    in_turn = f"{FILLER}\nAda: was it the lake?\nBen: yes, with the kayak"
    assert ranked("When did Ada take the kayak to the lake?", apart, in_turn, together) == [2, 1, 0]


def test_a_line_without_end_is_no_line() -> None:
    apart = f"kayak {'other words ' * 40} lake"
    near = f"{'other words ' * 20} kayak lake {'other words ' * 20}"
    assert ranked("kayak lake", apart, near) == [1, 0]


def test_a_line_of_hits_alone_takes_time_by_its_length() -> None:
    check_growth(partial(ranked, "kayak lake"), Sample(("kayak lake ",)))


def test_a_long_text_is_found_by_its_best_lines() -> None:
    passing = "Ada: the lake\nBen: a lake, and one more lake"
    telling = f"{FILLER}\n{FILLER}\nAda: I paint the lake at sunrise\n{FILLER}"
    assert ranked("What does Ada paint at sunrise by the lake?", passing, telling)[0] == 1


def test_words_of_asking_count_little() -> None:
    said = "Ada: he said so\nBen: she said so, they talked, I told you, we discussed it"
    meant = f"{FILLER}\nAda: the kayak was blue"
    assert ranked("What did Ada say, tell and mention of the kayak?", said, meant)[0] == 1


def test_irregular_forms_are_one_word(index: Index) -> None:
    index.cell("past", "Ada: we went to the museum and the children ate there")
    index.cell("other", "Ada: the museum is closed on Mondays")
    for query in ("Where did the child go?", "Who eats?", "going with children"):
        assert index.ids(query) == ["past"]


def test_a_thing_is_ranked_by_all_of_its_parts(index: Index) -> None:
    index.cell("one", "the kayak stood there", "and then words that nobody looks for")
    index.cell("both", "the kayak stood there", "and the lake was cold")
    index.cell("late", *(f"nothing in part{n}" for n in range(40)), "the kayak on the lake")
    places = {hit.id: (at, hit.part) for at, hit in enumerate(index.hits("kayak lake"))}
    assert places["both"] < places["one"]
    assert places["late"][1] == 40
