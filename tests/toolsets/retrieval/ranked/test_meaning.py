"""Meaning in ranked search: what it finds, when it is silent, and what is kept of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import embedding, worker_process
from rolltop.core.worker_process import Worker, WorkerPool, WorkerProcess
from rolltop.toolsets.retrieval.index import vector_builder, vectors
from rolltop.toolsets.retrieval.index.vectors import Vectors, cosines, pack_vectors
from rolltop.toolsets.retrieval.ranked.rerank import HEAD
from rolltop.toolsets.retrieval.service import ranking
from tests.fake_embedder import FakeEmbedder
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import Forest, make_forest, spoil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.core.embedding import Matrix

# Of the stems that words are compared by.
SYNONYMS = {"car": "vehicle", "automobil": "vehicle", "purchas": "buy", "acquir": "buy"}
QUERY = "purchase car today"
SHOP = """def first(lot):
    lot.purchase(car=1)
    return paint(wheels, engine, doors, seats, mirrors, lamps, screws, bolts, nuts, oil, tyres)


def second():
    return acquire(automobile, today)
"""


def fake_embedder() -> Callable[[list[str]], list[bytes]]:
    """Return what embeds in a worker, as `vector_builder.embedder` does."""
    fake = FakeEmbedder(synonyms=SYNONYMS)
    return lambda texts: pack_vectors(fake.embed(texts))


class Here:
    """Does in this process what a worker would do: most tests spare themselves its start."""

    def __init__(self, worker: Worker, *, idle_seconds: float) -> None:
        assert worker.nice > 0
        assert worker.skip_init
        assert idle_seconds > 0
        self._answer = fake_embedder()

    def call(self, texts: list[str], _seconds: float, _cpu_seconds: float) -> list[bytes]:
        return self._answer(texts)

    def close(self) -> None:
        """Have nothing to end."""


class Broken(FakeEmbedder):
    """Cannot embed."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        raise ValueError(texts)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """Have a model that knows a few synonyms, here and in workers."""
    made = FakeEmbedder(synonyms=SYNONYMS)
    has_model(monkeypatch, made)
    return made


def has_model(monkeypatch: pytest.MonkeyPatch, model: FakeEmbedder | None) -> None:
    def ready() -> FakeEmbedder | None:
        return model

    monkeypatch.setattr(embedding, "embedder_if_loaded", ready)
    monkeypatch.setattr(embedding, "try_load_embedder", ready)
    monkeypatch.setattr(vector_builder, "WorkerPool", Here)
    monkeypatch.setattr(vector_builder, "FACTORY", f"{__name__}:{fake_embedder.__name__}")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Forest]:
    forest = make_forest(tmp_path, "docs", "code")
    forest.put("code/shop.py", SHOP)
    yield forest
    close(forest)


def close(forest: Forest) -> None:
    forest.desk.service(ranking.RootVectors).close()
    forest.desk.service(ranking.open_chunk_indexes).close()


def make(forest: Forest) -> None:
    """Make the vectors that the background makes."""
    end = time.monotonic() + PATIENCE
    while ranking.has_pending(forest.desk):
        assert time.monotonic() < end
        ranking.update_vectors(forest.desk)


def search(forest: Forest, query: str = QUERY, **more: Any) -> tuple[str, list[dict[str, Any]]]:
    answer = forest.ok("repo_smart_search", query=query, **more)
    return answer["meta"]["mode"], answer["result"]


def names(places: list[dict[str, Any]]) -> list[str]:
    return [place["preview"].partition("(")[0] for place in places]


def kept_file(forest: Forest) -> Path:
    (path,) = [
        path
        for path in (forest.top / "data" / ranking.FOLDER).glob("vectors*.db")
        if path.stat().st_size > 0
    ]
    return path


@pytest.mark.usefixtures("fake")
def test_a_search_has_meaning_as_soon_as_the_background_made_vectors(shop: Forest) -> None:
    mode, by_words = search(shop)
    assert (mode, names(by_words)) == ("words", ["def first", "def second"])
    make(shop)
    mode, found = search(shop)
    assert (mode, names(found)) == ("hybrid", ["def second", "def first"])
    assert [place["why"] for place in found] == [["words", "meaning"], ["words"]]
    scores = [place["score"] for place in found]
    assert scores == [place["score"] for place in by_words]
    assert search(shop) == (mode, found)


def test_words_alone_answer_without_the_extra(
    shop: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_model(monkeypatch, None)
    mode, by_words = search(shop)
    assert (mode, names(by_words)) == ("words", ["def first", "def second"])
    assert not ranking.has_pending(shop.desk)


@pytest.mark.parametrize("setting", ["retrieval.semantic_search", "retrieval.index"])
@pytest.mark.usefixtures("fake")
def test_meaning_can_be_turned_off(tmp_path: Path, setting: str) -> None:
    forest = make_forest(tmp_path, "code", settings={setting: False})
    forest.put("code/shop.py", SHOP)
    assert search(forest)[0] == "words"
    assert not ranking.has_pending(forest.desk)
    close(forest)


def test_a_model_that_fails_leaves_words(
    shop: Forest, monkeypatch: pytest.MonkeyPatch, fake: FakeEmbedder
) -> None:
    _, by_words = search(shop)
    make(shop)
    assert search(shop)[0] == "hybrid"
    has_model(monkeypatch, Broken(fake.version))
    assert search(shop) == ("words", by_words)


@pytest.mark.usefixtures("fake")
def test_an_edited_unit_is_never_weighed_by_what_it_meant(shop: Forest) -> None:
    search(shop)
    make(shop)
    assert names(search(shop)[1])[0] == "def second"
    shop.put("code/shop.py", SHOP.replace("acquire(automobile", "ignore(telephone"))
    mode, found = search(shop)
    assert (mode, names(found)[0]) == ("words", "def first")  # one vector is nothing to compare
    make(shop)
    mode, found = search(shop)
    assert (mode, names(found)[0]) == ("hybrid", "def first")
    shop.put("code/moved/store.py", (shop.top / "code/shop.py").read_text())
    shop.put("code/shop.py", SHOP)
    assert [place["path"] for place in search(shop)[1] if "meaning" in place["why"]] == ["shop.py"]


@pytest.mark.usefixtures("fake")
def test_what_has_no_vector_keeps_its_place(shop: Forest) -> None:
    search(shop)
    make(shop)
    shop.put("code/third.py", "def third():\n    return purchase(car, today)\n")
    mode, found = search(shop)
    assert (mode, names(found)) == ("hybrid", ["def third", "def second", "def first"])
    assert found[0]["why"] == ["words"]


@pytest.mark.parametrize("query", ["purchase", "shop.py", "find_automobile", "acquire shop.py"])
@pytest.mark.usefixtures("fake")
def test_a_name_or_a_file_is_looked_for_by_words(shop: Forest, query: str) -> None:
    search(shop)
    make(shop)
    assert search(shop, query)[0] == "words"


def test_another_model_uses_no_vector_of_the_one_before(
    shop: Forest, monkeypatch: pytest.MonkeyPatch, fake: FakeEmbedder
) -> None:
    search(shop)
    make(shop)
    assert search(shop)[0] == "hybrid"
    close(shop)
    has_model(monkeypatch, FakeEmbedder("fake/2"))
    assert fake.version != "fake/2"
    assert search(shop)[0] == "words"


@pytest.mark.usefixtures("fake")
def test_pages_go_on_in_the_order_they_began_with(shop: Forest) -> None:
    for n in range(HEAD + 10):
        shop.put(f"code/many/m{n:02}.py", f"def part_{n}(car):\n    return purchase({n})\n")
    by_words = search(shop, limit=100)[1]
    modes: list[str] = []
    for _ in range(2):
        places: list[dict[str, Any]] = []
        asked: dict[str, Any] = {"query": QUERY, "limit": 6}
        while asked:
            answer = shop.ok("repo_smart_search", **asked)
            places += answer["result"]
            modes.append(answer["meta"]["mode"])
            make(shop)  # vectors come between two pages, and change none of this search
            asked = answer["meta"].get("next", {}).get("arguments", {})
        if modes[-1] == "words":
            assert places == by_words
        assert sorted(place["path"] for place in places) == sorted(p["path"] for p in by_words)
        shop.put("code/many/m01.py", "def last():\n    return purchase(car, car)\n")
    pages = len(modes) // 2
    assert modes == ["words"] * pages + ["hybrid"] * pages


@pytest.mark.usefixtures("fake")
def test_a_search_goes_on_in_a_process_that_has_no_model_yet(
    shop: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(shop)
    make(shop)
    answer = shop.ok("repo_smart_search", query=QUERY, limit=1)
    monkeypatch.setattr(embedding, "embedder_if_loaded", lambda: None)
    answer = shop.ok("repo_smart_search", **answer["meta"]["next"]["arguments"])
    assert (answer["meta"]["mode"], names(answer["result"])) == ("hybrid", ["def first"])
    assert search(shop)[0] == "words"


@pytest.mark.usefixtures("fake")
def test_a_search_by_meaning_does_not_go_on_by_words(
    shop: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(shop)
    make(shop)
    following = shop.ok("repo_smart_search", query=QUERY, limit=1)["meta"]["next"]["arguments"]
    has_model(monkeypatch, None)
    assert shop.code("repo_smart_search", **following) == "INVALID_CURSOR"


def test_the_death_of_the_process_that_embeds_leaves_words(
    shop: Forest, monkeypatch: pytest.MonkeyPatch, fake: FakeEmbedder
) -> None:
    assert fake
    monkeypatch.setattr(vector_builder, "WorkerPool", WorkerPool)
    monkeypatch.setattr(vector_builder, "FACTORY", "os:abort")
    for _ in range(3):
        assert search(shop)[0] == "words"
        make(shop)
    assert search(shop)[0] == "words"
    assert not ranking.has_pending(shop.desk)


@pytest.mark.usefixtures("fake")
def test_the_process_that_embeds_ends_when_there_is_nothing_to_do(
    shop: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[WorkerProcess] = []

    def start(worker: Worker) -> WorkerProcess:
        started.append(WorkerProcess(worker._replace(skip_init="")))  # the fake's imports need it
        return started[-1]

    monkeypatch.setattr(vector_builder, "WorkerPool", WorkerPool)
    monkeypatch.setattr(worker_process, "WorkerProcess", start)
    monkeypatch.setattr(vector_builder, "MAX_IDLE_SECONDS", 0.05)
    search(shop)
    make(shop)
    assert search(shop)[0] == "hybrid"
    make(shop)
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{process.pid}").exists() for process in started):
        assert time.monotonic() < end
        threading.Event().wait(0.01)
    assert started


@pytest.mark.parametrize("damage", ["overwritten", "cut", "empty"])
@pytest.mark.usefixtures("fake")
def test_damaged_vectors_are_made_anew(shop: Forest, damage: str) -> None:
    search(shop)
    make(shop)
    before = search(shop)
    path = kept_file(shop)
    close(shop)
    spoil(path, damage)
    next_server = make_forest(shop.top, "docs", "code")
    assert search(next_server)[0] == "words"
    make(next_server)
    assert search(next_server) == before
    close(next_server)


@pytest.mark.usefixtures("fake")
def test_what_one_process_made_serves_another(shop: Forest) -> None:
    search(shop)
    make(shop)
    found = search(shop)
    code = f"""
