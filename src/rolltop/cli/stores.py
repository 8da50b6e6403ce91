"""`rolltop store`: encrypt the store that is there, change its key, or decrypt it."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Final

from rolltop.cli import options, users
from rolltop.cli.lazy_modules import encryption, rekey
from rolltop.core.errors import InvalidArgument, InvalidConfig

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core.db.encryption import Encryption
    from rolltop.core.settings import Settings

_ITERATIONS_KEY: Final = "db_encryption_kdf_iterations"


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    if parser.get_default("command") == "store rekey":
        parser.add_argument(
            "--iterations",
            metavar="N",
            type=int,
            help="how often the new passphrase is hashed, if not as often as the present one",
        )
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Write the store anew and say what to set now. Raises what the store raises."""
    settings = options.read_settings(arguments)
    present = encryption.encryption_from_settings(settings)
    if present is None:
        raise InvalidConfig(
            "DB_ENCRYPTION_KEY is not set", hint="Set it to the passphrase of the store."
        )
    url: str = settings["database_url"]
    wanted = present
    if arguments.command == "store encrypt":
        left = rekey.rekey_store(url, None, present)
        options.print_line(
            "The store is encrypted. Without DB_ENCRYPTION_KEY nobody can read it again."
        )
    elif arguments.command == "store decrypt":
        wanted = None
        left = rekey.rekey_store(url, present, wanted)
        options.print_line("The store is not encrypted any more: unset DB_ENCRYPTION_KEY.")
    else:
        wanted = _requested_encryption(settings, arguments.iterations)
        left = rekey.rekey_store(url, present, wanted)
        options.print_line("The store has its new key: set DB_ENCRYPTION_KEY to it.")
        if wanted.iterations != present.iterations:
            options.print_line(f"Set DB_ENCRYPTION_KDF_ITERATIONS to {wanted.iterations}, too.")
    with users.open_store(arguments, lambda _settings: wanted) as database:
        users.record_done(database, arguments, str(database.path))
    for copy in left:
        options.print_line(
            f"This copy is as it was before, delete it if you need it no more: {copy}"
        )
    return 0


def _requested_encryption(settings: Settings, iterations: int | None) -> Encryption:
    """Return the new encryption; a person is asked for the passphrase."""
    passphrase: str = settings["db_encryption_new_key"]
    if not passphrase:
        if not options.is_terminal():
            raise InvalidConfig(
                "DB_ENCRYPTION_NEW_KEY is not set, and stdin is not a terminal",
                hint="Set it to the new passphrase.",
            )
        passphrase = getpass.getpass("New passphrase: ")
        if not passphrase or getpass.getpass("Once more: ") != passphrase:
            raise InvalidArgument("The two are not the same, or empty", hint="Nothing was changed.")
    setting = settings.declared[_ITERATIONS_KEY]
    if iterations is not None and not (setting.minimum or 0) <= iterations <= setting.max_value:
        raise InvalidConfig(
            f"--iterations cannot be {iterations}", hint=f"It must be {setting.allowed_values}."
        )
    return encryption.Encryption(passphrase, iterations or settings[_ITERATIONS_KEY])
