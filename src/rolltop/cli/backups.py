"""`rolltop backup` and `rolltop restore`: the whole store as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rolltop.cli import options, users
from rolltop.core.errors import Invalid, NotFound
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core.db import address, encryption, opening, restoring
else:
    address = lazy("rolltop.core.db.address")
    encryption = lazy("rolltop.core.db.encryption")
    opening = lazy("rolltop.core.db.opening")
    restoring = lazy("rolltop.core.db.restoring")


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
    with users.store(arguments) as database:
        if not database.is_there():
            raise NotFound(f"There is no store {database.path} yet.", hint="Nothing is kept yet.")
        database.backup(arguments.file.absolute())
    options.show(f"Wrote {arguments.file}. It opens with the key the store has, if it has one.")
    return 0


def _restore(arguments: Namespace) -> int:
    settings = options.read_settings(arguments)
    url: str = settings["database_url"]
    path = address.parse(url).path
    if path is not None and not arguments.yes and opening.is_there(path):
        if not options.is_terminal():
            raise Invalid(
                "Nobody is here to confirm that the store is to be replaced",
                hint="Add --yes to replace it without being asked.",
            )
        question = f"Replace the store by what {arguments.file} holds? [y/N] "
        if input(question).strip().lower() not in {"y", "yes"}:
            options.show("Nothing was replaced.")
            return 1
    kept = restoring.restore(url, arguments.file, encryption.configured(settings))
    options.show(f"The store is what {arguments.file} holds.")
    if kept is not None:
        options.show(f"What it was before is kept as {kept}.")
    return 0
