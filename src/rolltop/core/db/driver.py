"""The library that opens SQLite files: Python's own, or SQLCipher's for a store with a key.

Two SQLite libraries that open one file in a process drop each other's locks. So every connection
to a store, whatever it is for, comes from the store's one driver.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core.db.failures import not_encrypted
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from pathlib import Path

    from sqlcipher3 import dbapi2 as sqlcipher

    from rolltop.core.db.encryption import Encryption
else:  # 21 MB, and nothing that most people need
    sqlcipher = lazy("sqlcipher3.dbapi2")

Mode = Literal["ro", "rw"]

_SALT_SIZE: Final = 16  # bytes at the start of an encrypted file
_KEY_SIZE: Final = 32
_PLAIN_START: Final = b"SQLite format 3\0"  # what stands there in a file that is not encrypted
_ANY_KEY: Final = f"x'{'00' * _KEY_SIZE}'"  # without one, SQLCipher would not tell the salt


class Driver:
    """Python's own SQLite."""

    encrypts: bool = False

    @property
    def module(self) -> object:
        """The DB-API module."""
        return sqlite3

    def connect(self, path: Path, *, mode: Mode = "rw", timeout: float = 5.0) -> sqlite3.Connection:
        """Return a new connection to a file that is there, without transactions of its own.

        A file that vanished is an error, not a new empty one. `timeout` bounds the wait for
        locks, in seconds. Raises the module's errors.
        """
        return sqlite3.connect(
            _uri(path, mode),
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )


class CipherDriver(Driver):
    """SQLCipher's SQLite, for one file: what is written to it, its log and its copies is encrypted.

    The key is made of the passphrase once, as SQLCipher itself makes it, and handed to every
    connection: SQLCipher would make it anew for each, a quarter of a second at a time. Without
    `encryption` it opens a file as Python's own library does.
    """

    def __init__(self, encryption: Encryption | None) -> None:
        self.encrypts = encryption is not None
        self._encryption: Final = encryption
        self._key: str | None = None

    @property
    def module(self) -> object:
        """The DB-API module."""
        return sqlcipher

    def connect(self, path: Path, *, mode: Mode = "rw", timeout: float = 5.0) -> sqlite3.Connection:
        """Return a new connection, as `Driver.connect`; whether the key is right shows on use.

        Raises the module's errors, and StoreKeyRefused where the file is not encrypted.
        """
        return _connected(path, mode, timeout, self.key(path))

    def key(self, path: Path) -> str:
        """Return the key and the salt as SQLCipher takes both; "" for none.

        They are those of the file that was asked for first; its copies have the same.
        """
        if self._key is None:
            self._key = _derived(self._encryption, _salt(path)) if self._encryption else ""
        return self._key


def chosen(encryption: Encryption | None) -> Driver:
    """Return a driver for one opening of a store."""
    return CipherDriver(encryption) if encryption else Driver()


def _derived(encryption: Encryption, salt: bytes) -> str:
    # A variable of the environment may hold bytes that are no text.
    passphrase = encryption.passphrase.encode("utf-8", "surrogateescape")
    key = hashlib.pbkdf2_hmac("sha512", passphrase, salt, encryption.iterations, _KEY_SIZE)
    return f"x'{key.hex()}{salt.hex()}'"


def _salt(path: Path) -> bytes:
    """Return the salt that the file begins with, or a new one for an empty file.

    SQLCipher reads it: to open and close the file in another way would drop this process's locks.
    """
    if path.stat().st_size == 0:
        return os.urandom(_SALT_SIZE)
    with closing(_connected(path, "ro", 0, _ANY_KEY)) as connection:
        (found,) = connection.execute("PRAGMA cipher_salt").fetchone()
    salt = bytes.fromhex(found)
    if salt == _PLAIN_START:
        raise not_encrypted(path)
    return salt


def _connected(path: Path, mode: Mode, timeout: float, key: str) -> sqlite3.Connection:
    connection = sqlcipher.connect(
        _uri(path, mode),
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA cipher_log_level = NONE")  # else it writes to stderr by itself
    if key:
        connection.set_key(key)
    return connection


def _uri(path: Path, mode: Mode) -> str:
    return f"{path.as_uri()}?mode={mode}"
