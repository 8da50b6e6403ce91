"""Names that people type whole are found first: of files, of what is declared, of many parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.retrieval.ranked.test_alike import before_and_after
from tests.toolsets.retrieval.ranked.test_order import grown

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest
    from tests.toolsets.retrieval.ranked.test_order import Maker

__all__ = ["grown"]


def spots(places: list[Any]) -> list[tuple[str, int]]:
    return [(place["path"], place["line"]) for place in places]


@pytest.mark.parametrize(
    "query",
    [
        "a_b_c_d_e_f_g_h_runs",
        "def a_b_c_d_e_f_g_h_runs",
        "value a_b_c_d_e_f_g_h_runs handle",
    ],
)
def test_a_name_of_very_many_parts_is_found_among_common_words(grown: Maker, query: str) -> None:
    forest = grown("index")
    for n in range(50):
        body = "\n\n".join(f"def handle_{n}_{k}(value):\n    return value\n" for k in range(4))
        forest.put(f"code/f{n:02}.py", body)
    forest.put("code/z.py", "def a():\n    pass\n\n\ndef a_b_c_d_e_f_g_h_runs():\n    pass\n")
    before, after = before_and_after(forest, query)
    assert spots(after)[0] == ("z.py", 5)
    assert after == before


@pytest.mark.parametrize(
    "query", ["refund_request", "where is refund_request defined?", "handle the refund request"]
)
@pytest.mark.parametrize("common", ["handle(self, request)", "prehandler(self)"])
def test_a_rare_name_behind_many_lines_of_common_words_is_found_before_there_is_an_index(
    grown: Maker, query: str, common: str
) -> None:
    forest = grown("index")
    for n in range(100):
        forest.put(f"code/f{n:03}.py", f"class View{n}:\n" + f"    {common}\n" * 25)
    forest.put(
        "code/f999.py", f"class View:\n{f'    {common}{chr(10)}' * 25}def refund_request():\n"
    )
    before, after = before_and_after(forest, query)
    assert before[0]["path"] == after[0]["path"] == "f999.py"


def plant_uses(forest: Forest, most: int) -> None:
    """Write a method, and files that use it or have one of the same name."""
    forest.put("code/box.py", "class Box:\n    def keep(self):\n        return 1\n")
    for n in range(most):
        uses = f"box = Box()\nkeep = box.keep()\nBox.keep(box)\nprint(keep, {n})\n"
        forest.put(f"code/uses/f{n:02}.py", uses)
        forest.put(f"code/other/f{n:02}.py", "class Bag:\n    def keep(self):\n        return 2\n")


DOTTED_NAMES = ["Box.keep", "box.keep()", "app.Box.keep"]


@pytest.mark.parametrize("query", DOTTED_NAMES)
def test_a_method_is_found_by_its_dotted_name(grown: Maker, query: str) -> None:
    forest = grown("index")
    plant_uses(forest, 29)
    before, after = before_and_after(forest, query)
    assert spots(after)[0] == ("box.py", 2)
    assert after == before


@pytest.mark.parametrize("query", DOTTED_NAMES)
def test_a_method_is_found_first_where_not_all_files_are_read(grown: Maker, query: str) -> None:
    forest = grown("index")
    plant_uses(forest, 30)
    before, after = before_and_after(forest, query)
    assert spots(before)[0] == spots(after)[0] == ("box.py", 2)


USAGE = """static int uv__usage(usage_t* usage, int who) {
  struct kept kept;
  if (ask(who, &kept))
    return failed();
  usage->pages = kept.pages;
  return 0;
}

int uv_usage(usage_t* usage) {
  return uv__usage(usage, SELF);
}
"""
BOXES = """class ToolBox {
  ToolBox(kept) {
    this.kept = kept;
  }
  lift() {
    return this.kept;
  }
}

