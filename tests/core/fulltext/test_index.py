"""What is put into the index is found, by the caller alone, as it is now."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from sqlalchemy import func, select

from rolltop.core.accounts import delete_user
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.db.schema import metadata
from rolltop.core.fulltext import hybrid_query, indexer, tables, vector_store
from rolltop.core.fulltext.documents import IndexDocument, IndexHit, QueryMode
from tests.core.fulltext.conftest import Index
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.embedding import Matrix
    from tests.databases import MakeDatabase

MODES: Final[tuple[QueryMode, ...]] = ("words", "meaning", "hybrid")


def test_words_are_found_within_the_transaction_that_wrote_them(index: Index) -> None:
    def write(tx: Tx) -> list[IndexHit]:
        indexer.put(tx, [IndexDocument("cell", "a", 0, "a quick fox")])
        return hybrid_query.query(tx, "fox", kinds=["cell"], filters={}, limit=5, mode="words")

    (hit,) = index.database.write_sync(index.scope, write)
    assert (hit.kind, hit.id, hit.part, hit.snippet) == ("cell", "a", 0, "a quick fox")
    assert (hit.words, hit.meaning, hit.embedding_version) == (True, False, "none")


def test_a_transaction_that_fails_leaves_no_words(index: Index) -> None:
    def write(tx: Tx) -> None:
        indexer.put(tx, [IndexDocument("cell", "a", 0, "a quick fox")])
        raise KeyError

    with pytest.raises(KeyError):
        index.database.write_sync(index.scope, write)
    assert index.ids("fox") == []


def test_an_edit_is_found_by_its_new_words_and_not_by_its_old_ones(index: Index) -> None:
    index.cell("a", "the old engine", "second part about boats")
    index.cell("a", "the new motor")
    assert (index.ids("engine"), index.ids("boats"), index.ids("motor")) == ([], [], ["a"])


def test_what_is_dropped_is_gone(index: Index) -> None:
    index.cell("a", "fox")
    index.cell("b", "fox")
    index.drop("a", "nothing")
    assert index.ids("fox") == ["b"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("parseConfigFile", ["names"]),
        ("parse_config_file", ["names"]),
        ("config", ["names"]),
        ("parsing configs", ["names"]),
        ("utf 8", ["number"]),
        ("utf8", ["number"]),
        ("zolc", ["accents"]),
        ("ŻÓŁĆ", ["accents"]),
        ("STRASSE", ["accents"]),
        ("你好", ["chinese"]),
        ("好世", ["chinese"]),
        ("吗", ["chinese"]),
        ("你", ["chinese"]),
        ("東京", []),
    ],
)
def test_a_thing_is_found_by_what_people_type(index: Index, query: str, found: list[str]) -> None:
    index.cell("names", "def parseConfigFile(path): ...")
    index.cell("number", "encode as UTF8 please")
    index.cell("accents", "Żołć an der Straße")
    index.cell("chinese", "你好世界吗")
    assert index.ids(query) == found


def test_more_of_rarer_words_in_shorter_texts_comes_first(index: Index) -> None:
    for n in range(8):
        index.cell(f"common{n}", f"the server reads file number {n}")
    index.cell("long", "server " + "other words stand here " * 30)
    index.cell("both", "the server keeps a lease")
    index.cell("twice", "lease, lease")
    assert set(index.ids("server lease")[:2]) == {"both", "twice"}
    assert index.ids("server")[-1] == "long"


def test_equal_answers_come_by_kind_id_and_part(index: Index) -> None:
    for name in ("b", "a", "c"):
        index.cell(name, "same text", "same text")
    index.put(IndexDocument("pad", "a", 0, "same text"))
    hits = index.hits("same", kinds=["pad", "cell"])
    assert [(hit.kind, hit.id, hit.part) for hit in hits] == [
        ("cell", "a", 0),
        ("cell", "b", 0),
        ("cell", "c", 0),
        ("pad", "a", 0),
    ]


def test_a_thing_is_found_once_by_its_best_part(index: Index) -> None:
    index.cell("a", "nothing here", "a walrus", "walrus walrus and a walrus")
    (hit,) = index.hits("walrus")
    assert (hit.part, hit.snippet) == (2, "walrus walrus and a walrus")


def test_a_long_text_leaves_a_place_for_others(index: Index) -> None:
    index.cell("long", *(f"walrus walrus number{n}" for n in range(200)))
    index.cell("short", "one walrus among many other animals of the sea")
    assert index.ids("walrus", limit=2) == ["long", "short"]
    index.embed()
    assert index.ids("walrus", "meaning", limit=2) == ["long", "short"]


def test_kinds_and_filters_apply_before_the_limit(index: Index) -> None:
    for n in range(60):
        index.cell(f"loud{n:02}", "gold gold gold", namespace="a", tags=["x"])
    index.cell("quiet", "some gold among other things of no weight", namespace="b", tags=["x", "y"])
    assert index.ids("gold", filters={"namespace": ["b"]}, limit=1) == ["quiet"]
    assert index.ids("gold", filters={"namespace": ["b", "c"], "tags": ["y", "z"]}) == ["quiet"]
    assert index.ids("gold", filters={"namespace": ["a"], "tags": ["y"]}) == []
    assert len(index.ids("gold", filters={"namespace": []}, limit=100)) == 61
    assert index.hits("gold", kinds=["pad"]) == []
    index.embed()
    assert index.ids("gold", "meaning", filters={"tags": ["y"]}, limit=1) == ["quiet"]
    assert index.ids("gold", "hybrid", filters={"tags": ["y"]}, limit=1) == ["quiet"]


def test_a_kind_is_found_among_many_better_hits_of_another(index: Index) -> None:
    index.put(IndexDocument("pad", "quiet", 0, "some gold and quartz among other things", {}))
    index.put(*(IndexDocument("cell", f"c{n}", 0, "gold quartz", {}) for n in range(300)))
    assert [hit.id for hit in index.hits("gold quartz", kinds=["pad"], limit=1)] == ["quiet"]
    assert len(index.ids("gold quartz", limit=400)) == 300
    assert len(index.hits("gold quartz", kinds=["pad", "cell"], limit=400)) == 301


def test_filters_change_without_embedding_anew(index: Index) -> None:
    index.cell("a", "gold", namespace="old", tags=["x"])
    index.embed()
    database, scope = index.database, index.scope
    database.write_sync(scope, indexer.update_filters, "cell", ["a", "none"], {"namespace": "new"})
    assert index.ids("gold", filters={"namespace": ["old"]}) == []
    assert index.ids("gold", filters={"namespace": ["new"], "tags": ["x"]}) == ["a"]
    database.write_sync(scope, indexer.update_filters, "cell", ["a"], {"tags": []})
    assert index.ids("gold", filters={"tags": ["x"]}) == []
    assert index.embed() == 0


def test_one_tenant_finds_nothing_of_another_and_is_not_weighed_by_it(
    index: Index, their_index: Index
) -> None:
    index.cell("a", "a gold watch", namespace="n")
    index.cell("b", "a silver watch", namespace="n")
    index.embed()
    before = index.hits("gold watch", "hybrid")
    for n in range(30):
        their_index.cell(f"theirs{n}", "gold gold gold", namespace="n")
    their_index.cell("a", "their own thing with my id", namespace="n")
    their_index.embed()
    assert index.hits("gold watch", "hybrid") == before
    assert index.ids("gold", filters={"namespace": ["n"]}) == ["a"]
    their_index.drop("a", "b")
    their_index.database.write_sync(
        their_index.scope, indexer.update_filters, "cell", ["b"], {"namespace": "mine"}
    )
    assert index.hits("gold watch", "hybrid") == before


def test_a_deleted_user_leaves_nothing_behind(index: Index, their_index: Index) -> None:
    index.cell("a", "gold", namespace="n")
    index.embed()
    their_index.cell("b", "silver")
    index.database.write_sync(SYSTEM, delete_user, index.scope.user_id)

    def left(tx: Tx) -> dict[str, int]:
        return {
            name: tx.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
            if name.startswith("search_")
        }

    assert index.database.read_sync(SYSTEM, left) == {
        "search_items": 1,
        "search_filters": 0,
        "search_parts": 1,
        "search_texts": 1,
        "search_vectors": 0,
        "search_wholes": 0,
        "search_whole_parts": 0,
    }
    if index.database.url_kind == "sqlite":
        terms = select(tables.search_terms.c.term)
        words = index.database.read_sync(SYSTEM, lambda tx: list(tx.execute(terms).scalars()))
        assert words == ["silver"]


def test_only_what_changed_is_embedded_again(index: Index) -> None:
    index.cell("a", "one", "two", "three")
    assert index.embed() == 3
    index.cell("a", "zero", "one", "two", "three")
    index.cell("b", "one")
    assert index.embed() == 2
    assert index.embed() == 0
    assert [hit.part for hit in index.hits("three", "meaning")] == [3]


def test_meaning_finds_what_no_word_does(index: Index) -> None:
    index.embedder = FakeEmbedder(dims=256, synonyms={"car": "vehicl", "automobil": "vehicl"})
    index.cell("a", "my automobile")
    index.cell("b", "my garden")
    assert index.ids("car", "hybrid") == []
    index.embed()
    (hit,) = index.hits("car", "hybrid")
    assert (hit.id, hit.words, hit.meaning) == ("a", False, True)
    assert hit.embedding_version == index.embedder.version
    assert index.ids("car") == []
    assert index.ids("car", "meaning") == ["a"]


def test_texts_without_a_vector_are_never_put_back_for_it(index: Index) -> None:
    index.embedder = FakeEmbedder(dims=256, synonyms={"car": "vehicl", "automobil": "vehicl"})
    for n in range(6):
        index.cell(f"old{n}", f"car {'tyre ' * n}")
    index.cell("meant", "automobile")
    index.embed()
    index.cell("new", "car car engine")
    for query in ("car", "car engine", "tyre engine"):
        by_words = index.ids(query)
        assert index.ids(query, "hybrid")[: len(by_words)] == by_words
    assert index.ids("car", "hybrid")[-1] == "meant"
    scores = [hit.score for hit in index.hits("car", "hybrid")]
    assert scores == sorted(scores, reverse=True)


def test_a_query_is_answered_while_any_word_of_it_occurs(index: Index) -> None:
    index.cell("a", "the old man")
    index.cell("b", "zeppelin", shelf="top")
    for mode in ("words", "hybrid"):
        assert index.ids("Where are the airships?", mode)[0] == "a"
        assert index.ids("the zeppelin", mode, filters={"shelf": ["none"]}) == []
    absent = " ".join(f"absent{letter * 3}" for letter in "abcdefghijklmnopqrstuvwxyz" * 2)
    assert index.ids(f"{absent} " + " ".join(f"q{n}q" for n in range(60)) + " zeppelin") == ["b"]


class Vague(FakeEmbedder):
    """To whom, as to a real model, a text without words means a little of everything."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        made = super().embed(texts)
        made[[not text.strip() for text in texts]] = 1 / self.dims**0.5
        return made


