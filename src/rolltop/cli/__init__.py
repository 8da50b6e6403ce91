"""The command line: argv becomes one command. Only the command that is asked for is loaded."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from rolltop import __version__
from rolltop.core.errors import InvalidArgument, InvalidConfig, RolltopError, Unavailable

_WORD: Final = "\0"
"""Marks a word that is no option, since it stands behind `--`."""
COMMANDS: Final = {
    "serve": ("rolltop.cli.serve", "Serve MCP over stdio, or over HTTP with --http."),
    "open": ("rolltop.cli.open", "Open the page for people in a browser."),
    "call": ("rolltop.cli.call", "Call one tool and print its answer."),
    "search": ("rolltop.cli.search", "Search files, notes, pads and tasks at once."),
    "trace": ("rolltop.cli.trace", "Replay a recorded session and print what it costs."),
    "tools": ("rolltop.cli.tools", "List the tools and what each costs a client in tokens."),
    "config": ("rolltop.cli.config", "List every setting, its value and where it came from."),
    "doctor": ("rolltop.cli.doctor", "Check that all is in order and say what to do if not."),
    "install": ("rolltop.cli.install", "Let an MCP client start Rolltop."),
    "uninstall": ("rolltop.cli.install", "Take Rolltop out of an MCP client's configuration."),
    "hook": ("rolltop.cli.hook", "Print what a client's hook tells its model or its user."),
    "completion": ("rolltop.cli.completion", "Print a script that completes commands in a shell."),
    "export": ("rolltop.cli.desk_files", "Write a user's whole desk as plain files."),
    "import": ("rolltop.cli.desk_files", "Add what an exported desk has, and newer notes."),
    "backup": ("rolltop.cli.backups", "Write a copy of the store, also while it is used."),
    "restore": ("rolltop.cli.backups", "Put a backup in the place of the store."),
    "store encrypt": ("rolltop.cli.stores", "Encrypt the store that is there."),
    "store rekey": ("rolltop.cli.stores", "Change the passphrase of the encrypted store."),
    "store decrypt": ("rolltop.cli.stores", "Make the encrypted store a plain one again."),
    "user add": ("rolltop.cli.users", "Add a user."),
    "user list": ("rolltop.cli.users", "List the users."),
    "user delete": ("rolltop.cli.users", "Delete a user and all the user owns."),
    "workspace create": ("rolltop.cli.workspaces", "Make a workspace that several users share."),
    "workspace list": ("rolltop.cli.workspaces", "List the shared workspaces."),
    "workspace invite": ("rolltop.cli.workspaces", "Let a user in, or change the user's role."),
    "workspace members": ("rolltop.cli.workspaces", "List who shares a workspace."),
    "workspace leave": ("rolltop.cli.workspaces", "Take a user out of a workspace."),
    "workspace delete": ("rolltop.cli.workspaces", "Delete a workspace and all that is in it."),
    "token create": ("rolltop.cli.tokens", "Make an access token and print it once."),
    "token list": ("rolltop.cli.tokens", "List a user's tokens."),
    "token revoke": ("rolltop.cli.tokens", "Make a token worthless."),
    "audit": ("rolltop.cli.audit", "List what was done to users and tokens, and who logged in."),
    "notes export": ("rolltop.cli.note_files", "Write all notes as plain files."),
    "notes import": ("rolltop.cli.note_files", "Bring notes from plain files or Simplenote."),
    "notes login": ("rolltop.cli.notes", "Connect a Simplenote account by a mailed code."),
    "notes sync": ("rolltop.cli.notes", "Sync the notes with Simplenote now."),
    "notes status": ("rolltop.cli.notes", "Tell how the notes and their sync are doing."),
}
"""Each command with its module, which has `configure(parser)` and `run(arguments)`."""

SUCCESS: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
_INTERRUPTED: Final = 130
_NO_OUTPUT_HINT: Final = "Send it to /dev/null where no answer is wanted."
_NO_INPUT_HINT: Final = "Start it in a terminal, or give it the answer: --help lists the options."
_OUTPUT_LOST_HINT: Final = (
    "The command may have done its work all the same: look before you start it again."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 done, 1 failed, 2 wrong usage or configuration.

    A hook ends with 1 where others end with 2, by which it would forbid what it was told of.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] != ["hook"]:
        return _run(given)
    try:
        return min(_run(given), FAILURE)
    except SystemExit as ended:
        return FAILURE if ended.code else SUCCESS


def _run(given: list[str]) -> int:
    _prepare_output()
    name = next((n for n in (" ".join(given[:2]), *given[:1]) if n in COMMANDS), None)
    if name is None:
        _explain(given)
    try:
        command, arguments = _parse(name, given[len(name.split()) :])
        if sys.stdout is None and name != "serve":  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
            return _report_failure(
                InvalidConfig("stdout is closed, so nothing was done", hint=_NO_OUTPUT_HINT)
            )
        code = command.run(arguments)
        write_output(end="", flush=True)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left
        _discard_output()
        return FAILURE
    except EOFError:
        return _report_failure(
            InvalidArgument("A question was asked and stdin has ended", hint=_NO_INPUT_HINT)
        )
    except Exception as error:  # noqa: BLE001  # the last guard: an exit code and one line
        return _report_failure(_output_failure() or error)
    return code


def _parse(name: str, given: Sequence[str]) -> tuple[Any, argparse.Namespace]:
    """Load a command's module; return it and what its arguments say."""
    module_name, summary = COMMANDS[name]
    command = import_module(module_name)
    parser = _Parser(prog=f"rolltop {name}", description=summary, allow_abbrev=False)
    parser.set_defaults(command=name)
    command.configure(parser)
    if "--" in given:
        # An option of no meaning stands in its place: one before it gets no value from behind.
        parser.add_argument(
            f"--{_WORD}", dest="command", action="store_const", const=name, help=argparse.SUPPRESS
        )
        end = given.index("--")
        behind = [_WORD * word.startswith("-") + word for word in given[end + 1 :]]
        given = [*given[:end], f"--{_WORD}", *behind]
    arguments = parser.parse_intermixed_args(given)
    for key, value in vars(arguments).items():
        setattr(arguments, key, _as_typed(value))
    return command, arguments


