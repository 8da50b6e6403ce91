"""A PostgreSQL store as one file, and back, by PostgreSQL's own programs where they are there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import Connection, make_url

from rolltop.core.db import postgres_copy
from rolltop.core.db.backup import require_format, unfinished_file
from rolltop.core.db.bootstrap import store_there_error
from rolltop.core.db.engine import EVERY_TENANT, SETTING
from rolltop.core.db.revisions import VERSION_TABLE
from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import InvalidArgument, NotFound, Unavailable

_MAX_SHOWN: Final = 500
_CONNECT_TIMEOUT: Final = 10  # seconds
_VERSION: Final = re.compile(r"\d+")


def dump_store(
    address: DatabaseUrl, target: Path, read: Callable[[Callable[[Connection], None]], None]
) -> None:
    """Write what one snapshot of the store holds to `target` (0600), whole or not at all.

    By pg_dump or, where that is not there or older than the server, in a transaction that `read`
    begins. Raises Unavailable where it fails, OSError where the file does.
    """
    options = ("--format=custom", "--no-owner", "--no-privileges", "--enable-row-security")
    if which("pg_dump") is not None:
        try:
            with unfinished_file(target) as partial:
                _run(address, "pg_dump", *options, "-f", partial)
        except Unavailable:
            if not _has_old_programs(address):
                raise
        else:
            return
    read(lambda connection: postgres_copy.write_archive(connection, target))


def load_dump(address: DatabaseUrl, source: Path) -> None:
    """Make the empty database at the address what `source` holds: all of it or nothing.

    Raises:
        InvalidArgument: the database holds a store, or the file none of PostgreSQL's.
        IncompatibleStore: the file, if pg_dump did not make it, is damaged or newer.
        NotFound: there is no such file.
        Unavailable: pg_restore is needed and not there, or fails, or the server is out of reach.

    """
    try:
        if not source.is_file():
            raise NotFound(f"There is no file {source}.", hint="Name a file `rolltop backup` made.")
        require_format(source, "PostgreSQL")
        if _holds_store(address):
            raise store_there_error(address)
        if postgres_copy.is_archive(source):
            postgres_copy.load_archive(address, source)
            return
    except OSError as error:
        raise Unavailable(
            f"{source} cannot be read: {error.strerror}.", hint="Nothing was changed."
        ) from error
    listed = _run(address, "pg_restore", "--list", source, connects=False)
    if f" {VERSION_TABLE} " not in listed:
        raise InvalidArgument(
            f"{source} holds no store.", hint="Name a file `rolltop backup` made."
        )
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    _run(address, "pg_restore", *options, source)


def _holds_store(address: DatabaseUrl) -> bool:
    try:
        with psycopg.connect(**_connection_options(address)) as connection:
            found = connection.execute("SELECT to_regclass(%s)", (VERSION_TABLE,)).fetchone()
    except psycopg.Error as error:
        raise Unavailable(
            f"{address.display_name} is out of reach.", hint="Is the server running?"
        ) from error
    return found is not None and found[0] is not None


def _has_old_programs(address: DatabaseUrl) -> bool:
    """Whether the programs that are here are older than the server, and so refuse it."""
    with suppress(psycopg.Error, Unavailable):
        release = _VERSION.search(_run(address, "pg_dump", "--version", connects=False))
        with psycopg.connect(**_connection_options(address)) as connection:
            return (
                release is not None and int(release[0]) < connection.info.server_version // 10_000
            )
    return False


def _connection_options(address: DatabaseUrl) -> dict[str, Any]:
    """Return the options of the store's own connections, by libpq's names.

    SQLAlchemy takes the URL apart, here as there: libpq finds the end of a password elsewhere.
    """
    url = make_url(address.url)
    _, options = url.get_dialect()().create_connect_args(url)
    return {"connect_timeout": _CONNECT_TIMEOUT, **options}


def _run(address: DatabaseUrl, program: str, *arguments: str | Path, connects: bool = True) -> str:
    """Return what the program prints. The password goes by its environment, where none sees it."""
    parts = _connection_options(address)
    password = parts.pop("password", None)
    environment = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    naming = f"-c {SETTING}={EVERY_TENANT}"
    parts["options"] = f"{parts.get('options', '')} {naming}".strip()
    command = [program, *map(str, arguments)]
    if connects:  # whoever has no password is not asked for one: nobody may be there
        command += ["--no-password", f"--dbname={make_conninfo(**parts)}"]
    try:
        done = subprocess.run(  # noqa: S603  # a program of the operator's, with our arguments
            command, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Unavailable(
            f"{program} is not here, and nothing else reads what pg_dump wrote.",
            hint="Install PostgreSQL's client programs of the server's version.",
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[:_MAX_SHOWN]
        raise Unavailable(f"{program} failed: {said}", hint="Nothing was changed.")
    return done.stdout
