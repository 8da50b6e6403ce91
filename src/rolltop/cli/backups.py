"""`rolltop backup` and `rolltop restore`: the whole store as one file, and back."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolltop.cli import options, users
from rolltop.cli.lazy_modules import bootstrap, encryption, restore, url
from rolltop.core.errors import NotFound


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    if parser.get_default("command") == "backup":
        parser.add_argument("file", metavar="FILE", type=Path, help="a file that is not there yet")
    else:
        parser.add_argument("file", metavar="FILE", type=Path, help="a file `rolltop backup` made")
        parser.add_argument("--yes", action="store_true", help="do not ask")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store raises."""
    if arguments.command == "backup":
        return _backup(arguments)
    return _restore(arguments)


def _backup(arguments: Namespace) -> int:
    with users.open_store(arguments) as database:
        if not database.exists():
            raise NotFound(f"There is no store {database.path} yet.", hint="Nothing is kept yet.")
        database.backup(arguments.file.absolute())
        users.record_done(database, arguments, str(arguments.file.absolute()))
    options.print_line(
        f"Wrote {arguments.file}. It opens with the key the store has, if it has one."
    )
    return 0


def _restore(arguments: Namespace) -> int:
    settings = options.read_settings(arguments)
    database_url: str = settings["database_url"]
    path = url.parse_url(database_url).path
    if path is not None and not arguments.yes and bootstrap.store_exists(path):
        agreed = options.confirm(
            f"Replace the store by what {arguments.file} holds?",
            "that the store is to be replaced",
            "Add --yes to replace it without being asked.",
        )
        if not agreed:
            options.print_line("Nothing was replaced.")
            return 1
    kept = restore.restore_backup(
        database_url, arguments.file, encryption.encryption_from_settings(settings)
    )
    with users.open_store(arguments) as database:
        users.record_done(database, arguments, str(arguments.file.absolute()))
    options.print_line(f"The store is what {arguments.file} holds.")
    if kept is not None:
        options.print_line(f"What it was before is kept as {kept}.")
    return 0
