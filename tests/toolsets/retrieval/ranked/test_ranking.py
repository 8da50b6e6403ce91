"""repo_smart_search: what people type, and what they get, with and without an index."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from tests.campaign import examples
from tests.forks import PATIENCE
from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE = '''"""Where boxes are kept."""


class BoxStore:
    """Keeps boxes in order of their weight."""

    def find_heaviest(self, limit):
        """Return the boxes that weigh most, the heaviest first."""
        return sorted(self.boxes, reverse=True)[:limit]

    def drop(self, box):
        self.boxes.remove(box)
'''
WEATHER = """def parseWeatherReport(text):
    # Understands reports of storms and of calm seas.
    return text.split(";")


def unrelated():
    return find_heaviest
"""
GUIDE = """# Guide

## Moving house

Pack the boxes, the heaviest ones first, and label each of them.

## Storms at sea

Reef the sails before the wind grows.
"""

SIGNS = ('"', "(", "*", "NEAR", "AND", "heaviest", ":", "^", "-", "{", "'", "é", "東京", "\0")


def plant(forest: Forest) -> None:
    forest.put("code/src/box_store.py", STORE)
    forest.put("code/src/weather.py", WEATHER)
    forest.put("docs/guide.md", GUIDE)
    for n in range(30):
        forest.put(f"code/other/module_{n}.py", f"def unit_{n}(value):\n    return value + {n}\n")


def build(forest: Forest) -> None:
    """Index files until every one is indexed."""
    end = time.monotonic() + PATIENCE
    indexes = forest.desk.service(ranking.open_chunk_indexes)
    while True:
        forest.ok("repo_smart_search", query="anything")
        trigram_index.update_index(forest.desk)
        ranking.update_index(forest.desk)
        if not any(indexes.state(root).waiting for root in forest.desk.roots.named):
            return
        assert time.monotonic() < end
        threading.Event().wait(0.01)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as settled after 40 ms instead of two seconds."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 40_000_000)


@pytest.fixture(params=["live", "indexed"])
def planted(request: pytest.FixtureRequest, quick: None, tmp_path: Path) -> Iterator[Forest]:  # noqa: ARG001  # for its effect
    """Return a forest with sources and a guide, searched without and with an index."""
    forest = make_forest(tmp_path, "docs", "code")
    plant(forest)
    if request.param == "indexed":
        build(forest)
    yield forest
    forest.desk.service(ranking.open_chunk_indexes).close()


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forest]:
    """Return the same forest with an index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rolltop.workspace.file_stat.RACY_NS", 40_000_000)
        forest = make_forest(tmp_path_factory.mktemp("indexed"), "docs", "code")
        plant(forest)
        build(forest)
        yield forest
        forest.desk.service(ranking.open_chunk_indexes).close()


def first(forest: Forest, query: str, **more: Any) -> tuple[str, str, int]:
    best = forest.ok("repo_smart_search", query=query, **more)["result"][0]
    return best["repo"], best["path"], best["line"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("heaviest boxes first", ("code", "src/box_store.py", 7)),
        ("find_heaviest", ("code", "src/box_store.py", 7)),
        ("findHeaviest", ("code", "src/box_store.py", 7)),
        ("where is the class that keeps boxes?", ("code", "src/box_store.py", 4)),
        ("BoxStore", ("code", "src/box_store.py", 4)),
        ("box_store.py", ("code", "src/box_store.py", 1)),
        ("src/weather.py", ("code", "src/weather.py", 1)),
        ("parse weather reports", ("code", "src/weather.py", 1)),
        ("moving house", ("docs", "guide.md", 3)),
        ("what to do before the wind grows", ("docs", "guide.md", 7)),
        ('split(";")', ("code", "src/weather.py", 1)),
    ],
)
def test_what_a_person_types_finds_the_place_first(
    planted: Forest, query: str, expected: tuple[str, str, int]
) -> None:
    assert first(planted, query) == expected


