"""`rolltop doctor`: is all in order, and what to do if not."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rolltop.cli import client_configs, options
from rolltop.cli.tools import list_tools
from rolltop.core.errors import RolltopError, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import Principal
from rolltop.core.settings import DEFAULT_SOURCE

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from rolltop import app, workspace
    from rolltop.cli.client_configs import ClientEntry
    from rolltop.core import accounts, db
    from rolltop.core.context import AppContext
    from rolltop.core.db import revisions, sqlite
    from rolltop.core.journal import history
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.store import notebooks
    from rolltop.toolsets.notes.sync import service as sync
else:
    accounts = lazy("rolltop.core.accounts")
    app = lazy("rolltop.app")
    workspace = lazy("rolltop.workspace")
    db = lazy("rolltop.core.db")
    sqlite = lazy("rolltop.core.db.sqlite")
    revisions = lazy("rolltop.core.db.revisions")
    history = lazy("rolltop.core.journal.history")
    notebooks = lazy("rolltop.toolsets.notes.store.notebooks")
    sync = lazy("rolltop.toolsets.notes.sync.service")

CheckStatus = Literal["ok", "note", "wrong"]

_COLORS: Final[dict[CheckStatus, str]] = {
    "ok": options.GREEN,
    "note": options.YELLOW,
    "wrong": options.RED,
}
_LISTING_LIMIT: Final = 6000
_MINUTE: Final = "%Y-%m-%dT%H:%MZ"
_UNREACHABLE_HINT: Final = (
    "Look whether this user may write to it, and to the folder of a file, and who else uses it."
)


@dataclass(frozen=True)
class DoctorResult:
    """One thing that was looked at: `note` is worth knowing, `wrong` must be mended."""

    status: CheckStatus
    about: str
    message: str
    advice: str = ""


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
        yield _failed_result("settings", error)
        return
    set_by = sorted({settings.source(key) for key in settings} - {"default"})
    yield DoctorResult(
        "ok", "settings", f"from {', '.join(set_by)}" if set_by else "all by default"
    )
    for notice in settings.notices:
        yield DoctorResult("note", "settings", notice.text)
    try:
        context = app.build_context(settings)
    except RolltopError as error:
        yield _failed_result("settings", error)
        return
    try:
        for check in (
            _check_store,
            _check_account,
            _check_project,
            _check_notes,
            _check_history,
            _check_roots,
            _check_tools,
        ):
            yield from _run_check(check, context)
    finally:
        context.database.close()
    yield from _check_clients(settings)


def _run_check(
    check: Callable[[AppContext], Iterator[DoctorResult]], app: AppContext
) -> Iterator[DoctorResult]:
    """Yield what a check finds; what it raises is a finding too."""
    try:
        yield from check(app)
    except RolltopError as error:
        yield _failed_result(check.__name__.removeprefix("_check_"), error)


def _failed_result(about: str, error: RolltopError) -> DoctorResult:
    return DoctorResult("wrong", about, error.message, error.hint)


def _check_store(app: AppContext) -> Iterator[DoctorResult]:
    """Open the store, unless that would make it: looking must leave no trace."""
    shown = app.settings.masked_text("database_url")
    path = app.database.path
    if path is not None and not app.database.exists():
        there = next(parent for parent in path.parents if parent.exists())
        if os.access(there, os.W_OK | os.X_OK):
            yield DoctorResult("ok", "store", f"{path} is not there yet; the first start makes it")
        else:
            yield DoctorResult(
                "wrong",
                "store",
                f"{path} cannot be made: {there} may not be written to",
                "Set ROLLTOP_DATA_DIR to a folder of your own.",
            )
        return
    try:
        app.database.require_writable()
    except Unavailable as error:
        yield DoctorResult("wrong", "store", f"{path or shown}: {error.message}", _UNREACHABLE_HINT)
        return
    heads = ", ".join(sorted(revisions.heads(revisions.branches())))
    how = "opens, encrypted" if app.settings["db_encryption_key"] else "opens"
    yield DoctorResult("ok", "store", f"{path or shown} {how}; its schema is {heads}")
    if path is not None:
        yield _check_engine()


def _check_engine() -> DoctorResult:
    said = f"{sqlite.description()}, journal mode {sqlite.journal_mode()}"
    if sqlite.journal_mode() == "wal":
        return DoctorResult("ok", "engine", said)
    advice = "This version can lose commits in WAL mode; `pip install sqlcipher3` brings another."
    return DoctorResult("note", "engine", said, advice)


def _check_account(app: AppContext) -> Iterator[DoctorResult]:
    """Look the user up that calls without a token belong to."""
    email = app.settings["user"]
    if not app.database.exists():
        if email:
            yield DoctorResult(
                "wrong", "account", f"nobody knows {email} yet", f"`rolltop user add {email}`"
            )
        return
    wanted = email or accounts.DEFAULT_EMAIL
    found = app.database.read_sync(db.SYSTEM, accounts.find_user_by_email, wanted)
    if found is None and email:
        yield DoctorResult(
            "wrong", "account", f"the store knows no {email}", f"`rolltop user add {email}`"
        )
    else:
        yield DoctorResult("ok", "account", wanted + ("" if found else ", made on first use"))
    if app.database.read_sync(db.SYSTEM, accounts.has_valid_token):
        yield DoctorResult("ok", "tokens", "there are some, so callers over HTTP need one")


def _check_project(app: AppContext) -> Iterator[DoctorResult]:
    """Name the project that tasks and pads are filed under by a server that is started here."""
    by_folder = app.settings.source("project") == DEFAULT_SOURCE
    why = "by the folder this was started in" if by_folder else "by the settings"
    yield DoctorResult("ok", "project", f"{app.project or 'none'}, {why}")


def _check_notes(app: AppContext) -> Iterator[DoctorResult]:
    """Look how the notes of the local user and their sync are doing."""
    user_id = _find_local_user(app)
    if user_id is None:
        return
    state = app.database.read_sync(Principal.for_user(user_id), sync.read_status, app.settings)
    account, error = state.account, state.record.error
    if not account.username:
        yield DoctorResult("ok", "notes", f"{state.notes}, kept here only")
        return
    said = f"{state.notes} of {account.username}, sync {account.status}"
    if account.status == "needs_accept":
        advice = "`rolltop notes sync --dry-run` shows what it asks about."
        yield DoctorResult("wrong", "notes", said, advice)
    elif error in {"LOGIN_REQUIRED", "LOGIN_FAILED", "TOKEN_REJECTED"}:
        yield DoctorResult("wrong", "notes", f"{said} ({error})", "`rolltop notes login`")
    elif error:
        yield DoctorResult("note", "notes", f"{said} ({error}); it is tried again")
    else:
        yield DoctorResult("ok", "notes", said)
    if state.pending or state.refused:
        waiting = f"{state.pending} changes wait to be sent, {state.refused} are not taken"
        yield DoctorResult("note", "notes", waiting, "`rolltop notes sync` sends them now.")


def _check_history(app: AppContext) -> Iterator[DoctorResult]:
    """Tell since when the local user's changes can be shown and undone."""
    user_id = _find_local_user(app)
    if user_id is None:
        return
    since, texts_since = app.database.read_sync(Principal.for_user(user_id), history.kept_since)
    if since is None:
        return
    said = f"kept since {since:{_MINUTE}}"
    if texts_since is None:
        yield DoctorResult("ok", "history", said)
    else:
        yield DoctorResult(
            "note",
            "history",
            f"{said}, but some long texts only since {texts_since:{_MINUTE}}: they had reached "
            "desk.history_bytes",
            "A larger desk.history_bytes keeps more, 0 all for desk.history_days.",
        )


