"""`rolltop user`: who may keep things here."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rolltop.cli import options
from rolltop.core.errors import Invalid, NotFound
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator
    from datetime import datetime

    from rolltop.core import accounts, db
    from rolltop.core.accounts import User
    from rolltop.core.db import Database, Tx, encryption
else:
    accounts = lazy("rolltop.core.accounts")
    db = lazy("rolltop.core.db")
    encryption = lazy("rolltop.core.db.encryption")


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    if command != "user list":
        parser.add_argument("email", metavar="EMAIL")
    if command == "user delete":
        parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the accounts raise."""
    with store(arguments) as database:
        if arguments.command == "user add":
            user = database.write_now(db.SYSTEM, accounts.add_user, arguments.email)
            options.show(f"Added {user.email}.")
        elif arguments.command == "user delete":
            return _delete(database, arguments.email, sure=arguments.yes)
        else:
            users = database.read_now(db.SYSTEM, accounts.list_users)
            rows = [
                (u.email, u.id, day(u.created_at), day(u.last_login_at) or "never") for u in users
            ]
            for line in options.table([("user", "id", "since", "last login"), *rows]):
                options.show(line)
    return 0


@contextmanager
def store(arguments: Namespace) -> Generator[Database]:
    """Return the store the settings name for as long as the command needs it."""
    settings = options.read_settings(arguments)
    database = db.Database(
        settings["database_url"],
        statement_timeout=settings["statement_timeout"],
        lock_timeout=settings["lock_timeout"],
        threads=1,
        encryption=encryption.configured(settings),
    )
    try:
        yield database
    finally:
        database.close()


def owner(tx: Tx, email: str) -> User:
    """Return the user with this address. Raises NotFound."""
    found = accounts.user_by_email(tx, email)
    if found is None:
        raise NotFound(f"There is no user {email!r}", hint="`rolltop user list` shows all users.")
    return found


def day(moment: datetime | None) -> str:
    """Return a moment to the minute, in UTC; nothing for none."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def _delete(database: Database, email: str, *, sure: bool) -> int:
    user = database.read_now(db.SYSTEM, owner, email)
    if not sure:
        if not options.is_terminal():
            raise Invalid(
                f"Nobody is here to confirm that {user.email} is to be deleted",
                hint="Add --yes to delete without being asked.",
            )
        question = f"Delete {user.email} and all that is kept for this user? [y/N] "
        if input(question).strip().lower() not in {"y", "yes"}:
            options.show("Nothing was deleted.")
            return 1
    counts = database.write_now(db.SYSTEM, accounts.delete_user, user.id)
    owned = [f"{name.replace('_', ' ')} ({count})" for name, count in counts.items() if count]
    options.show(f"Deleted {user.email}{' with ' + ', '.join(owned) if owned else ''}.")
    return 0
