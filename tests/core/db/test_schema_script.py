"""A new store is made from scripts, and is then the store that the revisions would have made."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import pytest
from sqlalchemy import NullPool, create_engine

from rolltop.core.db import SYSTEM, Tx, schema_script
from rolltop.core.db.url import parse_url
from tests.databases import KINDS
from tests.forks import PATIENCE
from tests.schema_scripts import scripts, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.db.later_program import LaterProgram
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
            file = schema_script.script_path(branch, kind, branch.head)
            assert file.exists(), f"`make schema` writes {file.name}"
            assert file.read_text(encoding="utf-8") == expected, f"`make schema` renews {file.name}"
            others = schema_script.scripted_revisions(branch, kind)[1:-1]
            assert others == [], "and removes those between the first and the last"


def test_a_revision_is_added_to_the_script_that_its_branch_begins_with(
    make_database: MakeDatabase,
    describe: Callable[[Tx], Any],
    new_url: Callable[[], str],
    later: LaterProgram,
) -> None:
    body = 'op.add_column("users", sa.Column("nickname", sa.String(40)))'
    (core, *_) = later.branches
    later.add("core", "core_9999", body, down=core.head)
    later.add("extra", "extra_0001", 'op.create_table("extra", sa.Column("id", sa.Integer))')
    migrated = make_database(new_url())
    made = migrated.read_sync(SYSTEM, describe)
    write(parse_url(new_url()).url if migrated.url_kind == "postgresql" else "sqlite://")
    directly = make_database(new_url())
    assert directly.read_sync(SYSTEM, describe) == made
    assert "nickname" in str(made)
    for branch in later.branches[:2]:
        scripted = schema_script.scripted_revisions(branch, migrated.url_kind)
        assert scripted == [*([core.head] if branch.name == "core" else []), branch.head]


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
