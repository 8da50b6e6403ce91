"""Connections to one store, encrypted or not, all of the one SQLite library."""

from __future__ import annotations

import hashlib
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.db import sqlite
from rolltop.core.db.driver_errors import not_encrypted_error
from rolltop.core.db.encryption import Encryption
from rolltop.core.db.sqlite import Mode

if TYPE_CHECKING:
    import sqlite3

    from sqlcipher3 import dbapi2 as sqlcipher


_SALT_SIZE: Final = 16  # bytes at the start of an encrypted file
_KEY_SIZE: Final = 32
_UNENCRYPTED_HEADER: Final = (
    b"SQLite format 3\0"  # what stands there in a file that is not encrypted
)
_DUMMY_KEY: Final = f"x'{'00' * _KEY_SIZE}'"  # without one, SQLCipher would not tell the salt


class Driver:
    """Opens one file; with `encryption`, the file, its log and its copies are encrypted.

    The key is made of the passphrase once, as SQLCipher itself makes it, and handed to every
    connection: SQLCipher would make it anew for each, a quarter of a second at a time.
    """

    def __init__(self, encryption: Encryption | None) -> None:
        self.encrypts: Final = encryption is not None
        self._encryption: Final = encryption
        self._key: str | None = None

    def connect(self, path: Path, *, mode: Mode = "rw", timeout: float = 5.0) -> sqlite3.Connection:
        """Open the file as `sqlite.connect` does; whether the key is right shows on use.

        Raises the library's errors, and StoreKeyMismatch if the file is not encrypted.
        """
        return _connect(path, mode, timeout, self.key(path))

    def key(self, path: Path) -> str:
        """Return the key and the salt as SQLCipher takes both; "" for none.

        They are those of the file that was asked for first; its copies have the same.
        """
        if self._key is None:
            self._key = _derive_key(self._encryption, _read_salt(path)) if self._encryption else ""
        return self._key


def _derive_key(encryption: Encryption, salt: bytes) -> str:
    # A variable of the environment may hold bytes that are no text.
    passphrase = encryption.passphrase.encode("utf-8", "surrogateescape")
    key = hashlib.pbkdf2_hmac("sha512", passphrase, salt, encryption.iterations, _KEY_SIZE)
    return f"x'{key.hex()}{salt.hex()}'"


def _read_salt(path: Path) -> bytes:
    """Return the salt that the file begins with, or a new one for an empty file.

    SQLCipher reads it: to open and close the file in another way would drop this process's locks.
    """
    if path.stat().st_size == 0:
        return os.urandom(_SALT_SIZE)
    with closing(_connect(path, "ro", 0, _DUMMY_KEY)) as connection:
        (found,) = connection.execute("PRAGMA cipher_salt").fetchone()
    salt = bytes.fromhex(found)
    if salt == _UNENCRYPTED_HEADER:
        raise not_encrypted_error(path)
    return salt


def _connect(path: Path, mode: Mode, timeout: float, key: str) -> sqlite3.Connection:
    connection = sqlite.connect(path, mode=mode, timeout=timeout)
    if key:
        cast("sqlcipher.Connection", connection).set_key(key)
    connection.execute("PRAGMA secure_delete = ON")  # deleted text leaves no trace in the file
    return connection