def test_a_blank_text_is_no_answer(index: Index) -> None:
    index.embedder = Vague(dims=4)
    index.cell("a", "gold")
    for n in range(30):
        index.cell(f"b{n}", ("", " \n\t", "\u3000")[n % 3])
    index.embed()
    for mode in MODES:
        assert index.ids("gold", mode) == ["a"]
    index.cell("b0", "gold")
    index.cell("a", "")
    index.embed()
    for mode in MODES:
        assert index.ids("gold", mode) == ["b0"]


def test_meaning_follows_edits_and_deletions(index: Index) -> None:
    for n in range(40):
        index.cell(f"c{n:02}", f"number{n} gold")
    index.embed()
    assert index.ids("number7 gold", "meaning", limit=1) == ["c07"]
    index.cell("c07", "something else entirely")
    index.drop(*(f"c{n:02}" for n in range(8, 40)))
    assert set(index.ids("gold", "meaning")) == {f"c{n:02}" for n in range(7)}
    index.embed()
    assert index.ids("something entirely", "meaning", limit=1) == ["c07"]


def test_a_change_of_model_is_survived(index: Index) -> None:
    index.cell("a", "gold")
    index.cell("b", "silver")
    index.embed()
    newer = FakeEmbedder("fake/2", dims=32)
    asked: dict[str, Any] = {"vector": newer.embed(["gold"])[0], "version": newer.version}
    assert [h.meaning for h in index.hits("gold", "hybrid", **asked)] == [False]
    assert index.embed(newer, limit=1) == 1
    assert index.embed(newer, limit=1) == 1
    assert index.embed(newer) == 0
    (hit,) = index.hits("gold", "hybrid", **asked)
    assert (hit.id, hit.meaning, hit.embedding_version) == ("a", True, "fake/2")
    assert index.ids("gold", "meaning") == []


