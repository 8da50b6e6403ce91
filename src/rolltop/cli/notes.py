"""`rolltop notes`: the connection to Simplenote."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from rolltop.cli import local, options
from rolltop.cli.progress import ProgressBar
from rolltop.core.errors import Invalid
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    import asyncio
    from argparse import ArgumentParser, Namespace
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.server import identity
    from rolltop.toolsets.notes.models import Account
    from rolltop.toolsets.notes.service import notebooks
    from rolltop.toolsets.notes.service.remote import access, cycle, login, planning, status
    from rolltop.toolsets.notes.service.remote.link import Link
else:
    asyncio = lazy("asyncio")
    identity = lazy("rolltop.server.identity")
    notebooks = lazy("rolltop.toolsets.notes.service.notebooks")
    access = lazy("rolltop.toolsets.notes.service.remote.access")
    cycle = lazy("rolltop.toolsets.notes.service.remote.cycle")
    login = lazy("rolltop.toolsets.notes.service.remote.login")
    planning = lazy("rolltop.toolsets.notes.service.remote.planning")
    status = lazy("rolltop.toolsets.notes.service.remote.status")

_SAID: Final = {
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
    options.add_user(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so. Raises what the store or the backend raise."""
    settings = options.read_settings(arguments)
    work: dict[str, Callable[[Desk, Scope, Namespace], Coroutine[Any, Any, int]]] = {
        "notes login": _login,
        "notes sync": _sync,
        "notes status": _status,
    }
    with local.opened(settings) as desk:
        user = identity.LocalUser(desk)
        user.check()

        async def done() -> int:
            scope = await user.scope(local.ACTOR)
            return await work[arguments.command](desk, scope, arguments)

        return asyncio.run(done())


async def _login(desk: Desk, scope: Scope, arguments: Namespace) -> int:
    """Ask for a code by mail, exchange it for a token, keep that."""
    email = (arguments.email or _asked("E-mail of the Simplenote account: ")).strip()
    with_local = await _takes_local(desk, scope, arguments)
    await login.request_code(desk.settings, email)
    options.show(f"Simplenote has mailed a code to {email}.")
    token = await login.exchange_code(desk.settings, email, _asked("Code: "))
    done = await login.connect(desk, scope, email, token, with_local=with_local)
    options.show(f"Connected {email}; the token is kept {done.kept}.")
    if done.moved:
        verb = "is" if done.moved == 1 else "are"
        options.show(f"{_counted(done.moved)} {verb} sent with the next sync.")
    options.show("`rolltop notes sync` syncs now; a running server does so by itself.")
    return 0


async def _takes_local(desk: Desk, scope: Scope, arguments: Namespace) -> bool:
    """Return whether the local notes go to the account; whoever has some is asked."""
    if arguments.with_local or arguments.without_local:
        return bool(arguments.with_local)
    count = await desk.database.read(scope, access.local_notes)
    if not count:
        return False
    if not options.is_terminal():
        raise Invalid(
            f"This desk has {_counted(count)}, and nobody is here to say where they belong",
            hint="Add --with-local to send them to the account, or --without-local.",
        )
    question = f"Send {_counted(count)} to this account as well? [y/N] "
    return _asked(question).strip().lower() in {"y", "yes"}


async def _sync(desk: Desk, scope: Scope, arguments: Namespace) -> int:
    async with _linked(desk, scope) as link:
        if arguments.dry_run:
            return _show_plan(await planning.plan(link))
        with ProgressBar(sys.stderr) as bar:
            interval = float(desk.settings["notes.sync_interval"])
            done = await cycle.sync(link, interval, accept=arguments.accept, report=bar.report)
    if done.error is not None:
        raise done.error
    if done.status == "syncing":
        options.show("Another process is syncing these notes now.")
        return 0
    tally = done.tally
    options.show(f"Pulled {tally.pulled}, pushed {tally.pushed}, conflicts {tally.conflicts}.")
    if tally.refused:
        options.show(f"Simplenote does not take {tally.refused}; `rolltop notes status` tells.")
    return 0


async def _status(desk: Desk, scope: Scope, _arguments: Namespace) -> int:
    state = await desk.database.read(scope, status.state, desk.settings)
    rows = [("notes", str(state.notes)), ("account", state.username or "none: local notes")]
    if state.username:
        rows += [
            ("status", state.status + (f" ({state.error})" if state.error else "")),
            ("last sync", _moment(state.last_sync_at)),
            ("next sync", _moment(state.next_at)),
            ("failures in a row", str(state.error_count)),
            ("waiting to be sent", str(state.pending)),
            ("not taken by Simplenote", str(state.refused)),
            ("conflict copies", str(state.copies)),
            ("of unknown form there", str(state.unreadable)),
            ("local notes beside it", str(state.local)),
        ]
    for name, text in rows:
        options.show(f"{name:24} {text}")
    return 0


@asynccontextmanager
async def _linked(desk: Desk, scope: Scope) -> AsyncGenerator[Link]:
    """Return the link to the user's account. Raises Invalid where there is none."""
    account: Account | None
    _notebook, account = await desk.database.read(scope, notebooks.current, desk.settings)
    if account is None:
        raise Invalid(
            "These notes belong to no account, so there is nothing to sync",
            code="NOT_IN_LOCAL_MODE",
            hint="`rolltop notes login` connects a Simplenote account.",
        )
    async with access.linked(desk, scope, account) as link:
        yield link


def _show_plan(plan: planning.Plan) -> int:
    for planned in plan.notes:
        options.show(f"{_SAID[planned.act]}: {planned.title or '(no title)'} [{planned.note_id}]")
    if not plan.notes:
        options.show("Both sides are the same.")
    if plan.asks:
        options.show("This takes away so much that a sync stops unless --accept is given.")
    return 0


def _moment(seconds: float | None) -> str:
    return (
        "never" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    )


def _counted(count: int) -> str:
    return "1 local note" if count == 1 else f"{count} local notes"


def _asked(question: str) -> str:
    """Return what the person answers; a command has nothing else to do meanwhile.

    Raises EOFError where there is no answer.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
        raise EOFError
    return input(question)
