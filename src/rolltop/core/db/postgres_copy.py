"""A PostgreSQL store as one file, and back, where PostgreSQL's own programs are not at hand.

The file: what it is, the SHA-256 of all that follows, and, packed by gzip, a line of JSON (the
schema's revisions; each table's name, columns and the numbers last given by its sequences), then
each table's rows as COPY writes them: blocks behind their lengths, of which 0 ends a table.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple, cast
from zlib import error as ZlibError  # noqa: N812  # it is a class

import psycopg
from psycopg import sql
from sqlalchemy import Connection, exc

from rolltop.core.db import bootstrap, revisions, row_security, schema_script
from rolltop.core.db.backup import POSTGRES_MAGIC, unfinished_file
from rolltop.core.db.driver import Driver
from rolltop.core.db.driver_errors import first_line
from rolltop.core.db.engine import EngineLimits, begin_as, create_migration_engine
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import IncompatibleStore, Unavailable

if TYPE_CHECKING:
    from io import BufferedIOBase

_START: Final = len(POSTGRES_MAGIC) + hashlib.sha256().digest_size
_MAX_HEADER: Final = 1 << 20
_MAX_BLOCK: Final = 1 << 20
_SIZE_BYTES: Final = 4
_LEVEL: Final = 6  # as pg_dump packs
_LIMITS: Final = EngineLimits(statement_timeout=0, lock_timeout=10, connections=1)
_CREATED: Final = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)  # and no UNLOGGED one
_UNBOUND: Final = (
    "SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN ('statement_timeout',"
    " 'transaction_timeout', 'idle_in_transaction_session_timeout')"
)
# Those that others inherit have no rows of their own: they are names for the others'.
_TABLES: Final = f"""
SELECT rows.relname, array_agg(kept.attname::text ORDER BY kept.attnum), coalesce(json_object_agg(
    kept.attname, pg_sequence_last_value(counter)) FILTER (WHERE counter IS NOT NULL), '{{}}')
FROM pg_class AS rows
JOIN pg_attribute AS kept ON kept.attrelid = rows.oid AND kept.attnum > 0
    AND NOT kept.attisdropped AND kept.attgenerated = ''
CROSS JOIN LATERAL CAST(
    pg_get_serial_sequence(rows.oid::regclass::text, kept.attname) AS regclass) AS counter
WHERE rows.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND rows.relkind = 'r' AND rows.relpersistence = 'p' AND NOT rows.relhassubclass
    AND rows.relname <> '{revisions.VERSION_TABLE}'
