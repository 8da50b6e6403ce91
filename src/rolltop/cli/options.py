"""What commands share: the options that set settings, and the settings they lead to."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from rolltop.cli import write_output
from rolltop.cli.lazy_modules import logging, toolsets
from rolltop.core import settings
from rolltop.core.errors import InvalidArgument, InvalidConfig
from rolltop.core.settings import Setting, Settings

BOLD, RED, GREEN, YELLOW, CYAN = "1", "31", "32", "33", "36"
"""Codes of a terminal's colours, for `paint`."""
_SETTING_OPTIONS = {
    "user": "user",
    "project": "project",
    "workspace": "workspace",
    "toolsets": "toolsets",
    "tools": "tools",
    "exclude_tools": "exclude_tools",
    "names": "names",
    "socket": "http.socket",
}
"""Options that set one setting, by their names in the parsed arguments."""


def add_settings(parser: ArgumentParser) -> None:
    """Add --config and --set: every command that reads settings has them."""
    group = parser.add_argument_group("settings")
    group.add_argument("--config", metavar="FILE", type=Path, help="read this settings file too")
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set any setting; `rolltop config` lists them",
    )


def add_identity(parser: ArgumentParser) -> None:
    """Add --user, --workspace and --project."""
    parser.add_argument("--user", metavar="EMAIL", help="work for this user, not the default one")
    parser.add_argument("--workspace", metavar="NAME", help="work in this workspace of the user's")
    parser.add_argument(
        "--project", metavar="NAME", help="work in this project, not the folder's ('': in none)"
    )


def add_selection(parser: ArgumentParser) -> None:
    """Add the options that choose which tools are offered."""
    group = parser.add_argument_group("choice of tools")
    group.add_argument("--toolsets", metavar="A,B", help="offer only these toolsets")
    group.add_argument("--tools", metavar="A,B", help="offer only these tools")
    group.add_argument("--exclude-tools", metavar="A,B", help="do not offer these tools")
    group.add_argument("--read-only", action="store_true", help="offer only what changes nothing")
    group.add_argument(
        "--names", metavar="canonical|seed", help="which names tools are listed under"
    )


def declared_settings() -> tuple[Setting, ...]:
    """Return every setting there is: core's, then each toolset's."""
    names = tuple(toolset.name for toolset in toolsets.TOOLSETS)
    core = (
        replace(setting, choices=names) if setting.key == "toolsets" else setting
        for setting in settings.CORE_SETTINGS
    )
    return (*core, *(s for toolset in toolsets.TOOLSETS for s in toolset.settings))


def read_settings(
    arguments: Namespace,
    *,
    serving: bool = False,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """Return the settings of this command, with the log set up as they say.

    `more` are further settings of the command line, keys to texts. Unless the log level was set,
    only a server writes every line to stderr; a person at a shell sees what needs attention.
    Raises InvalidConfig.
    """
    read = settings.load(
        declared_settings(),
        environment=os.environ,
        command_line={**dict(_option_values(arguments)), **more},
        working_directory=working_directory(),
        user_directory=settings.user_directory(),
        config=arguments.config,
    )
    logging.configure(
        level=read["log_level"],
        form=read["log_format"],
        file=read["log_file_path"],
        quiet=not serving and read.source("log_level") == settings.DEFAULT_SOURCE,
    )
    for notice in read.notices:
        logging.event(notice.text, level=notice.level)
    return read


def own_variables() -> list[str]:
    """Return the names of variables in the environment that set something of ours."""
    named = {
        name
        for setting in declared_settings()
        for name in (*setting.environment, *(entry for entry, _ in setting.entries))
    }
    return [name for name in os.environ if name in named or name.startswith("ROLLTOP_")]


def read_entry(arguments: Sequence[str], given: Mapping[str, str], directory: str) -> Settings:
    """Return the settings of a server that a client starts with these arguments and variables.

    Of ours, it sees the variables that the client's entry sets and no others. `directory` is the
    one it is started in, if that is known. Raises InvalidConfig: the server would not start.
    """
    parser = EntryParser(allow_abbrev=False)
    import_module("rolltop.cli.serve").configure(parser)
    parsed = parser.parse_args(arguments[arguments.index("serve") + 1 :])
    ours = own_variables()
    others = {name: text for name, text in os.environ.items() if name not in ours}
    return settings.load(
        declared_settings(),
        environment={**others, **given},
        command_line=dict(_option_values(parsed)),
        working_directory=Path(directory or settings.user_directory()),
        user_directory=settings.user_directory(),
        config=parsed.config,
    )


class EntryParser(ArgumentParser):
    """Parses arguments of a client's entry, which nobody typed here. Raises InvalidConfig."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments, where argparse would end the process."""
        raise InvalidConfig(f"its arguments are refused: {message}", hint="Fix the entry.")


def working_directory() -> Path:
    """Return the folder this process was started in. Raises InvalidConfig if it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InvalidConfig(
            "The working directory is not there any more", hint="Start in another one."
        ) from None


def print_line(line: str = "") -> None:
    """Print one line of the command's answer. Raises Unavailable if it cannot be written."""
    write_output(line)


def format_table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the rows as lines with columns of equal width; numbers are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if cell.replace(",", "").isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print the rows as `format_table` lines them up. Raises as `print_line`."""
    for line in format_table(rows):
        print_line(line)


def paint(text: str, color: str) -> str:
    """Return a text in a colour of the terminal (its SGR code), where stdout shows colours."""
    shows = color and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\x1b[{color}m{text}\x1b[0m" if shows else text


def is_terminal() -> bool:
    """Whether a person can answer questions here."""
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one


def confirm(question: str, purpose: str, hint: str) -> bool:
    """Whether a person says yes. Raises InvalidArgument, with the hint, where nobody is there."""
    if not is_terminal():
        raise InvalidArgument(f"Nobody is here to confirm {purpose}", hint=hint)
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def _option_values(arguments: Namespace) -> Iterator[tuple[str, str]]:
    """Yield the keys and texts of the options that were used, --set first."""
    for pair in arguments.set:
        key, equals, text = pair.partition("=")
        if not equals:
            raise InvalidConfig(f"--set {pair} has no =", hint="Write --set key=value.")
        yield key.strip(), text
    for option, key in _SETTING_OPTIONS.items():
        text = getattr(arguments, option, None)
        if text is not None:
            yield key, text
    if getattr(arguments, "read_only", False):
        yield "read_only", "on"
