"""What a ranked search does not look at, or does not list, its answer says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from tests.toolsets.retrieval.forest import make_forest

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest

HANDBOOK: Final = Path(__file__).parents[3] / "data" / "documents" / "handbook.pdf"
LOG: Final = "cargo of wool\n" + "bales and bales\n" * 600_000 + "KERNEL_PANIC at last\n"


def index(forest: Forest, state: str) -> None:
    if state == "made":
        trigram_index.update_index(forest.desk)
        ranking.update_index(forest.desk)


@pytest.mark.parametrize("state", ["none yet", "made"])
def test_an_answer_says_of_which_files_only_the_beginning_was_ranked(
    forest: Forest, state: str
) -> None:
    forest.put("docs/ledger.txt", LOG)
    forest.put("docs/picture.raw", bytes(9 << 20))
    forest.put("docs/small.md", "tall masts\n")
    index(forest, state)
    for query in ("KERNEL_PANIC", "kernel_panics", "masts", "cargo of wool"):
        answer = forest.ok("repo_smart_search", query=query)
        meta = answer["meta"]
        assert meta["skipped"]["too_large"] == (1 if answer["result"] else 2)
        assert "of 1 file over 8 MiB; repo_search finds every line" in meta["hint"]
        near = meta.get("nearest")
        assert near is None or forest.ok("repo_smart_search", query=near)["result"]
    meta = forest.ok("repo_smart_search", query="masts", file_glob="*.md")["meta"]
    assert not {"skipped", "hint"} & meta.keys()


@pytest.mark.parametrize("state", ["none yet", "made"])
def test_a_word_late_in_a_large_file_is_found_where_nothing_else_has_it(
    forest: Forest, state: str
) -> None:
    forest.put("docs/ledger.txt", LOG + "no kernel here\nkernel_panic again\n")
    forest.put("docs/small.md", "tall masts\n")
    forest.put("code/picture.raw", b"\0" + b"KERNEL_PANIC\n" * 800_000)
    index(forest, state)
    last = LOG.count("\n")
    for query, lines in {
        "KERNEL_PANIC": [last, last + 2, last + 1],
        "what says 'no kernel'?": [last + 1, last, last + 2],
        "again": [last + 2],
    }.items():
        answer = forest.ok("repo_smart_search", query=query)
        assert {place["path"] for place in answer["result"]} == {"ledger.txt"}
        assert [place["line"] for place in answer["result"]][:1] == lines[:1], query
        assert sorted(place["line"] for place in answer["result"]) == sorted(lines)
        (best, *_) = answer["result"]
        assert (
            best["preview"]
            == forest.ok("repo_search", query=best["preview"])["result"][0]["preview"]
        )
        assert best["why"] == ["words"]
        assert answer["meta"]["hint"]
    assert forest.ok("repo_smart_search", query="again", file_glob="*.md")["result"] == []
    meta = forest.ok("repo_smart_search", query="agian")["meta"]
    assert meta["nearest"] == "again"
    many = forest.pages("repo_smart_search", query="bales", file_glob="ledger*", limit=7)
    assert many[0]["result"][0]["path"] == "ledger.txt"


@pytest.mark.parametrize(
    "line", ["maxRetries = 3", "max_retries = 3", "Retries: 3", "系统retries失败"]
)
def test_a_word_of_a_name_late_in_a_large_file_is_found(forest: Forest, line: str) -> None:
    forest.put("docs/ledger.txt", f"{LOG}unsecretries\n{line}\n系统支付失败\n")
    found = forest.ok("repo_smart_search", query="retries")["result"]
    assert [place["preview"].strip() for place in found] == [line]
    (paid,) = forest.ok("repo_smart_search", query="支付")["result"]
    assert "支付" in paid["preview"]


def test_an_empty_answer_says_how_many_documents_were_not_searched(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", settings={"retrieval.index": False})
    forest.put("docs/a.md", "the oil\n")
    assert "hint" not in forest.ok("repo_smart_search", query="wick")["meta"]
    forest.put("docs/handbook.pdf", HANDBOOK.read_bytes())
    forest.put("docs/more/Notes.DOCX", b"PK\x03\x04\0")
    hint = forest.ok("repo_smart_search", query="wick")["meta"]["hint"]
    assert "Not searched: 2 documents (PDF, DOCX, PPTX, EPUB); read_plan" in hint
    hint = forest.ok("repo_smart_search", query="wick", file_glob="*.pdf")["meta"]["hint"]
    assert "Not searched: 1 document (" in hint
    assert "hint" not in forest.ok("repo_smart_search", query="wick", file_glob="*.md")["meta"]
    assert "hint" not in forest.ok("repo_smart_search", query="oil")["meta"]


@pytest.mark.parametrize("query", ["endobx", "Helvetika"])
def test_no_spelling_is_named_that_stands_in_a_document_alone(forest: Forest, query: str) -> None:
    forest.put("docs/handbook.pdf", HANDBOOK.read_bytes())
    answer = forest.ok("repo_smart_search", query=query)
    assert answer["result"] == []
    assert "nearest" not in answer["meta"]
    forest.put("docs/a.md", "an endobj in Helvetica\n")
    assert forest.ok("repo_smart_search", query=query)["meta"]["nearest"] in {"endobj", "Helvetica"}


@pytest.mark.parametrize("state", ["none yet", "made"])
@pytest.mark.parametrize("limit", [20, 30, 100])
def test_the_end_of_a_list_says_that_there_may_be_more(
    forest: Forest, limit: int, state: str
) -> None:
    for number in range(130):
        forest.put(f"docs/{number}.md", "a mast\n")
    forest.put("code/yard.md", "a yard\n")
    index(forest, state)
    pages = forest.pages("repo_smart_search", query="mast", limit=limit)
    listed = sum(len(page["result"]) for page in pages)
    assert [page["meta"].get("limited", False) for page in pages] == [
        *[False] * (len(pages) - 1),
        listed == 100,
    ]
    assert "limited" not in forest.ok("repo_smart_search", query="yard")["meta"]
