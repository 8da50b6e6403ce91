"""`rolltop notes`: the connection to Simplenote."""

from __future__ import annotations

import signal
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rolltop.cli import local_context, options, render, users
from rolltop.cli.lazy_modules import asyncio, db, identity, notebooks, pull, sync
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.errors import InvalidArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal
    from rolltop.toolsets.notes.models import Account
    from rolltop.toolsets.notes.sync.connection import AccountConnection

_CHANGE_LABELS: Final = {
    "new": "new from Simplenote",
    "change": "changed at Simplenote",
    "trash": "into the trash, as at Simplenote",
    "cut": "cut to under a fifth, as at Simplenote",
    "merge": "changes of both sides merged",
    "conflict": "both sides changed the same lines: a copy is kept",
    "gone": "deleted at Simplenote: into the trash",
    "send": "sent to Simplenote",
}


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    command = parser.get_default("command")
    if command == "notes login":
        parser.add_argument("email", metavar="EMAIL", nargs="?", help="the Simplenote account")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(
            "--with-local", action="store_true", help="send the local notes to the account"
        )
        chosen.add_argument(
            "--without-local", action="store_true", help="leave the local notes where they are"
        )
    if command == "notes sync":
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--dry-run", action="store_true", help="tell what would be done")
        chosen.add_argument(
            "--accept", action="store_true", help="do it though it takes away many notes"
        )
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the backend raise."""
    settings = options.read_settings(arguments)
    work: dict[str, Callable[[AppContext, Principal, Namespace], Coroutine[Any, Any, int]]] = {
        "notes login": _login,
        "notes sync": _sync,
        "notes status": _status,
    }
    with local_context.open_context(settings) as context:
        user = identity.LocalUser(context)
        user.check()

        async def call_command() -> int:
            scope = await user.principal(local_context.ACTOR)
            if arguments.command != "notes status" and not getattr(arguments, "dry_run", False):
                local_context.require_write(scope)
            return await work[arguments.command](context, scope, arguments)

        return asyncio.run(call_command())


async def _login(app: AppContext, principal: Principal, arguments: Namespace) -> int:
    """Ask for a code by mail, exchange it for a token, keep that."""
    email = (arguments.email or _ask("E-mail of the Simplenote account: ")).strip()
    with_local = await _confirm_local_notes(app, principal, arguments)
    service = app.service(sync.SyncService)
    await service.request_code(email)
    options.print_line(f"Simplenote has mailed a code to {email}.")
    done = await service.log_in(principal, email, _ask("Code: "), with_local=with_local)
    subject = f"{users.whose(app)}: {email}"
    await app.database.write(db.SYSTEM, users.record, arguments, subject)
    options.print_line(f"Connected {email}; the token is kept {done.token_location}.")
    if done.adopted:
        verb = "is" if done.adopted == 1 else "are"
        options.print_line(f"{_format_count(done.adopted)} {verb} sent with the next sync.")
    options.print_line("`rolltop notes sync` syncs now; a running server does so by itself.")
    return 0


async def _confirm_local_notes(app: AppContext, principal: Principal, arguments: Namespace) -> bool:
    """Return whether the local notes go to the account; whoever has some is asked."""
    if arguments.with_local or arguments.without_local:
        return bool(arguments.with_local)
    count = await app.database.read(principal, lambda tx: notebooks.Notebook(tx).count())
    if not count:
        return False
    if not options.is_terminal():
        raise InvalidArgument(
            f"This store has {_format_count(count)}: should they go to the account?",
            hint="Add --with-local to send them to the account, or --without-local.",
        )
    question = f"Send {_format_count(count)} to this account as well? [y/N] "
    return _ask(question).strip().lower() in {"y", "yes"}


async def _sync(app: AppContext, principal: Principal, arguments: Namespace) -> int:
    async with _connect(app, principal) as connection:
        if arguments.dry_run:
            return _show_plan(await pull.plan_sync(connection))
        with ProgressBar(sys.stderr) as bar:
            service = app.service(sync.SyncService)
            done = await service.run(connection, accept=arguments.accept, report=bar.report)
    if done.error is not None:
        raise done.error
    if done.status == "syncing":
        options.print_line("Another process is syncing these notes now.")
        return 0
    counts = done.counts
    options.print_line(
        f"Pulled {counts.pulled}, pushed {counts.pushed}, conflicts {counts.conflicts}."
    )
    if counts.refused:
        options.print_line(
            f"Simplenote does not take {counts.refused}; `rolltop notes status` tells."
        )
    return 0


async def _status(app: AppContext, principal: Principal, _arguments: Namespace) -> int:
    state = await app.database.read(principal, sync.read_status, app.settings)
    account, record = state.account, state.record
    rows = [("notes", str(state.notes)), ("account", account.username or "none: local notes")]
    if account.username:
        rows += [
            ("status", account.status + (f" ({record.error})" if record.error else "")),
            ("last sync", _format_moment(account.last_sync_at)),
            ("next sync", _format_moment(record.next_at)),
            ("failures in a row", str(account.error_count)),
            ("waiting to be sent", str(state.pending)),
            ("not taken by Simplenote", str(state.refused)),
            ("conflict copies", str(state.copies)),
            ("unreadable there", str(len(record.unread))),
            ("local notes beside it", str(state.local)),
        ]
    for name, text in rows:
        options.print_line(f"{name:24} {text}")
    return 0


@asynccontextmanager
async def _connect(app: AppContext, principal: Principal) -> AsyncGenerator[AccountConnection]:
    """Connect the user's account. Raises InvalidArgument if there is none."""
    account: Account | None
    _notebook, account = await app.database.read(principal, notebooks.open_notebook, app.settings)
    if account is None:
        raise InvalidArgument(
            "These notes belong to no account, so there is nothing to sync",
            code="NOT_IN_LOCAL_MODE",
            hint="`rolltop notes login` connects a Simplenote account.",
        )
    service = app.service(sync.SyncService)
    async with service.connect(principal, account) as connection:
        yield connection


def _show_plan(plan: pull.DryRun) -> int:
    for planned in plan.notes:
        note = render.printable(f"{planned.title or '(no title)'} [{planned.note_id}]")
        options.print_line(f"{_CHANGE_LABELS[planned.action]}: {note}")
    if not plan.notes:
        options.print_line("Both sides are the same.")
    if plan.needs_confirmation:
        options.print_line("This takes away so much that a sync stops unless --accept is given.")
    return 0


def _format_moment(seconds: float | None) -> str:
    return (
        "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    )


def _format_count(count: int) -> str:
    return "1 local note" if count == 1 else f"{count} local notes"


def _ask(question: str) -> str:
    """Return the person's answer; a command has nothing else to do meanwhile.

    Raises EOFError where there is no answer.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
        raise EOFError
    # asyncio's own handler cancels this task at its next await, for which the question would wait.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(question)
    finally:
        signal.signal(signal.SIGINT, handler)