class Chest {
  toolBox() {
    return 1;
  }
}
"""


@pytest.mark.parametrize(
    ("name", "line"), [("uv__usage", 1), ("uv_usage", 9), ("ToolBox", 1), ("toolBox", 11)]
)
def test_a_name_is_found_first_where_it_is_declared_as_it_is_spelled(
    grown: Maker, name: str, line: int
) -> None:
    forest = grown("index")
    forest.put("code/usage.c", USAGE)
    forest.put("code/Box.java", BOXES)
    before, after = before_and_after(forest, name)
    assert after[0]["line"] == line
    assert after == before


def test_of_very_many_that_answer_alike_the_first_by_line_are_found(grown: Maker) -> None:
    forest = grown("index")
    names = [f"{letter}{n:02}" for letter in "zyxwvutsrq" for n in range(20)]
    body = "\n\n".join(f"def {name}(x):\n    return zebra(x)\n" for name in names)
    forest.put("code/many.py", body)
    before, after = before_and_after(forest, "zebra")
    assert spots(after) == [("many.py", 1 + 4 * n) for n in range(100)]
    assert after == before


def plant_mentions(forest: Forest) -> None:
    """Write very many files that tell of one, which is short, and some of its name elsewhere."""
    for n in range(70):
        text = (
            '"""Uses tokens.py of core in app: see app/core/tokens.py and README.md."""\n\n\n'
            f"def tokens_{n}(app, core, py):\n"
            '    """Tokens of core in app, py."""\n'
            "    return tokens(app, core)\n"
        )
        forest.put(f"code/app/core/m{n:02}.py", text)
    forest.put("code/app/core/tokens.py", "\nimport os\n\n\ndef count(s):\n    return len(s)\n")
    forest.put("code/README.md", "# Title\n\nBrief.\n")
    forest.put("code/aaa/README.md", "# README.md\n\nThe README.md of aaa, a README.md.\n")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("app/core/tokens.py", ("app/core/tokens.py", 2)),
        ("./App/Core/Tokens.py", ("app/core/tokens.py", 2)),
        ("core/tokens.py", ("app/core/tokens.py", 2)),
        ("tokens.py", ("app/core/tokens.py", 2)),
        ("how does tokens.py count?", ("app/core/tokens.py", 5)),
        ("README.md", ("README.md", 1)),
        ("aaa/README.md", ("aaa/README.md", 1)),
        ("code/README.md", ("README.md", 1)),
        ("Code/app/core/tokens.py", ("app/core/tokens.py", 2)),
    ],
)
def test_a_file_is_found_first_by_its_name(
    grown: Maker, query: str, expected: tuple[str, int]
) -> None:
    forest = grown("index")
    plant_mentions(forest)
    before, after = before_and_after(forest, query)
    assert spots(before)[0] == expected
    assert spots(after)[0] == expected
    assert "path" in after[0]["why"]


@pytest.mark.parametrize(
    "name", ["app/[slug]/My Page.tsx", "pkg-1.2/LICENSE", "a/c++/vec+tor.hpp", "x/conf.d/nginx"]
)
def test_a_path_with_any_signs_is_found_first_by_all_of_it(grown: Maker, name: str) -> None:
    forest = grown("index")
    plant_mentions(forest)
    forest.put(f"code/{name}", "export {};\n")
    for n in range(70):
        forest.put(f"code/app/t{n:02}.md", f"# Page {n}\n\nSee {name} for my {name}.\n")
    before, after = before_and_after(forest, name)
    assert spots(before)[0] == spots(after)[0] == (name, 1)


def test_of_many_files_of_a_name_that_which_fits_the_other_words_comes_first(
    grown: Maker,
) -> None:
    forest = grown("index")
    for n in range(60):
        forest.put(f"code/p{n:02}/setup.py", f"def configure_{n}():\n    return {n}\n")
    forest.put("code/p30/setup.py", "import os\n\n\ndef find_storms():\n    return 1\n")
    forest.put("code/notes.md", "# Storms\n\nFind storms in setup.py, the setup.py of storms.\n")
    before, after = before_and_after(forest, "find storms setup.py")
    assert spots(before)[0] == spots(after)[0] == ("p30/setup.py", 4)
    alone, _ = before_and_after(forest, "setup.py")
    assert [place["path"] for place in alone[:16]] == [f"p{n:02}/setup.py" for n in range(16)]


def test_a_long_file_that_is_named_leaves_room_for_others(grown: Maker) -> None:
    forest = grown("index")
    body = "\n\n".join(f"def count_{n}():\n    return {n}\n" for n in range(150))
    forest.put("code/tokens.py", body)
    forest.put("code/use.py", "# See tokens.py.\n")
    before, after = before_and_after(forest, "tokens.py")
    assert spots(after)[0] == ("tokens.py", 1)
    assert after == before
    places = [
        p
        for a in forest.pages("repo_smart_search", query="tokens.py", limit=100)
        for p in a["result"]
    ]
    assert "use.py" in {place["path"] for place in places}


def plant_numbers(forest: Forest) -> None:
    """Write a file with long numbers, and some with the words beside them."""
    forest.put(
        "code/notes.md",
        "# Changes\n\ngh-109521: fixed a crash when 1048576 bytes were read.\n"
        "Error 0x80070005 again, commit 1a2b3c4d5e.\n\n# Other\n\nNothing.\n",
    )
    for n in range(40):
        forest.put(f"code/f{n:02}.md", f"# gh {n}\n\nA gh entry: error, commit x and build {n}.\n")


@pytest.mark.parametrize(
    "query",
    [
        "109521",
        "gh-109521",
        "1048576",
        "1048576 bytes",
        "0x80070005",
        "Error 0X80070005",
        "1a2b3c4d5e",
        "commit 1a2b3c4d5e",
    ],
)
def test_what_begins_with_a_digit_is_found(grown: Maker, query: str) -> None:
    forest = grown("index")
    plant_numbers(forest)
    before, after = before_and_after(forest, query)
    assert spots(after)[0] == ("notes.md", 1)
    assert "words" in after[0]["why"]
    assert after == before


def test_a_number_is_found_among_very_many_files(grown: Maker) -> None:
    forest = grown("index")
    for n in range(150):
        forest.put(f"code/f{n:03}.md", f"# Commit {n}\n\nA commit of 20261124 builds.\n")
    forest.put("code/z.md", "# Last\n\ncommit 1a2b3c4d5e on 20261124\n")
    for found in before_and_after(forest, "commit 1a2b3c4d5e 20261124"):
        assert spots(found)[0] == ("z.md", 1)
    meta = forest.ok("repo_smart_search", query="20261124")["meta"]
    assert "unread" not in meta


def test_what_stands_late_in_a_large_file_is_found_and_named_as_a_spelling(grown: Maker) -> None:
    forest = grown("index")
    plain = "plain words\n" * 200_000
    forest.put("code/large.txt", f"{plain}spinnaker\n{plain * 3}")  # past what is ranked of it
    answered = forest.ok("repo_smart_search", query=" spinnaker ")
    assert [place["line"] for place in answered["result"]] == [200_001]
    assert "nearest" not in answered["meta"]
    assert forest.ok("repo_smart_search", query="spinaker")["meta"]["nearest"] == "spinnaker"


@pytest.mark.parametrize("query", ["-> |", "-> !{", "->\n     |"])
def test_signs_with_white_space_between_them_are_found_in_a_large_tree(
    grown: Maker, query: str
) -> None:
    forest = grown("index")
    for n in range(80):
        forest.put(f"code/f{n:02}.rs", f"fn f{n}() -> u8 {{\n    {n}\n}}\n")
    forest.put(
        "code/z.rs", "fn last() {\n    let f = |x| -> !{ loop {} };\n    a -> | b ->\n     |\n}\n"
    )
    before, after = before_and_after(forest, query)
    assert spots(after) == [("z.rs", 1)]
    assert after == before
    assert "unread" not in forest.ok("repo_smart_search", query=query)["meta"]
