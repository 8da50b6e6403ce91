"""A new branch of the schema made from one script, without Alembic, whose import costs more.

Beside the revisions of a branch lies what all of them together run on an empty store, one script
for each kind of database: `<head>.sqlite.sql` and `<head>.postgresql.sql`, written by
`make schema`. A branch without a script for the revision that is wanted is made by its newest older
one and the revisions after that. The first script of a branch that 0.1.0 had stays for that: its
revisions up to 0.1.0 are gone.
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
_ADD_VERSION: Final = text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)")  # noqa: S608  # a constant


def script_path(branch: MigrationBranch, kind: str, revision: str) -> Path:
    """Name the file of a revision's script for that kind of database."""
    return branch.folder / f"{revision}.{kind}.sql"


def scripted_revisions(branch: MigrationBranch, kind: str) -> list[str]:
    """List the revisions that have a script for that kind of database, the oldest first."""
    return sorted(file.name.partition(".")[0] for file in branch.folder.glob(f"*.{kind}.sql"))


def render_script(statements: Sequence[str]) -> str:
    """Return the statements as the text of a script."""
    return f"{HEADER}\n{_SEPARATOR.join(statements)};\n"


def create_branch(connection: Connection, branch: MigrationBranch, wanted: str) -> str | None:
    """Make a branch, of which nothing is there, by its newest script up to a revision.

    It belongs to the open transaction. Returns the revision that was made; None without a script.
    """
    kind = connection.dialect.name
    found = [one for one in scripted_revisions(branch, kind) if one <= wanted]
    if not found:
        return None
    script = script_path(branch, kind, found[-1]).read_text(encoding="utf-8")
    as_it_is = {"no_parameters": True}  # a percent sign or a colon in a script is no placeholder
    for statement in (_CREATE_VERSIONS, *script.removesuffix(";\n").split(_SEPARATOR)):
        connection.exec_driver_sql(statement, execution_options=as_it_is)
    connection.execute(_ADD_VERSION, {"revision": found[-1]})
    return found[-1]
