"""`rolltop config`: every setting, what it is for, its value and where that came from."""

from __future__ import annotations

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from rolltop.cli import options
from rolltop.cli.lazy_modules import project
from rolltop.core import settings as core_settings
from rolltop.core.settings import Settings

_WIDTH: Final = 88


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("keys", metavar="KEY", nargs="*", help="only these settings")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print the settings as this command line makes them, by sections; passwords are hidden."""
    settings = options.read_settings(arguments)
    keys: list[str] = arguments.keys or list(settings)
    for key in keys:
        if key not in settings:
            raise core_settings.unknown_name_error("setting", key, "command line", settings)
    if arguments.json:
        options.print_line(json.dumps([_setting_as_json(settings, key) for key in keys], indent=2))
        return 0
    if arguments.keys:
        for key in keys:
            for line in _format_setting(settings, key):
                options.print_line(line)
        return 0
    path = core_settings.user_directory() / core_settings.FILE_NAME
    options.print_line(f"# {path}{'' if path.exists() else ' (not there yet)'}")
    for section, group in groupby(sorted(keys, key=_section), key=_section):
        options.print_line()
        options.print_line(options.paint(f"# {section or 'general'}", options.BOLD))
        for key in group:
            for line in _format_setting(settings, key):
                options.print_line(line)
    return 0


def _section(key: str) -> str:
    return key.rpartition(".")[0]


def _value(settings: Settings, key: str) -> str:
    """Return a value as a person would write it; the project is the one a server here has."""
    if key == "project" and settings.source(key) == core_settings.DEFAULT_SOURCE:
        return project.find_project_name(options.working_directory())
    return settings.masked_text(key)


def _setting_as_json(settings: Settings, key: str) -> dict[str, str]:
    setting = settings.declared[key]
    return {
        "key": key,
        "value": _value(settings, key),
        "source": settings.source(key),
        "help": setting.help,
        "allowed": setting.allowed_values,
        "variable": setting.variable,
    }


def _format_setting(settings: Settings, key: str) -> Iterator[str]:
    """Yield a setting as a line of TOML's kind, and its explanation as a comment."""
    setting = settings.declared[key]
    yield f"{options.paint(key, options.CYAN)} = {_value(settings, key)}".rstrip()
    seeds = [*setting.environment, *(name for name, _ in setting.entries)]
    names = " or ".join([setting.variable, *seeds])
    about = f"{setting.help} It is {setting.allowed_values}. From: {settings.source(key)}. {names}"
    yield from textwrap.wrap(
        about, _WIDTH, initial_indent="    # ", subsequent_indent="    # ", break_on_hyphens=False
    )
