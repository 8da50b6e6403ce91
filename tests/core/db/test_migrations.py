"""The built-in revisions are whole, and a migration happens entirely or not at all."""

from __future__ import annotations

import pkgutil
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import ColumnClause, column, create_engine, inspect, select, table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import add_user, create_token, list_tokens, list_users
from rolltop.core.db import SYSTEM, Tx, migrator, revisions
from rolltop.core.db.schema import metadata
from rolltop.core.errors import IncompatibleStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.db.later_program import LaterProgram
    from tests.databases import MakeDatabase

CORE_HEAD: Final = revisions.branches()[0].head
# Full text and triggers are each database's own: what only one of them has is declared nowhere.
OWN = (
    *("journal_pending", "ix_journal_pending"),
    *("search_words", "search_terms", "ix_search_texts_words"),
    *("search_whole_words", "ix_search_wholes_words", "ix_search_whole_parts_words", "words_of_"),
)


@pytest.fixture
def own_url(database_url: str, request: pytest.FixtureRequest) -> str:
    """Return the URL of a store whose schema the test may change."""
    if database_url.startswith("sqlite"):
        return database_url
    return request.getfixturevalue("postgres_url")()


def tables(tx: Tx) -> set[str]:
    return set(inspect(tx.connection).get_table_names())


def stored(tx: Tx) -> set[str]:
    version: ColumnClause[str] = column("version_num")
    rows = tx.execute(select(version).select_from(table(revisions.VERSION_TABLE)))
    return set(rows.scalars())


def is_declared(name: str | None, _kind: str, _parents: object) -> bool:
    return not (name or "").startswith(OWN)


def load_all_tables() -> None:
    import_module("rolltop.core.fulltext.tables")
    import_module("rolltop.core.idempotency")
    for branch in revisions.branches():
        if branch.name != "core":
            store = import_module(f"rolltop.toolsets.{branch.name}.store")
            for part in pkgutil.iter_modules(getattr(store, "__path__", ())):
                import_module(f"{store.__name__}.{part.name}")


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based")
def test_the_migrated_schema_is_the_declared_one(
    empty_url: str, make_database: MakeDatabase
) -> None:
    load_all_tables()

    def differences(tx: Tx) -> Any:  # Alembic's own description
        options: dict[str, Any] = {
            "version_table": revisions.VERSION_TABLE,
            "compare_type": True,
            "include_name": is_declared,
        }
        return compare_metadata(MigrationContext.configure(tx.connection, opts=options), metadata)

    assert make_database(empty_url).read_sync(SYSTEM, differences) == []


def test_the_heads_said_are_the_heads_there_are(
    empty_url: str, make_database: MakeDatabase
) -> None:
    known = revisions.branches()
    with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        script = ScriptDirectory.from_config(migrator.alembic_config(connection, known))
    assert known[0].name == "core"
    assert set(script.get_heads()) == revisions.heads(known)
    for branch in known:
        for name in branch.revisions:
            revision = script.get_revision(name)
            assert revision.branch_labels == {branch.name}
            assert not revision.dependencies, "core's branch runs first: see versions.py"
    assert make_database(empty_url).read_sync(SYSTEM, stored) == revisions.heads(known)


def test_an_up_to_date_store_is_opened_without_alembic(
    database_url: str, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrator, "upgrade", None)
    assert make_database(database_url).read_sync(SYSTEM, list_users) == []


def test_an_older_store_is_migrated_and_an_sqlite_store_copied_before(
    own_url: str, make_database: MakeDatabase, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database = make_database(own_url)
    user = database.write_sync(SYSTEM, add_user, "ada@x")
    database.close()
    before = revisions.branches()
    later: LaterProgram = request.getfixturevalue("later")
    later.add("extra", "extra_0001", 'op.create_table("extra", sa.Column("id", sa.Integer))')
    database = make_database(own_url)
    assert database.read_sync(SYSTEM, list_users) == [user]
    assert database.read_sync(SYSTEM, stored) == revisions.heads(before) | {"extra_0001"}
    assert "extra" in database.read_sync(SYSTEM, tables)
    if database.path is not None:
        name = f"desk.db.{'-'.join(sorted(revisions.heads(before)))}.bak"
        with closing(sqlite3.connect(tmp_path / "store" / name)) as copy:
            assert copy.execute("SELECT email FROM users").fetchall() == [("ada@x",)]
            assert copy.execute("SELECT * FROM sqlite_master WHERE name = 'extra'").fetchall() == []
            assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert (tmp_path / "store" / name).stat().st_mode & 0o777 == 0o600


def test_a_migration_that_fails_leaves_everything_as_it_was(
    own_url: str, make_database: MakeDatabase, request: pytest.FixtureRequest
) -> None:
    database = make_database(own_url)
    user = database.write_sync(SYSTEM, add_user, "ada@x")
    before = database.read_sync(SYSTEM, tables), database.read_sync(SYSTEM, stored)
    database.close()
    later: LaterProgram = request.getfixturevalue("later")
    later.add("extra", "extra_0001", 'op.create_table("extra", sa.Column("id", sa.Integer))')
    later.add("extra", "extra_0002", 'op.execute("DELETE FROM users; broken")', down="extra_0001")
    with pytest.raises((DBAPIError, sqlite3.Warning)):
        make_database(own_url)
    request.getfixturevalue("monkeypatch").undo()
    database = make_database(own_url)
    assert (database.read_sync(SYSTEM, tables), database.read_sync(SYSTEM, stored)) == before
    assert database.read_sync(SYSTEM, list_users) == [user]


def test_a_table_that_is_made_anew_keeps_the_rows_that_refer_to_it(
    own_url: str, make_database: MakeDatabase, request: pytest.FixtureRequest
) -> None:
    """SQLite changes a table by copying it: enforced foreign keys would delete the children."""
    database = make_database(own_url)
    user = database.write_sync(SYSTEM, add_user, "ada@x")
    _plain, token = database.write_sync(SYSTEM, create_token, user.id, "laptop")
    database.close()
    later: LaterProgram = request.getfixturevalue("later")
    body = (
        'copied = "always" if op.get_bind().dialect.name == "sqlite" else "never"\n'
        '    batch = op.batch_alter_table("users", recreate=copied)\n'
        "    with batch as users:\n"
        '        users.add_column(sa.Column("nickname", sa.String(40)))'
    )
    later.add("core", "core_9999", body, down=CORE_HEAD)
    database = make_database(own_url)
    assert database.read_sync(SYSTEM, list_users) == [user]
    assert database.read_sync(SYSTEM, list_tokens, user.id) == [token]


def test_a_migration_that_leaves_orphans_is_refused(
    sqlite_url: str, make_database: MakeDatabase, request: pytest.FixtureRequest
) -> None:
    database = make_database(sqlite_url)
    user = database.write_sync(SYSTEM, add_user, "ada@x")
    database.write_sync(SYSTEM, create_token, user.id, "laptop")
    database.close()
    later: LaterProgram = request.getfixturevalue("later")
    later.add("core", "core_9999", 'op.execute("DELETE FROM users")', down=CORE_HEAD)
    with pytest.raises(IncompatibleStore):
        make_database(sqlite_url)
    request.getfixturevalue("monkeypatch").undo()
    assert make_database(sqlite_url).read_sync(SYSTEM, list_users) == [user]
