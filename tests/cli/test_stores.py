"""`rolltop store`: what a person does to have the store encrypted, and what is said then."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import pytest

from rolltop.core.db import encryption
from tests.core.db.encrypted import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Shell

FIRST = "open sesame://beryl@cave"  # looks like a URL, of which a part would be shown
SECOND = "close sesame"


@pytest.fixture
def desk(shell: Shell) -> Shell:
    """A shell with one task kept in a plain store, and keys that are made quickly."""
    shell.set("DB_ENCRYPTION_KDF_ITERATIONS", "10000")
    assert shell("call", "add_task", "title=walrus in the harbour").code == 0
    assert plain(shell.data)
    return shell


def titles(shell: Shell) -> str:
    outcome = shell("call", "list_tasks")
    assert outcome.code == 0, outcome.err
    return outcome.out


def test_a_store_is_encrypted_rekeyed_and_decrypted(desk: Shell) -> None:
    desk.set("DB_ENCRYPTION_KEY", FIRST)
    refused = desk("call", "list_tasks")
    assert refused.code == 2
    assert "`rolltop store encrypt`" in refused.err
    outcome = desk("store", "encrypt")
    assert (outcome.code, outcome.err) == (0, "")
    assert "is encrypted" in outcome.out
    assert plain(desk.data) == []
    assert "walrus" in titles(desk)
    desk.set("DB_ENCRYPTION_NEW_KEY", SECOND)
    outcome = desk("store", "rekey", "--iterations", "12000")
    assert outcome.code == 0, outcome.err
    assert "DB_ENCRYPTION_KDF_ITERATIONS to 12000" in outcome.out
    refused = desk("call", "list_tasks")
    assert refused.code == 2
    assert "does not open with DB_ENCRYPTION_KEY" in refused.err
    desk.set("DB_ENCRYPTION_KEY", SECOND)
    desk.set("DB_ENCRYPTION_KDF_ITERATIONS", "12000")
    assert "walrus" in titles(desk)
    assert desk("store", "decrypt").code == 0
    desk.set("DB_ENCRYPTION_KEY", "")
    assert "walrus" in titles(desk)
    assert plain(desk.data)


def test_doctor_and_stats_tell_that_it_is_encrypted(shell: Shell) -> None:
    shell.set("DB_ENCRYPTION_KDF_ITERATIONS", "10000")
    shell.set("DB_ENCRYPTION_KEY", FIRST)
    stats = shell("call", "note_manage", "action=get_stats")
    assert '"db_encryption":"enabled"' in stats.out.replace(" ", "")
    assert "opens, encrypted; its schema is core_" in shell("doctor").out
    shell.set("DB_ENCRYPTION_KEY", SECOND)
    outcome = shell("doctor")
    assert outcome.code == 1
    assert "wrong  store" in outcome.out
    assert "does not open with DB_ENCRYPTION_KEY" in outcome.out


def test_no_key_is_shown_or_logged(desk: Shell) -> None:
    log = desk.folder.parent / "rolltop.log"
    for name, text in {
        "LOG_LEVEL": "trace",
        "LOG_FILE_PATH": str(log),
        "DB_ENCRYPTION_KEY": FIRST,
        "DB_ENCRYPTION_NEW_KEY": SECOND,
    }.items():
        desk.set(name, text)
    said = ""
    for arguments in (
        ["config"],
        ["config", "--json"],
        ["doctor"],
        ["store", "encrypt"],
        ["call", "list_tasks"],
        ["store", "rekey"],
        ["call", "list_tasks"],
        ["store", "rekey", "--set", "db_encryption_kdf_iterations=9"],
    ):
        outcome = desk(*arguments)
        said += outcome.out + outcome.err
    said += log.read_text("utf-8")
    assert "db_encryption_key = ********" in said
    assert "does not open" in said
    for word in ("sesame", "beryl", "cave"):
        assert word not in said


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ([SECOND, SECOND], 0, "new key"),
        ([SECOND, "closed sesame"], 1, "not the same"),
        ([""], 1, "empty"),
    ],
    ids=["twice the same", "a slip", "nothing"],
)
def test_a_person_is_asked_for_the_new_passphrase(
    desk: Shell, monkeypatch: pytest.MonkeyPatch, typed: list[str], code: int, said: str
) -> None:
    desk.set("DB_ENCRYPTION_KEY", FIRST)
    assert desk("store", "encrypt").code == 0
    answers: Callable[[str], str] = lambda _question: typed.pop(0)  # noqa: E731  # its type is told
    monkeypatch.setattr(getpass, "getpass", answers)
    monkeypatch.setattr("rolltop.cli.options.is_terminal", lambda: True)
    outcome = desk("store", "rekey")
    assert outcome.code == code
    assert said in outcome.out + outcome.err
    desk.set("DB_ENCRYPTION_KEY", FIRST if code else SECOND)
    assert "walrus" in titles(desk)


def test_what_is_not_set_is_named(desk: Shell) -> None:
    outcome = desk("store", "encrypt")
    assert (outcome.code, "DB_ENCRYPTION_KEY is not set" in outcome.err) == (2, True)
    desk.set("DB_ENCRYPTION_KEY", FIRST)
    outcome = desk("store", "rekey")
    assert (outcome.code, "DB_ENCRYPTION_NEW_KEY is not set" in outcome.err) == (2, True)
    outcome = desk("store", "rekey", "--iterations", "9999", "--set", "db_encryption_new_key=x")
    assert (outcome.code, "at least 10000" in outcome.err) == (2, True)
    outcome = desk("store", "rekey", "--iterations", "9" * 14, "--set", "db_encryption_new_key=x")
    assert (outcome.code, "at most 1000000000" in outcome.err) == (2, True)
    outcome = desk("call", "list_tasks", "--set", "db_encryption_kdf_iterations=9999")
    assert (outcome.code, "at least 10000" in outcome.err) == (2, True)
    assert "walrus" in desk("call", "list_tasks", "--set", "db_encryption_key=").out


def test_a_key_that_cannot_be_used_stops_the_start(shell: Shell) -> None:
    shell.set("DB_ENCRYPTION_KEY", FIRST)
    shell.set("DATABASE_URL", "postgresql://localhost/desk")
    for arguments in (["serve"], ["call", "list_tasks"], ["user", "list"], ["store", "encrypt"]):
        outcome = shell(*arguments)
        assert outcome.code == 2
        assert "PostgreSQL" in outcome.err
        assert outcome.err.count("\n") == 1


def test_without_the_extra_a_key_stops_the_start(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(encryption, "find_spec", nothing)
    shell.set("DB_ENCRYPTION_KEY", FIRST)
    outcome = shell("serve")
    assert outcome.code == 2
    assert "pip install sqlcipher3" in outcome.err
    assert outcome.err.count("\n") == 1
    assert not shell.data.exists()
