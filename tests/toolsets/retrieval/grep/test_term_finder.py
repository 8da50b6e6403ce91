from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rolltop.toolsets.retrieval.grep import term_finder
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.grep.term_finder import find_term_files
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import SkippedEntries
from tests.toolsets.retrieval.grep.witness import printed_sizes, trees_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def files_with(code: Path, *terms: str) -> dict[str, set[str]]:
    (tree,) = trees_of(code)
    entries = list(tree.files(SkippedEntries()))
    texts = {term: [term] for term in terms}
    found = find_term_files(tree.root, texts, entries, len(entries), math.inf, math.inf)
    return {term: {entry.relative for entry in files} for term, files in found.by_term.items()}


def test_a_term_in_a_long_text_without_spaces_is_found(code: Path) -> None:
    (code / "a.md").write_text("\u5929\u6c17" * 500 + "\u6570\u636e" + "\u3002\u5929" * 500)
    assert files_with(code, "\u6570\u636e") == {"\u6570\u636e": {"a.md"}}


def test_long_names_hold_no_words_of_ripgreps(code: Path) -> None:
    (code / "blob.txt").write_text("ab0" * 400 + " zz\n")
    assert files_with(code, "ab0", "omitted", "long")["omitted"] == set()
    assert find_suggestion(trees_of(code), Query("lonh"), 100, math.inf) is None


def test_a_file_is_found_though_its_name_has_line_breaks(code: Path) -> None:
    for name in ("a\nb", "\n", "b", "c\n"):
        (code / name).write_text("no term\n" if name == "b" else "mast, mast\nthread\n")
    assert files_with(code, "mast", "thread") == {
        "mast": {"a\nb", "\n", "c\n"},
        "thread": {"a\nb", "\n", "c\n"},
    }


def test_a_file_that_is_full_of_a_term_hides_no_other_file(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_finder, "MAX_PRINTED_BYTES", 10_000)
    for name in ("a", "b", "c"):
        (code / name).write_text("mast " * 100_000)
    (code / "d").write_text("thread\n")
    sizes = printed_sizes(monkeypatch)
    assert files_with(code, "mast", "thread") == {"mast": {"a", "b", "c"}, "thread": {"d"}}
    assert max(sizes) <= 10_000


def test_a_file_that_is_full_of_terms_hides_no_rarer_one(code: Path) -> None:
    for n in range(30):
        (code / f"{n:02}").write_text("mast sails\n" * 25 + "thread\n" * 25 * (n < 5))
    (code / "29").write_text("mast sails\n" * 25 + "thread\n" * 25 + "harbour\n")
    found = files_with(code, "mast", "sail", "thread", "harbour", "storm")
    assert {term: len(files) for term, files in found.items()} == {
        "mast": 30, "sail": 30, "thread": 6, "harbour": 1, "storm": 0,
    }  # fmt: skip
