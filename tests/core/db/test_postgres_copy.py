"""Backups of a PostgreSQL store where PostgreSQL's own programs are not there."""

from __future__ import annotations

import gzip
import hashlib
import json
import signal
from typing import TYPE_CHECKING, Any, Final

import psycopg
import pytest
from psycopg import sql

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, postgres_copy, revisions
from rolltop.core.db.restore import restore_backup
from rolltop.core.errors import IncompatibleStore, InvalidArgument, Unavailable
from rolltop.core.principal import Principal
from tests.compat.content import fill
from tests.compat.dump import STORES
from tests.compat.test_released_stores import load
from tests.core.db.later_program import LaterProgram
from tests.databases import connect_as_system
from tests.desks import answer_of, make_desk
from tests.forks import Forked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.db import Database
    from tests.databases import MakeDatabase
    from tests.postgresql import PostgreSQLServer

# What the tools of `fill` put nowhere, with values that text would not bring back as they are.
ROWS: Final = r"""
INSERT INTO workspace_members SELECT id, id, 'owner' FROM users;
INSERT INTO identities SELECT 'https://issuer', id::text, id FROM users;
INSERT INTO page_sessions SELECT id::text, user_id, id, false, now() FROM access_tokens;
INSERT INTO search_vectors (part_id, user_id, embedding, vector)
    SELECT id, user_id, 'm', '\x00ff0a5c2e' FROM search_parts;
INSERT INTO search_wholes (user_id, is_long, words)
    SELECT id, true, to_tsvector('simple', 'walrus on ice') FROM users;
INSERT INTO search_whole_parts SELECT id, 1, user_id, words FROM search_wholes;
INSERT INTO journal_contents SELECT id, 'sha', '0001-01-01 00:00:00Z', 3, '\x00' FROM users;
INSERT INTO journal_undone SELECT id, id, id FROM users;
INSERT INTO idempotency_keys SELECT id, 'add_task', 'k', 'a', now(), '\x' FROM users;
INSERT INTO audit_events (at, actor, action, subject)
    VALUES (now(), '', 'backup', E'tab\tline\n\\.\n\\N 😀');
INSERT INTO audit_events (at, actor, action, subject) VALUES (now(), 'gone', 'backup', '');
DELETE FROM audit_events WHERE actor = 'gone';
INSERT INTO job_leases SELECT id, 'sync', 7, 'walrus', 1e10 FROM users;
INSERT INTO reader_outlines VALUES ('c', 1, '{}', now());
INSERT INTO desk_links SELECT id, id, 'about', 's', 's', 't', 't', now() FROM users;
INSERT INTO note_accounts SELECT id, 'a', true, NULL, '', 'ok', 0, 'NaN', 1e-300, '{}' FROM users;
INSERT INTO notes SELECT 100 + row_number() OVER (), id, 'a', 'n', false, 0.1, 1e300, 1, NULL,
    'local', 's', 'Title', '[]', '[]', '{}' FROM users;
INSERT INTO note_texts SELECT number, user_id, repeat('ż', 600000), NULL FROM notes
    WHERE account = 'a';
INSERT INTO note_tags SELECT number, 'größe', user_id FROM notes WHERE account = 'a';
INSERT INTO note_versions SELECT user_id, account, id, 1, NULL, 1, 1, false, 's', 1, NULL, '[]',
    '[]', '{}', '' FROM notes WHERE account = 'a';
INSERT INTO task_blockers SELECT user_id, id, id FROM tasks;
INSERT INTO task_comments SELECT user_id, id, 1, now(), 'walrus', '' FROM tasks;
UPDATE tasks SET parent_id = (SELECT max(id::text)::uuid FROM tasks);
INSERT INTO scratch_accesses SELECT user_id, scratch_id, now() FROM scratch_pads;
"""
TABLES: Final = """
SELECT relname FROM pg_class WHERE relkind = 'r' AND relpersistence = 'p' AND NOT relhassubclass
AND relnamespace = 'public'::regnamespace
"""
# Restores a backup or makes one, killed before one of its steps.
DIE: Final = """
import os, pathlib, signal, sys
from rolltop.core.db import Database, postgres_copy, restore
url, file, command, step = sys.argv[1:]
owner, name = postgres_copy, step
for part in step.split(".")[:-1]:
    owner, name = getattr(owner, part), step.rpartition(".")[2]
setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
os.environ["PATH"] = "/nowhere"
if command == "backup":
    Database(url).backup(pathlib.Path(file))
else:
    restore.restore_backup(url, pathlib.Path(file), None)
"""


