"""PgBouncer between two processes and PostgreSQL, handing out few connections by transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import text

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import Unavailable
from tests.browsers.conftest import free_port, wait_for
from tests.postgresql import OWNER, SUPERUSER, PostgreSQLServer, new_folder, running
from tests.server.processes import PATIENCE, HttpServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

CONNECTIONS = 3
CALLERS = 8
ROUNDS = 12
_NOBODY = 65534  # PgBouncer refuses to run as root


@pytest.fixture(scope="module")
def server() -> Generator[PostgreSQLServer]:
    folder = new_folder()
    try:
        with running(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def pooled(server: PostgreSQLServer) -> Generator[str]:
    """Run PgBouncer in front of a server; yields the address of its database `postgres`."""
    port = free_port()
    folder = server.folder / "pooler"
    folder.mkdir(exist_ok=True)
    users = folder / "users"
    users.write_text(f'"{OWNER}" ""\n')
    conf = folder / "pgbouncer.ini"
    conf.write_text(
        f"[databases]\n* = host={server.folder / 'socket'}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\n"
        f"default_pool_size = {CONNECTIONS}\nmax_client_conn = 200\n"
    )
    identity = _NOBODY if os.geteuid() == 0 else None
    with (folder / "log").open("wb") as log:
        command = ["/usr/sbin/pgbouncer", str(conf)]
        pgbouncer = subprocess.Popen(command, stderr=log, user=identity, group=identity)
        try:
            wait_for(f"127.0.0.1:{port}")
            yield f"postgresql://{OWNER}@127.0.0.1:{port}/postgres?pgbouncer=true"
        finally:
            pgbouncer.terminate()
            pgbouncer.wait(PATIENCE)


def test_two_tenants_through_a_few_shared_connections(
    server: PostgreSQLServer, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        url = opened.enter_context(pooled(server))
        database = Database(url)
        opened.callback(database.close)
        tokens: list[str] = []
        for name in ("ann", "ben"):
            user = database.write_sync(SYSTEM, accounts.add_user, f"{name}@example.org")
            tokens.append(database.write_sync(SYSTEM, accounts.create_token, user.id, "agent")[0])
        servers: list[HttpServer] = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            servers.append(opened.enter_context(HttpServer(tmp_path / name, database_url=url)))
        wrong: list[object] = []

        def call_all(number: int) -> None:
            mine, one = f"of {number % 2}", servers[number // 2 % 2]
            try:
                for _ in range(ROUNDS):
                    calls: dict[str, dict[str, Any]] = {
                        "add_task": {"title": mine},
                        "note_save": {"text": f"# {mine}\n\nrope and tide"},
                        "list_tasks": {"limit": 5},
                        "desk_search": {"query": "rope"},
                    }
                    for name, arguments in calls.items():
                        result = one.call(name, token=tokens[number % 2], **arguments)
                        if result.get("isError") or f"of {1 - number % 2}" in str(result):
                            wrong.append(result)
            except (OSError, AssertionError) as failure:
                wrong.append(failure)

        threads = [threading.Thread(target=call_all, args=(number,)) for number in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong[:2] == []
        # What a transaction sets ends with it: who comes next to the connection has none of it.
        with psycopg.connect(server.url("postgres", SUPERUSER)) as direct:
            (used,) = direct.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = %s", (OWNER,)
            ).fetchone() or (0,)
        assert 1 <= used <= CONNECTIONS
        with psycopg.connect(url.partition("?")[0], prepare_threshold=None) as next_client:
            shown = next_client.execute("SHOW statement_timeout").fetchone()
        assert shown == ("0",)


def test_a_statement_that_takes_too_long_is_ended(server: PostgreSQLServer) -> None:
    with pooled(server) as url:
        database = Database(url, statement_timeout=0.2)
        try:
            with pytest.raises(Unavailable, match="time limit"):
                database.read_sync(SYSTEM, lambda tx: tx.execute(text("SELECT pg_sleep(30)")))
        finally:
            database.close()