def _find_local_user(app: AppContext) -> str | None:
    if not app.database.exists():
        return None
    return app.database.read_sync(db.SYSTEM, notebooks.local_user, app.settings)


def _check_roots(app: AppContext) -> Iterator[DoctorResult]:
    """Name the roots that a server which is started here reads."""
    if app.roots.named:
        yield DoctorResult("ok", "roots", app.describe_roots())
    else:
        yield DoctorResult(
            "note",
            "roots",
            "none are set, and this folder is no project: a server that is started here reads the "
            "folder that its client offers, if it does",
            "Set DOCS_ROOT or CODE_ROOT, or name folders in [retrieval.roots].",
        )


def _check_tools(app: AppContext) -> Iterator[DoctorResult]:
    tools = list_tools(app)
    total = sum(tool["tokens"] for tool in tools)
    mark: CheckStatus = "ok" if total <= _LISTING_LIMIT else "note"
    advice = "" if mark == "ok" else "`--toolsets` and `--exclude-tools` make the list shorter."
    yield DoctorResult(mark, "tools", f"{len(tools)}, which cost a client {total:,} tokens", advice)


def _check_clients(settings: Settings) -> Iterator[DoctorResult]:
    """Look into the configuration of the clients that are known to be here."""
    entries = [*client_configs.find_entries(options.working_directory())]
    for entry in entries:
        yield from _check_entry(entry, settings)
    if not entries:
        address = f"http://{settings['http.host']}:{settings['http.port']}/mcp"
        names = ", ".join(client.name for client in client_configs.clients())
        yield DoctorResult(
            "note",
            "clients",
            "none is set up to start Rolltop",
            f"`rolltop install CLIENT` does that, for {names}\n"
            "         others: `rolltop install --print` shows what their configuration needs\n"
            f"         over HTTP, after `rolltop serve --http`: {address}",
        )


