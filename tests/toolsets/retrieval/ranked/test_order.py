"""Ranked search answers by the tree as it is, not by the order in which its files were read."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.retrieval.ranked import candidates
from rolltop.toolsets.retrieval.service import ranking
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.toolsets.retrieval.ranked.test_ranking import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Maker = Callable[[str], Forest]

WORDS = ("serve", "request", "handler", "open", "close", "cache")
QUERIES = (
    *WORDS,
    "serve request",
    "open the cache of a handler",
    "closeHandler",
    "request_cache serve",
    "part_15.py open",
)


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    """Return what makes forests over one folder of files, each with an index of its own."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 40_000_000)
    made: list[Forest] = []

    def make(index: str) -> Forest:
        made.append(make_forest(tmp_path, "code", settings={"data_dir": tmp_path / index}))
        return made[-1]

    yield make
    for forest in made:
        forest.desk.service(ranking.open_chunk_indexes).close()


def read_in_order(patch: pytest.MonkeyPatch, arranged: Callable[[list[Any]], Any]) -> None:
    """Let files be read in an order, where it is chance otherwise."""

    def scatter(work: list[Any]) -> list[Any]:
        return list(arranged(work))

    patch.setattr("rolltop.toolsets.retrieval.index.chunk_indexes.scatter", scatter)


def shuffled(work: list[Any]) -> list[Any]:
    return random.Random(3).sample(work, len(work))  # noqa: S311  # the same order each time


def answers(forest: Forest) -> list[Any]:
    found = [forest.ok("repo_smart_search", query=query, limit=100) for query in QUERIES]
    return [one["result"] for one in found]


def plant_alike(forest: Forest, most: int = 300) -> None:
    """Write files that answer alike."""
    for n in range(most):
        forest.put(f"code/f{n}.py", f'def handler():\n    """Serve a request {n}."""\n')


def plant_many(forest: Forest) -> None:
    """Write files of a few words, which many of them share, and some without any."""
    drawn = random.Random(7)  # noqa: S311  # the same tree each time
    for n in range(260):
        body = "".join(
            f"def {drawn.choice(WORDS)}_{drawn.choice(WORDS)}():\n"
            f"    return {drawn.choice(WORDS)}.{drawn.choice(WORDS)}\n\n\n"
            for _ in range(drawn.randrange(4))
        )
        forest.put(f"code/{drawn.choice('ab')}{drawn.choice(('/', '-'))}part_{n}.py", body)


def test_places_that_answer_alike_come_by_path_with_and_without_an_index(
    grown: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = grown("index")
    plant_alike(forest)
    by_path = sorted(f"f{n}.py" for n in range(300))

    def first() -> list[str]:
        found = forest.ok("repo_smart_search", query="serve request", limit=20)["result"]
        return [place["path"] for place in found]

    assert first() == by_path[:20]
    read_in_order(monkeypatch, reversed)
    build(forest)
    assert first() == by_path[:20]


@pytest.mark.parametrize("most", [candidates.MAX_MATCHES, 40])
def test_the_order_of_reading_files_changes_no_answer(
    grown: Maker, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(candidates, "MAX_MATCHES", most)
    found: list[Any] = []
    for arranged in (list, reversed, shuffled):
        forest = grown(f"index{len(found)}")
        if not found:
            plant_many(forest)
        read_in_order(monkeypatch, arranged)
        build(forest)
        found.append(answers(forest))
    assert all(found[0])
    assert found[0] == found[1] == found[2]


def test_what_files_were_before_changes_no_answer(grown: Maker) -> None:
    forest = grown("index")
    plant_many(forest)
    for n in range(30):
        forest.put(f"code/a/part_{n}.py", "def serve_cache():\n    return 1\n" * 200)
        forest.put(f"code/gone_{n}.py", "def request():\n    return 1\n")
    build(forest)
    for path in (forest.top / "code").rglob("*.py"):
        path.unlink()
    plant_many(forest)
    build(forest)
    fresh = grown("fresh")
    build(fresh)
    assert answers(forest) == answers(fresh)


def test_a_file_without_words_changes_no_score_when_it_is_kept(grown: Maker) -> None:
    forest = grown("index")
    plant_alike(forest, 9)
    for n in range(9):
        forest.put(f"code/empty_{n}.py")
        forest.put(f"code/picture_{n}.png", b"\x89PNG\0serve")
    before = answers(forest)
    build(forest)
    assert answers(forest) == before


def test_a_word_that_is_everywhere_is_found_with_an_index_too(
    grown: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MAX_MATCHES", 40)
    forest = grown("index")
    for n in range(50):
        forest.put(f"code/f{n}.py", f"def handler_{n}():\n    return serve\n")

    def first(query: str) -> list[str]:
        return [p["path"] for p in forest.ok("repo_smart_search", query=query)["result"]]

    before = [first(query) for query in ("return", "return serve", "def")]
    assert all(before)
    build(forest)
    assert [first(query) for query in ("return", "return serve", "def")] == before
