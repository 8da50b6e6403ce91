"""A store of every released schema opens with today's program and still holds what it held."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import inspect
from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import list_tokens, list_users
from rolltop.core.db import SYSTEM, Tx
from rolltop.core.db.revisions import VERSION_TABLE
from tests.compat.content import answers, missing
from tests.compat.dump import STORES

if TYPE_CHECKING:
    from tests.databases import MakeDatabase

RELEASED = sorted(STORES.glob("*/*.sql"))


def schema(tx: Tx) -> dict[str, Any]:
    """Return what the database itself says about its tables, in no order."""
    catalogue = inspect(tx.connection)
    indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index'"  # expressions too
    if tx.kind == "postgresql":
        indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    return {"indexes": set(map(tuple, tx.connection.exec_driver_sql(indexes)))} | {
        name: (
            {column["name"]: str(column["type"]) for column in catalogue.get_columns(name)},
            {str(index["name"]): index["column_names"] for index in catalogue.get_indexes(name)},
            {str(key["name"]): key.get("options") for key in catalogue.get_foreign_keys(name)},
        )
        for name in catalogue.get_table_names()
    }


def load(dump: Path, url: str) -> None:
    source = dump.read_text(encoding="utf-8")
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        file.parent.mkdir()
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(source)
    else:
        with psycopg.connect(url) as connection:
            connection.execute(source.encode())


def new_url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if kind == "sqlite":
        number = len(list(tmp_path.iterdir()))
        return f"sqlite:///{tmp_path / str(number) / 'desk.db'}"
    return request.getfixturevalue("postgres_url")()


def test_there_is_a_store_of_each_kind_to_open() -> None:
    assert {dump.stem for dump in RELEASED} == {"sqlite", "postgresql"}


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
@pytest.mark.parametrize("dump", RELEASED, ids=lambda dump: f"{dump.parent.name}-{dump.stem}")
def test_a_released_store_is_migrated_and_keeps_what_it_held(
    dump: Path, tmp_path: Path, make_database: MakeDatabase, request: pytest.FixtureRequest
) -> None:
    url = new_url(dump.stem, tmp_path, request)
    load(dump, url)
    database = make_database(url)
    said = json.loads(dump.with_suffix(".json").read_text(encoding="utf-8"))
    assert missing(said, answers(database, said)) == []
    (user,) = database.read_sync(SYSTEM, list_users)
    (token,) = database.read_sync(SYSTEM, list_tokens, user.id)
    assert (user.email, token.name, token.read_only) == ("default@localhost", "laptop", True)
    new = make_database(new_url(dump.stem, tmp_path, request))
    assert database.read_sync(SYSTEM, schema) == new.read_sync(SYSTEM, schema), (
        f"{VERSION_TABLE} says the schema is today's, but it is not: "
        "a revision was changed after its release"
    )
