"""`rolltop token`: how clients over HTTP prove whose they are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from rolltop.cli import options
from rolltop.cli.lazy_modules import accounts, db, workspaces
from rolltop.cli.users import format_time, open_store, record, require_user
from rolltop.core.errors import Conflict, InvalidConfig, NotFound
from rolltop.core.principal import VIEWER

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core.accounts import AccessToken
    from rolltop.core.db import Database, Tx
    from rolltop.core.workspaces import Membership

_LIFETIME: Final = "90d"
_NEVER: Final = "never"
_LEFT: Final = "(left)"
"""Stands for a workspace that is gone, or that the token's user has left."""
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_DURATION: Final = re.compile(r"([0-9]{1,6})([mhd])")


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    parser.add_argument("email", metavar="EMAIL")
    if command == "token create":
        parser.add_argument("--name", default="token", help="what it is for, such as its client")
        parser.add_argument(
            "--expires",
            metavar="WHEN",
            default=_LIFETIME,
            help=f"after a time (12h), at a date (2030-01-31) or {_NEVER}; default: {_LIFETIME}",
        )
        parser.add_argument(
            "--project",
            metavar="NAME",
            dest="bound_project",
            default="",
            help="its clients work in this project, not in the server's",
        )
        parser.add_argument(
            "--workspace",
            metavar="NAME",
            dest="workspace_names",
            action="append",
            default=[],
            help="it is for this workspace, not the user's own; the first is the default",
        )
        parser.add_argument("--read-only", action="store_true", help="it may change nothing")
    elif command == "token revoke":
        parser.add_argument("token", metavar="TOKEN", help="its id or its name, not its secret")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the accounts raise."""
    expires = parse_expiry(getattr(arguments, "expires", _NEVER))
    readonly = getattr(arguments, "read_only", False)
    arguments.read_only = False  # here it is the token's, not the server's
    with open_store(arguments) as database:
        if arguments.command == "token create":
            _create(database, arguments, expires, read_only=readonly)
        elif arguments.command == "token list":
            options.print_table(_token_rows(database, arguments.email))
        else:
            token = database.write_sync(db.SYSTEM, _revoke_token, arguments)
            options.print_line(f"Revoked {token.name} ({token.id}).")
    return 0


def parse_expiry(text: str) -> datetime | None:
    """Return the moment, in UTC, that a time from now or an ISO date stands for; None for never.

    Raises InvalidConfig: it is neither.
    """
    if text == _NEVER:
        return None
    lasting = _DURATION.fullmatch(text)
    if lasting:
        return datetime.now(UTC) + timedelta(**{_UNITS[lasting[2]]: int(lasting[1])})
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidConfig(
            f"--expires {text!r} is no time", hint="Write 12h, 90d, 2030-01-31 or never."
        ) from None


def _create(
    database: Database, arguments: Namespace, expires: datetime | None, *, read_only: bool
) -> None:
    """Make a token and print it, alone on the last line."""

    def create(tx: Tx) -> tuple[str, AccessToken, list[Membership]]:
        user = require_user(tx, arguments.email)
        made = accounts.create_token(
            tx,
            user.id,
            arguments.name,
            expires,
            read_only=read_only,
            project=arguments.bound_project,
            workspace_names=arguments.workspace_names,
        )
        rights = ", read-only" if read_only else ""
        spaces = "".join(f", for {name}" for name in arguments.workspace_names)
        record(tx, arguments, f"{_describe(user.email, made[1])}{rights}{spaces}")
        return *made, workspaces.list_memberships(tx, user.id, made[1].workspace_ids or ())

    plain, token, shared = database.write_sync(db.SYSTEM, create)
    lasts = f"expires {format_time(token.expires_at)} UTC" if token.expires_at else "never expires"
    may = "may only read" if token.read_only else "may read and write"
    where = f" in the project {token.project}" if token.project else ""
    if shared:
        viewed = " (as a viewer: only read)"
        named = (one.name + viewed * (one.role == VIEWER) for one in shared)
        where = f" in {', '.join(named)}{where}"
    options.print_line(
        f"Token {token.name} ({token.id}) {may}{where} and {lasts}. It is shown only now:"
    )
    options.print_line(plain)


def _token_rows(database: Database, email: str) -> list[tuple[str, ...]]:
    def read(tx: Tx) -> tuple[list[AccessToken], dict[str, str]]:
        user = require_user(tx, email)
        found = accounts.list_tokens(tx, user.id)
        wanted = [one for token in found for one in token.workspace_ids or ()]
        mine = workspaces.list_memberships(tx, user.id, wanted)
        return found, {one.workspace_id: one.name for one in mine}

    now = datetime.now(UTC)
    tokens, names = database.read_sync(db.SYSTEM, read)
    rows = [("id", "name", "state", "created", "expires", "last used", "project", "workspaces")]
    rows += [
        (
            token.id,
            token.name,
            _token_state(token, now),
            format_time(token.created_at),
            format_time(token.expires_at) or "never",
            format_time(token.last_used_at) or "never",
            token.project or "",
            ", ".join(names.get(one, _LEFT) for one in token.workspace_ids or ()),
        )
        for token in tokens
    ]
    return rows


def _token_state(token: AccessToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return "read-only" if token.read_only else "valid"


def _describe(email: str, token: AccessToken) -> str:
    return f"{email}: {token.name} ({token.id})"


def _revoke_token(tx: Tx, arguments: Namespace) -> AccessToken:
    """Return the token, revoked; a name will do where only one valid token has it."""
    user, name_or_id = require_user(tx, arguments.email), arguments.token
    valid = [t for t in accounts.list_tokens(tx, user.id) if t.revoked_at is None]
    named = [token for token in valid if token.name == name_or_id]
    named = [token for token in named if _token_state(token, tx.now) != "expired"] or named
    if len(named) > 1:
        ids = ", ".join(token.id for token in named)
        raise Conflict(f"Several tokens are named {name_or_id!r}", hint=f"Give an id: {ids}.")
    if not named and len(name_or_id) != len(user.id):
        raise NotFound(
            f"{user.email} has no token {name_or_id!r}",
            hint=f"`rolltop token list {user.email}` shows the tokens.",
        )
    token = accounts.revoke_token(tx, user.id, named[0].id if named else name_or_id)
    record(tx, arguments, _describe(user.email, token))
    return token
