"""The second lock between tenants holds by itself: the first, in the statements, is taken away."""

from __future__ import annotations

import re
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, event, exc

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM, engine
from rolltop.core.errors import Unavailable
from rolltop.core.fulltext.tables import WORD_TABLES
from rolltop.core.principal import Principal
from tests.contracts.samples import Stage
from tests.databases import connect_as_system
from tests.desks import call_tool, make_desk
from tests.postgresql import OWNER, SUPERUSER

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from rolltop.core.db import Database, Tx
    from tests.databases import MakeDatabase

CONDITION: Final = re.compile(r"(?:\w+\.)?user_id = (%\(\w+\)s(?:::\w+)?)")
OWNED: Final = """
SELECT rows.relname, owner.attname FROM pg_class AS rows
JOIN pg_attribute AS owner ON owner.attrelid = rows.oid
    AND owner.attname IN ('user_id', 'workspace_id')
WHERE rows.relnamespace = 'public'::regnamespace AND rows.relkind IN ('r', 'p')
ORDER BY rows.relname
"""
QUESTIONS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("list_tasks", {}),
    ("list_tasks", {"tag": "alpha"}),
    ("scratch_list", {}),
    ("scratch_list_tags", {}),
    ("scratch_search", {"query": "harbour"}),
    ("note_list", {}),
    ("note_list", {"q": "harbour"}),
    ("note_list", {"tags": ["alpha"]}),
    ("desk_search", {"query": "harbour storms"}),
    ("desk_history", {}),
    ("desk_resume", {}),
]
DROP_CHECKS: Final = """
DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT conrelid::regclass AS name, conname FROM pg_constraint WHERE contype = 'c'
        AND connamespace = 'public'::regnamespace
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.name, one.conname); END LOOP;
END $$
"""
# A value of each type, for columns about which nothing is said.
VALUES: Final = {
    "uuid": "gen_random_uuid()",
    "timestamp with time zone": "now()",
    "boolean": "false",
    "tsvector": "''",
    "bytea": "''",
}


@pytest.fixture
def database(migrated_url: str, make_database: MakeDatabase) -> Database:
    return make_database(migrated_url)


@pytest.fixture
def connection(migrated_url: str) -> Any:
    """A connection of the operator's, as the role that owns the tables."""
    with connect_as_system(migrated_url) as opened:
        yield opened


def owned_tables(connection: psycopg.Connection) -> list[tuple[str, str]]:
    """Return every table with a tenant's rows, and its column of the tenant."""
    words = {table.name for table in WORD_TABLES}
    return [row for row in connection.execute(OWNED).fetchall() if row[0] not in words]


