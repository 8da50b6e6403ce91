"""DATABASE_URL: what it may say, and that its password is never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from rolltop.core.db import Database, redact_passwords
from rolltop.core.db.url import parse_url
from rolltop.core.errors import InvalidConfig


def test_four_slashes_name_an_absolute_file_and_three_a_relative_one() -> None:
    assert Database("sqlite:////var/lib/desk.db").path == Path("/var/lib/desk.db")
    assert Database("sqlite:///desk.db").path == Path.cwd() / "desk.db"
    assert Database("sqlite:////var/my%20desk.db").path == Path("/var/my desk.db")


@pytest.mark.parametrize(
    "scheme",
    ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg", "postgres+psycopg2"],
)
def test_every_name_of_postgresql_is_accepted(scheme: str) -> None:
    database = Database(f"{scheme}://ada:secret@db.example.org:5432/desk")
    assert (database.url_kind, database.path) == ("postgresql", None)


def test_what_another_driver_calls_sslmode_is_understood() -> None:
    parsed = parse_url("postgresql+asyncpg://ada:s?ssl=x@host/desk?a=1&ssl=require")
    assert parsed.url == "postgresql+psycopg://ada:s?ssl=x@host/desk?a=1&sslmode=require"
    assert parse_url("sqlite+aiosqlite:////var/lib/desk.db").url == "sqlite:////var/lib/desk.db"


@pytest.mark.parametrize(
    ("given", "taken", "is_pooled"),
    [
        ("desk?pgbouncer=true", "desk", True),
        ("desk?a=1&pgbouncer=1", "desk?a=1", True),
        ("desk?pgbouncer=true&ssl=require", "desk?sslmode=require", True),
        ("desk?pgbouncer=false&a=1", "desk?a=1", False),
        ("desk?a=1", "desk?a=1", False),
    ],
)
def test_an_address_says_whether_a_pooler_stands_between(
    given: str, taken: str, *, is_pooled: bool
) -> None:
    parsed = parse_url(f"postgresql://ada@host/{given}")
    assert (parsed.url, parsed.is_pooled) == (f"postgresql+psycopg://ada@host/{taken}", is_pooled)


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(InvalidConfig) as refused:
        Database("postgresql://ada:secret@db.example.org/desk")
    assert "secret" not in refused.value.message
    assert "'rolltop[postgresql]'" in refused.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql:///desk",
        "postgresql://ada@/desk?host=/run",
        "postgresql://ada:se/cr:et@host:5432",
        "postgresql://ada:secret@[::1]:5432/desk?sslmode=require",
        "postgresql://[::1]",
        "postgresql://host?user=ada",
    ],
)
def test_what_drivers_take_is_accepted(url: str) -> None:
    assert Database(url).url_kind == "postgresql"
    assert make_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "desk.db",
        "mysql://ada:secret@host/desk",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///%00",
        "sqlite://host/desk.db",
        "sqlite+pysqlcipher://:secret@/desk.db",
        "sqlite:///desk.db?mode=ro",
        "postgresql",
        "postgresql:desk",
        "postgresql:/ada:secret@host/desk",
        "host=db.example.org user=ada password=secret dbname=desk",
        "host=db user=ada password=secret sslrootcert=file:///ca.pem",
        "password=secret://b@c",
        "postgres://ada:secret@127.0.0.1:bad/desk",
        "postgresql://ada:secret@host:/desk",
        "postgresql://ada:secret@one:1,two:2/desk",
        "postgresql://[::1/desk",
        "postgresql://ada:p@secret@host/desk",
        "postgresql://ada:p/@secret@host:5432",
        "postgresql://ada:secret@[::1/desk",
        "postgresql://[::1]:5x/desk",
        "postgresql://::1/desk",
        "postgresql://host?user=ada@x:y",
        "sqlite:////",
        "sqlite:////var/..",
        "sqlite://[/desk.db",
        "sqlite:///~nobody-of-that-name/desk.db",
    ],
)
def test_any_other_url_is_refused_with_what_is_allowed(url: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        Database(url)
    assert "sqlite:////absolute/path.db" in raised.value.hint
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:secret@host/desk", "postgresql://ada:***@host/desk"),
        ("postgresql://ada@host/desk", "postgresql://ada@host/desk"),
        ("postgresql://:secret@host/desk", "postgresql://:***@host/desk"),
        (
            "postgresql:///desk?user=ada&password=secret&host=/run",
            "postgresql:///desk?user=ada&password=***&host=/run",
        ),
        ("postgresql:///desk?sslpassword=secret", "postgresql:///desk?sslpassword=***"),
        ("sqlite:////var/lib/desk.db", "sqlite:////var/lib/desk.db"),
        ("host=db PASSWORD='se cret' user=ada", "***"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert redact_passwords(url) == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_password_of_any_characters_is_shown(password: str) -> None:
    shown = redact_passwords(f"postgresql://ada:{password}@host/desk")
    assert shown == "postgresql://ada:***@host/desk"
