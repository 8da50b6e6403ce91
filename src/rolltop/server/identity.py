"""Whose a request is: decided by the connection it came on, never by what it says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rolltop.core.db import SYSTEM
from rolltop.core.errors import NotFound, Unavailable, UserDeleted
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import IMPERSONATE, READ, WRITE, Principal

if TYPE_CHECKING:
    from rolltop.core import accounts
    from rolltop.core.context import AppContext
    from rolltop.core.workspaces import Membership
else:
    accounts = lazy("rolltop.core.accounts")

_PERMISSIONS: Final = frozenset({READ, WRITE, IMPERSONATE})
USER_CACHE_SECONDS: Final = 1.0
_LOOKUP_TIMEOUT: Final = 0.2
"""Seconds that a call which needs no user waits for its name."""


PrincipalResolver = Callable[..., Awaitable[Principal]]
"""Tells of a request's context whose it is; where it is not `needed`, it may be nobody known."""


class LocalUser:
    """The user of everyone who needs no token: the one the settings name, else the default."""

    def __init__(self, app: AppContext) -> None:
        self._database = app.database
        self._email: str = app.settings["user"]
        self._workspace: str = app.settings["workspace"].strip()
        self._project = app.project
        self._session = app.session
        self._id = ""
        self._membership: Membership | None = None
        """Of a shared workspace; None in the user's own."""
        self._asked_at = 0.0
        self.at_start = Principal.for_user("")
        """For whom the tools are listed, as they were allowed when the server started."""

    def check(self) -> None:
        """Make sure that the user and the workspace the settings name exist; opens the store then.

        Raises:
            InvalidConfig: the store does not know the user, or not as a member of the workspace.
            IncompatibleStore: the store is newer than the program, or damaged.
            Unavailable: the store is out of reach.

        """
        if not self._email and not self._workspace:
            return
        named = self._email, self._workspace
        self._remember(*self._database.read_sync(SYSTEM, accounts.require_local_user, *named))
        self.at_start = self._as_known("")

    async def principal(self, actor: str, *, needed: bool = True) -> Principal:
        """Return the local user's scope; the default user is made the first time.

        Where the user is not `needed`, only the log wants to know: the scope holds the id that is
        known by now or that an open store tells at once, else none. Raises Unavailable: the store
        is out of reach, or the user is gone.
        """
        if needed and (not self._id or time.monotonic() - self._asked_at > USER_CACHE_SECONDS):
            self._remember(*await self._find())
        if not self._id and self._database.is_open() and self._may_ask_store():
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(_LOOKUP_TIMEOUT):
                    self._remember(*await self._find())
        return self._as_known(actor)

    def _as_known(self, actor: str) -> Principal:
        principal = Principal.for_user(
            self._id,
            actor=actor,
            permissions=_PERMISSIONS,
            project=self._project,
            session=self._session,
        )
        shared = self._membership
        if shared is None:
            return principal
        email = self._email or accounts.DEFAULT_EMAIL
        return principal.in_workspace(shared.workspace_id, email, shared.role)

    def _may_ask_store(self) -> bool:
        """Whether the store may be asked once more for what only the log wants to know."""
        now, asked = time.monotonic(), self._asked_at
        self._asked_at = now
        return not asked or now - asked > USER_CACHE_SECONDS

    async def _find(self) -> tuple[str, Membership | None]:
        email = self._email or accounts.DEFAULT_EMAIL
        try:
            found = await self._database.read(
                SYSTEM, accounts.find_local_user, email, self._workspace
            )
        except NotFound as failure:
            raise Unavailable(failure.message, hint=failure.hint) from None
        if found is None and not self._email:
            made = await self._database.write(SYSTEM, accounts.ensure_default_user)
            found = made.id, None
        if found is None:
            raise UserDeleted
        return found

    def _remember(self, user_id: str, membership: Membership | None = None) -> None:
        self._id, self._membership = user_id, membership
        self._asked_at = time.monotonic()
