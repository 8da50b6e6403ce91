"""The same files and query have the same answer before the ranked index is made and after."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.retrieval.ranked import candidates
from tests.campaign import examples
from tests.toolsets.retrieval.ranked.test_order import grown
from tests.toolsets.retrieval.ranked.test_ranking import build

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest
    from tests.toolsets.retrieval.ranked.test_order import Maker

__all__ = ["grown"]

NAMES = ("open", "cache", "readFile", "read_file", "readfile", "HTTPServer", "is_open", "x1")
WORDS = (
    *NAMES,
    "serve",
    "serves",
    "request",
    "file",
    "404",
    "3d",
    "1048576",
    "naïve",
    "茶",
    "日本",
    "is",
    "to",
)
TYPED = (
    *WORDS,
    "zebra",
    "part",
    "src",
    "openCache",
    "part_3.py",
    "cache.open",
    "0x1048576",
    "what is the request to open",
)
FOLDERS = ("", "src/", "cache/", "open-file/")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let words count as common that are in more than a few pieces."""
    monkeypatch.setattr(candidates, "MAX_MATCHES", 30)


def answer(forest: Forest, query: str, **more: Any) -> list[Any]:
    return forest.ok("repo_smart_search", query=query, limit=100, **more)["result"]


def paths(forest: Forest, query: str, **more: Any) -> list[str]:
    return [place["path"] for place in answer(forest, query, **more)]


def before_and_after(forest: Forest, query: str, **more: Any) -> tuple[list[Any], list[Any]]:
    """Return what a query answers before the index is made and after."""
    before = answer(forest, query, **more)
    build(forest)
    return before, answer(forest, query, **more)


@pytest.mark.usefixtures("few")
def test_words_that_are_common_and_never_together_are_found(grown: Maker) -> None:
    forest = grown("index")
    for n in range(50):
        word = "alpha" if n % 2 else "beta"
        forest.put(
            f"code/f{n:02}.txt",
            f"the {word} of {n}\n" + "\n".join(f"{word} {m}" for m in range(900)),
        )
    before, after = before_and_after(forest, "alpha beta")
    assert len({place["path"] for place in after}) > 20
    assert after == before


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("named", [1, 3, 50])
def test_a_common_word_is_found_where_it_is_no_name_too(grown: Maker, named: int) -> None:
    forest = grown("index")
    for n in range(59):
        kind = "def handler():\n    return 1\n" if n < named else f"value_{n} = handler\n"
        forest.put(f"code/f{n:02}.py", kind)
    before, after = before_and_after(forest, "handler")
    assert [place["path"] for place in after] == [f"f{n:02}.py" for n in range(59)]
    assert after == before


@pytest.mark.usefixtures("few")
def test_a_common_word_is_found_beside_a_rare_one(grown: Maker) -> None:
    forest = grown("index")
    for n in range(38):
        forest.put(f"code/f{n:02}.py", f"value_{n} = handler\n")
    forest.put("code/rare.py", "the_zebra = 1\n")
    before, after = before_and_after(forest, "zebra handler")
    assert [place["path"] for place in after] == ["rare.py", *(f"f{n:02}.py" for n in range(38))]
    assert after == before


@pytest.mark.usefixtures("few")
def test_words_that_are_together_in_other_files_alone_are_found_in_those_asked_for(
    grown: Maker,
) -> None:
    forest = grown("index")
    for n in range(45):
        forest.put(f"code/f{n:02}.py", f"alpha_{n} = beta\n")
    forest.put("code/one.md", "Of alpha alone.\n")
    forest.put("code/two.md", "Of beta alone.\n")
    before, after = before_and_after(forest, "alpha beta", file_glob="*.md")
    assert [place["path"] for place in after] == ["one.md", "two.md"]
    assert after == before


def test_one_word_is_followed_to_the_last_place_of_an_answer(grown: Maker) -> None:
    forest = grown("index")
    forest.put("code/handler/handler.py", "def handler():\n    return 1\n")
    for n in range(90):
        forest.put(f"code/more/f{n:02}.py", f"value_{n} = handler\n")
        forest.put(f"code/handler/g{n:02}.py", f"value_{n} = 1\n")
    build(forest)
    assert len(answer(forest, "handler")) == 100
    pages = forest.pages("repo_smart_search", query="handler", limit=60)
    assert sum(len(page["result"]) for page in pages) == 100
    assert len(paths(forest, "handler", file_glob="more/*")) == 90
    assert len(paths(forest, "handler", file_glob="handler/*")) == 91


@pytest.mark.usefixtures("few")
def test_a_common_name_is_found_that_is_no_word_of_a_text(grown: Maker) -> None:
    forest = grown("index")
    for n in range(58):
        name = "alpha" if n % 2 else "readFile"
        forest.put(f"code/f{n:02}.py", f"def {name}():\n    return {n}\n")
    before, after = before_and_after(forest, "readfile alpha")
    assert {place["path"] for place in after} > {f"f{n:02}.py" for n in range(0, 58, 2)}
    assert after == before


