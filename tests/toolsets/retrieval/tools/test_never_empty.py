"""repo_smart_search is never empty while a word of the query occurs in what it may see."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from tests.campaign import examples
from tests.toolsets.retrieval.forest import Forest, make_forest

WORDS = (
    "harbour", "storms", "the", "what", "is", "Masts", "takeMasts", "take_masts", "HTTPAdapter",
    "x", "42", "2026", "1234567890123", "0x1f", "1st", "über", "naïve", "漢字", "日本語", "Straße",
    "retries", "retry", "don't", "C++", "utf-8", "self", "__init__", "a1b2c3d4e5f6", "σίγμα", "no",
)  # fmt: skip
SIGNS = (" ", " ", "\n", ", ", "(", ") ", ": ", "\n\n", " = ", '"')
NAMES: tuple[str, ...] = (
    "a.py",
    "b.md",
    "src/c.txt",
    "src/deep/d.rst",
    "e.json",
    "LICENSE",
    "f.unknown",
)


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """Return texts of files, and a query of some of the same few words."""
    some = st.sampled_from(draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=4)))
    text = st.lists(st.tuples(some, st.sampled_from(SIGNS)), max_size=6)
    joined = text.map(lambda parts: "".join(word + sign for word, sign in parts))
    files: dict[str, str] = draw(
        st.dictionaries(st.sampled_from(NAMES), joined, min_size=1, max_size=3)
    )
    asked = st.lists(some | st.sampled_from(("xylophone", "zzyzx", "?")), min_size=1, max_size=4)
    return files, " ".join(draw(asked))


def holds(text: str, word: str) -> bool:
    """Return whether a word stands in a text by itself, in any case."""
    lowered, found = text.lower(), word.lower()
    at = lowered.find(found)
    while at >= 0:
        before, after = lowered[:at][-1:], lowered[at + len(found) :][:1]
        if not any(sign.isalnum() or sign == "_" for sign in (before, after)):
            return True
        at = lowered.find(found, at + 1)
    return False


@pytest.mark.parametrize("index", ["made", "none yet"])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("book.txt", "word " * 60_000, ""),
        ("data.json", '{"key":"' + "a1b2c3d4e5" * 20_000 + '","last":"', '"}'),
        ("bundle.js", "function f(){" + "x=[1,2,3];" * 20_000, "}"),
        ("long.py", "def long():\n" + "    return 1\n" * 20_000 + "    ", "()\n"),
        ("long.md", "# Title\n\n" + "word " * 60_000, "\n"),
    ],
)
def test_a_word_at_the_end_of_a_very_long_line_or_function_is_found(
    forest: Forest, name: str, before: str, after: str, index: str
) -> None:
    forest.put(f"code/{name}", f"{before}harbour{after}")
    if index == "made":
        trigram_index.update_index(forest.desk)
        ranking.update_index(forest.desk)
    (best, *_) = forest.ok("repo_smart_search", query="harbour")["result"]
    last = (before + after).removesuffix("\n").count("\n") + 1
    assert (best["path"], best["end_line"]) == (name, last)
    assert "harbour" in best["preview"]


@settings(max_examples=examples(60), deadline=None)
@given(tree=trees(), index=st.sampled_from(("made", "none yet", "none yet of many")))
def test_a_word_that_occurs_is_found(tree: tuple[dict[str, str], str], index: str) -> None:
    files, query = tree
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as folder:
        patched.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
        forest = make_forest(Path(folder).resolve(), "code")
        for name, text in files.items():
            forest.put(f"code/{name}", text)
        for n in range(70 if "many" in index else 0):
            forest.put(f"code/filler/{n}.txt", "hay\n")
        if index == "made":
            trigram_index.update_index(forest.desk)
            ranking.update_index(forest.desk)
        answer = forest.ok("repo_smart_search", query=query)
        if any(holds(text, word) for text in files.values() for word in query.split()):
            assert answer["result"]
        if not answer["result"]:
            assert answer["meta"]["searched"]["files"] == len(files) + 70 * ("many" in index)


@pytest.mark.parametrize("index", ["made", "none yet"])
@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("retries", "retry"),
        ("policies", "Policy"),
        ("retry_policies", "policy"),
        ("Straße", "STRASSE"),
        ("naïve", "naive"),
    ],
)
def test_a_word_with_another_ending_or_without_diacritics_is_found_in_a_large_tree(
    forest: Forest, query: str, word: str, index: str
) -> None:
    for n in range(70):
        forest.put(f"code/filler/{n}.txt", "hay\n")
    forest.put("code/a.md", f"A {word} is here.\n")
    if index == "made":
        trigram_index.update_index(forest.desk)
        ranking.update_index(forest.desk)
    (found,) = forest.ok("repo_smart_search", query=query)["result"]
    assert found["path"] == "a.md"


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    ("query", "near"),
    [("harbuor", "harbour"), ("where is the harbuor", "harbour"), ("Lighthuose", "Lighthouse"),
     ("which Lighthuose retries", "Lighthouse")],
)  # fmt: skip
def test_what_is_nowhere_gets_the_nearest_spelling(
    forest: Forest, query: str, near: str, *, indexed: bool
) -> None:
    forest.put("docs/a.md", "At harbour, Lighthouse.\n")
    if indexed:
        trigram_index.update_index(forest.desk)
        ranking.update_index(forest.desk)
    answer = forest.ok("repo_smart_search", query=query)
    assert answer["result"] == []
    assert answer["meta"]["nearest"] == near
    assert answer["meta"]["searched"]["files"] == 1


def places(answer: dict[str, Any]) -> set[str]:
    return {place["path"] for place in answer["result"]}


@settings(max_examples=examples(6), deadline=None)
@given(at=st.integers(0, 299))
def test_before_an_index_is_complete_the_likeliest_files_answer(at: int) -> None:
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as folder:
        name = "rolltop.toolsets.retrieval.service.ranking.READ_TIMEOUT"
        patched.setattr(name, 0.0)
        forest = make_forest(Path(folder).resolve(), "code")
        for n in range(300):
            text = f"def harbour_{n}():\n    return {n}\n"
            forest.put(f"code/pkg{n % 7}/m{n:03}.py", text + "# a quaint lighthouse\n" * (n == at))
        wanted = {f"pkg{at % 7}/m{at:03}.py"}
        for query in (
            "lighthouse",
            "harbour lighthouse",
            "which lighthouse is quaint",
            f"m{at:03}",
        ):
            answer = forest.ok("repo_smart_search", query=query)
            assert places(answer) >= wanted
            assert answer["result"][0]["path"] in wanted
            assert answer["meta"]["indexing"] == {"done": 0, "total": 300}
        common = forest.ok("repo_smart_search", query="harbour")
        assert common["result"]
        assert common["meta"]["unread"] > 0


def test_no_index_is_said_to_be_made_while_its_disk_is_full(
    forest: Forest,
    monkeypatch: pytest.MonkeyPatch,
    full_disk: Callable[[], AbstractContextManager[None]],
    much_later: Callable[[], None],
) -> None:
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
    for n in range(100):
        forest.put(f"code/f{n:03}.py", f"def harbour_{n}():\n    return {n}\n" * 20)

    def waiting() -> set[str]:
        ranking.update_index(forest.desk)
        answer = forest.ok("repo_smart_search", query="harbour")
        assert answer["result"]
        return answer["meta"].keys() & {"unread", "indexing"}

    trigram_index.update_index(forest.desk)
    assert "indexing" in forest.ok("repo_smart_search", query="harbour")["meta"]
    with full_disk():
        assert waiting() == {"unread"}
    assert waiting() == {"unread"}
    much_later()
    assert waiting() == set()
