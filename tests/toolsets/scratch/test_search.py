"""Search over pads and cells: at once by words, filtered inside, following every change."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from rolltop.core.errors import Unavailable
from rolltop.toolsets.scratch.jobs import embed
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from tests.desks import make_desk
from tests.fake_embedder import FakeEmbedder
from tests.forks import PATIENCE
from tests.toolsets.scratch.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from rolltop.core.db import Database, Tx
    from rolltop.core.embedding import Matrix
    from rolltop.core.principal import Principal


def install(monkeypatch: pytest.MonkeyPatch, model: FakeEmbedder) -> None:
    """Have a model in place of the one that the extra brings."""

    def load() -> FakeEmbedder:
        return model

    monkeypatch.setattr("rolltop.core.embedding.missing_packages", list[str])
    monkeypatch.setattr("rolltop.core.embedding.try_load_embedder", load)


def found(caller: Caller, query: str, **arguments: Any) -> list[tuple[str, str | None]]:
    """Return pad and cell of each hit, best first."""
    hits = caller.ok("scratch_search", query=query, mode="words", **arguments)["hits"]
    assert [hit["score"] for hit in hits] == sorted((h["score"] for h in hits), reverse=True)
    return [(hit["scratch_id"], hit["cell_id"]) for hit in hits]


def test_a_hit_says_where_it_is(mine: Caller, me: Principal) -> None:
    pad = mine.pad(metadata={"title": "Harbour storms"}, tags=["sea"], namespace="n")
    one = mine.append(pad, "def parseHarbourLog(): ...\n" + "x " * 500, tags=["code"])
    answer = mine.ok("scratch_search", query="harbour", mode="words")
    assert (answer["mode"], answer["embedder"]) == ("words", "none")
    by_cell = {hit["cell_id"]: hit for hit in answer["hits"]}
    assert set(by_cell) == {None, one}
    hit = by_cell[one]
    assert (hit["scratch_id"], hit["tenant_id"]) == (pad, me.tenant_id)
    assert (hit["namespace"], hit["tags"]) == ("n", ["code"])
    assert hit["embedding_version"] == "none"
    assert "parseHarbourLog" in hit["snippet"]
    assert len(hit["snippet"]) <= 240
    assert by_cell[None]["tags"] == ["sea"]


def test_a_snippet_shows_the_whole_name_that_was_looked_for(mine: Caller) -> None:
    for gap in range(168, 204, 4):
        text = f"{'z ' * 60}a cached path {'x ' * (gap // 2)}getCachedPath{' y' * 200}"
        mine.pad(text, tags=[str(gap)])
        (hit,) = mine.ok("scratch_search", query="getCachedPath", tags=[str(gap)])["hits"]
        assert "getCachedPath" in hit["snippet"]


def test_a_search_says_that_there_are_more_hits_and_goes_on_with_them(mine: Caller) -> None:
    every = {mine.pad(f"harbour {'storm ' * (n % 7)}" + "x " * n) for n in range(71)}
    answer = mine.ok("scratch_search", query="harbour storm", limit=3, mode="words")
    assert (len(answer["hits"]), answer["truncated"]) == (3, True)
    assert answer["next"]["arguments"]["cursor"] == answer["next_cursor"]
    for most, limit in ((9000, 3), (9000, 30), (9000, 35), (1000, 7)):
        asked = {"query": "harbour storm", "mode": "words", "limit": limit}
        pages = [page["hits"] for page in mine.followed("scratch_search", most, **asked)]
        hits = [hit["scratch_id"] for page in pages for hit in page]
        assert len(hits) == len(every)
        assert set(hits) == every
        assert max(map(len, pages)) <= limit
        assert hits[:limit] == [pad for pad, _ in found(mine, "harbour storm", limit=limit)]
    assert "truncated" not in mine.ok("scratch_search", query="storm", limit=50, tags=["none"])
    assert "truncated" not in mine.ok("scratch_search", query="heron", limit=3)


def test_a_search_goes_on_where_its_next_hit_is_now(mine: Caller) -> None:
    pads = [mine.pad("harbour " * (9 - n)) for n in range(9)]
    one = mine.ok("scratch_search", query="harbour", limit=4, mode="words")
    shown = [hit["scratch_id"] for hit in one["hits"]]
    mine.ok("scratch_delete", scratch_id=shown[0])
    two = mine.ok("scratch_search", **one["next"]["arguments"] | {"limit": 50})
    rest = [hit["scratch_id"] for hit in two["hits"]]
    assert sorted(shown + rest) == sorted(pads)
    assert "next" not in two
    refused = mine.fails("scratch_search", query="storm", cursor=one["next_cursor"])
    assert refused["code"] == "VALIDATION_ERROR"


def test_no_hit_says_what_was_searched_and_the_nearest_spelling(
    mine: Caller, theirs: Caller
) -> None:
    mine.pad("the anchorage", metadata={"title": "Harbour storms"}, namespace="n")
    mine.ok("scratch_delete", scratch_id=mine.pad("the moorings", namespace="n"))
    theirs.pad("the lighthouse", namespace="n")
    for query, namespaces, searched, nearest in (
        ("harbuor", [], 1, "harbour"),
        ("ancient anchorege", ["n"], 1, "anchorage"),
        ("anchorege", ["m"], 0, None),
        ("morings lighthuose", [], 1, None),
    ):
        answer = mine.ok("scratch_search", query=query, namespaces=namespaces, mode="words")
        assert (answer["hits"], answer["searched"]) == ([], {"scratchpads": searched})
        assert answer.get("nearest") == nearest


def test_every_write_is_found_or_gone_at_once(mine: Caller, theirs: Caller) -> None:
    pad = mine.pad("walrus")
    (one,) = mine.cell_ids(pad)
    assert found(mine, "walrus") == [(pad, one)]
    assert found(theirs, "walrus") == []
    mine.ok(
        "scratch_edit_cell", scratch_id=pad, cell_id=one, edits=[{"old": "walrus", "new": "yak"}]
    )
    assert (found(mine, "walrus"), found(mine, "yak")) == ([], [(pad, one)])
    mine.ok("scratch_update", scratch_id=pad, metadata={"description": "zebra"})
    assert found(mine, "zebra") == [(pad, None)]
    mine.ok("scratch_delete", scratch_id=pad)
    assert found(mine, "zebra yak") == []
    mine.ok("scratch_restore", scratch_id=pad)
    assert found(mine, "yak") == [(pad, one)]
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=one)
    assert found(mine, "yak") == []


def test_filters_apply_before_the_best_are_taken(mine: Caller) -> None:
    for n in range(15):
        mine.pad("gull gull gull", namespace="many", tags=[f"t{n}"])
    pad = mine.pad(namespace="few", tags=["pad's"])
    one = mine.append(pad, "a gull among many other words", tags=["cell's"])
    two = mine.append(pad, "another gull")
    for arguments in (
        {"namespaces": ["few"], "tags": ["cell's"]},
        {"tags": ["cell's", "none"]},
    ):
        assert found(mine, "gull", limit=1, **arguments) == [(pad, one)]
    assert {hit[1] for hit in found(mine, "gull", tags=["pad's"])} == {one, two}
    assert found(mine, "gull", namespaces=["many"], tags=["cell's"]) == []
    assert len(found(mine, "gull")) == 10


def test_changed_tags_and_namespaces_count_at_once(mine: Caller) -> None:
    pad = mine.pad("gull", tags=["old"], namespace="one")
    mine.ok("scratch_update", scratch_id=pad, tags=["new"], namespace="two")
    assert found(mine, "gull", tags=["old"]) == []
    assert found(mine, "gull", namespaces=["one"]) == []
    assert len(found(mine, "gull", tags=["new"], namespaces=["two"])) == 1


def test_an_evicted_pad_is_not_found(database: Database, me: Principal) -> None:
    caller = Caller(make_desk(database, settings={"scratch.max_scratchpads": 1}), me)
    caller.pad("gull")
    caller.pad("other")
    assert found(caller, "gull") == []


def test_a_page_of_hits_is_followed_to_its_end(mine: Caller) -> None:
    for n in range(30):
        mine.pad(f"gull number {n} " + "and many more words " * 5)
    whole = mine.ok("scratch_search", query="gull", limit=30, mode="words")["hits"]
    answers = list(mine.followed("scratch_search", 1500, query="gull", limit=30, mode="words"))
    seen = [hit for answer in answers for hit in answer["hits"]]
    assert len(answers) > 1
    assert seen == whole
    assert len(seen) == 30


def test_meaning_joins_when_the_vectors_are_there(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEmbedder()

    install(monkeypatch, fake)
    mine.desk.service(ScratchService).search_index.load_model()
    pad = mine.pad("the harbour master's log")
    asyncio.run(embed(mine.desk))
    answer = mine.ok("scratch_search", query="harbour master's log")
    assert (answer["mode"], answer["embedder"]) == ("hybrid", fake.version)
    assert answer["hits"][0]["scratch_id"] == pad
    assert answer["hits"][0]["embedding_version"] == fake.version
    assert "pending" not in answer
    new = mine.pad("the harbour, the harbour")
    burst = mine.ok("scratch_search", query="harbour")
    words = mine.ok("scratch_search", query="harbour", mode="words")
    assert burst["pending"] == 1
    assert [hit["scratch_id"] for hit in burst["hits"]] == [
        hit["scratch_id"] for hit in words["hits"]
    ]
    mine.ok("scratch_delete", scratch_id=new)
    meant = mine.ok("scratch_search", query="the harbour master's log", mode="meaning")
    assert (meant["mode"], meant["hits"][0]["scratch_id"]) == ("meaning", pad)


def test_vectors_leave_most_of_the_time_to_calls_that_are_served_meanwhile(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans: list[tuple[float, float]] = []

    class Timed(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Matrix:
            started = time.monotonic()
            made = super().embed(texts)
            spans.append((started, time.monotonic()))
            return made

    install(monkeypatch, Timed())
    mine.pad("gull " * 30_000)

    async def run() -> None:
        async with mine.desk.turns.turn("another", "read"):
            await embed(mine.desk)

    asyncio.run(run())
    assert len(spans) > 2
    for (started, ended), (next_started, _) in pairwise(spans):
        assert next_started - ended >= 3 * (ended - started)
    assert "pending" not in mine.ok("scratch_search", query="gull")


def test_a_search_that_began_by_words_goes_on_by_words(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    pads = {mine.pad(f"harbour {'storm ' * number}") for number in range(9)}
    one = mine.ok("scratch_search", query="harbour storm", limit=4)
    install(monkeypatch, FakeEmbedder())
    mine.desk.service(ScratchService).search_index.load_model()
    asyncio.run(embed(mine.desk))
    two = mine.ok("scratch_search", **one["next"]["arguments"] | {"limit": 9})
    assert (one["mode"], two["mode"]) == ("words", "words")
    assert {hit["scratch_id"] for page in (one, two) for hit in page["hits"]} == pads
    assert len(two["hits"]) == 5
    assert mine.ok("scratch_search", query="harbour storm")["mode"] == "hybrid"


def test_words_answer_a_search_by_meaning_until_there_are_vectors(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEmbedder(synonyms={"sale": "revenu"})

    def search(query: str, **arguments: Any) -> tuple[str, str, int]:
        answer = mine.ok("scratch_search", query=query, mode="meaning", **arguments)
        return answer["mode"], answer["embedder"], len(answer["hits"])

    install(monkeypatch, fake)
    mine.pad("revenue grew")
    assert search("revenue") == ("words", "none", 1)
    assert search("sales") == ("words", "none", 0)
    asyncio.run(embed(mine.desk))
    assert search("sales") == ("meaning", fake.version, 1)
    mine.pad("sales fell", namespace="new")
    assert search("sales", namespaces=["new"]) == ("words", "none", 1)


def test_words_answer_while_many_vectors_are_read(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEmbedder()
    go_on = threading.Event()
    readings: SimpleQueue[str] = SimpleQueue()
    vectors = import_module("rolltop.core.fulltext.vector_store")
    warm_cache = vectors.warm_cache

    def held_back(tx: Tx, version: str) -> None:
        assert go_on.wait(PATIENCE)
        warm_cache(tx, version)
        readings.put(version)

    install(monkeypatch, fake)
    mine.desk.service(ScratchService).search_index.load_model()
    monkeypatch.setattr(vectors, "SCAN_THRESHOLD", 1)
    monkeypatch.setattr(vectors, "warm_cache", held_back)
    mine.pad("gull", "heron")
    asyncio.run(embed(mine.desk))
    for _ in range(2):
        answer = mine.ok("scratch_search", query="gull")
        assert (answer["mode"], answer["embedder"], len(answer["hits"])) == ("words", "none", 1)
    go_on.set()
    readings.get(timeout=PATIENCE)
    answer = mine.ok("scratch_search", query="gull")
    assert (answer["mode"], answer["embedder"]) == ("hybrid", fake.version)


def test_the_store_is_not_closed_while_vectors_are_read(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on = threading.Event(), threading.Event()
    ended: list[str] = []
    vectors = import_module("rolltop.core.fulltext.vector_store")
    warm_cache = vectors.warm_cache
    database = mine.desk.database

    def held_back(tx: Tx, version: str) -> None:
        started.set()
        assert go_on.wait(PATIENCE)
        warm_cache(tx, version)
        ended.append("reading")

    def close() -> None:
        database.close(PATIENCE)
        ended.append("closing")

    install(monkeypatch, FakeEmbedder())
    monkeypatch.setattr(vectors, "warm_cache", held_back)
    mine.pad("gull")
    mine.ok("scratch_search", query="gull")
    assert started.wait(PATIENCE)
    closing = threading.Thread(target=close)
    closing.start()
    with suppress(Unavailable):
        while True:  # until it is being closed
            asyncio.run(database.ping())
    go_on.set()
    closing.join(PATIENCE)
    assert ended == ["reading", "closing"]


def test_without_the_extra_words_go_on_and_meaning_names_it(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rolltop.core.embedding.missing_packages", lambda: ["numpy"])
    pad = mine.pad("gull")
    answer = mine.ok("scratch_search", query="gull")
    assert (answer["mode"], answer["embedder"]) == ("words", "none")
    assert answer["hits"][0]["scratch_id"] == pad
    error = mine.fails("scratch_search", query="gull", mode="meaning")
    assert error["code"] == "CONFIG_ERROR"
    assert "semantic" in error["message"]
    asyncio.run(embed(mine.desk))


def test_meaning_can_be_turned_off(database: Database, me: Principal) -> None:
    caller = Caller(make_desk(database, settings={"scratch.semantic_search": False}), me)
    caller.pad("gull")
    assert caller.ok("scratch_search", query="gull")["mode"] == "words"
    error = caller.fails("scratch_search", query="gull", mode="meaning")
    assert error["code"] == "CONFIG_ERROR"
    assert "scratch.semantic_search" in error["message"]
