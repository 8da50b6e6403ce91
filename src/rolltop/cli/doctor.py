"""`rolltop doctor`: is all in order, and what to do if not."""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rolltop import health
from rolltop.cli import client_configs, options
from rolltop.cli.client_configs import ClientEntry
from rolltop.cli.lazy_modules import app, http, identity, traces, workspace
from rolltop.core.context import AppContext
from rolltop.core.db import Database
from rolltop.core.errors import InvalidConfig, RolltopError
from rolltop.core.settings import DEFAULT_SOURCE, Settings
from rolltop.health import CheckStatus, DoctorResult

_COLORS: Final[dict[CheckStatus, str]] = {
    "ok": options.GREEN,
    "note": options.YELLOW,
    "wrong": options.RED,
}


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what was found and what to do; return 1 if something is wrong."""
    wrong = 0
    if arguments.json:
        found = [*_run_checks(arguments)]
        options.print_line(json.dumps([asdict(finding) for finding in found], indent=2))
        return int(any(finding.status == "wrong" for finding in found))
    for finding in _run_checks(arguments):
        status = options.paint(f"{finding.status:5}", _COLORS[finding.status])
        options.print_line(f"{status}  {finding.about}: {finding.message}")
        if finding.advice:
            options.print_line(f"       → {finding.advice}")
        wrong += finding.status == "wrong"
    options.print_line()
    options.print_line("All is in order." if not wrong else f"{wrong} to mend.")
    return 1 if wrong else 0


def _run_checks(arguments: Namespace) -> Iterator[DoctorResult]:
    try:
        settings = options.read_settings(arguments)
    except RolltopError as error:
        yield health.failed_result("settings", error)
        return
    set_by = sorted({settings.source(key) for key in settings} - {"default"})
    yield health.DoctorResult(
        "ok", "settings", f"from {', '.join(set_by)}" if set_by else "all by default"
    )
    for notice in settings.notices:
        yield health.DoctorResult("note", "settings", notice.text)
    try:
        context = app.build_context(settings)
    except RolltopError as error:
        yield health.failed_result("settings", error)
        return
    try:
        yield from health.run_checks(context)
        yield from health.find_damage(context)
        yield from _check_http(context)
        yield from _check_clients(settings, context.database)
    finally:
        context.database.close()


def _check_http(context: AppContext) -> Iterator[DoctorResult]:
    """Look what would keep a server over HTTP from starting, where a setting is about one."""
    settings = context.settings
    are_set = (
        settings.source(key) != DEFAULT_SOURCE for key in settings if key.startswith("http.")
    )
    if not any(are_set):
        return
    try:
        authentication = http.check_settings(context, identity.LocalUser(context))
        if endpoint := settings["http.traces_endpoint"].strip():
            traces.check_endpoint(endpoint)
        if not context.database.exists():
            return  # which alone knows whether anybody has a token
        authentication.check()
    except InvalidConfig as error:
        yield health.failed_result("http", error)
    except RolltopError:
        return  # of the store, which is told already
    else:
        yield health.DoctorResult("ok", "http", "nothing that is set keeps it from being served")


def _check_clients(settings: Settings, database: Database) -> Iterator[DoctorResult]:
    """Look into the configuration of the clients that are known to be here."""
    entries = [*client_configs.find_entries(options.working_directory())]
    for entry in entries:
        yield from _check_entry(entry, settings, database)
    if not entries:
        address = f"http://{settings['http.host']}:{settings['http.port']}/mcp"
        names = ", ".join(client.name for client in client_configs.clients())
        yield health.DoctorResult(
            "note",
            "clients",
            "none is set up to start Rolltop",
            f"`rolltop install CLIENT` does that, for {names}\n"
            "         others: `rolltop install --print` shows what their configuration needs\n"
            f"         over HTTP, after `rolltop serve --http`: {address}",
        )


def _check_entry(entry: ClientEntry, own: Settings, database: Database) -> Iterator[DoctorResult]:
    """Say what a server that this entry starts reads, and what is wrong with it."""
    title, install = entry.client.title, f"`rolltop install {entry.client.name}"
    mend = f"{install}` mends it." if entry.is_own else "Change or remove it there."
    if entry.problem:
        yield health.DoctorResult("wrong", "clients", f"{title}: {entry.path} {entry.problem}")
        return
    started = f"{title} ({entry.path}) starts {entry.command}"
    if shutil.which(entry.command) is None:
        yield health.DoctorResult("wrong", "clients", f"{started}, which is not there", mend)
        return
    if client_configs.is_temporary(Path(entry.command)):
        said = f"{started} in a cache, which will be cleared"
        yield health.DoctorResult("wrong", "clients", said, mend)
        return
    if "serve" not in entry.args:
        yield health.DoctorResult("wrong", "clients", f"{started} without `serve`", mend)
        return
    try:
        read = options.read_entry(entry.args, entry.environment, entry.directory)
        roots = _entry_roots(entry, read)
        has_same_store = read["database_url"] == own["database_url"]
        if has_same_store and not _has_variable(f"{read['user']}{read['workspace']}"):
            health.require_user(database, read)
    except RolltopError as error:
        yield health.DoctorResult("wrong", "clients", f"{started}: {error.message}", error.hint)
        return
    yield health.DoctorResult(
        "ok", "clients", f"{title} starts {entry.command} ({entry.path}){roots}"
    )
    if not roots:
        yield health.DoctorResult(
            "note",
            "clients",
            f"{title} tells servers no folder, so none can be searched or read",
            f"{install} --code FOLDER` names one." if entry.is_own else "CODE_ROOT names one.",
        )
    for notice in read.notices:
        yield health.DoctorResult("note", "clients", f"{title}: {notice.text}")
    if not has_same_store:
        yield health.DoctorResult(
            "note",
            "clients",
            f"{title} keeps its data in {read.masked_text('database_url')}, and commands here in "
            f"{own.masked_text('database_url')}",
            "Set the same DATABASE_URL or ROLLTOP_DATA_DIR in its entry: clients need not pass on "
            "the variables of a shell.",
        )


def _entry_roots(entry: ClientEntry, read: Settings) -> str:
    """Say which folders a server of the entry reads; empty for none. Raises RootError."""
    start = Path(entry.directory or "/")
    named: dict[str, str | Path] = read["retrieval.roots"]
    plain = {name: path for name, path in named.items() if not _has_variable(path)}
    workspace.Roots.open(plain, base=start)
    if named:
        return "; " + ", ".join(f"{name} is {path}" for name, path in named.items())
    if entry.directory and not _has_variable(entry.directory):
        project = workspace.find_project(start)
        return f"; code is {project}" if project is not None else ""
    return "; code is the project that is open in it" if entry.client.knows_project else ""


def _has_variable(value: str | Path) -> bool:
    """Whether the client fills in a part of it, so that it is not known here."""
    return "$" in str(value)
