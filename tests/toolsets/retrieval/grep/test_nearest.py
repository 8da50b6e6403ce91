from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.models import Query
from tests.toolsets.retrieval.grep.witness import trees_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MUTEX_lock", "mutex_lock"), ("mutexLock", "mutex_lock"), ("mutex-lock", "mutex_lock"),
        ("load configuration", "loadConfiguration"), ("mutex_lok", "mutex_lock"),
        ("mutexx_lock", "mutex_lock"), ("mutxe_lock", "mutex_lock"), ("mutez_lock", "mutex_lock"),
        ("a.b (c)", None), ("nothing like it", None), ("xy", None), ("größe", "Größe"),
    ],
)  # fmt: skip
def test_a_spelling_that_occurs_is_named(code: Path, text: str, found: str | None) -> None:
    (code / "a").write_text("int mutex_lock(x);\nloadConfiguration()\nDie Größe\n")
    assert find_suggestion(trees_of(code), Query(text), 100, math.inf) == found


def test_nothing_is_named_for_an_expression(code: Path) -> None:
    (code / "a").write_text("mutex_lock\n")
    assert find_suggestion(trees_of(code), Query("MUTEX_lock", regex=True), 100, math.inf) is None


def test_a_file_that_no_search_shows_is_not_looked_into(code: Path) -> None:
    (code / os.fsdecode(b"\xff.txt")).write_text("mutex_lock\n")
    assert find_suggestion(trees_of(code), Query("MUTEX_lock"), 100, math.inf) is None


def test_small_trees_are_looked_through_to_the_end_of_their_files(code: Path) -> None:
    (code / "a").write_text("x\n" * 1_000_000 + "mutex_lock\n")
    for number in range(400):
        (code / f"b{number:03}").write_text("nothing\n")
    (code / "c").write_text("colour_map\n")
    assert find_suggestion(trees_of(code), Query("MUTEX_lock"), 2_100_000, math.inf) == "mutex_lock"
    assert find_suggestion(trees_of(code), Query("color_map"), 2_100_000, math.inf) == "colour_map"


def test_past_the_deadline_nothing_is_looked_for(code: Path) -> None:
    (code / "a").write_text("mutex_lock\n")
    for size in (100, 1 << 30):
        assert find_suggestion(trees_of(code), Query("MUTEX_lock"), size, -math.inf) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"foo\xffbar\n", "FOO\ufffdBAR"), (b"foo\xffbar\n", "foo_\ufffdbar"),
        (b"\xef\xbb\xbfhelloWorld\n", "\ufeffHELLOWORLD"),
    ],
)  # fmt: skip
def test_what_is_named_is_found(code: Path, data: bytes, text: str) -> None:
    (code / "a").write_bytes(data)
    named = find_suggestion(trees_of(code), Query(text), 100, math.inf)
    assert named is None or search(trees_of(code), Query(named), limit=1).hits
