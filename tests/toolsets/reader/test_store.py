"""What the store keeps of outlines: found by content, bounded, the oldest dropped first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.reader import store

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock


def keep(database: Database, who: Principal, content: str, size: int, limit: int) -> None:
    database.write_sync(who, store.store_outline, content, "x" * size, limit)


def test_what_is_kept_is_found_again(database: Database, me: Principal) -> None:
    assert database.read_sync(me, store.find_outline, "a") is None
    outline = '[5,[3,2],"ü\\u0000\\ud800"]'
    database.write_sync(me, store.store_outline, "a", outline, 1000)
    assert database.read_sync(me, store.find_outline, "a") == outline


def test_it_is_everybodys(database: Database, me: Principal, them: Principal) -> None:
    keep(database, me, "a", 10, 1000)
    assert database.read_sync(them, store.find_outline, "a") == "x" * 10


def test_keeping_twice_keeps_one(database: Database, me: Principal) -> None:
    for _ in range(3):
        keep(database, me, "a", 10, 1000)
    assert database.read_sync(me, store.find_outline, "a") == "x" * 10


def test_the_oldest_go_when_all_together_are_too_large(
    database: Database, me: Principal, clock: Clock
) -> None:
    for name in "abcde":
        keep(database, me, name, 30, 100)
        clock.advance(seconds=1)
    found = [n for n in "abcde" if database.read_sync(me, store.find_outline, n)]
    assert found == ["c", "d", "e"]


def test_what_alone_is_too_large_is_not_kept(database: Database, me: Principal) -> None:
    keep(database, me, "a", 50, 100)
    keep(database, me, "big", 101, 100)
    assert database.read_sync(me, store.find_outline, "big") is None
    assert database.read_sync(me, store.find_outline, "a") is not None
