"""A new branch of the schema made from one script, without Alembic, whose import costs more.

Beside the revisions of a branch lies what all of them together run on an empty store, one script
for each kind of database: `<head>.sqlite.sql` and `<head>.postgresql.sql`, written by
`make schema`. The revisions stay the only place where the schema is decided: a branch whose head
has no script yet is made by its revisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from rolltop.core.db.revisions import VERSION_TABLE, MigrationBranch

HEADER: Final = "-- Written by `make schema` from the revisions beside this file."
_SEPARATOR: Final = ";\n\n"  # a statement of several lines holds no empty one
_CREATE_VERSIONS: Final = (  # as Alembic makes it
    f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
    f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
)
_ADD_VERSION: Final = text(f"INSERT INTO {VERSION_TABLE} VALUES (:head)")  # noqa: S608  # a constant


def script_path(branch: MigrationBranch, kind: str) -> Path:
    """Return where the branch's script for that kind of database lies, if there is one."""
    return branch.folder / f"{branch.head}.{kind}.sql"


def render_script(statements: Sequence[str]) -> str:
    """Return the statements as the text of a script."""
    return f"{HEADER}\n{_SEPARATOR.join(statements)};\n"


def script_statements(branch: MigrationBranch, kind: str) -> list[str] | None:
    """Return the statements that make the branch on an empty store; None without a script."""
    file = script_path(branch, kind)
    if not file.exists():
        return None
    return file.read_text(encoding="utf-8").removesuffix(";\n").split(_SEPARATOR)


def create_branch(connection: Connection, branch: MigrationBranch) -> bool:
    """Make the branch, of which nothing is there yet, in the open transaction; whether it could."""
    found = script_statements(branch, connection.dialect.name)
    if found is None:
        return False
    as_it_is = {"no_parameters": True}  # a percent sign or a colon in a script is no placeholder
    for statement in (_CREATE_VERSIONS, *found):
        connection.exec_driver_sql(statement, execution_options=as_it_is)
    connection.execute(_ADD_VERSION, {"head": branch.head})
    return True
