"""`rolltop user`: who may keep things here."""

from __future__ import annotations

import getpass
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rolltop.cli import options
from rolltop.cli.lazy_modules import accounts, audit, db, encryption, notebooks, sync
from rolltop.core.errors import NotFound, RolltopError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Generator, Mapping
    from datetime import datetime
    from pathlib import Path

    from rolltop.core.accounts import User
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, Tx
    from rolltop.core.db.encryption import Encryption
    from rolltop.core.settings import Settings


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    if command != "user list":
        parser.add_argument("email", metavar="EMAIL")
    if command == "user add":
        parser.add_argument("--id", metavar="UUID", default="", help="keep this id, not a new one")
    if command == "user delete":
        parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the accounts raise."""
    with open_store(arguments) as database:
        if arguments.command == "user add":
            user = database.write_sync(db.SYSTEM, _add, arguments)
            options.print_line(f"Added {user.email}.")
        elif arguments.command == "user delete":
            return _delete(database, arguments)
        else:
            users = database.read_sync(db.SYSTEM, accounts.list_users)
            rows = [
                (u.email, u.id, format_time(u.created_at), format_time(u.last_login_at) or "never")
                for u in users
            ]
            options.print_table([("user", "id", "since", "last login"), *rows])
    return 0


@contextmanager
def open_store(
    arguments: Namespace, key: Callable[[Settings], Encryption | None] | None = None
) -> Generator[Database]:
    """Return the store the settings name for as long as the command needs it.

    `key` returns how it is encrypted, where that is not as the settings say.
    """
    settings = options.read_settings(arguments)
    database = db.Database(
        settings["database_url"],
        statement_timeout=settings["statement_timeout"],
        lock_timeout=settings["lock_timeout"],
        threads=1,
        encryption=(key or encryption.encryption_from_settings)(settings),
    )
    try:
        yield database
    finally:
        database.close()


def require_user(tx: Tx, email: str) -> User:
    """Return the user with this address. Raises NotFound."""
    found = accounts.find_user_by_email(tx, email)
    if found is None:
        raise NotFound(f"There is no user {email!r}", hint="`rolltop user list` shows all users.")
    return found


def format_time(moment: datetime | None) -> str:
    """Return a moment to the minute, in UTC; nothing for none."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def record(tx: Tx, arguments: Namespace, subject: str) -> None:
    """Note in the audit log, with the transaction, what a command does."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user has no name
        name = "unknown"
    audit.record(tx, f"{name} (command line)", arguments.command, subject)


def record_export(app: AppContext, arguments: Namespace, target: Path) -> None:
    """Note in the audit log who has exported what is whose, as `record_done` does."""
    record_done(app.database, arguments, f"{whose(app)}: {target.absolute()}")


def whose(app: AppContext) -> str:
    """Name the workspace, or the user, for whom a command works."""
    return app.settings["workspace"].strip() or app.settings["user"] or accounts.DEFAULT_EMAIL


def record_done(database: Database, arguments: Namespace, subject: str) -> None:
    """Note in the audit log what a command has done, also where that cannot be noted."""
    with suppress(RolltopError):
        database.write_sync(db.SYSTEM, record, arguments, subject)


def _add(tx: Tx, arguments: Namespace) -> User:
    user = accounts.add_user(tx, arguments.email, arguments.id)
    record(tx, arguments, user.email)
    return user


def _delete(database: Database, arguments: Namespace) -> int:
    user = database.read_sync(db.SYSTEM, require_user, arguments.email)
    if not confirm(user.email, "all that is kept for this user", sure=arguments.yes):
        return 1
    delete_owner(database, arguments, user.id, user.email, accounts.delete_user)
    return 0


def delete_owner(
    database: Database,
    arguments: Namespace,
    owner_id: str,
    name: str,
    delete: Callable[[Tx, str], Mapping[str, int]],
) -> None:
    """Delete a user or a workspace, and then the tokens of its Simplenote accounts.

    Raises Unavailable: a token may be left; the message says where.
    """

    def work(tx: Tx) -> tuple[Mapping[str, int], list[str]]:
        record(tx, arguments, name)
        connected = notebooks.list_accounts(tx, owner_id)
        return delete(tx, owner_id), connected

    counts, connected = database.write_sync(db.SYSTEM, work)
    options.print_line(f"Deleted {name}{_describe_rows(counts)}.")
    if connected:
        sync.delete_tokens(options.read_settings(arguments), owner_id, connected)


def confirm(name: str, contents: str, *, sure: bool) -> bool:
    """Return whether it may be deleted, after a question unless `sure`.

    Raises InvalidArgument where nobody is there to answer.
    """
    if sure:
        return True
    agreed = options.confirm(
        f"Delete {name} and {contents}?",
        f"that {name} is to be deleted",
        "Add --yes to delete without being asked.",
    )
    if not agreed:
        options.print_line("Nothing was deleted.")
    return agreed


def _describe_rows(counts: Mapping[str, int]) -> str:
    """Return what went with a user, by table: ` with notes (3)`; nothing for none."""
    owned = [f"{name.replace('_', ' ')} ({count})" for name, count in counts.items() if count]
    return f" with {', '.join(owned)}" if owned else ""