def test_a_huge_file_hides_no_other_that_answers_alike(grown: Maker) -> None:
    forest = grown("index")
    forest.put("code/a.txt", "handler = 1\n" * 40_000)
    forest.put("code/b.py", "def huge():\n" + "    handler = 1\n" * 40_000)
    for n in range(30):
        forest.put(f"code/f{n:02}.py", f"value_{n} = handler\n")
    before, after = before_and_after(forest, "handler")
    assert {place["path"] for place in after} >= {
        "a.txt",
        "b.py",
        *(f"f{n:02}.py" for n in range(30)),
    }
    assert after == before


def test_a_word_of_very_many_paths_is_found_by_them(grown: Maker) -> None:
    forest = grown("index")
    for n in range(40):
        forest.put(f"code/handler/f{n:02}.txt", f"value {n}\n")
    before, after = before_and_after(forest, "handler")
    assert [place["path"] for place in after] == [f"handler/f{n:02}.txt" for n in range(40)]
    assert after == before


@pytest.mark.parametrize("query", ["readFile", "read_file", "3d", "3ds", "readfile"])
def test_a_name_of_several_parts_is_found_where_it_is_written_as_one_word(
    grown: Maker, query: str
) -> None:
    forest = grown("index")
    forest.put("code/a.txt", "call readfile or Read_File\n\nin 3D, a 3DS\n")
    before, after = before_and_after(forest, query)
    assert [place["path"] for place in after] == ["a.txt"]
    assert after == before


def test_a_name_of_very_many_parts_is_found_where_it_is_used(grown: Maker) -> None:
    name = "a_b_c_d_e_f_g_h_runs"
    forest = grown("index")
    forest.put("code/use.txt", f"see {name} for this\n")
    before, after = before_and_after(forest, name)
    assert [place["path"] for place in after] == ["use.txt"]
    assert after == before


def test_a_long_number_that_the_index_knows_in_part_counts_once(grown: Maker) -> None:
    forest = grown("index")
    for n in range(20):
        word = "naïve" if n % 2 else "plain"
        forest.put(f"code/f{n:02}.txt", f"{word} 1048576\n")
    for n in range(20):
        forest.put(f"code/g{n:02}.txt", "zebra\n" * (n + 1) if n % 2 else "handler of\n")
    before, after = before_and_after(forest, "1048576 zebra handler of")
    assert after == before


def test_a_glob_changes_no_score(grown: Maker) -> None:
    forest = grown("index")
    for n in range(20):
        forest.put(f"code/f{n}.py", "serve\n" * (1 + n % 3))
        forest.put(f"code/f{n}.md", "serve serve serve\n\nthe request\n")
    before, after = before_and_after(forest, "serve request", file_glob="*.md")
    assert after == before
    scores = {place["path"]: place["score"] for place in answer(forest, "serve request")}
    assert {scores[place["path"]] for place in after} == {place["score"] for place in after}


def plant(forest: Forest, drawn: random.Random) -> None:
    """Write a few files of a few words, which many of them share."""

    def name() -> str:
        return "_".join(drawn.choices(NAMES, k=drawn.randrange(1, 3)))

    def line() -> str:
        return " ".join(drawn.choices(WORDS, k=drawn.randrange(1, 5)))

    for n in range(drawn.choice((3, 12, 40))):
        body: list[str] = []
        kind = drawn.choice(("py", "md", "txt", "js"))
        for _ in range(drawn.randrange(5)):
            filling = "\n".join(f"    {line()}" for _ in range(drawn.choice((1, 4, 90))))
            head = {
                "py": f"def {name()}(a):",
                "md": f"## {line()}\n",
                "js": f"function {name()}() {{\n  return 1;\n}}",
                "txt": line(),
            }
            body.append(f"{head[kind]}\n{filling}\n")
        letter = drawn.choice(string.ascii_lowercase)
        forest.put(f"code/{drawn.choice(FOLDERS)}{letter}_part_{n}.{kind}", "\n".join(body))


@pytest.mark.parametrize("seed", range(examples(4)))
def test_the_index_changes_no_answer_of_a_small_tree(
    grown: Maker, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    drawn = random.Random(seed)  # noqa: S311  # the same tree each time
    monkeypatch.setattr(candidates, "MAX_MATCHES", drawn.choice((1, 5, 30, candidates.MAX_MATCHES)))
    forest = grown("index")
    plant(forest, drawn)
    queries = [" ".join(drawn.choices(TYPED, k=drawn.randrange(1, 5))) for _ in range(30)]
    before = [answer(forest, query) for query in queries]
    build(forest)
    for query, expected in zip(queries, before, strict=True):
        assert answer(forest, query) == expected, query


def test_files_that_were_deleted_change_no_score(grown: Maker) -> None:
    forest = grown("index")
    for n in range(30):
        forest.put(f"code/f{n}.py", "serve the request\n" if n % 2 else "serve\n")
    build(forest)
    for n in range(20):
        (forest.top / "code" / f"f{n}.py").unlink()
    answer(forest, "serve request")
    build(forest)
    fresh = grown("fresh")
    build(fresh)
    assert answer(forest, "serve request") == answer(fresh, "serve request")