def test_a_place_is_a_whole_unit_with_what_matched(planted: Forest) -> None:
    best = planted.ok("repo_smart_search", query="find_heaviest")["result"][0]
    assert (best["line"], best["end_line"]) == (7, 9)
    assert best["preview"].startswith("def find_heaviest(self, limit):")
    assert best["why"] == ["words", "name"]
    assert best["score"] > 0
    best = planted.ok("repo_smart_search", query="weather.py")["result"][0]
    assert "path" in best["why"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "client.ts",
            "class HttpClient {\n  retries = 3;\n\n  async send(url) {\n    go(url);\n  }\n}\n",
            [(1, 7), (4, 6)],
        ),
        (
            "Ledger.java",
            "public class HttpClient {\n    public int sum() {\n        return 1;\n    }\n\n}\n",
            [(1, 6), (2, 4)],
        ),
        (
            "vault.cpp",
            "namespace http {\nclass Client {\n  int send() {\n  }\nprivate:\n  bool a;\n};\n}\n",
            [(1, 8), (2, 7), (3, 4)],
        ),
        (
            "client.rs",
            "impl HttpClient {\n    pub fn send(&self) {\n        go()\n    }\n}\n",
            [(1, 5), (2, 4)],
        ),
        (
            "client.rb",
            "class HttpClient\n  def send\n    go\n  end\nend\n",
            [(1, 5), (2, 4)],
        ),
        (
            "http_client.js",
            "(function () {\n  function send() {\n    go();\n  }\n\n})();\n",
            [(1, 1), (2, 6)],
        ),
        (
            "http_client.sh",
            "if true; then\n  send() {\n    go\n  }\nfi\n",
            [(2, 5), (1, 1)],
        ),
    ],
)
def test_what_is_left_of_a_short_class_belongs_to_its_own_place(
    planted: Forest, path: str, text: str, expected: list[tuple[int, int]]
) -> None:
    planted.put(f"code/{path}", text)
    found = planted.ok("repo_smart_search", query="http client", repo="code")["result"]
    assert {place["path"] for place in found} == {path}
    assert sorted((place["line"], place["end_line"]) for place in found) == sorted(expected)


def test_what_is_left_of_a_long_class_is_found_where_it_stands(planted: Forest) -> None:
    methods = "".join(f"  step{n}() {{\n    go({n});\n  }}\n" for n in range(40))
    fields = "".join(f"  field{n} = {n};\n" for n in range(200))
    planted.put("code/long.ts", f"class Tall {{\n{methods}\n{fields}  mainsail = 1;\n}}\n")
    best = planted.ok("repo_smart_search", query="mainsail")["result"][0]
    assert 120 < best["line"] < best["end_line"] <= 324


def test_what_stands_after_a_method_is_shown_with_a_mark_for_the_method(planted: Forest) -> None:
    planted.put("code/box.ts", "class Box {\n  a = 1;\n\n  open() {}\n\n  spinnaker = 2;\n}\n")
    best = planted.ok("repo_smart_search", query="spinnaker")["result"][0]
    assert (best["line"], best["end_line"]) == (1, 7)
    assert best["preview"] == "class Box {\n…\n  spinnaker = 2;\n}"
    planted.put("code/boom.js", "(function () {\n  function gaff() {}\n})();\n")
    best = planted.ok("repo_smart_search", query="gaff")["result"][0]
    assert best["preview"] == "function gaff() {}\n})();"
    assert planted.ok("repo_smart_search", query="box.ts")["result"][0]["preview"] == (
        "class Box {\n  a = 1;\n…\n  spinnaker = 2;\n}"
    )


def test_a_preview_shows_lines_of_the_place_alone(planted: Forest) -> None:
    """What closes something that is no place of its own belongs to the place that ends last."""
    text = "(() => {\nclass Mast {\n  jib() {}\n  boom = 1;\n}\n\n})();\n"
    planted.put("code/mast.js", text)
    for query in ("mast", "jib", "boom", "})();"):
        for place in planted.ok("repo_smart_search", query=query, repo="code")["result"]:
            if place["path"] == "mast.js":
                lines = text.split("\n")[place["line"] - 1 : place["end_line"]]
                shown = [line.strip() for line in place["preview"].split("\n")]
                assert set(shown) <= {"…", *map(str.strip, lines)}
    best = planted.ok("repo_smart_search", query="jib", repo="code")["result"][0]
    assert (best["line"], best["end_line"], best["preview"]) == (3, 3, "jib() {}")
    best = planted.ok("repo_smart_search", query="class Mast", repo="code")["result"][0]
    assert (best["line"], best["end_line"]) == (2, 7)


def test_signs_without_words_are_looked_for_as_they_are(planted: Forest) -> None:
    planted.put("code/src/odd.js", "function swap() {\n  a <=> b;\n}\n")
    assert first(planted, "<=>") == ("code", "src/odd.js", 1)


def test_repo_glob_and_order_narrow_and_arrange(planted: Forest) -> None:
    docs = planted.ok("repo_smart_search", query="heaviest boxes", repo="docs")
    assert {place["repo"] for place in docs["result"]} == {"docs"}
    assert docs["meta"]["repo"] == "docs"
    only = planted.ok("repo_smart_search", query="heaviest boxes", file_glob="*.md")
    assert {place["path"] for place in only["result"]} == {"guide.md"}
    ordered = planted.ok("repo_smart_search", query="unit value", order="path", limit=10)
    paths = [place["path"].split("/") for place in ordered["result"]]
    assert len(paths) == 10
    assert paths == sorted(paths)


