"""`rolltop install` and `uninstall`: Rolltop in the configuration of MCP clients."""

from __future__ import annotations

import difflib
import os
import secrets
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rolltop.cli import client_configs, options
from rolltop.cli.client_configs import Client
from rolltop.cli.lazy_modules import workspace
from rolltop.core import skill
from rolltop.core.errors import InvalidArgument, InvalidConfig
from rolltop.core.pagination import replace_surrogates

_VARIABLES: Final = {"code": "CODE_ROOT", "docs": "DOCS_ROOT"}
_ADDRESSES: Final = ("url", "httpUrl", "serverUrl")
"""Keys of an entry that name a server over HTTP."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    names = [client.name for client in client_configs.clients()]
    is_install = parser.get_default("command") == "install"
    parser.add_argument(
        "client",
        metavar="CLIENT",
        nargs="?" if is_install else None,
        help=", ".join(names) + ("; --print for any other" if is_install else ""),
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    if is_install:
        parser.add_argument(
            "--print", action="store_true", help="print the entry and change nothing"
        )
        parser.add_argument(
            "--hooks",
            action="store_true",
            help="also have it run `rolltop hook`: a session starts with what is open",
        )
        parser.add_argument(
            "--skill", action="store_true", help="also give it the skill of working with the desk"
        )
        for name, variable in _VARIABLES.items():
            about = f"let it read this folder as the root {name} ({variable} in the entry)"
            parser.add_argument(f"--{name}", metavar="FOLDER", type=Path, help=about)


def run(arguments: Namespace) -> int:
    """Change the configuration, or print the entry; return 1 if the answer was no."""
    if arguments.command == "uninstall":
        return _uninstall(_find_client(arguments.client), sure=arguments.yes)
    if arguments.print:
        _print_entry(arguments)
        return 0
    client = _find_client(arguments.client)
    for option, has_place in (("hooks", client.hooks), ("skill", client.skills)):
        if getattr(arguments, option) and has_place is None:
            raise InvalidArgument(
                f"{client.title} takes no {option} from files",
                hint=f"Leave --{option} out: the tools work without.",
            )
    code = _install(client, arguments)
    hooks, skill_file = client.hooks, _skill_file(client)
    if code == 0 and arguments.hooks and hooks is not None:
        code = _change(hooks, "runs Rolltop's hooks", hooks.set_hooks, sure=arguments.yes)
        if code == 0 and hooks.advice:
            options.print_line(hooks.advice)
    if code == 0 and arguments.skill and skill_file is not None:
        text = skill.read_skill()
        code = _change(skill_file, "has the skill", lambda _old: text, sure=arguments.yes)
    return code


def _uninstall(client: Client, *, sure: bool) -> int:
    code = _change(client, "", client.remove_entry, sure=sure)
    hooks, skill_file = client.hooks, _skill_file(client)
    if code == 0 and hooks is not None and hooks.has_hooks(_read(hooks.path) or ""):
        code = _change(hooks, "", hooks.remove_hooks, sure=sure)
    if code == 0 and skill_file is not None and skill_file.path.exists():
        if _read(skill_file.path) != skill.read_skill():
            options.print_line(f"{skill_file.path} was changed, so it was left as it is.")
            return code
        skill_file.path.unlink()
        with suppress(OSError):  # copies of older ones are left there
            skill_file.path.parent.rmdir()
        options.print_line(f"Removed {skill_file.path}.")
    return code


def _skill_file(client: Client) -> Client | None:
    """Return the client with its copy of the skill in place of its configuration."""
    if client.skills is None:
        return None
    return replace(client, path=client.skills / skill.NAME / skill.FILE_NAME)


def _install(client: Client, arguments: Namespace) -> int:
    entry: dict[str, Any] = {}

    def set_entry(text: str) -> str:
        old = client.find_entry(text)
        address = next((old[key] for key in _ADDRESSES if key in old), None) if old else None
        if address is not None:
            raise InvalidConfig(
                f"{client.title} reaches Rolltop over HTTP already, at {address}",
                hint=f"`rolltop uninstall {client.name}` takes that out first.",
            )
        entry.update(_make_entry(arguments, client, old))
        return client.set_entry(text, entry)

    if not client.path.parent.is_dir():
        options.print_line(f"{client.path.parent} is not there: is {client.title} installed?")
    code = _change(client, "starts Rolltop", set_entry, sure=arguments.yes)
    unset = sorted({*options.own_variables()} - {*entry.get("env", ()), *entry.get("env_vars", ())})
    if unset and code == 0:
        options.print_line(
            f"Set in this shell and not in the entry: {', '.join(unset)}. `rolltop doctor` says "
            "what the client will see."
        )
    if not client.knows_project and not _names_roots(entry):
        options.print_line(
            f"{client.title} tells servers no folder. To let Rolltop read one, add --code FOLDER."
        )
    return code


def _find_client(name: str | None) -> Client:
    clients = {client.name: client for client in client_configs.clients()}
    if name not in clients:
        near = difflib.get_close_matches(name or "", clients, 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise InvalidArgument(
            f"Unknown client {name!r}" if name else "No client is named",
            hint=f"{meant}There are {', '.join(clients)}; --print shows the entry for any other.",
        )
    return clients[name]


def _make_entry(
    arguments: Namespace, client: Client, old: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the client's entry: with roots, where it would have none and the client none to give.

    Raises InvalidArgument.
    """
    roots: dict[str, Path] = {
        name: folder for name in _VARIABLES if (folder := getattr(arguments, name)) is not None
    }
    for folder in roots.values():
        if not folder.is_dir():
            raise InvalidArgument(f"{folder} is no folder", hint="Name one that is there.")
    entry = client.make_entry(_set_roots(roots), old)
    if client.knows_project or _names_roots(entry):
        return entry
    project = workspace.find_project(options.working_directory())
    return entry if project is None else client.make_entry(_set_roots({"code": project}), old)