def insert_statement(connection: psycopg.Connection, table: str, owned: str, owner: str) -> str:
    """Return an INSERT of a row of an owner's, of made-up values."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns"
        " WHERE table_name = %s AND is_nullable = 'NO' AND column_name <> %s",
        [table, owned],
    ).fetchall()
    names = ", ".join([owned, *(name for name, _ in columns)])
    values = ", ".join([f"'{owner}'", *(VALUES.get(kind, "'1'") for _, kind in columns)])
    return f"INSERT INTO {table} ({names}) VALUES ({values})"  # noqa: S608  # of the catalogue


@contextmanager
def first_lock_removed() -> Generator[list[str]]:
    """Have no statement ask whose rows are; yield those that did."""
    changed: list[str] = []

    def strip(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> Any:
        stripped = CONDITION.sub(r"\1 IS NOT NULL", statement)
        if stripped != statement:
            changed.append(statement)
        return stripped, values

    event.listen(Engine, "before_cursor_execute", strip, retval=True)
    try:
        yield changed
    finally:
        event.remove(Engine, "before_cursor_execute", strip)


def test_every_table_of_tenants_rows_has_its_policy(connection: psycopg.Connection) -> None:
    forced = "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
    assert {name for name, _ in owned_tables(connection)} <= {
        name for (name,) in connection.execute(forced).fetchall()
    }
    policies = "SELECT tablename, policyname FROM pg_policies WHERE permissive = 'PERMISSIVE'"
    assert sorted(connection.execute(policies).fetchall()) == sorted(
        [(name, "tenant") for name, _ in owned_tables(connection)]
        + [(table.name, "words") for table in WORD_TABLES]
    )
    assert len(owned_tables(connection)) > 30


def test_direct_statements_reach_no_row_of_anothers_and_none_without_a_tenant(
    database: Database, migrated_url: str, connection: psycopg.Connection
) -> None:
    mine, theirs = (str(uuid.uuid4()) for _ in range(2))
    tables = owned_tables(connection)
    connection.commit()
    with psycopg.connect(migrated_url.replace(OWNER, SUPERUSER, 1)) as filling:
        filling.execute(DROP_CHECKS)
        filling.execute("SET session_replication_role = replica")
        for table, owned in tables:
            filling.execute(insert_statement(connection, table, owned, theirs).encode())

    def attempt(tx: Tx, statement: str) -> Any:
        ran = tx.connection.exec_driver_sql(statement)
        return ran.scalar() if ran.returns_rows else ran.rowcount

    me, everybody = Principal.for_user(mine), SYSTEM
    for table, owned in tables:
        count = f"SELECT count(*) FROM {table}"  # noqa: S608
        assert database.read_sync(me, attempt, count) == 0, table
        assert database.read_sync(Principal.for_user(theirs), attempt, count) == 1, table
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {owned} = '{mine}'"):  # noqa: S608
            assert database.write_sync(me, attempt, statement) == 0, table
        foreign = insert_statement(connection, table, owned, theirs)
        with pytest.raises(exc.ProgrammingError, match="violates row-level security policy"):
            database.write_sync(me, attempt, foreign)
        assert database.read_sync(everybody, attempt, count) == 1, table
        with (
            psycopg.connect(migrated_url) as unnamed,
            pytest.raises(psycopg.errors.UndefinedObject, match=engine.SETTING),
        ):
            unnamed.execute(count.encode())
    for table in WORD_TABLES:  # of these, searches read the words of all
        assert database.write_sync(me, attempt, f"DELETE FROM {table.name}") == 0  # noqa: S608


def test_a_search_uses_the_index_of_words_in_spite_of_policies(database: Database) -> None:
    def plan(tx: Tx, table: str) -> str:
        tx.connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        found = f"SELECT 1 FROM {table} WHERE words @@ 'gold'::tsquery"  # noqa: S608
        return str(tx.connection.exec_driver_sql(f"EXPLAIN {found}").all())

    me = Principal.for_user(str(uuid.uuid4()))
    for table in WORD_TABLES:
        rows = table.name.removeprefix("words_of_")
        assert f"ix_{rows}_words" in database.read_sync(me, plan, table.name)
        # What the other names are for: should this fail, they may go.
        assert f"ix_{rows}_words" not in database.read_sync(me, plan, rows)


def test_no_principal_but_the_system_s_names_every_tenant(database: Database) -> None:
    for nobody in (Principal("", ""), Principal("*", "*")):
        with pytest.raises(ValueError, match="badly formed"):
            database.read_sync(nobody, lambda tx: tx.kind)


def test_without_the_first_lock_tools_answer_what_they_answer_with_it(
    database: Database, tmp_path: Path
) -> None:
    desk = make_desk(database, settings={"scratch.semantic_search": False})
    users = [database.write_sync(SYSTEM, add_user, f"{name}@example.org") for name in "ab"]
    mine, theirs = (Stage(desk, Principal.for_user(user.id), tmp_path) for user in users)
    for stage in (mine, theirs, theirs):
        for make in (stage.task, stage.deleted_pad, stage.schema, stage.note):
            make()
    operation = theirs.operation()

    def answers(stage: Stage) -> list[str]:
        return [call_tool(desk, stage.scope, tool, **given).text for tool, given in QUESTIONS]

    before = answers(mine), answers(theirs)
    writes = [
        ("delete_task", {"task_id": theirs.task()}),
        ("scratch_delete", {"scratch_id": theirs.pad()}),
        ("note_manage", {"action": "trash", "id": theirs.note(), "local_version": 2}),
        ("desk_undo", {"operation": operation}),
    ]
    after = answers(theirs)
    with first_lock_removed() as changed:
        assert answers(mine) == before[0]
        refused = [call_tool(desk, mine.scope, tool, **given) for tool, given in writes]
    assert len(changed) > len(QUESTIONS)
    assert answers(theirs) == after != before[1]
    assert [answer.is_error for answer in refused] == [True, False, True, True], refused


def test_a_schema_with_capitals_in_its_name_is_protected_too(
    migrated_url: str, make_database: MakeDatabase, connection: psycopg.Connection
) -> None:
    connection.execute('CREATE SCHEMA "Desk"')
    connection.commit()
    make_database(f"{migrated_url}&options=-csearch_path%3D%22Desk%22").open()
    within = "relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'Desk')"
    tables = "SELECT relrowsecurity FROM pg_class WHERE relname = 'tasks' AND "
    assert connection.execute(tables + within).fetchall() == [(True,)]


def test_a_database_that_its_operator_made_read_only_is_not_written_to(
    migrated_url: str, make_database: MakeDatabase, connection: psycopg.Connection
) -> None:
    freeze = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
    connection.execute(freeze.format(sql.Identifier(connection.info.dbname)))
    connection.commit()
    database = make_database(migrated_url)
    with pytest.raises(Unavailable):
        database.write_sync(SYSTEM, add_user, "ann@example.org")