@pytest.fixture(autouse=True)
def programs_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))


@pytest.fixture
def database(migrated_url: str, make_database: MakeDatabase) -> Database:
    """A store with something in each of its tables."""
    made = make_database(migrated_url)
    fill(made)
    made.write_sync(SYSTEM, accounts.add_user, "ann@example.org")
    with connect_as_system(migrated_url) as connection:
        connection.execute(ROWS.encode())
        for (name,) in connection.execute(TABLES).fetchall():
            filled = sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(name))
            assert connection.execute(filled).fetchall() == [()], f"nothing is in {name}"
    return made


@pytest.fixture
def archive(database: Database, tmp_path: Path) -> Path:
    """A backup of it."""
    database.backup(tmp_path / "desk.backup")
    return tmp_path / "desk.backup"


@pytest.fixture
def dump(postgresql_server: PostgreSQLServer) -> Callable[[str], list[str]]:
    """Return what gives a whole database as SQL, without what is pending."""

    def lines(url: str) -> list[str]:
        dumped = postgresql_server.dump(url.partition("@/")[2].partition("?")[0])
        return [line for line in dumped.splitlines() if "journal_pending" not in line]

    return lines


def held(url: str) -> list[Any]:
    """Return what there is in a database that should be empty."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        )
        return found.fetchall()


def rows(url: str) -> dict[str, list[Any]]:
    """Return what is in each table, whatever the order of its columns."""
    with connect_as_system(url) as connection:
        kept = {name for (name,) in connection.execute(TABLES).fetchall()}
        reading = sql.SQL("SELECT to_jsonb(kept)::text FROM {} AS kept ORDER BY 1")
        return {
            name: connection.execute(reading.format(sql.Identifier(name))).fetchall()
            for name in kept
        }


def forge(archive: Path, change: Callable[[dict[str, Any], bytes], tuple[Any, bytes]]) -> None:
    """Give a backup another header and other rows, as somebody would who knows how."""
    start = archive.read_bytes().index(b"\n") + 33
    line, _, body = gzip.decompress(archive.read_bytes()[start:]).partition(b"\n")
    header, body = change(json.loads(line), body)
    packed = gzip.compress(
        (header if isinstance(header, bytes) else json.dumps(header).encode()) + b"\n" + body
    )
    magic = archive.read_bytes()[: start - 32]
    archive.write_bytes(magic + hashlib.sha256(packed).digest() + packed)


def add_task(database: Database, title: str) -> int:
    """Add a task of the default user's; return the journal's number for it."""
    user = database.read_sync(SYSTEM, accounts.list_users)[0]
    scope = Principal.for_user(user.id)
    answer_of(make_desk(database), scope, "add_task", title=title)
    with connect_as_system(str(vars(database)["_address"].url).replace("+psycopg", "")) as found:
        (number,) = found.execute(
            "SELECT max(sequence) FROM journal WHERE user_id = %s", (user.id,)
        ).fetchone() or (0,)
    return int(number)


def test_a_store_comes_back_as_it_was_and_goes_on(
    database: Database,
    archive: Path,
    migrated_url: str,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    dump: Callable[[str], list[str]],
    tmp_path: Path,
) -> None:
    assert archive.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [archive]
    url = postgres_url()
    assert restore_backup(url, archive, None) is None
    assert dump(url) == dump(migrated_url)
    with pytest.raises(InvalidArgument, match="holds a store already"):
        restore_backup(url, archive, None)
    restored = make_database(url)
    assert add_task(restored, "later") == add_task(database, "later")
    with connect_as_system(url) as connection:
        assert connection.execute("SELECT count(*) FROM journal_pending").fetchall() == [(0,)]


def test_a_backup_is_one_moment_while_others_write(
    database: Database,
    migrated_url: str,
    postgres_url: Callable[[], str],
    dump: Callable[[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    before = dump(migrated_url)
    write: Callable[..., None] = vars(postgres_copy)["write_rows"]
    written: list[int] = []

    def write_beside(*arguments: Any) -> None:
        written.append(add_task(database, "meanwhile"))
        write(*arguments)

    monkeypatch.setattr(postgres_copy, "write_rows", write_beside)
    database.backup(tmp_path / "desk.backup")
    assert len(set(written)) > 20
    url = postgres_url()
    restore_backup(url, tmp_path / "desk.backup", None)
    assert dump(url) == before


def test_a_backup_of_a_store_that_another_program_migrated_is_not_made(
    database: Database, migrated_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(migrated_url) as connection:
        connection.execute(
            "UPDATE rolltop_versions SET version_num = 'tasks_9999' WHERE version_num LIKE 'tasks%'"
        )
    with pytest.raises(IncompatibleStore, match="migrated"):
        database.backup(tmp_path / "desk.backup")
    assert list(tmp_path.iterdir()) == []


def test_what_was_cut_off_or_altered_is_refused_before_anything_is_made(
    archive: Path, postgres_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = archive.read_bytes()
    url = postgres_url()
    monkeypatch.delattr(postgres_copy, "create_migration_engine")
    for at in (28, 40, 59, 60, 61, 200, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for bad in (whole[:at], flipped):
            archive.write_bytes(bad)
            with pytest.raises(IncompatibleStore, match="is damaged"):
                restore_backup(url, archive, None)
    archive.write_bytes(whole + b"\0")
    with pytest.raises(IncompatibleStore, match="is damaged"):
        restore_backup(url, archive, None)
    assert held(url) == []


def renamed(header: dict[str, Any], old: str, new: str) -> Any:
    return json.loads(json.dumps(header).replace(f'"{old}"', f'"{new}"'))


FORGERIES: Final[dict[str, Callable[[dict[str, Any], bytes], tuple[Any, bytes]]]] = {
    "another table": lambda h, b: (renamed(h, "users", "pg_authid"), b),
    "a name that is code": lambda h, b: (renamed(h, "users", "users; DROP TABLE tasks --"), b),
    "another column": lambda h, b: (renamed(h, "password_hash", "hash"), b),
    "a table twice": lambda h, b: ({**h, "tables": [*h["tables"], h["tables"][0]]}, b),
    "a table less": lambda h, b: ({**h, "tables": h["tables"][:-1]}, b),
    "no revisions": lambda h, b: ({**h, "revisions": []}, b),
    "a branch less": lambda h, b: ({**h, "revisions": h["revisions"][1:]}, b),
    "a counter that is no number": lambda h, b: (
        {**h, "tables": [[n, c, dict.fromkeys(s, "x'")] for n, c, s in h["tables"]]},
        b,
    ),
    "a counter that is huge": lambda h, b: (
        {**h, "tables": [[n, c, dict.fromkeys(s, 10**40)] for n, c, s in h["tables"]]},
        b,
    ),
    "another's counter": lambda h, b: (
        {**h, "tables": [[n, c, {**s, c[0]: 7}] for n, c, s in h["tables"]]},
        b,
    ),
    "no tables": lambda h, b: ({"revisions": h["revisions"]}, b),
    "a list": lambda _, b: ([], b),
    "a deep list": lambda _, b: (b"[" * 900_000, b),
    "no JSON": lambda _, b: (b"\xff", b),
    "a header without end": lambda _, b: (b" " * (2 << 20), b),
    "rows of another table": lambda h, b: ({**h, "tables": h["tables"][::-1]}, b),
    "a block without end": lambda h, b: (h, b"\xff\xff\xff\xff" + b[4:]),
    "rows that end early": lambda h, b: (h, b[:-40]),
    "more than its rows": lambda h, b: (h, b + b"\0\0\0\0"),
    "rows that are none": lambda h, b: (h, b[:4] + b"\0" * 10 + b[14:]),
}


def test_a_forged_backup_leaves_nothing(archive: Path, postgres_url: Callable[[], str]) -> None:
    url = postgres_url()
    whole = archive.read_bytes()
    for forgery, change in FORGERIES.items():
        archive.write_bytes(whole)
        forge(archive, change)
        with pytest.raises((IncompatibleStore, Unavailable)) as raised:
            restore_backup(url, archive, None)
        assert "Nothing was changed" in raised.value.hint, forgery
        assert held(url) == [], forgery


def test_a_newer_backup_is_refused(archive: Path, postgres_url: Callable[[], str]) -> None:
    url = postgres_url()
    forge(archive, lambda header, body: (renamed(header, "desk_0001", "desk_9999"), body))
    with pytest.raises(IncompatibleStore, match="newer Rolltop") as raised:
        restore_backup(url, archive, None)
    assert str(archive) in raised.value.message
    assert held(url) == []


def test_an_older_backup_is_migrated_when_it_is_opened(
    archive: Path,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    program = LaterProgram(tmp_path / "later")
    heads = {branch.name: branch.head for branch in program.branches}
    program.add(
        "tasks",
        "tasks_9999",
        "op.add_column('tasks', sa.Column('later', sa.Text()))\n"
        "    op.execute('UPDATE tasks SET later = title')",
        heads["tasks"],
    )
    program.add("extra", "extra_0001", "op.create_table('extra', sa.Column('user_id', sa.Uuid()))")
    monkeypatch.setattr(revisions, "branches", lambda: program.branches)
    url = postgres_url()
    restore_backup(url, archive, None)
    make_database(url)
    with connect_as_system(url) as connection:
        rows = connection.execute("SELECT count(*) FROM tasks WHERE later = title").fetchall()
        assert rows == connection.execute("SELECT count(*) FROM tasks").fetchall() == [(4,)]
        assert connection.execute("SELECT * FROM extra").fetchall() == []


@pytest.mark.parametrize(
    "stored", sorted(STORES.glob("*/postgresql.sql")), ids=lambda file: file.parent.name
)
def test_a_store_that_was_migrated_comes_back(
    stored: Path,
    postgres_url: Callable[[], str],
    make_database: MakeDatabase,
    dump: Callable[[str], list[str]],
    tmp_path: Path,
) -> None:
    first, second = postgres_url(), postgres_url()
    load(stored, first)
    make_database(first).backup(tmp_path / "desk.backup")
    restore_backup(second, tmp_path / "desk.backup", None)
    before, after = (
        [line for line in dump(url) if line.startswith("SELECT pg_catalog.setval")]
        for url in (first, second)
    )
    assert before == after
    assert rows(second) == rows(first)


def test_a_backup_that_was_killed_stands_in_no_ones_way(
    database: Database, migrated_url: str, tmp_path: Path
) -> None:
    target = tmp_path / "desk.backup"
    for step in ("write_rows", "_digest", "Path.replace"):
        with Forked(["-c", DIE, migrated_url, str(target), "backup", step]) as killed:
            assert killed.wait() == -signal.SIGKILL
        assert [file.suffix for file in tmp_path.iterdir()] == [".partial"]
    database.backup(target)
    assert list(tmp_path.iterdir()) == [target]


def test_a_restore_that_was_killed_leaves_nothing(
    archive: Path,
    migrated_url: str,
    postgres_url: Callable[[], str],
    dump: Callable[[str], list[str]],
) -> None:
    url = postgres_url()
    for step in ("_load_rows", "row_security.protect_tables"):
        with Forked(["-c", DIE, url, str(archive), "restore", step]) as killed:
            assert killed.wait() == -signal.SIGKILL
        assert held(url) == []
    restore_backup(url, archive, None)
    assert dump(url) == dump(migrated_url)


def test_only_pg_restore_reads_what_pg_dump_wrote(
    postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    (tmp_path / "desk.dump").write_bytes(b"PGDMP and so on")
    url = postgres_url()
    with pytest.raises(Unavailable, match="nothing else reads what pg_dump wrote") as raised:
        restore_backup(url, tmp_path / "desk.dump", None)
    assert "client programs" in raised.value.hint
    assert held(url) == []


def test_tables_of_another_program_stay_and_are_not_copied(
    database: Database, migrated_url: str, postgres_url: Callable[[], str], tmp_path: Path
) -> None:
    url = postgres_url()
    for place in (migrated_url, url):
        with psycopg.connect(place) as connection:
            connection.execute("CREATE TABLE walrus (id integer)")
            connection.execute("INSERT INTO walrus VALUES (1)")
    database.backup(tmp_path / "desk.backup")
    restore_backup(url, tmp_path / "desk.backup", None)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT * FROM walrus").fetchall() == [(1,)]
