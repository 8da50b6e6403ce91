"""Is all in order, and what to do if not: the checks of a process, and what its tools cost."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rolltop.core import pagination
from rolltop.core.errors import InvalidConfig, RolltopError, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import Principal
from rolltop.core.settings import DEFAULT_SOURCE, Settings

if TYPE_CHECKING:
    from importlib import metadata

    from rolltop.core import accounts, db
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database, revisions, row_security, sqlite
    from rolltop.core.journal import history
    from rolltop.toolsets.notes.sync import service as sync
    from rolltop.toolsets.retrieval import store as index_files
    from rolltop.toolsets.retrieval.index import trigram_index
    from rolltop.toolsets.retrieval.service import ranking
else:
    metadata = lazy("importlib.metadata")
    accounts = lazy("rolltop.core.accounts")
    db = lazy("rolltop.core.db")
    sqlite = lazy("rolltop.core.db.sqlite")
    revisions = lazy("rolltop.core.db.revisions")
    row_security = lazy("rolltop.core.db.row_security")
    history = lazy("rolltop.core.journal.history")
    sync = lazy("rolltop.toolsets.notes.sync.service")
    index_files = lazy("rolltop.toolsets.retrieval.store")
    trigram_index = lazy("rolltop.toolsets.retrieval.index.trigram_index")
    ranking = lazy("rolltop.toolsets.retrieval.service.ranking")

CheckStatus = Literal["ok", "note", "wrong"]

_LISTING_LIMIT: Final = 6000
_MINUTE: Final = "%Y-%m-%dT%H:%MZ"
_UNREACHABLE_HINT: Final = (
    "Look whether this user may write to it, and to the folder of a file, and who else uses it."
)
# A requirement of an extra: the package and the extra.
_EXTRA: Final = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)")
_DAMAGED_HINT: Final = (
    "Stop every Rolltop server; `rolltop restore FILE` puts a backup in its place and keeps it."
)


@dataclass(frozen=True)
class DoctorResult:
    """One thing that was looked at: `note` is worth knowing, `wrong` must be mended."""

    status: CheckStatus
    about: str
    message: str
    advice: str = ""


def run_checks(app: AppContext) -> Iterator[DoctorResult]:
    """Yield what there is to say of a process: its store, account, roots, index, tools and more."""
    checks = (
        _check_store,
        _check_account,
        _check_project,
        _check_notes,
        _check_history,
        _check_roots,
        _check_index,
        _check_extras,
        _check_tools,
    )
    for check in checks:
        yield from _run_check(check, app)


def _run_check(
    check: Callable[[AppContext], Iterator[DoctorResult]], app: AppContext
) -> Iterator[DoctorResult]:
    """Yield what a check finds; what it raises is a finding too."""
    try:
        yield from check(app)
    except RolltopError as error:
        yield failed_result(check.__name__.removeprefix("_check_"), error)


def failed_result(about: str, error: RolltopError) -> DoctorResult:
    """Return an error as what was found."""
    return DoctorResult("wrong", about, error.full_message, error.hint)


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
    elif not app.database.read_sync(db.SYSTEM, lambda tx: row_security.is_enforced(tx.connection)):
        yield DoctorResult(
            "note",
            "isolation",
            "the role of database_url passes PostgreSQL's row-level security: what keeps users "
            "apart are the statements alone",
            "Let a role that is no superuser and has no BYPASSRLS own the database.",
        )


def find_damage(app: AppContext) -> Iterator[DoctorResult]:
    """Read the whole of an open SQLite store, which may take long; yield what is wrong with it."""
    path = app.database.path
    if path is None or not app.database.is_open():
        return
    try:
        found = app.database.read_sync(db.SYSTEM, _check_pages)
    except Unavailable as error:
        advice = "Set statement_timeout higher to have all of it read."
        yield DoctorResult(
            "note", "store", f"{path} was not read to its end: {error.message}", advice
        )
        return
    if found != "ok":
        yield DoctorResult("wrong", "store", f"{path} is damaged: {found}", _DAMAGED_HINT)


def _check_pages(tx: db.Tx) -> str:
    return str(tx.connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())


def _check_engine() -> DoctorResult:
    said = f"{sqlite.description()}, journal mode {sqlite.journal_mode()}"
    if sqlite.journal_mode() == "wal":
        return DoctorResult("ok", "engine", said)
    advice = "This version can lose commits in WAL mode; `pip install sqlcipher3` brings another."
    return DoctorResult("note", "engine", said, advice)


def _check_account(app: AppContext) -> Iterator[DoctorResult]:
    """Look up whose the calls without a token are: the user, and the workspace that is shared."""
    named = _named_user(app.settings)
    wanted = named[0] or accounts.DEFAULT_EMAIL
    if not app.database.exists():
        if any(named):
            yield DoctorResult(
                "wrong", "account", f"nobody knows {wanted} yet", f"`rolltop user add {wanted}`"
            )
        return
    if any(named):
        _user_id, shared = app.database.read_sync(db.SYSTEM, accounts.require_local_user, *named)
        said = f"{wanted} in {shared.name}, as {shared.role}" if shared else wanted
        yield DoctorResult("ok", "account", said)
    else:
        found = app.database.read_sync(db.SYSTEM, accounts.find_user_by_email, wanted)
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
    principal = _find_local_user(app)
    if principal is None:
        return
    state = app.database.read_sync(principal, sync.read_status, app.settings)
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
    principal = _find_local_user(app)
    if principal is None:
        return
    since, texts_since = app.database.read_sync(principal, history.kept_since)
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


def _find_local_user(app: AppContext) -> Principal | None:
    """Return whose notes and history a server that is started here works with, if it is known."""
    if not app.database.exists():
        return None
    named = _named_user(app.settings)
    try:
        user_id, shared = app.database.read_sync(db.SYSTEM, accounts.require_local_user, *named)
    except InvalidConfig:
        return None  # not made yet, or `_check_account` tells
    return Principal.for_user(shared.workspace_id if shared else user_id)


def _named_user(settings: Settings) -> tuple[str, str]:
    """Return the user and the workspace that settings name; empty for their defaults."""
    return settings["user"], settings["workspace"].strip()


def require_user(database: Database, settings: Settings) -> None:
    """Make sure that a store that is there knows the user and the workspace of the settings.

    Raises InvalidConfig, and what opening the store raises.
    """
    named = _named_user(settings)
    if any(named) and database.exists():
        database.read_sync(db.SYSTEM, accounts.require_local_user, *named)


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


def _check_index(app: AppContext) -> Iterator[DoctorResult]:
    """Look whether the indexes of files can be used; searches go on without, but slower."""
    if not app.settings["retrieval.index"]:
        yield DoctorResult("ok", "index", "off by retrieval.index")
        return
    folders = [app.settings["data_dir"] / name for name in (trigram_index.FOLDER, ranking.FOLDER)]
    problems = [found for folder in folders for found in index_files.find_problems(folder)]
    for found in problems:
        if isinstance(found, index_files.Damaged):
            yield DoctorResult("note", "index", f"{found}; it is made anew when it is used")
        else:
            advice = "Look whether this user may write there, and whether the disk is full."
            yield DoctorResult("wrong", "index", f"{found}, so searches go without it", advice)
    if not problems:
        yield DoctorResult("ok", "index", f"nothing is wrong in {' and '.join(map(str, folders))}")


def _check_extras(_app: AppContext) -> Iterator[DoctorResult]:
    """Name the extras that are not installed, of those that the installed package declares."""
    try:
        required = metadata.requires("rolltop") or []
    except metadata.PackageNotFoundError:  # it runs from its source
        return
    extras = [found.groups() for found in map(_EXTRA.match, required) if found]
    missing = sorted({extra for name, extra in extras if not _is_installed(name)})
    if missing:
        names = ",".join(missing)
        advice = f"Install rolltop[{names}] for what they bring."
        yield DoctorResult("note", "extras", f"not installed: {', '.join(missing)}", advice)
    else:
        yield DoctorResult("ok", "extras", "all are installed")


def _is_installed(package: str) -> bool:
    return next(iter(metadata.distributions(name=package)), None) is not None


def _check_tools(app: AppContext) -> Iterator[DoctorResult]:
    tools = list_tools(app)
    total = sum(tool["tokens"] for tool in tools)
    mark: CheckStatus = "ok" if total <= _LISTING_LIMIT else "note"
    advice = "" if mark == "ok" else "`--toolsets` and `--exclude-tools` make the list shorter."
    yield DoctorResult(mark, "tools", f"{len(tools)}, which cost a client {total:,} tokens", advice)


def list_tools(app: AppContext) -> list[dict[str, Any]]:
    """Return each listed tool with its description, its schema and the tokens of these."""
    described: list[dict[str, Any]] = []
    for registered in app.registry.list_tools(Principal.for_user("")):
        sent = {
            "name": registered.name,
            "description": registered.description,
            "inputSchema": registered.parameters.listed_schema,
        }
        about = {
            "toolset": registered.toolset.name,
            "title": registered.title,
            "tokens": pagination.count_tokens(sent),
        }
        described.append(sent | about)
    return described
