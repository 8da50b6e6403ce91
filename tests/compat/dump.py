"""Keep the present schema as a released one: `python -m tests.compat.dump [NAME]`.

Run it once for each release that has a new revision, before the release. It fills a store of each
kind through the tools and writes it, as SQL, with what the tools say about it, to
`tests/compat/stores/<version>/`, or to another NAME there, for a schema between two releases.
From then on `test_released_stores.py` opens it with whatever the program has become. A dump that
was released is never made anew.
"""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlcipher3 import dbapi2 as sqlite3

import rolltop
from rolltop.core.db import Database
from tests.compat.content import answers, fill
from tests.postgresql import new_folder, running

STORES: Final = Path(__file__).with_name("stores")
# What full-text tables hold lies in tables of their own, which are dumped.
FULL_TEXT: Final = ("search_words", "search_terms", "search_whole_words")
VIRTUAL: Final = tuple(f'INSERT INTO "{name}" VALUES' for name in FULL_TEXT)


def dump_sqlite(folder: Path) -> tuple[str, object]:
    """Return a filled SQLite store as SQL, and its answers."""
    database = Database(f"sqlite:///{folder / 'desk.db'}")
    fill(database)
    said = answers(database)
    database.close()
    with closing(sqlite3.connect(folder / "desk.db")) as connection:
        lines = (line for line in connection.iterdump() if not line.startswith(VIRTUAL))
        return "".join(f"{line}\n" for line in lines), said


def dump_postgresql(folder: Path) -> tuple[str, object]:
    """Return a filled PostgreSQL store as SQL, and its answers."""
    with running(folder) as server:
        database = Database(server.url("postgres"))
        fill(database)
        said = answers(database)
        database.close()
        return server.dump("postgres"), said


def main() -> None:
    """Write both dumps of the present version."""
    folder = new_folder()
    place = STORES / (sys.argv[1] if len(sys.argv) > 1 else rolltop.__version__)
    place.mkdir(parents=True, exist_ok=True)
    try:
        for kind, dump in (("sqlite", dump_sqlite), ("postgresql", dump_postgresql)):
            store, said = dump(folder)
            (place / f"{kind}.sql").write_text(store, encoding="utf-8")
            text = json.dumps(said, ensure_ascii=False, indent=1)
            (place / f"{kind}.json").write_text(f"{text}\n", encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
