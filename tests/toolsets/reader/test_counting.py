"""estimate_tokens: exact counts of texts and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf


@pytest.mark.parametrize(
    ("text", "encoding", "count"),
    [
        ("", "cl100k_base", 0),
        ("", "o200k_base", 0),
        ("hello world", "cl100k_base", 2),
        ("<|endoftext|>", "cl100k_base", 7),
        ("<|endoftext|>", "o200k_base", 7),
    ],
)
def test_texts(shelf: Shelf, text: str, encoding: str, count: int) -> None:
    answer = shelf.ok("estimate_tokens", text=text, encoding=encoding)
    assert answer == {"tokens": count, "encoding": encoding}


def test_a_file_counts_as_its_text(shelf: Shelf) -> None:
    text = "# Straße\n\n漢字 and words.\n"
    shelf.put("utf16.md", text.encode("utf-16"))
    shelf.put("bom.md", text.encode("utf-8-sig"))
    for name in ("utf16.md", "bom.md"):
        for encoding in token_counter.ENCODINGS:
            answer = shelf.ok("estimate_tokens", file_path=name, encoding=encoding)
            assert answer == {"tokens": token_counter.count(text, encoding), "encoding": encoding}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": "a", "file_path": "a.md"},
        {"text": 5},
        {"text": "a", "encoding": "p50k_base"},
    ],
)
def test_wrong_arguments(shelf: Shelf, arguments: dict[str, Any]) -> None:
    assert shelf.fails("estimate_tokens", **arguments)["code"] == "INVALID_ARGUMENT"


def test_an_empty_text_beside_a_file_is_left_out(shelf: Shelf) -> None:
    shelf.put("a.txt", "one two")
    assert shelf.ok("estimate_tokens", text="", file_path="a.txt")["tokens"] == 2
    assert shelf.ok("estimate_tokens", text="")["tokens"] == 0
