"""Stored tokens: in the system's keyring, or in a file that only its owner can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.db.backup import unfinished_file
from rolltop.core.errors import Unavailable
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from collections.abc import Collection

    import keyring
    import keyring.errors
else:
    keyring = lazy("keyring")

_SERVICE: Final = "rolltop-simplenote"
FILE_NAME: Final = "simplenote-tokens.json"


class TokenStore:
    """The tokens of accounts by name; `folder` has the file if there is no keyring."""

    def __init__(self, folder: Path) -> None:
        self._file: Final = folder / FILE_NAME

    def get(self, name: str) -> str | None:
        """Read a token."""
        return _read_keyring(name) or self._read().get(name)

    def save(self, name: str, token: str) -> str:
        """Store a token and return where, in words. Raises Unavailable."""
        if _write_keyring(name, token):
            self._remove({name})  # an older one must not outlive the newer
            return "in the system's keyring"
        self._write({**self._read(), name: token})
        return f"in {self._file}, which only you can read"

    def delete(self, names: Collection[str]) -> None:
        """Delete tokens wherever they are. Raises Unavailable: some may be left, and where."""
        left = [name for name in names if not _delete_from_keyring(name)]
        self._remove(names)
        if left:
            raise Unavailable(
                f"The system's keyring may still hold {', '.join(left)}.",
                hint=f"Unlock it and delete these entries of {_SERVICE} there.",
            )

    def _remove(self, names: Collection[str]) -> None:
        before = self._read()
        kept = {name: token for name, token in before.items() if name not in names}
        if kept != before:
            self._write(kept)

    def _read(self) -> dict[str, str]:
        try:
            kept = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            raise self._storage_error("read") from None
        if not isinstance(kept, dict):
            raise self._storage_error("read")
        return {str(name): str(token) for name, token in cast("dict[str, str]", kept).items()}

    def _write(self, kept: dict[str, str]) -> None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished_file(self._file) as path:
                path.write_text(json.dumps(kept))
        except OSError:
            raise self._storage_error("written") from None

    def _storage_error(self, verb: str) -> Unavailable:
        return Unavailable(
            f"{self._file} cannot be {verb}.", hint="Check the file, or remove it and log in again."
        )


def _read_keyring(name: str) -> str | None:
    try:
        return keyring.get_password(_SERVICE, name)
    except Exception:  # noqa: BLE001  # no keyring, a locked one; each backend fails in its own way
        return None


def _write_keyring(name: str, token: str) -> bool:
    """Store a token; False if the keyring does not have it afterwards."""
    try:
        keyring.set_password(_SERVICE, name, token)
        return keyring.get_password(_SERVICE, name) == token
    except Exception:  # noqa: BLE001  # as above
        return False


def _delete_from_keyring(name: str) -> bool:
    """Delete a token; False if the keyring may still have it."""
    try:
        if keyring.get_password(_SERVICE, name) is not None:
            keyring.delete_password(_SERVICE, name)
    except ImportError:
        return True  # it is an extra
    except Exception as error:  # noqa: BLE001  # as above
        return isinstance(error, keyring.errors.NoKeyringError)
    return True
