"""Whose account is whose, and when each is synced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rolltop.cli.options import declared
from rolltop.core.settings import Settings
from rolltop.toolsets.notes.models import LOCAL, Content
from rolltop.toolsets.notes.service import changes, notebooks
from rolltop.toolsets.notes.service.remote import access, schedule
from rolltop.toolsets.notes.service.remote.link import Record
from rolltop.toolsets.notes.store import accounts, reading
from tests.desks import make_desk
from tests.toolsets.notes.sync.conftest import settings_of
from tests.toolsets.notes.sync.device import EMAIL

if TYPE_CHECKING:
    import pytest

    from rolltop.core.db import Database, Tx
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.toolsets.notes.models import Notebook
    from tests.databases import Clock
    from tests.simperium.http import Served


def current(database: Database, scope: Scope, settings: Settings) -> str:
    """Return the key of the account that a user's calls are about."""
    found: tuple[Notebook, Any] = database.read_now(scope, notebooks.current, settings)
    return found[0].account


def test_the_account_of_the_settings_is_the_default_user_s_only(
    database: Database, default: Scope, them: Scope, served: Served
) -> None:
    settings = make_desk(database, settings=settings_of(served)).settings
    assert current(database, default, settings) == notebooks.key_of(EMAIL.upper())
    assert current(database, them, settings) == LOCAL


def test_another_account_is_another_set_and_nothing_crosses(
    database: Database, me: Scope, served: Served
) -> None:
    plain = Settings.defaults(declared())

    def keep(tx: Tx, text: str) -> None:
        notebook, _account = notebooks.current(tx, plain)
        changes.create(tx, notebook, Content(text), source="local")

    def seen(tx: Tx) -> list[str]:
        notebook, _account = notebooks.current(tx, plain)
        return [note.text for note in reading.after(tx, notebook.account, "", 10)]

    database.write_now(me, keep, "local")
    database.write_now(me, access.connect, "a@example.org", with_local=False)
    assert database.read_now(me, seen) == []
    database.write_now(me, keep, "of a")
    database.write_now(me, access.connect, "b@example.org", with_local=True)
    assert database.read_now(me, seen) == ["local"]
    database.write_now(me, access.connect, "A@example.org ", with_local=False)
    assert database.read_now(me, seen) == ["of a"]
    assert served.simperium.served.total() == 0


def test_accounts_are_synced_at_the_start_and_when_they_are_due(
    database: Database,
    default: Scope,
    served: Served,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "_LOOK_EVERY", -1.0)
    key = notebooks.key_of(EMAIL)
    bucket = served.simperium.notes(EMAIL)
    bucket.post("n", {"content": "one"}, None, None)

    def desk() -> Desk:
        return make_desk(database, settings=settings_of(served))

    def asked() -> int:
        return served.simperium.served["index"]

    first = desk()
    heard: list[tuple[Scope, str]] = []
    first.listeners.append(lambda scope, uri: heard.append((scope, uri)))
    asyncio.run(schedule.sync_due(first))
    assert [(scope.user_id, uri) for scope, uri in heard] == [(default.user_id, "rolltop://note/n")]
    account = database.read_now(default, accounts.get, key)
    assert account is not None
    assert (account.status, asked()) == ("idle", 1)
    asyncio.run(schedule.sync_due(first))
    assert asked() == 1
    clock.advance(seconds=299)
    asyncio.run(schedule.sync_due(first))
    assert asked() == 1
    clock.advance(seconds=2)
    asyncio.run(schedule.sync_due(first))
    assert asked() == 2
    asyncio.run(schedule.sync_due(desk()))
    assert asked() == 3
    clock.advance(days=-30)
    asyncio.run(schedule.sync_due(first))
    assert asked() > 3


def test_a_backend_that_is_away_is_asked_again_ever_more_rarely(
    database: Database,
    default: Scope,
    served: Served,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "_LOOK_EVERY", -1.0)
    desk = make_desk(database, settings=settings_of(served))
    served.simperium.faults.add("html", times=100)
    for pause in (600, 1200, 1800, 1800):
        asyncio.run(schedule.sync_due(desk))
        account = database.read_now(default, accounts.get, notebooks.key_of(EMAIL))
        assert account is not None
        assert account.status == "error"
        assert Record.of(account).next_at == clock.now.timestamp() + pause
        clock.advance(seconds=pause)
    served.simperium.faults.clear()
    asyncio.run(schedule.sync_due(desk))
    assert served.simperium.served["index"] == 1