import sys
from pathlib import Path
import pytest
from tests.fake_embedder import FakeEmbedder
from tests.toolsets.retrieval.forest import make_forest
from tests.toolsets.retrieval.ranked import test_meaning as here
with pytest.MonkeyPatch.context() as patch:
    here.has_model(patch, FakeEmbedder(synonyms=here.SYNONYMS))
    forest = make_forest(Path(sys.argv[1]), "docs", "code")
    assert here.search(forest) == {found!r}
    here.close(forest)
"""
    subprocess.run(
        [sys.executable, "-c", code, str(shop.top)], check=True, cwd=Path(__file__).parents[4]
    )
    assert search(shop) == found


WRITER = """
import os, sys
from pathlib import Path
from rolltop.toolsets.retrieval.index.vectors import Vectors
kept = Vectors(Path(sys.argv[1]), "v")
for number in range(1_000_000):
    kept.put({os.urandom(16): bytes(192) for _ in range(50)}, (), 1_000_000_000, ahead=False)
    print(number, flush=True)
"""


def test_a_process_killed_while_it_keeps_vectors_leaves_what_others_can_use(tmp_path: Path) -> None:
    kept = Vectors(tmp_path, "v")
    kept.put({b"mine": b"vector"}, (), 1_000, ahead=False)
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for _ in range(5):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        assert kept.of([b"mine"]) == {b"mine": b"vector"}
        assert kept.count() % 50 == 1
    kept.close()


def test_vectors_over_the_bound_go_those_first_that_no_search_used(tmp_path: Path) -> None:
    kept = Vectors(tmp_path, "v")
    kept.put({b"ahead%d" % n: b"v" for n in range(50)}, (), 100, ahead=True)
    kept.put({b"old%d" % n: b"v" for n in range(30)}, (), 100, ahead=False)
    kept.put({b"new%d" % n: b"v" for n in range(20)}, [b"ahead7", b"old3"], 100, ahead=False)
    assert kept.count() == 100
    kept.put({b"newer%d" % n: b"v" for n in range(45)}, (), 100, ahead=False)
    assert kept.count() == 90
    old = [b"old%d" % n for n in range(30)]
    assert set(kept.of([b"ahead7", *(b"ahead%d" % n for n in range(7))])) == {b"ahead7"}
    assert b"old3" in kept.of(old)
    assert len(kept.of(b"new%d" % n for n in range(20))) == 20
    assert len(kept.of(b"newer%d" % n for n in range(45))) == 45
    kept.close()


def test_what_is_kept_takes_at_most_what_it_is_counted_as(tmp_path: Path) -> None:
    kept = Vectors(tmp_path, "v")
    for _ in range(100):
        made = {os.urandom(16): os.urandom(192) for _ in range(100)}
        kept.put(made, (), 10_000, ahead=False)
    assert kept.count() == 10_000
    kept.close()
    (path,) = tmp_path.glob("*.db")
    assert path.stat().st_size <= 10_000 * vectors.SIZE


def test_one_process_makes_vectors_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(vectors.time, "time", lambda: now[0])
    mine, other = Vectors(tmp_path, "v"), Vectors(tmp_path, "v")
    assert mine.leads(1)
    assert not other.leads(2)
    now[0] += 59
    assert mine.leads(1)
    now[0] += 59
    assert not other.leads(2)
    now[0] += 2
    assert other.leads(2)
    assert not mine.leads(1)
    now[0] -= 100_000  # the clock was set back
    assert mine.leads(1)
    mine.close()
    other.close()


def test_four_bits_keep_a_cosine() -> None:
    fake = FakeEmbedder(dims=384)
    made = fake.embed(["gulls over the sea", "the sea and gulls", "taxes", ""])
    near = cosines(made[0], pack_vectors(made))
    assert near == pytest.approx([1, float(made[1] @ made[0]), 0, 0], abs=0.02)


def test_a_folder_that_cannot_be_written_leaves_words(tmp_path: Path) -> None:
    path = tmp_path / "in the way"
    path.write_text("")
    kept = Vectors(path, "v")
    kept.put({b"a": b"v"}, (), 10, ahead=False)
    assert kept.of([b"a"]) == {}
    assert not kept.leads(1)


def test_the_model_finds_what_shares_no_word(shop: Forest) -> None:
    shop.put(
        "code/mail.py",
        "def deliver(letter, address):\n    return postman.carry(letter, address)\n\n\n"
        "def remove(record):\n    return table.erase(record)\n\n\n"
        "def letter_count(text):\n    return sum(c.isalpha() for c in text)\n",
    )
    end = time.monotonic() + PATIENCE
    while embedding.embedder_if_loaded() is None:
        assert time.monotonic() < end
        threading.Event().wait(0.05)
    query = "send a letter by post"
    search(shop, query)
    make(shop)
    mode, found = search(shop, query)
    assert mode == "hybrid"
    assert found[0]["line"] == 1
