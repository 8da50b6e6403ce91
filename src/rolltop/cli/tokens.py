"""`rolltop token`: how clients over HTTP prove whose they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from rolltop.cli import options
from rolltop.cli.users import day, owner, store
from rolltop.core.errors import ConfigInvalid, Conflict, NotFound
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core import accounts, db
    from rolltop.core.accounts import AccessToken
    from rolltop.core.db import Database, Tx
else:
    accounts = lazy("rolltop.core.accounts")
    db = lazy("rolltop.core.db")

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_LASTING: Final = re.compile(r"([0-9]{1,6})([mhd])")


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    parser.add_argument("email", metavar="EMAIL")
    if command == "token create":
        parser.add_argument("--name", default="token", help="what it is for, such as its client")
        parser.add_argument(
            "--expires", metavar="WHEN", help="after a time (12h, 90d) or at a date (2030-01-31)"
        )
        parser.add_argument("--read-only", action="store_true", help="it may change nothing")
    elif command == "token revoke":
        parser.add_argument("token", metavar="TOKEN", help="its id or its name, not its secret")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the accounts raise."""
    given: str | None = getattr(arguments, "expires", None)
    expires = None if given is None else expiry(given)  # an empty one is a mistake, not never
    readonly = getattr(arguments, "read_only", False)
    arguments.read_only = False  # here it is the token's, not the server's
    with store(arguments) as database:
        if arguments.command == "token create":
            _create(database, arguments, expires, read_only=readonly)
        elif arguments.command == "token list":
            for line in options.table(_rows(database, arguments.email)):
                options.show(line)
        else:
            token = database.write_now(db.SYSTEM, _revoke, arguments.email, arguments.token)
            options.show(f"Revoked {token.name} ({token.id}).")
    return 0


def expiry(text: str) -> datetime:
    """Return the moment, in UTC, that a time from now or an ISO date stands for.

    Raises:
        ConfigInvalid: it is neither.

    """
    lasting = _LASTING.fullmatch(text)
    if lasting:
        return datetime.now(UTC) + timedelta(**{_UNITS[lasting[2]]: int(lasting[1])})
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigInvalid(
            f"--expires {text!r} is no time", hint="Write 12h, 90d or a date such as 2030-01-31."
        ) from None


def _create(
    database: Database, arguments: Namespace, expires: datetime | None, *, read_only: bool
) -> None:
    """Make a token and print it, alone on the last line."""

    def create(tx: Tx) -> tuple[str, AccessToken]:
        user = owner(tx, arguments.email)
        return accounts.create_token(tx, user.id, arguments.name, expires, read_only=read_only)

    plain, token = database.write_now(db.SYSTEM, create)
    lasts = f"expires {day(token.expires_at)} UTC" if token.expires_at else "never expires"
    may = "may only read" if token.read_only else "may read and write"
    options.show(f"Token {token.name} ({token.id}) {may} and {lasts}. It is shown only now:")
    options.show(plain)


def _rows(database: Database, email: str) -> list[tuple[str, ...]]:
    def read(tx: Tx) -> list[AccessToken]:
        return accounts.list_tokens(tx, owner(tx, email).id)

    now = datetime.now(UTC)
    rows = [("id", "name", "state", "created", "expires", "last used")]
    rows += [
        (
            token.id,
            token.name,
            _state(token, now),
            day(token.created_at),
            day(token.expires_at) or "never",
            day(token.last_used_at) or "never",
        )
        for token in database.read_now(db.SYSTEM, read)
    ]
    return rows


def _state(token: AccessToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return "read-only" if token.read_only else "valid"


def _revoke(tx: Tx, email: str, name_or_id: str) -> AccessToken:
    """Return the token, revoked; a name will do where only one valid token has it."""
    user = owner(tx, email)
    valid = [t for t in accounts.list_tokens(tx, user.id) if t.revoked_at is None]
    named = [token for token in valid if token.name == name_or_id]
    if len(named) > 1:
        ids = ", ".join(token.id for token in named)
        raise Conflict(f"Several tokens are named {name_or_id!r}", hint=f"Give an id: {ids}.")
    if not named and len(name_or_id) != len(user.id):
        raise NotFound(
            f"{user.email} has no token {name_or_id!r}",
            hint=f"`rolltop token list {user.email}` shows the tokens.",
        )
    return accounts.revoke_token(tx, user.id, named[0].id if named else name_or_id)
