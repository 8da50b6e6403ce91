"""Many rows at once into a PostgreSQL table, by its own binary copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import psycopg
from sqlalchemy import Connection, exc

_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER: Final = b"\xff\xff"


def copy_rows(connection: Connection, table: str, columns: Sequence[str], rows: bytes) -> None:
    """Add rows that are written as the server's binary format has them, all or none.

    A row is the number of its columns (16 bits), then each value's length (32 bits) and bytes.
    Raises what SQLAlchemy raises for a statement that fails.
    """
    driver = cast("psycopg.Connection[Any]", connection.connection.driver_connection)
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    try:
        with driver.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for part in (_HEADER, rows, _TRAILER):
                copy.write(part)
    except psycopg.Error as error:
        raise exc.DBAPIError.instance(
            statement, None, error, psycopg.Error, hide_parameters=True
        ) from error
