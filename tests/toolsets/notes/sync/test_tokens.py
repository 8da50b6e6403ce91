"""Where a token is kept."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import keyring.backend
import keyring.core
import pytest

from rolltop.core.errors import Unavailable
from rolltop.toolsets.notes.clients.token_store import FILE_NAME, TokenStore

if TYPE_CHECKING:
    from pathlib import Path


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory that can be locked."""

    priority = 1.0  # pyright: ignore[reportAssignmentType]  # a class property there

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise OSError("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise OSError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    made = Ring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", made)
    return made


def test_a_token_goes_into_the_keyring_and_no_file(ring: Ring, tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "data")
    assert tokens.get("ada") is None
    assert "keyring" in tokens.save("ada", "t1")
    assert tokens.get("ada") == "t1"
    assert list(ring.kept.values()) == ["t1"]
    assert not (tmp_path / "data").exists()


def test_without_a_keyring_it_goes_into_a_file_of_its_owner_alone(
    ring: Ring, tmp_path: Path
) -> None:
    ring.is_locked = True
    tokens = TokenStore(tmp_path / "data")
    tokens.save("ada", "t1")
    assert FILE_NAME in tokens.save("bob", "t2")
    file = tmp_path / "data" / FILE_NAME
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == [FILE_NAME]
    assert (tokens.get("ada"), tokens.get("bob")) == ("t1", "t2")
    ring.is_locked = False
    tokens.save("ada", "t3")
    assert (tokens.get("ada"), tokens.get("bob")) == ("t3", "t2")
    assert "t1" not in file.read_text()


def test_a_file_that_is_damaged_is_told_and_left(ring: Ring, tmp_path: Path) -> None:
    ring.is_locked = True
    file = tmp_path / FILE_NAME
    file.write_text("{broken")
    with pytest.raises(Unavailable) as raised:
        TokenStore(tmp_path).save("ada", "t1")
    assert str(file) in raised.value.message
    assert file.read_text() == "{broken"


def test_a_token_that_is_deleted_is_gone_from_the_keyring_and_the_file(
    ring: Ring, tmp_path: Path
) -> None:
    tokens = TokenStore(tmp_path)
    for name in ("ada", "bob"):
        tokens.save(name, "t1")
    ring.is_locked = True
    for name in ("ada", "bob", "eve"):
        tokens.save(name, "t2")
    with pytest.raises(Unavailable, match="keyring may still hold ada"):
        tokens.delete(["ada"])
    assert list(json.loads((tmp_path / FILE_NAME).read_text())) == ["bob", "eve"]
    ring.is_locked = False
    tokens.delete(["ada", "bob"])
    assert [tokens.get(name) for name in ("ada", "bob", "eve")] == [None, None, "t2"]
    tokens.delete(["ada"])
