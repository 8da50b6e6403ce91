"""Tasks by the words of a question: what is not scored has none of them."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.fulltext.bm25 import query_terms
from rolltop.core.fulltext.inflections import inflections
from rolltop.toolsets.tasks.ranking import rank_tasks
from tests.campaign import examples

ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"
NAMES = st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True) | st.text(max_size=6)


@settings(max_examples=examples(200))
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_task_is_found_by_each_of_its_words(names: list[str]) -> None:
    text = " ".join(names)
    for word in tokenize(text):
        found = rank_tasks(lambda: [("it", text, None)], word)[0]
        assert found == ["it"] or word not in query_terms(word)


def test_words_of_one_stem_find_each_other() -> None:
    words = sorted(set(re.findall(r"[A-Za-z]{3,}", ARCHITECTURE.read_text(encoding="utf-8"))))
    tasks = [(word, word, None) for word in words]
    for word in words[::9]:
        forms = {form for term in query_terms(word) for form in inflections(term)}
        alike = {other for other in words if set(tokenize(other)) & forms}
        assert set(rank_tasks(lambda: tasks, word)[0]) == alike


def test_irregular_forms_find_each_other() -> None:
    tasks = [("one", "Feed the child", None), ("other", "Run the tests", None)]
    assert rank_tasks(lambda: tasks, "children")[0] == ["one"]
    assert rank_tasks(lambda: tasks, "who ran?")[0] == ["other"]


def test_a_question_without_words_counts_what_was_searched() -> None:
    assert rank_tasks(lambda: [("it", "Mend", "the hull")] * 3, "?!") == ([], 3)
