"""What the store keeps of outlines: found by content, bounded, the oldest dropped first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.reader import store
from rolltop.toolsets.reader.models import KeptOutline

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.scope import Scope
    from tests.databases import Clock


def kept(content: str, size: int = 10) -> KeptOutline:
    return KeptOutline(content, "x" * size)


def test_what_is_kept_is_found_again(database: Database, me: Scope) -> None:
    assert database.read_now(me, store.find_outline, "a") is None
    outline = KeptOutline("a", '[5,[3,2],"ü\\u0000\\ud800"]')
    database.write_now(me, store.keep_outline, outline, 1000)
    assert database.read_now(me, store.find_outline, "a") == outline


def test_it_is_everybodys(database: Database, me: Scope, them: Scope) -> None:
    database.write_now(me, store.keep_outline, kept("a"), 1000)
    assert database.read_now(them, store.find_outline, "a") == kept("a")


def test_keeping_twice_keeps_one(database: Database, me: Scope) -> None:
    for _ in range(3):
        database.write_now(me, store.keep_outline, kept("a"), 1000)
    assert database.read_now(me, store.find_outline, "a") == kept("a")


def test_the_oldest_go_when_all_together_are_too_large(
    database: Database, me: Scope, clock: Clock
) -> None:
    for name in "abcde":
        database.write_now(me, store.keep_outline, kept(name, 30), 100)
        clock.advance(seconds=1)
    found = [n for n in "abcde" if database.read_now(me, store.find_outline, n)]
    assert found == ["c", "d", "e"]


def test_what_alone_is_too_large_is_not_kept(database: Database, me: Scope) -> None:
    database.write_now(me, store.keep_outline, kept("a", 50), 100)
    database.write_now(me, store.keep_outline, kept("big", 101), 100)
    assert database.read_now(me, store.find_outline, "big") is None
    assert database.read_now(me, store.find_outline, "a") is not None
