"""`rolltop user` and `rolltop token`."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from rolltop.cli import options, tokens
from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.errors import InvalidConfig

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

ADA = "ada@example.org"


def test_users_come_and_go(shell: Shell) -> None:
    assert shell("user", "add", "Ada@Example.org").out == f"Added {ADA}.\n"
    assert ADA in shell("user", "list").out
    again = shell("user", "add", ADA)
    assert (again.code, again.out) == (1, "")
    assert "There is a user" in again.err
    kept = "6f1a0c57-6d55-4f0e-9a57-5c3f0f4c7f11"
    assert shell("user", "add", "bob@example.org", "--id", kept).code == 0
    assert kept in shell("user", "list").out
    assert shell("user", "add", "eve@example.org", "--id", kept).code == 1
    shell("call", "add_task", "title=hers", "--user", ADA)
    deleted = shell("user", "delete", ADA, "--yes")
    assert deleted.out == f"Deleted {ADA} with journal (1), tasks (1).\n"
    assert ADA not in shell("user", "list").out
    missing = shell("user", "delete", ADA, "--yes")
    assert missing.code == 1
    assert "`rolltop user list`" in missing.err


def test_the_listed_id_names_the_user_in_a_call(shell: Shell) -> None:
    shell("user", "add", ADA)
    listed = next(line for line in shell("user", "list").out.splitlines() if ADA in line)
    shell("call", "add_task", "title=hers", f"user_id={listed.split()[1]}")
    assert '"hers"' in shell("call", "list_tasks", "--user", ADA).out


def test_nothing_is_deleted_unless_it_is_confirmed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("user", "add", ADA)
    unasked = shell("user", "delete", ADA)
    assert unasked.code == 1
    assert "--yes" in unasked.err
    for given in (["--", ADA, "--yes"], [ADA, "--", "--yes"]):
        literal = shell("user", "delete", *given)
        assert (literal.code, "unrecognized arguments: --yes" in literal.err) == (2, True)
    monkeypatch.setattr(options, "is_terminal", lambda: True)
    assert shell("user", "delete", ADA, stdin="n\n").code == 1
    assert ADA in shell("user", "list").out
    assert shell("user", "delete", ADA, stdin="y\n").code == 0
    assert ADA not in shell("user", "list").out


def test_what_is_no_address_is_refused(shell: Shell) -> None:
    outcome = shell("user", "add", "nobody")
    assert outcome.code == 1
    assert "ada@example.org" in outcome.err


def test_a_token_is_shown_once_alone_on_the_last_line(shell: Shell) -> None:
    shell("user", "add", ADA)
    made = shell("token", "create", ADA, "--name", "laptop", "--expires", "90d", "--read-only")
    secret = made.out.splitlines()[-1]
    assert secret.startswith("rt_")
    assert len(secret.split()) == 1
    assert "laptop" in made.out
    assert "may only read" in made.out
    listed = shell("token", "list", ADA).out
    assert "laptop" in listed
    assert "read-only" in listed
    assert secret not in listed
    assert secret.encode() not in (shell.data / "desk.db").read_bytes()


def test_a_token_lasts_90_days_unless_it_is_said_otherwise(shell: Shell) -> None:
    shell("user", "add", ADA)
    first = datetime.now(UTC)
    said = shell("token", "create", ADA).out
    days = {first + timedelta(days=90), datetime.now(UTC) + timedelta(days=90)}
    assert any(f"expires {day:%Y-%m-%d}" in said for day in days)
    assert "never expires" in shell("token", "create", ADA, "--expires", "never").out


def test_a_token_is_bound_to_a_project(shell: Shell) -> None:
    shell("user", "add", ADA)
    assert "in the project kite" in shell("token", "create", ADA, "--project", " kite ").out
    assert shell("token", "list", ADA).out.splitlines()[-1].split()[-1] == "kite"


def test_a_token_is_revoked_by_its_name_or_id(shell: Shell) -> None:
    shell("user", "add", ADA)
    shell("token", "create", ADA, "--name", "one")
    shell("token", "create", ADA, "--name", "two")
    shell("token", "create", ADA, "--name", "two")
    assert shell("token", "revoke", ADA, "one").out.startswith("Revoked one (")
    several = shell("token", "revoke", ADA, "two")
    assert several.code == 1
    identifier = several.err.split("Give an id: ")[1].split(",")[0]
    assert shell("token", "revoke", ADA, identifier).code == 0
    states = [line.split()[2] for line in shell("token", "list", ADA).out.splitlines()[1:]]
    assert sorted(states) == ["revoked", "revoked", "valid"]
    assert shell("token", "revoke", ADA, "three").code == 1


def test_a_name_means_the_token_that_has_not_expired(shell: Shell) -> None:
    shell("user", "add", ADA)
    then = datetime.now(UTC) - timedelta(days=100)
    with closing(Database(f"sqlite:///{shell.data / 'desk.db'}", clock=lambda: then)) as earlier:
        ada = earlier.read_sync(SYSTEM, accounts.list_users)[0]
        given = (ada.id, "laptop", then + timedelta(days=90))
        earlier.write_sync(SYSTEM, accounts.create_token, *given)
    shell("token", "create", ADA, "--name", "laptop")
    for left in (["expired", "revoked"], ["revoked", "revoked"]):
        assert shell("token", "revoke", ADA, "laptop").code == 0
        states = [line.split()[2] for line in shell("token", "list", ADA).out.splitlines()[1:]]
        assert states == left


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--expires", "soon"], 2, "Write 12h, 90d"),
        (["--expires", ""], 2, "Write 12h, 90d"),
        (["--expires", "9999-12-31T23:59-12:00"], 2, "Write 12h, 90d"),
        (["--expires", "2001-01-01"], 1, "expired already"),
        (["--name", ""], 1, "name has 1 to"),
        (["--project", "*"], 1, "project's name has 1 to"),
    ],
)
def test_a_token_that_cannot_be(shell: Shell, arguments: list[str], code: int, said: str) -> None:
    shell("user", "add", ADA)
    outcome = shell("token", "create", ADA, *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err


def test_a_token_needs_its_user(shell: Shell) -> None:
    for command in (["create", ADA], ["list", ADA], ["revoke", ADA, "x"]):
        outcome = shell("token", *command)
        assert outcome.code == 1
        assert "There is no user" in outcome.err


def test_forms_of_an_expiry() -> None:
    assert str(tokens.parse_expiry("2030-01-31")) == "2030-01-31 00:00:00+00:00"
    assert str(tokens.parse_expiry("2030-01-31T12:00+02:00")) == "2030-01-31 10:00:00+00:00"
    soon, later = tokens.parse_expiry("1h"), tokens.parse_expiry("2d")
    assert soon is not None
    assert later is not None
    assert soon < later
    assert tokens.parse_expiry("never") is None
    with pytest.raises(InvalidConfig):
        tokens.parse_expiry("tomorrow")
