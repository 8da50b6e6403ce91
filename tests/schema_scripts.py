"""Write every branch's scripts from its revisions: `python -m tests.schema_scripts`.

They run on an empty store of each kind, after the script that a branch begins with, and what runs
is kept, beside them, as `<head>.<kind>.sql`. New stores are made from these without Alembic.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import NullPool, create_engine, event

from rolltop.core.db import migrator, revisions, schema_script
from rolltop.core.db.url import parse_url
from tests.postgresql import new_folder, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from rolltop.core.db.revisions import MigrationBranch

LOOKING: Final = ("SELECT", "PRAGMA", "SHOW")
EMPTY: Final = re.compile(r"[ \t]+$|\n\s*(?=\n)", re.MULTILINE)


def scripts(connection: Connection) -> Iterator[tuple[MigrationBranch, str]]:
    """Yield each branch with the script that its revisions amount to on an empty store.

    Raises ValueError where a revision sends values apart from its statement.
    """
    ran: list[str] = []

    def keep(_connection: Connection, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.lstrip().startswith(LOOKING) or revisions.VERSION_TABLE in statement:
            return
        if values:
            raise ValueError(f"write the values into the statement: {statement}")
        ran.append(EMPTY.sub("", statement.removeprefix(schema_script.HEADER).strip()))

    event.listen(connection, "before_cursor_execute", keep)
    known = revisions.branches()
    for branch in known:
        begin = _first_script(branch, connection.dialect.name)
        if begin:
            schema_script.create_branch(connection, branch, begin)
        migrator.upgrade(connection, known, branch, branch.head)
        yield branch, schema_script.render_script(ran)
        ran.clear()


def _first_script(branch: MigrationBranch, kind: str) -> str:
    """Return the revision whose script a branch begins with; "" where its revisions do."""
    first = (branch.folder / f"{min(branch.revisions)}.py").read_text(encoding="utf-8")
    return "" if "def upgrade" in first else schema_script.scripted_revisions(branch, kind)[0]


def write(url: str) -> None:
    """Write the scripts for the kind of database at the URL, which is empty."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for branch, text in scripts(connection):
            kind = connection.dialect.name
            for old in schema_script.scripted_revisions(branch, kind):
                if old != _first_script(branch, kind):
                    schema_script.script_path(branch, kind, old).unlink()
            file = schema_script.script_path(branch, kind, branch.head)
            file.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the scripts of all branches for both kinds of database."""
    write("sqlite://")
    folder = new_folder()
    try:
        with running(folder) as server:
            write(parse_url(server.url("postgres")).url)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
