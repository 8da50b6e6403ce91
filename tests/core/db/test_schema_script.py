"""A new store is made from scripts, and is then the store that the revisions would have made."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import pytest
from sqlalchemy import NullPool, create_engine

from rolltop.core.accounts import add_user, list_users
from rolltop.core.db import (
    SYSTEM,
    Tx,
    migrator,
    revisions,
    schema_script,
)
from rolltop.core.db.url import parse_url
from tests.databases import KINDS
from tests.forks import PATIENCE
from tests.schema_scripts import scripts, without_script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer

SPACE: Final = re.compile(r"(?<=\W)\s+|\s+(?=\W)")
OPEN: Final = """
import sys
from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM, Database
database = Database(sys.argv[1])
print(database.write_sync(SYSTEM, ensure_default_user).email, "alembic" in sys.modules)
database.close()
"""


@pytest.fixture(params=KINDS)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a factory of URLs of stores that nobody has opened, for each kind of database."""
    if request.param == "postgresql":
        make: Callable[[], str] = request.getfixturevalue("postgres_url")
        return make
    numbers = count()
    return lambda: f"sqlite:///{tmp_path / str(next(numbers)) / 'desk.db'}"


@pytest.fixture
def describe(request: pytest.FixtureRequest) -> Callable[[Tx], Any]:
    """Return what tells two schemas apart: every object there is, word for word."""

    def of(tx: Tx) -> Any:
        if tx.kind == "sqlite":
            found = tx.connection.exec_driver_sql(
                "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
            )
            return [tuple(SPACE.sub("", str(part)) for part in row) for row in found]
        server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
        lines = server.dump(str(tx.connection.engine.url.database)).splitlines()
        rows = {line for line in lines if line.startswith("INSERT")}
        return [line for line in lines if line not in rows], rows

    return of


def test_a_script_is_what_the_revisions_run(new_url: Callable[[], str]) -> None:
    address = parse_url(new_url())
    kind = address.kind
    url = "sqlite://" if kind == "sqlite" else address.url
    with create_engine(url, poolclass=NullPool).begin() as connection:
        for branch, expected in scripts(connection):
            file = schema_script.script_path(branch, kind)
            assert file.exists(), f"`make schema` writes {file.name}"
            assert file.read_text(encoding="utf-8") == expected, f"`make schema` renews {file.name}"
            assert len(list(branch.folder.glob(f"*.{kind}.sql"))) == 1, "and removes the old ones"


def test_the_schema_made_directly_is_the_one_the_revisions_make(
    make_database: MakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    describe: Callable[[Tx], Any],
    new_url: Callable[[], str],
) -> None:
    directly = make_database(new_url())
    monkeypatch.setattr(schema_script, "script_statements", without_script)
    migrated = make_database(new_url())
    made = directly.read_sync(SYSTEM, describe)
    assert made == migrated.read_sync(SYSTEM, describe)
    assert "ix_search_texts_words" in str(made) or "search_words" in str(made)


def test_a_new_store_is_opened_without_alembic(new_url: Callable[[], str]) -> None:
    # An interpreter of its own: what the tests have imported is not there.
    ran = subprocess.run(
        [sys.executable, "-c", OPEN, new_url()],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.stdout.split() == ["default@localhost", "False"], ran.stderr


def test_a_branch_without_a_script_is_made_by_its_revisions(
    new_url: Callable[[], str], make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = schema_script.script_statements

    def all_but_one(branch: revisions.MigrationBranch, kind: str) -> list[str] | None:
        return None if branch.name == "scratch" else statements(branch, kind)

    monkeypatch.setattr(schema_script, "script_statements", all_but_one)
    upgraded: list[str] = []
    upgrade = migrator.upgrade

    def noting(
        connection: Any, known: Any, branch: revisions.MigrationBranch, revision: str
    ) -> None:
        upgraded.append(branch.name)
        upgrade(connection, known, branch, revision)

    monkeypatch.setattr(migrator, "upgrade", noting)
    database = make_database(new_url())
    user = database.write_sync(SYSTEM, add_user, "ada@x")
    assert database.read_sync(SYSTEM, list_users) == [user]
    assert upgraded == ["scratch"]