def test_vectors_of_texts_that_are_gone_are_not_kept(index: Index) -> None:
    index.cell("a", "gold")
    texts = index.database.read_sync(SYSTEM, vector_store.pending_texts, "fake/1", 10)
    made = index.embedder.embed(["gold"])
    index.drop("a")
    stored = index.database.write_sync(SYSTEM, vector_store.store_vectors, "fake/1", texts, made)
    assert stored == 0
    with pytest.raises(ValueError, match="one finite vector"):
        index.database.write_sync(SYSTEM, vector_store.store_vectors, "fake/1", [], made)


def test_another_process_s_vectors_are_seen(
    index: Index, database_url: str, make_database: MakeDatabase
) -> None:
    """A second engine has caches of its own, as a second process has."""
    index.cell("a", "gold")
    index.embed()
    assert index.ids("gold", "meaning") == ["a"]
    other = type(index)(make_database(database_url), index.scope, index.embedder)
    other.cell("b", "gold")
    other.embed()
    other.drop("a")
    assert index.ids("gold", "meaning") == ["b"]


def test_texts_a_database_cannot_hold_are_indexed_all_the_same(index: Index) -> None:
    index.cell("a", "gold\x00 and \ud800 silver")
    assert index.ids("silver") == ["a"]
    index.cell("a", "gold\x00 and \ud800 silver")
    assert index.ids("gold") == ["a"]


def test_importing_the_seam_loads_nothing_heavy() -> None:
    source = (
        "import sys, rolltop.core.fulltext, rolltop.core.embedding;"
        "print({'sqlalchemy', 'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