def _check_entry(entry: ClientEntry, own: Settings) -> Iterator[DoctorResult]:
    """Say what a server that this entry starts reads, and what is wrong with it."""
    title, install = entry.client.title, f"`rolltop install {entry.client.name}` mends it."
    if entry.problem:
        yield DoctorResult("wrong", "clients", f"{title}: {entry.path} {entry.problem}")
        return
    started = f"{title} ({entry.path}) starts {entry.command}"
    if shutil.which(entry.command) is None:
        yield DoctorResult("wrong", "clients", f"{started}, which is not there", install)
        return
    if client_configs.is_temporary(Path(entry.command)):
        said = f"{started} in a cache, which will be cleared"
        yield DoctorResult("wrong", "clients", said, install)
        return
    if "serve" not in entry.args:
        yield DoctorResult("wrong", "clients", f"{started} without `serve`", install)
        return
    try:
        read = options.read_entry(entry.args, entry.environment, entry.directory)
        roots = _entry_roots(entry, read)
    except RolltopError as error:
        yield DoctorResult("wrong", "clients", f"{started}: {error.message}", error.hint)
        return
    yield DoctorResult("ok", "clients", f"{title} starts {entry.command} ({entry.path}){roots}")
    if not roots:
        yield DoctorResult(
            "note",
            "clients",
            f"{title} tells servers no folder, so none can be searched or read",
            f"`rolltop install {entry.client.name} --code FOLDER` names one.",
        )
    for notice in read.notices:
        yield DoctorResult("note", "clients", f"{title}: {notice.text}")
    if read["database_url"] != own["database_url"]:
        yield DoctorResult(
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
    # What has a variable in it is filled in by the client.
    plain = {name: path for name, path in named.items() if "$" not in str(path)}
    workspace.Roots.open(plain, base=start)
    if named:
        return "; " + ", ".join(f"{name} is {path}" for name, path in named.items())
    if entry.directory and "$" not in entry.directory:
        project = workspace.find_project(start)
        return f"; code is {project}" if project is not None else ""
    return "; code is the project that is open in it" if entry.client.knows_project else ""
