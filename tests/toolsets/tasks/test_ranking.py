"""Tasks by the words of a question: what is not read or scored has none of them."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.fulltext.bm25 import query_terms
from rolltop.core.fulltext.inflections import inflections
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.models import FilterInput
from rolltop.toolsets.tasks.service import TaskService
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rolltop.core.db import Database, Tx

ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"
STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True) | st.text(STORABLE, max_size=6)


def owner_of(database: Database, texts: Iterable[tuple[str, str | None]]) -> Principal:
    """Return a new user who has tasks of these titles and descriptions."""
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, f"{uuid.uuid4()}@example.org").id)

    def fill(tx: Tx) -> None:
        for title, description in texts:
            store.insert_task(tx, me.user_id, {"title": title, "description": description})

    database.write_sync(me, fill)
    return me


def find(database: Database, me: Principal, question: str) -> list[str]:
    """Return the titles of the tasks that a question finds, best first."""
    filters = FilterInput(q=question)
    found, *_ = database.read_sync(me, TaskService().search_tasks, filters, limit=10_000)
    return [task.title for task in found]


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAMES, min_size=1, max_size=4), is_title=st.booleans())
def test_a_task_is_found_by_each_of_its_words(
    database: Database, names: list[str], *, is_title: bool
) -> None:
    text = " ".join(names)
    own = (text, None) if is_title and text else ("?", text)
    me = owner_of(database, [own, ("!", "!"), ("", None)][:2])
    for word in tokenize(text):
        assert find(database, me, word) == [own[0]] or word not in query_terms(word)


def test_words_of_one_stem_find_each_other(database: Database) -> None:
    words = sorted(set(re.findall(r"[A-Za-z]{3,}", ARCHITECTURE.read_text(encoding="utf-8"))))
    me = owner_of(database, [(word, None) for word in words])
    for word in words[::9]:
        forms = {form for term in query_terms(word) for form in inflections(term)}
        alike = {other for other in words if set(tokenize(other)) & forms}
        assert set(find(database, me, word)) == alike


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("children", "Feed the child"),
        ("who ran?", "Run the tests"),
        ("maxretries", "Set max_retries"),
        ("HARBOUR", "Light the harbour"),
        ("uberschrift", "Die Überschrift"),
        ("Überschrift", "Die Überschrift"),
        ("重试", "设置重试次数"),
        ("?!", None),
    ],
)
def test_words_find_their_other_forms(database: Database, question: str, title: str | None) -> None:
    titles = ["Feed the child", "Run the tests", "Set max_retries", "Light the harbour"]
    titles += ["Die Überschrift", "设置重试次数"]
    me = owner_of(
        database, [("?", title) for title in titles] + [(title, None) for title in titles]
    )
    assert set(find(database, me, question)) == ({title, "?"} if title else set())


def test_a_rare_word_counts_more_and_so_does_a_title(database: Database) -> None:
    texts = [("Oil", "the lamp"), ("Lamp", "of oil"), ("Wind", "the lamp")]
    me = owner_of(database, [*texts, *((f"Lamp {number}", None) for number in range(9))])
    assert find(database, me, "oil")[0] == "Oil"
    assert set(find(database, me, "oil lamp")[:2]) == {"Oil", "Lamp"}


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("rent -car", ["Pay the rent", "Rent `git push -f` a name"]),
        ("rent NOT car", ["Pay the rent", "Rent `git push -f` a name"]),
        ('"pay the rent"', ["Pay the rent"]),
        ('"rent pay"', []),
        ('rent -"a car"', ["Pay the rent", "Rent `git push -f` a name"]),
        ('car OR "the cat" -push', ["Feed the cat", "Rent a car"]),
        ("-rent", ["Feed the cat"]),
        ("git push -f", ["Rent `git push -f` a name"]),
        ("cat -tag:x", ["Feed the cat"]),
    ],
)
def test_operators_hold(database: Database, question: str, titles: list[str]) -> None:
    texts = ["Pay the rent", "Rent a car", "Rent `git push -f` a name", "Feed the cat"]
    for pairs in ([(text, None) for text in texts], [("?", text) for text in texts]):
        me = owner_of(database, pairs)
        filters = FilterInput(q=question)
        found, *_ = database.read_sync(me, TaskService().search_tasks, filters, limit=99)
        shown = sorted(task.title if task.title != "?" else str(task.description) for task in found)
        assert shown == sorted(titles)


@pytest.mark.parametrize(
    "title", ["mvn -DskipTests on CI", "Do NOT deploy on Friday", "parse -all"]
)
def test_a_task_is_found_by_its_title_whatever_that_says(database: Database, title: str) -> None:
    me = owner_of(database, [(title, None), ("mvn deploy, parse on CI", None)])
    filters = FilterInput(q=f" {title.swapcase()}".replace("nOT", "NOT"))
    found, *_ = database.read_sync(me, TaskService().search_tasks, filters, limit=99)
    assert title in [task.title for task in found]
