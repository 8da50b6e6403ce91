"""`rolltop doctor`: is all in order, and what to do if not."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rolltop.cli import clients, options
from rolltop.cli.tools import listing
from rolltop.core.errors import RolltopError, Unavailable
from rolltop.core.lazy import lazy
from rolltop.core.scope import Scope

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from rolltop.core import accounts, db
    from rolltop.core.db import versions
    from rolltop.core.desk import Desk
    from rolltop.core.settings import Settings
    from rolltop.server import assembly
    from rolltop.toolsets.notes.service import notebooks
    from rolltop.toolsets.notes.service.remote import status
else:
    accounts = lazy("rolltop.core.accounts")
    assembly = lazy("rolltop.server.assembly")
    db = lazy("rolltop.core.db")
    versions = lazy("rolltop.core.db.versions")
    notebooks = lazy("rolltop.toolsets.notes.service.notebooks")
    status = lazy("rolltop.toolsets.notes.service.remote.status")

Mark = Literal["ok", "note", "wrong"]

_LISTING_LIMIT: Final = 6000
_OUT_OF_REACH: Final = (
    "Look whether this user may write to it, and to the folder of a file, and who else uses it."
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `note` is worth knowing, `wrong` must be mended."""

    mark: Mark
    about: str
    said: str
    advice: str = ""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    options.add_user(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what was found and what to do; return 1 if something is wrong."""
    wrong = 0
    for finding in _findings(arguments):
        options.show(f"{finding.mark:5}  {finding.about}: {finding.said}")
        if finding.advice:
            options.show(f"       → {finding.advice}")
        wrong += finding.mark == "wrong"
    options.show()
    options.show("All is in order." if not wrong else f"{wrong} to mend.")
    return 1 if wrong else 0


def _findings(arguments: Namespace) -> Iterator[Finding]:
    try:
        settings = options.read_settings(arguments)
    except RolltopError as error:
        yield _wrong("settings", error)
        return
    set_by = sorted({settings.source(key) for key in settings} - {"default"})
    yield Finding("ok", "settings", f"from {', '.join(set_by)}" if set_by else "all by default")
    for notice in settings.notices:
        yield Finding("note", "settings", notice.text)
    try:
        desk = assembly.build_desk(settings)
    except RolltopError as error:
        yield _wrong("settings", error)
        return
    try:
        for check in (_store, _account, _notes, _roots, _tools):
            yield from _guarded(check, desk)
    finally:
        desk.database.close()
    yield from _clients(settings)


def _guarded(check: Callable[[Desk], Iterator[Finding]], desk: Desk) -> Iterator[Finding]:
    """Yield what a check finds; what it raises is a finding too."""
    try:
        yield from check(desk)
    except RolltopError as error:
        yield _wrong(check.__name__.strip("_"), error)


def _wrong(about: str, error: RolltopError) -> Finding:
    return Finding("wrong", about, error.message, error.hint)


def _store(desk: Desk) -> Iterator[Finding]:
    """Open the store, unless that would make it: looking must leave no trace."""
    shown = desk.settings.masked("database_url")
    path = desk.database.path
    if path is not None and not desk.database.is_there():
        there = next(parent for parent in path.parents if parent.exists())
        if os.access(there, os.W_OK | os.X_OK):
            yield Finding("ok", "store", f"{path} is not there yet; the first start makes it")
        else:
            yield Finding(
                "wrong",
                "store",
                f"{path} cannot be made: {there} may not be written to",
                "Set ROLLTOP_DATA_DIR to a folder of your own.",
            )
        return
    try:
        desk.database.require_writable()
    except Unavailable as error:
        yield Finding("wrong", "store", f"{path or shown}: {error.message}", _OUT_OF_REACH)
        return
    revisions = ", ".join(sorted(versions.heads(versions.branches())))
    how = "opens, encrypted" if desk.settings["db_encryption_key"] else "opens"
    yield Finding("ok", "store", f"{path or shown} {how}; its schema is {revisions}")


def _account(desk: Desk) -> Iterator[Finding]:
    """Look the user up that calls without a token belong to."""
    email = desk.settings["user"]
    if not desk.database.is_there():
        if email:
            yield Finding(
                "wrong", "account", f"nobody knows {email} yet", f"`rolltop user add {email}`"
            )
        return
    wanted = email or accounts.DEFAULT_EMAIL
    found = desk.database.read_now(db.SYSTEM, accounts.user_by_email, wanted)
    if found is None and email:
        yield Finding(
            "wrong", "account", f"the store knows no {email}", f"`rolltop user add {email}`"
        )
    else:
        yield Finding("ok", "account", wanted + ("" if found else ", made on first use"))
    if desk.database.read_now(db.SYSTEM, accounts.any_token):
        yield Finding("ok", "tokens", "there are some, so callers over HTTP need one")


def _notes(desk: Desk) -> Iterator[Finding]:
    """Look how the notes of the local user and their sync are doing."""
    if not desk.database.is_there():
        return
    user_id = desk.database.read_now(db.SYSTEM, notebooks.local_user, desk.settings)
    if user_id is None:
        return
    state = desk.database.read_now(Scope.of(user_id), status.state, desk.settings)
    if not state.username:
        yield Finding("ok", "notes", f"{state.notes}, kept here only")
        return
    said = f"{state.notes} of {state.username}, sync {state.status}"
    if state.status == "needs_accept":
        advice = "`rolltop notes sync --dry-run` shows what it asks about."
        yield Finding("wrong", "notes", said, advice)
    elif state.error in {"LOGIN_REQUIRED", "LOGIN_FAILED", "TOKEN_REJECTED"}:
        yield Finding("wrong", "notes", f"{said} ({state.error})", "`rolltop notes login`")
    elif state.error:
        yield Finding("note", "notes", f"{said} ({state.error}); it is tried again")
    else:
        yield Finding("ok", "notes", said)
    if state.pending or state.refused:
        waiting = f"{state.pending} changes wait to be sent, {state.refused} are not taken"
        yield Finding("note", "notes", waiting, "`rolltop notes sync` sends them now.")


def _roots(desk: Desk) -> Iterator[Finding]:
    for root in desk.roots.named:
        yield Finding("ok", "roots", f"{root.name} is {root.path}")
    if not desk.roots.named:
        yield Finding(
            "note",
            "roots",
            "none are set; only the folder a client starts the server in can be read",
            "Set DOCS_ROOT or CODE_ROOT, or name folders in [retrieval.roots].",
        )


def _tools(desk: Desk) -> Iterator[Finding]:
    tools = listing(desk)
    total = sum(tool["tokens"] for tool in tools)
    mark: Mark = "ok" if total <= _LISTING_LIMIT else "note"
    advice = "" if mark == "ok" else "`--toolsets` and `--exclude-tools` make the list shorter."
    yield Finding(mark, "tools", f"{len(tools)}, which cost a client {total:,} tokens", advice)


def _clients(settings: Settings) -> Iterator[Finding]:
    """Look into the configuration of the clients that are known to be here."""
    entries = [
        entry for file in clients.files(options.working_directory()) for entry in file.read()
    ]
    for entry in entries:
        if entry.problem:
            yield Finding("wrong", "clients", f"{entry.client}: {entry.path} {entry.problem}")
        elif shutil.which(entry.command) is None:
            yield Finding(
                "wrong",
                "clients",
                f"{entry.client} ({entry.path}) starts {entry.command}, which is not there",
                f"Let it start {' '.join(clients.own_command())}.",
            )
        else:
            yield Finding("ok", "clients", f"{entry.client} starts {entry.command} ({entry.path})")
    if not entries:
        command, *rest = clients.own_command()
        started = {"mcpServers": {clients.NAME: {"command": command, "args": [*rest, "serve"]}}}
        address = f"http://{settings['http.host']}:{settings['http.port']}/mcp"
        yield Finding(
            "note",
            "clients",
            "none is set up to start Rolltop",
            f"Claude Code: claude mcp add rolltop -- {' '.join((command, *rest))} serve\n"
            f"         others: {json.dumps(started)}\n"
            f"         over HTTP, after `rolltop serve --http`: {address}",
        )
