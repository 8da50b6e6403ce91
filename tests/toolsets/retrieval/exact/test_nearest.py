from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval.exact import nearest
from rolltop.toolsets.retrieval.models import Query
from tests.toolsets.retrieval.exact.witness import trees_of

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
    assert nearest(trees_of(code), Query(text), 100, math.inf) == found


def test_nothing_is_named_for_an_expression(code: Path) -> None:
    (code / "a").write_text("mutex_lock\n")
    assert nearest(trees_of(code), Query("MUTEX_lock", regex=True), 100, math.inf) is None
