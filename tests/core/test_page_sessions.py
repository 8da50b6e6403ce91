"""Logins at the page: links that work once, and sessions that end when they should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core import accounts, page_sessions
from rolltop.core.db import SYSTEM

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from tests.databases import Clock


def test_a_link_works_once_and_within_ten_minutes(
    database: Database, me: Principal, clock: Clock
) -> None:
    link = database.write_sync(SYSTEM, page_sessions.create_link, me.user_id)
    assert database.read_sync(SYSTEM, page_sessions.find_session, link) is None
    assert database.write_sync(SYSTEM, page_sessions.use_link, link) == me.user_id
    assert database.write_sync(SYSTEM, page_sessions.use_link, link) is None
    late = database.write_sync(SYSTEM, page_sessions.create_link, me.user_id)
    clock.advance(minutes=10)
    assert database.write_sync(SYSTEM, page_sessions.use_link, late) is None
    session = database.write_sync(SYSTEM, page_sessions.open_session, me.user_id)
    assert database.write_sync(SYSTEM, page_sessions.use_link, session) is None


def test_a_session_ends_with_its_token_by_logout_and_by_time(
    database: Database, me: Principal, clock: Clock
) -> None:
    def session(token_id: str | None = None) -> str:
        return database.write_sync(SYSTEM, page_sessions.open_session, me.user_id, token_id)

    def found(secret: str) -> object:
        session = database.read_sync(SYSTEM, page_sessions.find_session, secret)
        return session and (session[0], session[1] and session[1].token)

    _plain, token = database.write_sync(SYSTEM, accounts.create_token, me.user_id, "laptop")
    by_token, by_link, closed = session(token.id), session(), session()
    assert found(by_token) == (me.user_id, token)
    assert found(by_link) == found(closed) == (me.user_id, None)
    database.write_sync(SYSTEM, page_sessions.close_session, closed)
    database.write_sync(SYSTEM, accounts.revoke_token, me.user_id, token.id)
    assert [found(one) for one in (by_token, closed)] == [None, None]
    clock.advance(days=7)
    assert found(by_link) is None


def test_a_session_with_a_guard_ends_when_the_guard_changes(
    database: Database, me: Principal
) -> None:
    guarded = database.write_sync(SYSTEM, page_sessions.open_session, me.user_id, guard="old")

    def found(guard: str) -> object:
        return database.read_sync(SYSTEM, page_sessions.find_session, guarded, guard)

    assert [found(guard) for guard in ("old", "new", "")] == [(me.user_id, None), None, None]
    database.write_sync(SYSTEM, page_sessions.close_session, guarded, "old")
    assert found("old") is None
    plain = database.write_sync(SYSTEM, page_sessions.open_session, me.user_id)
    assert database.read_sync(SYSTEM, page_sessions.find_session, plain, "new") is None