def test_pages_join_to_the_whole_without_repeats(planted: Forest) -> None:
    pages = planted.pages("repo_smart_search", query="unit value return", limit=4)
    joined = [(p["path"], p["line"]) for page in pages for p in page["result"]]
    whole = planted.ok("repo_smart_search", query="unit value return", limit=100)["result"]
    assert joined == [(place["path"], place["line"]) for place in whole]
    assert len(set(joined)) == len(joined) > 20


def test_a_cursor_of_other_places_starts_again(planted: Forest) -> None:
    page = planted.ok("repo_smart_search", query="unit value return", limit=4)
    cursor = page["meta"]["next_cursor"]
    other = {"query": "heaviest boxes", "cursor": cursor}
    assert planted.code("repo_smart_search", **other) == "INVALID_CURSOR"
    for cursor in ("[1]", "[[", "[-1,0]", "[true,0]", "x" * 10_000):
        asked = {"query": "unit", "cursor": cursor}
        assert planted.code("repo_smart_search", **asked) == "INVALID_CURSOR"


def test_nothing_found_says_what_was_searched(planted: Forest) -> None:
    answer = planted.ok("repo_smart_search", query="xylophone quartet")
    assert answer["result"] == []
    assert answer["meta"]["searched"]["files"] == 33
    assert planted.code("repo_smart_search", query=" \n") == "QUERY_EMPTY"
    assert planted.code("repo_smart_search", query="a", limit=101) == "LIMIT_INVALID"


def test_every_change_is_seen_at_once(planted: Forest) -> None:
    path = planted.put("code/src/new.py", "def zebra_crossing():\n    return 1\n")
    assert first(planted, "zebra crossing") == ("code", "src/new.py", 1)
    path.write_text("\n\ndef zebra_crossing():\n    return 2\n")
    assert first(planted, "zebra crossing") == ("code", "src/new.py", 3)
    path.rename(path.with_name("renamed.py"))
    assert first(planted, "zebra crossing") == ("code", "src/renamed.py", 3)
    path.with_name("renamed.py").unlink()
    assert planted.ok("repo_smart_search", query="zebra crossing")["result"] == []
    (planted.top / "code" / "src" / "box_store.py").write_text("def find_lightest(): ...\n")
    found = planted.ok("repo_smart_search", query="find_heaviest")["result"]
    assert all(place["path"] != "src/box_store.py" or place["line"] == 1 for place in found)


@pytest.mark.usefixtures("quick")
def test_a_small_tree_answers_the_same_before_its_index_is_made_and_after(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", "code")
    plant(forest)
    forest.put("docs/茶.md", "# 茶\n\n日本の茶は美味しい\n\n# Tea\n\nthe tea of findHeaviest\n")
    queries = [
        "heaviest boxes first",
        "find_heaviest",
        "moving house",
        "unit 7",
        "weather",
        "茶",
        "日本の茶",
    ]
    before = [forest.ok("repo_smart_search", query=query)["result"] for query in queries]
    build(forest)
    after = [forest.ok("repo_smart_search", query=query)["result"] for query in queries]
    forest.desk.service(ranking.open_chunk_indexes).close()
    assert before == after
    assert all(before)


def test_without_an_index_the_files_with_the_rare_words_are_cut(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", "code", settings={"retrieval.index": False})
    plant(forest)
    for n in range(120):
        forest.put(f"code/more/part_{n:03}.py", f"def first_of_{n}(boxes):\n    return boxes[0]\n")
    assert first(forest, "heaviest boxes first") == ("code", "src/box_store.py", 7)
    assert first(forest, "weather.py") == ("code", "src/weather.py", 1)
    assert first(forest, "BoxStore") == ("code", "src/box_store.py", 4)
    assert forest.ok("repo_smart_search", query="xylophone")["result"] == []
    forest.put("code/src/odd.js", "function swap() {\n  a <=> b;\n}\n")
    assert first(forest, "<=>") == ("code", "src/odd.js", 1)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(SIGNS),
            max_size=8,
        ).map(" ".join),
    )
)  # fmt: skip
def test_no_query_makes_it_fail_and_answers_are_the_same_again(indexed: Forest, query: str) -> None:
    if not query.strip():
        return
    found = indexed.ok("repo_smart_search", query=query)["result"]
    assert found == indexed.ok("repo_smart_search", query=query)["result"]
    assert [place["score"] for place in found] == sorted(
        (place["score"] for place in found), reverse=True
    )