class _Parser(argparse.ArgumentParser):
    """A parser that takes a marked word for no option, whatever it begins with.

    Python's own parsing of options between words loses a `--` that no word comes before.
    """

    def error(self, message: str) -> NoReturn:
        super().error(message.replace(_WORD, "").replace(repr(_WORD)[1:-1], ""))


def _as_typed(value: object) -> object:
    if isinstance(value, list):
        return [_as_typed(one) for one in cast("list[object]", value)]
    return type(value)(str(value).removeprefix(_WORD)) if isinstance(value, str | Path) else value


def _prepare_output() -> None:
    """Let programs read UTF-8 whatever the locale, and a terminal never stop us."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        encoding = None if sys.stdout.isatty() else "utf-8"
        reconfigure(encoding=encoding, errors="backslashreplace")


def _output_failure() -> Unavailable | None:
    """Return the failure of what is left to be written to stdout, if it fails."""
    try:
        write_output(end="", flush=True)
    except BrokenPipeError as error:
        lost = _output_lost(error)
    except Unavailable as failure:
        lost = failure
    else:
        return None
    _discard_output()
    return lost


def write_output(text: str = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print a part of the command's answer. Raises BrokenPipeError and Unavailable."""
    try:
        print(text, end=end, flush=flush)  # noqa: T201  # the one place where commands print
    except BrokenPipeError:
        raise
    except OSError as error:  # at once: Python forgets what it could not write
        raise _output_lost(error) from None


def _output_lost(error: OSError) -> Unavailable:
    return Unavailable(f"stdout cannot be written: {error.strerror}", hint=_OUTPUT_LOST_HINT)


def _discard_output() -> None:
    """Let what is left of the output go nowhere: Python would complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_failure(error: Exception) -> int:
    """Print the one line of a failure and return its exit code."""
    if isinstance(error, RolltopError):
        said = error.full_message
        end = "" if said.endswith((".", "?")) else "."
        line = f"{said}{end} {error.hint}".rstrip()
        print(f"rolltop: {line}", file=sys.stderr)  # noqa: T201  # the command's answer
        return error.exit_code
    logs = import_module("rolltop.core.logging")
    logs.configure_once()
    reference = logs.fault(error)
    print(f"rolltop: something failed here (reference {reference}).", file=sys.stderr)  # noqa: T201  # as above
    return FAILURE


def _explain(given: list[str]) -> NoReturn:
    """Answer --help and --version, or say what is wrong; this ends the process."""
    group = given[0] if given and any(name.startswith(f"{given[0]} ") for name in COMMANDS) else ""
    listed = {name: text for name, (_, text) in COMMANDS.items() if name.startswith(group)}
    width = max(map(len, listed))
    parser = argparse.ArgumentParser(
        prog=f"rolltop {group}".strip(),
        usage="%(prog)s [-h] COMMAND ...",
        description="A durable desk for AI agents, as an MCP server.",
        epilog="commands:\n"
        + "\n".join(f"  {name:{width}}  {text}" for name, text in listed.items())
        + "\n\n`rolltop COMMAND --help` explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if not group:
        parser.add_argument("--version", action="version", version=f"rolltop {__version__}")
    rest = given[1:] if group else given
    if not rest:
        parser.print_help(sys.stderr)
        raise SystemExit(USAGE)
    if rest[0].startswith("-"):
        parser.parse_args(rest[:1])
    known = [*listed, *{name.split()[0] for name in listed if not group}]
    nearest = import_module("difflib").get_close_matches(f"{group} {rest[0]}".strip(), known, 1)
    meant = f"did you mean `rolltop {nearest[0]}`?" if nearest else f"one of {', '.join(listed)}"
    parser.error(f"unknown command {rest[0]!r}; {meant}")
