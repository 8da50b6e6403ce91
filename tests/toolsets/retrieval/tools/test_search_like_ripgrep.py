"""repo_search against ripgrep itself: the same lines, and previews that are those lines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.grep.ripgrep import ripgrep_path
from rolltop.toolsets.retrieval.index import trigram_index
from tests.campaign import examples
from tests.desks import call_tool
from tests.toolsets.retrieval.forest import SOMEBODY, Forest, make_forest

PREVIEW = 400
ANCHORS = (
    r"\A", r"\z", "^", "$", r"\b", r"\B", "(?m)^", "(?m)$", "(?-m)^", "(?-m)$", "(?s).", "(?s:.*)",
    "(?i)", "(?x) ", "(?R)$", "(?-u)", r"\b{start}", r"\b{end}", r"\<", r"\>", r"\b{start-half}",
    r"^\s*", "$|x", r"\A|b", r"|\z", "(?s)a.", "(?x) a # b", r"[\s\S]", r"\W", r"[^a]", r"[^a]*$",
)  # fmt: skip
ATOMS = ("a", "b", "ab", ".", ".*", "x*", "a?", "", r"\w+", r"\s", "(?:a|b)", "[ab]", "é", "a|b")
LETTERS = ("a", "b", "x", "é", " ", "\t", "ab", "a b", "x" * 450, " a" * 300)
CASES = {"sensitive": "-s", "ignore": "-i", "smart": "-S"}
ENDS = ("\n", "\n", "\r\n", "\n\n")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    parts = st.lists(st.one_of(st.sampled_from(ANCHORS), st.sampled_from(ATOMS)), max_size=4)
    return "".join(draw(parts.filter(lambda some: "".join(some).strip())))


@st.composite
def texts(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.lists(st.sampled_from(LETTERS), max_size=4).map("".join), max_size=6))
    text = "".join(row + draw(st.sampled_from(ENDS)) for row in rows)
    return text + draw(st.sampled_from(("", "", "a", "b x", "x" * 900)))


def lines_of_ripgrep(folder: Path, pattern: str, case: str) -> list[tuple[str, int, str]] | None:
    """Return path, number and text of the lines that match, None where it is no expression."""
    flags = ("--no-config", "--crlf", "-nH", "--null", "--no-heading", "--sort=path", case)
    done = subprocess.run(
        [ripgrep_path(), *flags, "-e", pattern, "."], cwd=folder, capture_output=True, check=False
    )
    if done.returncode > 1:
        return None
    rows = [row for row in done.stdout.decode().split("\n") if row]
    found: list[tuple[str, int, str]] = []
    for row in rows:
        name, _, rest = row.partition("\0")
        number, _, text = rest.partition(":")
        found.append((name.removeprefix("./"), int(number), text.removesuffix("\r")))
    return found


def check_previews(result: list[dict[str, Any]], expected: list[tuple[str, int, str]]) -> None:
    assert [(hit["path"], hit["line"]) for hit in result] == [row[:2] for row in expected]
    for hit, (_, _, line) in zip(result, expected, strict=True):
        preview = hit["preview"]
        assert len(preview) <= PREVIEW
        if len(line) <= PREVIEW:
            assert preview == line
        else:
            shown = preview.removeprefix("…").removesuffix("…")
            assert preview != shown
            assert line.startswith(shown) if preview[0] != "…" else shown in line
            assert line.endswith(shown) if preview[-1] != "…" else shown in line


@settings(max_examples=examples(50), deadline=None)
@given(
    pattern=patterns(),
    files=st.lists(texts(), min_size=1, max_size=3),
    case=st.sampled_from(tuple(CASES)),
    indexed=st.booleans(),
)
def test_lines_and_previews_are_those_of_ripgrep(
    pattern: str, files: list[str], case: str, *, indexed: bool
) -> None:
    with TemporaryDirectory() as folder:
        forest = make_forest(Path(folder).resolve(), "code")
        for number, text in enumerate(files):
            forest.put(f"code/{number}.txt", text)
        expected = lines_of_ripgrep(forest.top / "code", pattern, CASES[case])
        if indexed:
            trigram_index.update_index(forest.desk)
        asked = {"query": pattern, "regex": True, "case": case, "limit": 1000}
        if expected is None:
            answer = call_tool(forest.desk, SOMEBODY, "repo_search", **asked)
            assert answer.structured["error"]["code"] == "QUERY_INVALID"
        else:
            check_previews(forest.ok("repo_search", **asked)["result"], expected)


@pytest.mark.parametrize("query", [r"\Aclass", r"(?-m)^class", r"\Aclass \w+$", r"\A(?:class|x)"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_match_at_the_start_of_a_text_shows_its_own_line(
    forest: Forest, query: str, end: str
) -> None:
    forest.put("code/a.py", "import os\nclass Session\n    pass\nclass Other" + end)
    result = forest.ok("repo_search", query=query, regex=True)["result"]
    shown = [(hit["line"], hit["preview"]) for hit in result]
    assert shown == [(2, "class Session"), (4, "class Other")]


def test_an_end_of_text_that_finds_nothing_names_the_end_of_a_line(forest: Forest) -> None:
    forest.put("code/a.py", "class Session\n")
    for query in (r"Session\z", r"Session(?:\z|x)"):
        meta = forest.ok("repo_search", query=query, regex=True)["meta"]
        assert "$ matches where any line ends" in meta["hint"]
    assert "hint" not in forest.ok("repo_search", query=r"Sessions$", regex=True)["meta"]


@pytest.mark.parametrize(
    ("query", "end"),
    [
        *((query, end) for query in ("needle$", r"(?:x|needle)$") for end in ("", "\n", "\r\n")),
        (r"needle\z", ""),
        ("$", ""),
    ],
)
def test_a_long_line_is_shown_around_a_match_at_its_end(
    forest: Forest, query: str, end: str
) -> None:
    forest.put("code/a.js", f"first\n{'y ' * 900}needle{end}")
    hit = forest.ok("repo_search", query=query, regex=True)["result"][-1]
    assert hit["line"] == 2
    assert hit["preview"].startswith("…")
    assert hit["preview"].endswith("needle")
