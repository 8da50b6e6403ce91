"""What a store is encrypted with, and whether that can be had here. Loads no driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec

from rolltop.core.db.url import DatabaseUrl
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import Settings


@dataclass(frozen=True)
class Encryption:
    """A passphrase, and how often it is hashed to make the key of a file."""

    passphrase: str = field(repr=False)
    iterations: int


def encryption_from_settings(settings: Settings) -> Encryption | None:
    """Return the encryption that the settings ask for, or None."""
    passphrase: str = settings["db_encryption_key"]
    return Encryption(passphrase, settings["db_encryption_kdf_iterations"]) if passphrase else None


def require_encryption_support(address: DatabaseUrl) -> None:
    """Make sure that a store at this address can be encrypted by this program.

    Raises:
        InvalidConfig: it is PostgreSQL's, or SQLCipher is not installed.

    """
    if address.path is None:
        raise InvalidConfig(
            "DB_ENCRYPTION_KEY is set, and the store is PostgreSQL's, which has its own means",
            hint="Unset one of DB_ENCRYPTION_KEY and DATABASE_URL.",
        )
    if find_spec("sqlcipher3") is None:
        raise InvalidConfig(
            "DB_ENCRYPTION_KEY is set, and sqlcipher3, which encrypts the store, is not installed",
            hint="pip install sqlcipher3, or unset DB_ENCRYPTION_KEY.",
        )