GROUP BY rows.oid, rows.relname
"""  # noqa: S608  # constants


class _Table(NamedTuple):
    name: str
    columns: Sequence[str]
    counters: Mapping[str, int | None]


def is_archive(source: Path) -> bool:
    """Whether the file begins as what `write_archive` writes. Raises OSError."""
    with source.open("rb") as file:
        return file.read(len(POSTGRES_MAGIC)) == POSTGRES_MAGIC


def write_archive(connection: Connection, target: Path) -> None:
    """Write the store to `target` (0600), whole or not at all.

    The connection's transaction is new, REPEATABLE READ and sees all rows. Raises
    IncompatibleStore where another program has migrated the store, Unavailable, and OSError.
    """
    known = revisions.branches()
    scripts = (schema_script.script_path(one, "postgresql", one.head) for one in known)
    # As they were made: whatever refers to a table comes after it.
    names = [name for file in scripts for name in _CREATED.findall(file.read_text("utf-8"))]
    # Before the snapshot is taken, which is no shelter from another program that alters a table.
    connection.exec_driver_sql(f"LOCK TABLE {', '.join(names)} IN ACCESS SHARE MODE")
    connection.exec_driver_sql(_UNBOUND)
    stored = bootstrap.stored_versions(connection)
    if stored != revisions.heads(known):
        raise IncompatibleStore(
            "Another Rolltop has migrated the store.", hint="Make the backup with that one."
        )
    there = _tables(connection)
    tables = [there[name] for name in names if name in there]
    header = json.dumps({"revisions": sorted(stored), "tables": tables})
    with unfinished_file(target) as partial:
        with partial.open("wb") as file:
            file.write(bytes(_START))
            with _mapped_errors(target), GzipFile(None, "wb", _LEVEL, file) as packed:
                packed.write(f"{header}\n".encode())
                for table in tables:
                    write_rows(connection, table, packed)
        digest = _digest(partial)
        with partial.open("r+b") as file:
            file.write(POSTGRES_MAGIC + digest)


def load_archive(address: DatabaseUrl, source: Path) -> None:
    """Make the empty database at the address the store that `source` holds: all or nothing.

    Raises IncompatibleStore where the file is damaged or of a newer program, or the database holds
    tables of another one; Unavailable where PostgreSQL fails; OSError where the file does.
    """
    with _mapped_errors(source), source.open("rb") as file:
        if file.read(_START) != POSTGRES_MAGIC + _digest(source):
            raise BadGzipFile
        packed = GzipFile(fileobj=file, mode="rb")
        wanted, tables = _read_header(packed)
        with create_migration_engine(address, _LIMITS, Driver(None)).begin() as connection:
            begin_as(connection, None)
            connection.exec_driver_sql(_UNBOUND)
            before = _tables(connection)
            bootstrap.make_postgresql(address, connection, replace(address, path=source), wanted)
            made = [table for name, table in _tables(connection).items() if name not in before]
            if _shape(made) != _shape(tables):
                raise BadGzipFile
            for table in tables:
                _load_rows(connection, table, packed)
            if packed.read(1):
                raise BadGzipFile
            row_security.protect_tables(connection)


@contextmanager
def _mapped_errors(file: Path) -> Generator[None]:
    try:
        yield
    except (psycopg.Error, exc.DBAPIError) as error:
        said = first_line(getattr(error, "orig", error))
        raise Unavailable(f"PostgreSQL failed: {said}", hint="Nothing was changed.") from error
    except (BadGzipFile, EOFError, ZlibError) as error:
        raise IncompatibleStore(
            f"{file} is damaged: it is not what `rolltop backup` wrote.",
            hint="Nothing was changed. Restore another backup.",
        ) from error


def _digest(file: Path) -> bytes:
    with file.open("rb", buffering=0) as raw:
        raw.seek(_START)
        return hashlib.file_digest(raw, "sha256").digest()


def _tables(connection: Connection) -> dict[str, _Table]:
    return {row[0]: _Table(*row) for row in connection.exec_driver_sql(_TABLES)}


def _shape(tables: Sequence[_Table]) -> list[tuple[str, list[str], list[str]]]:
    """Sort tables' names and columns, whose order in a store tells when they were added."""
    return sorted((name, sorted(columns), sorted(numbers)) for name, columns, numbers in tables)


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _statement(text: LiteralString, table: _Table) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    return sql.SQL(text).format(table=sql.Identifier(table.name), columns=columns)


def write_rows(connection: Connection, table: _Table, packed: BufferedIOBase) -> None:
    """Write the rows of a table as the database's binary COPY gives them."""
    copying = _statement(
        "COPY {table} ({columns}) TO STDOUT (FORMAT binary, ENCODING 'UTF8')", table
    )
    held = bytearray()
    with _driver(connection).cursor() as cursor, cursor.copy(copying) as copy:
        for row in copy:
            held += row
            while len(held) > _MAX_BLOCK:
                packed.write(_MAX_BLOCK.to_bytes(_SIZE_BYTES) + held[:_MAX_BLOCK])
                del held[:_MAX_BLOCK]
    packed.write(len(held).to_bytes(_SIZE_BYTES) + held + bytes(_SIZE_BYTES))


def _load_rows(connection: Connection, table: _Table, packed: BufferedIOBase) -> None:
    """Read a table's rows; the journal's triggers, which are the owner's, stay silent."""
    copying = _statement(
        "COPY {table} ({columns}) FROM STDIN (FORMAT binary, ENCODING 'UTF8')", table
    )
    with _driver(connection).cursor() as cursor:
        cursor.execute(_statement("ALTER TABLE {table} DISABLE TRIGGER USER", table))
        with cursor.copy(copying) as copy:
            while size := int.from_bytes(_read(packed, _SIZE_BYTES)):
                copy.write(_read(packed, size))
        cursor.execute(_statement("ALTER TABLE {table} ENABLE TRIGGER USER", table))
        for column, number in table.counters.items():
            setting = "SELECT setval(pg_get_serial_sequence(%s, %s), %s)"
            cursor.execute(setting, (table.name, column, number))


def _read(packed: BufferedIOBase, size: int) -> bytes:
    found = packed.read(size) if size <= _MAX_BLOCK else b""
    if len(found) != size:
        raise EOFError
    return found


def _read_header(packed: GzipFile) -> tuple[frozenset[str], list[_Table]]:
    """Return the revisions and the tables that a file names: nothing of it is known to be true."""
    try:
        header = json.loads(packed.readline(_MAX_HEADER))
        tables = [
            _Table(
                str(name),
                [*map(str, columns)],
                {str(of): number for of, number in counters.items()},
            )
            for name, columns, counters in header["tables"]
        ]
        wanted = frozenset[str](map(str, header["revisions"]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise BadGzipFile from error
    if not wanted:
        raise BadGzipFile
    return wanted, tables
