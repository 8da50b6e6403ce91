"""`rolltop workspace`: who shares things with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.cli import options
from rolltop.cli.lazy_modules import accounts, db, workspaces
from rolltop.cli.users import (
    confirm,
    delete_owner,
    format_time,
    open_store,
    record,
    require_user,
)
from rolltop.core.principal import EDITOR, ROLES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core.db import Database, Tx
    from rolltop.core.workspaces import Workspace

_WITH_EMAIL: Final = {"workspace invite", "workspace leave"}


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    if command != "workspace list":
        parser.add_argument("name", metavar="NAME")
    if command in _WITH_EMAIL:
        parser.add_argument("email", metavar="EMAIL")
    if command == "workspace create":
        parser.add_argument("--owner", metavar="EMAIL", required=True)
    if command == "workspace invite":
        parser.add_argument("--role", choices=ROLES, default=EDITOR, help=f"default: {EDITOR}")
    if command == "workspace delete":
        parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the workspaces raise."""
    with open_store(arguments) as database:
        if arguments.command == "workspace delete":
            return _delete(database, arguments)
        if arguments.command == "workspace list":
            rows = [
                (space.name, space.id, format_time(space.created_at), str(count))
                for space, count in database.read_sync(db.SYSTEM, workspaces.list_workspaces)
            ]
            options.print_table([("workspace", "id", "since", "members"), *rows])
        elif arguments.command == "workspace members":
            space = database.read_sync(db.SYSTEM, workspaces.find_workspace, arguments.name)
            members = database.read_sync(db.SYSTEM, workspaces.list_members, space.id)
            options.print_table([("user", "role"), *((one.email, one.role) for one in members)])
        else:
            options.print_line(database.write_sync(db.SYSTEM, _change, arguments))
    return 0


def _change(tx: Tx, arguments: Namespace) -> str:
    """Do what the command says; return the sentence that tells it."""
    if arguments.command == "workspace create":
        owner = require_user(tx, arguments.owner)
        made = workspaces.create_workspace(tx, arguments.name, owner.id)
        record(tx, arguments, f"{made.name}: {owner.email}")
        return f"Made {made.name}, owned by {owner.email}."
    space = workspaces.find_workspace(tx, arguments.name)
    user = require_user(tx, arguments.email)
    if arguments.command == "workspace invite":
        workspaces.set_member(tx, space.id, user.id, arguments.role)
        record(tx, arguments, f"{space.name}: {user.email} as {arguments.role}")
        return f"{user.email} is {arguments.role} of {space.name}."
    workspaces.remove_member(tx, space.id, user.id)
    record(tx, arguments, f"{space.name}: {user.email}")
    return f"{user.email} has left {space.name}."


def _delete(database: Database, arguments: Namespace) -> int:
    space: Workspace = database.read_sync(db.SYSTEM, workspaces.find_workspace, arguments.name)
    if not confirm(f"the workspace {space.name}", "all that is kept in it", sure=arguments.yes):
        return 1
    delete_owner(database, arguments, space.id, space.name, accounts.delete_owner)
    return 0
