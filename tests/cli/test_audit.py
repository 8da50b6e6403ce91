"""`rolltop audit`: what was done to users, tokens and workspaces."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from rolltop.core import audit
from rolltop.core.accounts import DEFAULT_EMAIL
from rolltop.core.db import SYSTEM

if TYPE_CHECKING:
    import pytest

    from rolltop.core.db import Database
    from tests.cli.conftest import Shell
    from tests.databases import Clock

ADA = "ada@example.org"
BOB = "bob@example.org"


def events(shell: Shell, *options: str) -> list[list[str]]:
    """Return who did what to whom, the newest last."""
    _title, *lines = shell("audit", *options).out.splitlines()
    return [[part.strip() for part in line.split("  ") if part.strip()][1:] for line in lines]


def test_everything_that_changes_who_may_do_what_is_told_and_nothing_that_failed(
    shell: Shell,
) -> None:
    for email in (ADA, BOB):
        shell("user", "add", email)
    assert shell("user", "add", ADA).code == 1
    created = shell("token", "create", ADA, "--name", "laptop")
    secret = created.out.splitlines()[-1]
    shell("workspace", "create", "team", "--owner", ADA)
    shell("workspace", "invite", "team", BOB, "--role", "viewer")
    spaces = ("--workspace", "team", "--workspace", BOB)
    other = shell("token", "create", BOB, "--name", "reader", "--read-only", *spaces)
    assert shell("workspace", "leave", "team", ADA).code == 1
    shell("workspace", "leave", "team", BOB)
    shell("token", "revoke", ADA, "laptop")
    assert shell("token", "revoke", ADA, "laptop").code == 1
    shell("workspace", "delete", "team", "--yes")
    shell("user", "delete", BOB, "--yes")
    who = f"{getpass.getuser()} (command line)"
    token, reader = (one.out.partition("(")[2].partition(")")[0] for one in (created, other))
    assert events(shell) == [
        [who, *did]
        for did in (
            ("user add", ADA),
            ("user add", BOB),
            ("token create", f"{ADA}: laptop ({token})"),
            ("workspace create", f"team: {ADA}"),
            ("workspace invite", f"team: {BOB} as viewer"),
            ("token create", f"{BOB}: reader ({reader}), read-only, for team, for {BOB}"),
            ("workspace leave", f"team: {BOB}"),
            ("token revoke", f"{ADA}: laptop ({token})"),
            ("workspace delete", "team"),
            ("user delete", BOB),
        )
    ]
    assert secret not in shell("audit").out
    assert events(shell, "--last", "1") == [[who, "user delete", BOB]]


def test_who_made_a_copy_of_all_or_of_a_desk_is_told(shell: Shell) -> None:
    shell("call", "add_task", "title=x")
    shell("user", "add", ADA)
    shell("workspace", "create", "team", "--owner", ADA)
    shell("call", "note_save", "text=x", "--user", ADA)
    copies = [
        ("backup", "copy.db", (), ""),
        ("export", "copy", (), f"{DEFAULT_EMAIL}: "),
        ("notes export", "notes", ("--user", ADA), f"{ADA}: "),
        ("notes export", "notes.json", ("--user", ADA, "--workspace", "team"), "team: "),
    ]
    for command, name, options, _whose in copies:
        arguments = (*command.split(), str(shell.folder / name), *options)
        assert [shell(*arguments).code for _ in range(2)] == [0, 1]  # it is there by then
    who = f"{getpass.getuser()} (command line)"
    assert events(shell)[2:] == [
        [who, command, f"{whose}{shell.folder / name}"] for command, name, _options, whose in copies
    ]


def test_what_was_done_to_the_whole_store_is_told_in_what_it_is_then(shell: Shell) -> None:
    shell.set("DB_ENCRYPTION_KDF_ITERATIONS", "10000")
    shell("user", "add", ADA)
    backup = str(shell.folder / "copy.db")
    assert shell("backup", backup).code == 0
    shell("user", "add", BOB)
    assert shell("restore", backup, "--yes").code == 0
    shell.set("DB_ENCRYPTION_KEY", "open sesame")
    assert shell("store", "encrypt").code == 0
    shell.set("DB_ENCRYPTION_NEW_KEY", "close sesame")
    assert shell("store", "rekey").code == 0
    assert shell("store", "rekey").code == 1  # it has another key by now
    shell.set("DB_ENCRYPTION_KEY", "close sesame")
    assert shell("store", "decrypt").code == 0
    shell.set("DB_ENCRYPTION_KEY", "")
    who, store = f"{getpass.getuser()} (command line)", str(shell.data / "desk.db")
    assert events(shell) == [
        [who, *did]
        for did in (
            ("user add", ADA),
            ("restore", backup),
            *((f"store {verb}", store) for verb in ("encrypt", "rekey", "decrypt")),
        )
    ]


def test_whoever_has_no_name_here_is_told_all_the_same(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", unnamed)
    assert shell("user", "add", ADA).code == 0
    monkeypatch.setattr(getpass, "getuser", lambda: "b\udcffb")
    assert shell("user", "add", BOB).code == 0
    assert events(shell) == [
        ["unknown (command line)", "user add", ADA],
        ["b?b (command line)", "user add", BOB],
    ]


def test_events_are_kept_for_400_days_and_long_names_are_cut(
    database: Database, clock: Clock
) -> None:
    def subjects() -> list[str]:
        found = database.read_sync(SYSTEM, audit.list_events, 10)
        return [event.subject[:5] for event in found]

    for subject in ("first", "second" * 1000):
        database.write_sync(SYSTEM, audit.record, "root", "user add", subject)
        assert subjects()[0] == subject[:5]
        clock.advance(days=300)
    assert subjects() == ["secon"]
    database.write_sync(SYSTEM, audit.record, "root" * 1000, "user add", "third")
    assert subjects() == ["third", "secon"]
    clock.advance(days=401)
    assert not subjects()
