"""`rolltop backup` and `rolltop restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def add(shell: Shell, title: str) -> None:
    assert shell("call", "add_task", f"title={title}").code == 0


def test_a_backup_is_made_and_restored(shell: Shell) -> None:
    add(shell, "walrus")
    outcome = shell("backup", "walrus.db")
    assert (outcome.code, outcome.err) == (0, "")
    assert (shell.folder / "walrus.db").stat().st_mode & 0o777 == 0o600
    add(shell, "sealion")
    outcome = shell("restore", "walrus.db", "--yes")
    assert outcome.code == 0, outcome.err
    (kept,) = shell.data.glob("*.bak")
    assert str(kept) in outcome.out
    listed = shell("call", "list_tasks").out
    assert "walrus" in listed
    assert "sealion" not in listed
    assert shell("restore", str(kept), "--yes").code == 0
    assert "sealion" in shell("call", "list_tasks").out


def test_a_backup_takes_the_place_of_nothing(shell: Shell) -> None:
    outcome = shell("backup", "walrus.db")
    assert (outcome.code, "There is no store" in outcome.err) == (1, True)
    assert not shell.data.exists()
    add(shell, "walrus")
    (shell.folder / "walrus.db").write_text("mine")
    outcome = shell("backup", "walrus.db")
    assert (outcome.code, "exists already" in outcome.err) == (1, True)
    assert (shell.folder / "walrus.db").read_text() == "mine"


@pytest.mark.parametrize("name", ["/", "..", ".", "", "//"])
def test_a_backup_takes_the_place_of_no_folder(shell: Shell, name: str) -> None:
    add(shell, "walrus")
    outcome = shell("backup", name)
    assert (outcome.code, "exists already" in outcome.err) == (1, True)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", ".partial", ".new"])
def test_what_a_restore_would_delete_is_not_restored(shell: Shell, ending: str) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    add(shell, "sealion")
    name = shell.data / f"desk.db{ending}"
    (shell.folder / "walrus.db").replace(name)
    held = name.read_bytes()
    outcome = shell("restore", str(name), "--yes")
    assert (outcome.code, name.read_bytes() == held) == (1, True)
    assert "belongs to the store" in outcome.err
    assert "another name" in outcome.err
    copy = shell.folder / "copy.db"
    name.replace(copy)
    assert "sealion" in shell("call", "list_tasks").out
    assert shell("restore", str(copy), "--yes").code == 0
    assert "sealion" not in shell("call", "list_tasks").out


def test_a_damaged_store_is_restored(shell: Shell) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    (shell.data / "desk.db").write_bytes(b"this is no database " * 100)
    assert "`rolltop restore FILE`" in shell("doctor").out
    outcome = shell("restore", "walrus.db", "--yes")
    assert (outcome.code, outcome.err) == (0, "")
    (kept,) = shell.data.glob("*.bak")
    assert str(kept) in outcome.out
    assert kept.read_bytes() == b"this is no database " * 100
    assert "walrus" in shell("call", "list_tasks").out


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", ".partial", ".new"])
def test_a_backup_takes_no_name_that_belongs_to_a_store(shell: Shell, ending: str) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    for store in (shell.data / "desk.db", shell.folder / "walrus.db"):
        beside = store.with_name(store.name + ending)
        beside.unlink(missing_ok=True)
        outcome = shell("backup", str(beside))
        assert (outcome.code, "belongs to" in outcome.err) == (1, True), outcome
        assert not beside.exists()
    assert shell("backup", f"lone{ending}").code == 0


def test_a_backup_takes_no_log_that_lies_there(shell: Shell) -> None:
    add(shell, "walrus")
    (shell.folder / "walrus.db-wal").write_text("of another store")
    outcome = shell("backup", "walrus.db")
    assert (outcome.code, "walrus.db-wal exists already" in outcome.err) == (1, True)
    assert [path.name for path in shell.folder.iterdir()] == ["walrus.db-wal"]


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_restore_asks_first(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    add(shell, "sealion")
    assert "--yes" in shell("restore", "walrus.db").err
    monkeypatch.setattr("rolltop.cli.options.is_terminal", lambda: True)
    outcome = shell("restore", "walrus.db", stdin=f"{answer}\n")
    assert outcome.code == code
    assert ("sealion" in shell("call", "list_tasks").out) == bool(code)


def test_a_restore_where_nothing_is_kept_asks_nothing(shell: Shell) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    shell.data = shell.folder / "elsewhere"
    shell.set("ROLLTOP_DATA_DIR", str(shell.data))
    outcome = shell("restore", "sealion.db")
    assert (outcome.code, "There is no file sealion.db" in outcome.err) == (1, True)
    outcome = shell("restore", "walrus.db")
    assert (outcome.code, outcome.err) == (0, "")
    assert "walrus" in shell("call", "list_tasks").out
    assert shell("restore", "walrus.db").code == 1
    shell.set("DATABASE_URL", "postgresql://walrus@localhost/walrus")
    (shell.folder / "walrus.dump").write_bytes(b"PGDMP")
    assert "is out of reach" in shell("restore", "walrus.dump").err


@pytest.mark.parametrize("address", ["", "postgresql://walrus@127.0.0.1:1/walrus"])
def test_a_file_that_may_not_be_looked_at_is_named(shell: Shell, address: str) -> None:
    shell.set("DATABASE_URL", address)
    outcome = shell("restore", "w" * 300, "--yes")
    assert (outcome.code, outcome.err.count("\n"), "something failed" in outcome.err) == (
        1,
        1,
        False,
    )
    assert "w" * 300 in outcome.err or "File name too long" in outcome.err


@pytest.mark.parametrize("start", [b"PGDMP\1\x10", b"rolltop PostgreSQL backup 1\n"])
def test_a_backup_of_the_other_database_is_named_so(shell: Shell, start: bytes) -> None:
    add(shell, "walrus")
    assert shell("backup", "walrus.db").code == 0
    (shell.folder / "walrus.dump").write_bytes(start + bytes(100))
    outcome = shell("restore", "walrus.dump", "--yes")
    assert (outcome.code, "the backup of a PostgreSQL store" in outcome.err) == (1, True)
    assert "walrus" in shell("call", "list_tasks").out
    shell.set("DATABASE_URL", "postgresql://walrus@127.0.0.1:1/walrus")
    outcome = shell("restore", "walrus.db", "--yes")
    assert (outcome.code, "the backup of a SQLite store" in outcome.err) == (1, True)
    assert "`rolltop import DIR`" in outcome.err


def test_a_damaged_store_is_not_called_a_backup(shell: Shell) -> None:
    for number in range(3):
        assert shell("call", "note_save", f"text={number} {'text ' * 10_000}").code == 0
    with (shell.data / "desk.db").open("r+b") as store:
        store.seek(-16 * 4096, os.SEEK_END)
        store.write(b"\xff" * 8 * 4096)
    outcome = shell("backup", "walrus.db")
    assert (outcome.code, "desk.db is damaged" in outcome.err) == (1, True)
    assert list(shell.folder.iterdir()) == []


def test_a_text_that_was_damaged_is_called_so_and_not_shown(shell: Shell) -> None:
    assert shell("call", "note_save", f"text=walrus {'text ' * 10_000}").code == 0
    file = shell.data / "desk.db"
    file.write_bytes(file.read_bytes().replace(b"walrus text", b"wal\xff\xffs text"))
    for words in (("export", "out"), ("call", "note_list", "q=text")):
        outcome = shell(*words)
        assert outcome.code == 1, words
        assert f"{file} is damaged" in outcome.out + outcome.err
        assert "text text" not in outcome.out + outcome.err
