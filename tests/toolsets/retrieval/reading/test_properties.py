"""What holds for every file: pieces join to it, ranges are its lines, nothing strange gets in."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign import examples
from tests.toolsets.retrieval.forest import Forest, make_forest

_LINES = st.lists(
    st.sampled_from(
        ["", "a line of words", "\tindented = value(1)", "é漢字🙂", "x" * 300, "word " * 400, "\r"]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=30),
    max_size=40,
)
_ENDS = st.sampled_from(["\n", "\r\n"])
_ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
_PARTS = ["..", ".", "", "docs", "code", "a", "b.txt", "link", "out", "~", "a\0", "é", "a\nb", "*"]
_PATHS = st.lists(st.sampled_from(_PARTS), max_size=6).map("/".join) | st.text(max_size=30)
_CODES = {
    "PATH_EMPTY", "PATH_OUT_OF_ROOT", "PATH_AMBIGUOUS", "FILE_NOT_FOUND", "FILE_UNREADABLE",
    "DIR_NOT_FOUND", "DIR_UNREADABLE",
}  # fmt: skip


def forest_with(text: str, encoding: str = "utf-8") -> Forest:
    forest = make_forest(Path(tempfile.mkdtemp()), "docs")
    forest.put("docs/a.txt", text.encode(encoding))
    return forest


@given(
    lines=_LINES, end=_ENDS, last=st.booleans(), encoding=_ENCODINGS, budget=st.integers(200, 900)
)
@settings(max_examples=examples(40))
def test_pieces_of_a_file_join_to_it(**drawn: Any) -> None:
    text = drawn["end"].join(drawn["lines"]) + (drawn["end"] if drawn["last"] else "")
    text = text.removeprefix("\ufeff")
    forest = forest_with(text, drawn["encoding"])
    pages = forest.pages("repo_open_file", path="a.txt", max_tokens=drawn["budget"])
    assert "".join(page["result"]["text"] for page in pages) == text
    for page in pages[1:]:
        assert page["result"]["text"]


@given(
    lines=_LINES.filter(any),
    end=_ENDS,
    first=st.integers(1, 45),
    count=st.integers(1, 45),
    budget=st.integers(200, 900),
)
@settings(max_examples=examples(40))
def test_a_range_is_its_lines_in_text_and_in_numbers(**drawn: Any) -> None:
    text = drawn["end"].join(drawn["lines"]).removeprefix("\ufeff")
    kept = text.split("\n")
    rows = kept[:-1] if not kept[-1] else kept
    first, last = drawn["first"], drawn["first"] + drawn["count"] - 1
    forest = forest_with(text)
    asked = {"path": "a.txt", "start_line": first, "end_line": last, "max_tokens": drawn["budget"]}
    if first > len(rows):
        assert forest.code("repo_get_snippet", **asked) == "RANGE_INVALID"
        return
    pages = forest.pages("repo_get_snippet", **asked)
    expected = "".join(f"{row}\n" for row in rows[first - 1 : last])
    joined = "".join(page["result"]["text"] for page in pages)
    assert joined in (expected, expected.removesuffix("\n"))
    assert (pages[0]["result"]["start_line"], pages[-1]["result"]["end_line"]) == (
        first,
        min(last, len(rows)),
    )
    numbered: dict[int, str] = {}
    for page in forest.pages("repo_get_snippet", **asked, lines=True):
        for row in page["result"]["lines"]:
            numbered[row["line"]] = numbered.get(row["line"], "") + row["text"]
    assert sorted(numbered) == list(range(first, min(last, len(rows)) + 1))
    for number, row in numbered.items():
        assert row.rstrip("\r") == rows[number - 1].rstrip("\r")


@given(path=_PATHS, tool=st.sampled_from(["repo_open_file", "repo_list_dir"]))
@settings(max_examples=examples(150))
def test_no_path_leads_out_or_makes_a_call_fail_without_a_code(path: str, tool: str) -> None:
    forest = _tree()
    answer = forest_answer(forest, tool, path)
    if "error" in answer:
        assert answer["error"]["code"] in _CODES
    elif tool == "repo_open_file":
        assert answer["result"]["text"] == "inside"
        shown = answer["result"]["path"]
        assert not shown.startswith(("./", "/"))
        assert ".." not in shown.split("/")


_MADE: list[Forest] = []


def _tree() -> Forest:
    """Return a tree with links out of it and strange names, made once."""
    if not _MADE:
        forest = make_forest(Path(os.path.realpath(tempfile.mkdtemp())), "docs", "code")
        (forest.top / "beyond").write_text("beyond")
        for name in ("docs/a/b.txt", "code/a/é", "docs/b.txt", "docs/docs/b.txt", "code/a\nb/*"):
            forest.put(name, "inside")
        (forest.top / "docs/link").symlink_to("a")
        (forest.top / "docs/out").symlink_to(forest.top)
        _MADE.append(forest)
    return _MADE[0]


def forest_answer(forest: Forest, tool: str, path: str) -> dict[str, Any]:
    """Return what a call answered, whether it failed or not; it shows no folder of ours."""
    from tests.desks import call_tool  # noqa: PLC0415  # the others go through the forest
    from tests.toolsets.retrieval.forest import SOMEBODY  # noqa: PLC0415

    answer = call_tool(forest.desk, SOMEBODY, tool, path=path)
    assert str(forest.top) not in answer.text
    assert "beyond" not in answer.text.replace("beyond a", "")
    return answer.structured
