"""Where tokens are kept: the system's keyring, or a file that only its owner can read."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.errors import Unavailable
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Generator

    import keyring
else:
    keyring = lazy("keyring")

_SERVICE: Final = "rolltop-simplenote"
FILE_NAME: Final = "simplenote-tokens.json"


class Tokens:
    """The tokens of accounts, by a name for each; `folder` holds the file where one is needed."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; read nothing yet."""
        self._file: Final = folder / FILE_NAME

    def get(self, name: str) -> str | None:
        """Return a token, or None."""
        return _from_keyring(name) or self._read().get(name)

    def keep(self, name: str, token: str) -> str:
        """Keep a token; return where, in words. Raises Unavailable where nothing can be written."""
        if _to_keyring(name, token):
            self._drop(name)
            return "in the system's keyring"
        self._write({**self._read(), name: token})
        return f"in {self._file}, which only you can read"

    def _drop(self, name: str) -> None:
        """Remove a token from the file: an older one must not outlive the newer."""
        kept = self._read()
        if kept.pop(name, None) is not None:
            self._write(kept)

    def _read(self) -> dict[str, str]:
        try:
            kept = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            raise self._failed("read") from None
        if not isinstance(kept, dict):
            raise self._failed("read")
        return {str(name): str(token) for name, token in cast("dict[str, str]", kept).items()}

    def _write(self, kept: dict[str, str]) -> None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _replaced(self._file) as path:
                path.write_text(json.dumps(kept))
        except OSError:
            raise self._failed("written") from None

    def _failed(self, verb: str) -> Unavailable:
        return Unavailable(
            f"{self._file} cannot be {verb}.", hint="Check the file, or remove it and log in again."
        )


def _from_keyring(name: str) -> str | None:
    try:
        return keyring.get_password(_SERVICE, name)
    except Exception:  # noqa: BLE001  # no keyring, a locked one; each backend fails in its own way
        return None


def _to_keyring(name: str, token: str) -> bool:
    """Keep a token in the keyring; False where that does not hold it."""
    try:
        keyring.set_password(_SERVICE, name, token)
        return keyring.get_password(_SERVICE, name) == token
    except Exception:  # noqa: BLE001  # as above
        return False


@contextlib.contextmanager
def _replaced(target: Path) -> Generator[Path]:
    """Return a new file that takes the target's place whole; only its owner can read it."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(descriptor)
    made = Path(name)
    try:
        yield made
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
