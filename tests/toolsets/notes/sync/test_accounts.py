"""Whose account is whose, and when each is synced."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rolltop.cli.options import declared_settings
from rolltop.core.settings import Settings
from rolltop.toolsets.notes.models import LOCAL_ACCOUNT, Content, NewNote
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.sync import service
from rolltop.toolsets.notes.sync.connection import SyncRecord
from tests.desks import call_tool, make_desk
from tests.toolsets.notes.sync.conftest import settings_of
from tests.toolsets.notes.sync.device import EMAIL

if TYPE_CHECKING:
    import pytest

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal
    from rolltop.toolsets.notes.store.notebooks import Notebook
    from tests.databases import Clock
    from tests.simperium.http import Served


def current(database: Database, scope: Principal, settings: Settings) -> str:
    """Return the key of the account that a user's calls are about."""
    found: tuple[Notebook, Any] = database.read_sync(scope, notebooks.open_notebook, settings)
    return found[0].account


def sync_due(desk: AppContext) -> None:
    """Sync the accounts that are due, as the job does."""
    asyncio.run(desk.service(service.SyncService).sync_due_accounts())


def test_the_account_of_the_settings_is_the_default_user_s_only(
    database: Database, default: Principal, them: Principal, served: Served
) -> None:
    settings = make_desk(database, settings=settings_of(served)).settings
    assert current(database, default, settings) == notebooks.account_key(EMAIL.upper())
    assert current(database, them, settings) == LOCAL_ACCOUNT


def test_another_account_is_another_set_and_nothing_crosses(
    database: Database, me: Principal, served: Served
) -> None:
    plain = Settings.defaults(declared_settings())

    def keep(tx: Tx, text: str) -> None:
        notebook, _account = notebooks.open_notebook(tx, plain)
        notebook.create([NewNote(Content(text))], source="local")

    def seen(tx: Tx) -> list[str]:
        notebook, _account = notebooks.open_notebook(tx, plain)
        return [note.text for note in notebook.read_after("", 10)]

    database.write_sync(me, keep, "local")
    database.write_sync(me, notebooks.activate_account, "a@example.org", with_local=False)
    assert database.read_sync(me, seen) == []
    database.write_sync(me, keep, "of a")
    database.write_sync(me, notebooks.activate_account, "b@example.org", with_local=True)
    assert database.read_sync(me, seen) == ["local"]
    database.write_sync(me, notebooks.activate_account, "A@example.org ", with_local=False)
    assert database.read_sync(me, seen) == ["of a"]
    assert served.simperium.served.total() == 0


def test_accounts_are_synced_at_the_start_and_when_they_are_due(
    database: Database,
    default: Principal,
    served: Served,
    clock: Clock,
) -> None:
    key = notebooks.account_key(EMAIL)
    bucket = served.simperium.notes(EMAIL)
    bucket.post("n", {"content": "one"}, None, None)

    def desk() -> AppContext:
        return make_desk(database, settings=settings_of(served))

    def asked() -> int:
        return served.simperium.served["index"]

    first = desk()
    heard: list[tuple[Principal, str]] = []
    first.change_listeners.append(lambda scope, uri: heard.append((scope, uri)))
    sync_due(first)
    assert [(scope.user_id, uri) for scope, uri in heard] == [(default.user_id, "rolltop://note/n")]
    account = database.read_sync(default, notebooks.get_account, key)
    assert account is not None
    assert (account.status, asked()) == ("idle", 1)
    sync_due(first)
    assert asked() == 1
    clock.advance(seconds=299)
    sync_due(first)
    assert asked() == 1
    clock.advance(seconds=2)
    sync_due(first)
    assert asked() == 2
    sync_due(desk())
    assert asked() == 3
    clock.advance(days=-30)
    sync_due(first)
    assert asked() > 3


def test_a_backend_that_is_away_is_asked_again_ever_more_rarely(
    database: Database,
    default: Principal,
    served: Served,
    clock: Clock,
) -> None:
    desk = make_desk(database, settings=settings_of(served))
    served.simperium.faults.add("html", times=100)
    for pause in (600, 1200, 1800, 1800):
        sync_due(desk)
        account = database.read_sync(default, notebooks.get_account, notebooks.account_key(EMAIL))
        assert account is not None
        assert account.status == "error"
        assert SyncRecord.from_account(account).next_at == clock.now.timestamp() + pause
        clock.advance(seconds=pause)
    served.simperium.faults.clear()
    sync_due(desk)
    assert served.simperium.served["index"] == 1


def test_a_fault_ends_one_account_s_sync_alone_and_it_waits(
    database: Database,
    default: Principal,
    served: Served,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def divide(*_arguments: object, **_named: object) -> float:
        return 1 / 0

    desk = make_desk(database, settings=settings_of(served))
    monkeypatch.setattr(service, "pull_changes", divide)
    sync_due(desk)
    account = database.read_sync(default, notebooks.get_account, notebooks.account_key(EMAIL))
    assert account is not None
    record = SyncRecord.from_account(account)
    assert (account.status, account.error_count, record.error) == ("error", 1, "INTERNAL_ERROR")
    assert record.next_at == clock.now.timestamp() + 600
    error = call_tool(desk, default, "note_manage", action="sync").structured["error"]
    assert (error["category"], error["code"]) == ("INTERNAL", "INTERNAL_ERROR")


def test_a_sync_that_fails_is_counted_by_its_code(
    database: Database, default: Principal, served: Served
) -> None:
    desk = make_desk(database, settings=settings_of(served))
    counted: list[tuple[str, str, int]] = []

    def observe(what: str, label: str, number: int) -> None:
        counted.append((what, label, number))

    desk.count_observers.append(observe)
    served.simperium.faults.add("status", None, status=405)
    sync_due(desk)
    assert [(what, number) for what, _code, number in counted] == [("sync_errors", 1)]
    assert counted[0][1] == database.read_sync(default, _last_error, desk.settings)


def _last_error(tx: Tx, settings: Settings) -> str | None:
    return service.read_status(tx, settings).record.error
