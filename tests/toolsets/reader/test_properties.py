"""What holds for every document: bounds, reduction, sameness, sections that tile the file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from rolltop.toolsets.reader import document_cache
from tests.campaign import examples
from tests.toolsets.reader.shelf import Shelf, make_shelf, paper

_PIECES = st.sampled_from(
    [
        "# A", "## B", "### 3.1 C", "Title\n=====", "Other\n---", "```", "~~~", "    code",
        "> quote", "- item", "1. item", "| a | b |", "|---|---|", "<div>", "<!-- x", "-->",
        "[a]: b", "\t", "",
        "A sentence of several plain words ends here.", "Another one, e.g. this, follows it.",
        "**Abstract**", "Keywords: a, b", "漢字とかなの文です。", "\r", "🙂 emoji line",
        "---", "***",
    ]
)  # fmt: skip
_DOCUMENTS = st.lists(_PIECES, max_size=60).map("\n".join)
_PLAIN = st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\r\t")
_TEXTS = st.text(_PLAIN, max_size=400) | _DOCUMENTS


def shelf_with(text: str, name: str = "d.md") -> Shelf:
    shelf = make_shelf(Path(tempfile.mkdtemp()) / "docs")
    shelf.put(name, text)
    return shelf


@given(text=_DOCUMENTS)
@settings(max_examples=examples(60))
def test_sections_are_exactly_their_lines_and_tile_the_file(text: str) -> None:
    shelf = shelf_with(text)
    lines = text.split("\n")
    kept = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    outline = shelf.ok("list_sections", file_path="d.md")["outline"]
    assert len({entry["id"] for entry in outline}) == len(outline)
    for at, entry in enumerate(outline):
        start, end = entry["start_line"], entry["end_line"]
        content = "".join(kept[start - 1 : end])
        read = shelf.ok("read_section", file_path="d.md", section_heading=entry["id"])
        assert read["content"] == content
        assert entry["tokens"] == token_counter.count(content)
        following = [e for e in outline[at + 1 :] if e["level"] <= entry["level"]]
        assert end == (following[0]["start_line"] - 1 if following else len(kept))


@given(text=_TEXTS, budget=st.integers(200, 900))
@settings(max_examples=examples(60))
def test_pages_of_a_document_join_to_it(text: str, budget: int) -> None:
    shelf = shelf_with(text)
    assert shelf.whole(
        "smart_read", file_path="d.md", mode="full", max_tokens=budget
    ) == text.removeprefix("\ufeff")


@given(
    seed=st.integers(0, 10_000),
    sections=st.integers(35, 60),
    noise=st.lists(_PIECES, max_size=30).map("\n".join),
    style=st.sampled_from(["structured", "extractive", "abstract"]),
    bound=st.integers(100, 5000),
    name=st.sampled_from(["d.md", "d.txt", "d.rst", "d.adoc", "d.py", "d.html", "d.tex", "d.org"]),
)
@settings(max_examples=examples(25))
def test_summaries_keep_every_bound(**drawn: Any) -> None:
    text = paper(drawn["sections"], drawn["seed"]) + "\n" + drawn["noise"]
    shelf = shelf_with(text, drawn["name"])
    arguments = {
        "file_path": drawn["name"],
        "summary_style": drawn["style"],
        "max_summary_tokens": drawn["bound"],
    }
    answer = shelf.ok("smart_read", **arguments)
    original = token_counter.count(text)
    assert answer["original_tokens"] == original > 10_000
    assert token_counter.count(answer["content"]) <= drawn["bound"]
    sent = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    assert answer["summary_tokens"] == token_counter.count(sent)
    assert ".." not in answer["_preamble"][-3:]
    assert answer["reduction_factor"] >= 1
    assert 0 <= answer["coverage"]["completeness_score"] <= 1
    if drawn["bound"] <= 800:
        assert answer["summary_tokens"] * 10 < original
    assert make_shelf(shelf.folder).ok("smart_read", **arguments) == answer


@given(text=_TEXTS, mode=st.sampled_from(["auto", "summary"]))
@settings(max_examples=examples(60))
def test_small_documents_are_never_made_longer(text: str, mode: str) -> None:
    answer = shelf_with(text).ok("smart_read", file_path="d.md", mode=mode)
    if answer["type"] == "summary":
        assert answer["summary_tokens"] < answer["original_tokens"]
        assert answer["content"]
    else:
        assert answer["content"] == text.removeprefix("\ufeff")


@given(
    lines=st.lists(st.text(alphabet=" \t\r\x0b\x85\u2028ab.,'s/#é漢🙂1", max_size=12), max_size=30),
    starts=st.lists(st.integers(1, 30), max_size=6),
)
@settings(max_examples=examples(150))
def test_counts_of_sections_add_up_exactly(lines: list[str], starts: list[int]) -> None:
    from rolltop.core.text.lines import line_starts  # noqa: PLC0415  # the product's own lines
    from rolltop.documents.outline import Section  # noqa: PLC0415

    text = "\n".join(lines)
    found = line_starts(text)
    places = sorted({start for start in starts if start <= len(found)})
    sections = [Section(f"s{n}", "t", 1, n, len(found), ("t",)) for n in places]
    total, costs = document_cache.count_tokens(text, found, sections)
    assert total == token_counter.count(text)
    for section, cost in zip(sections, costs, strict=True):
        start, end = document_cache.section_offsets(text, found, section)
        assert cost == token_counter.count(text[start:end])