def _set_roots(roots: Mapping[str, Path]) -> dict[str, str]:
    """Return the variables that set roots. Raises InvalidArgument for what is no UTF-8."""
    variables = {_VARIABLES[name]: str(folder.resolve()) for name, folder in roots.items()}
    for path in variables.values():
        if path != replace_surrogates(path):
            raise InvalidArgument(
                f"The name of {path!a} is no UTF-8", hint="Name another folder with --code."
            )
    return variables


def _names_roots(entry: Mapping[str, Any]) -> bool:
    """Whether an entry's variables or arguments say which folders may be read."""
    said = (*entry.get("env", ()), *entry.get("args", ()))
    return any(word in text for text in said for word in ("_ROOT", "retrieval.roots"))


def _print_entry(arguments: Namespace) -> None:
    """Print the entry for a client, in JSON as most have it for one that is not known."""
    known = {client.name: client for client in client_configs.clients()}
    client = known.get(arguments.client)
    shown = client or known["cursor"]
    options.print_line(shown.set_entry("", _make_entry(arguments, shown)).rstrip())
    if client is not None:
        print(f"This belongs into {client.path}", file=sys.stderr)  # noqa: T201  # beside the answer


def _change(client: Client, state: str, edit: Callable[[str], str], *, sure: bool) -> int:
    """Show what changes in the configuration, ask, keep a copy, and write it."""
    path = Path(os.path.realpath(client.path))
    before = _read(path)
    after = edit(before or "")
    if after == (before or ""):
        nothing = (
            f"{client.title} {state} already" if state else f"{client.title} does not start it"
        )
        options.print_line(f"{nothing} ({client.path}). Nothing was changed.")
        return 0
    for line in _diff(client.path, before or "", after):
        options.print_line(line)
    hint = "Add --yes to change it without being asked."
    if not (sure or options.confirm("Write this?", f"the change of {client.path}", hint)):
        options.print_line("Nothing was changed.")
        return 1
    if _read(path) != before:
        raise InvalidConfig(f"{client.path} was changed meanwhile", hint="Start again.")
    copy = _write(path, after)
    kept = f" The file as it was is {copy}." if copy else ""
    options.print_line(f"Wrote {client.path}.{kept} Restart {client.title}.")
    return 0


def _diff(path: Path, before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm=""
    )
    colors = {"+": options.GREEN, "-": options.RED}
    return [options.paint(line, colors.get(line[:1], "")) for line in lines]


def _read(path: Path) -> str | None:
    """Return the file's text with its own line ends; None for no file. Raises InvalidConfig."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig(
            f"{path} cannot be read, so it was left as it is", hint=f"{error}"
        ) from None


def _write(path: Path, text: str) -> Path | None:
    """Write the file in one step; return the copy of the one it replaces, if there was one."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    copy = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_private(part, text.encode())
        if path.exists():
            copy = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}.bak")
            while copy.exists():
                copy = copy.with_suffix(f".{secrets.token_hex(2)}.bak")
            _write_private(copy, path.read_bytes())
            shutil.copystat(path, copy)
            shutil.copymode(path, part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidConfig(
            f"{path} cannot be written ({error.strerror})", hint="Nothing was changed."
        ) from None
    return copy


def _write_private(path: Path, data: bytes) -> None:
    """Bring a new file to the disk; whoever may read what it is a copy of is set afterwards."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
