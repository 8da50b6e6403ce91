"""Whose a request is: decided by the connection it came on, never by what it says."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidConfig, Unavailable, UserDeleted
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import IMPERSONATE, READ, WRITE, Principal

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from rolltop.core import accounts
    from rolltop.core.context import AppContext
else:
    accounts = lazy("rolltop.core.accounts")

_PERMISSIONS: Final = frozenset({READ, WRITE, IMPERSONATE})
USER_CACHE_SECONDS: Final = 1.0
_LOOKUP_TIMEOUT: Final = 0.2
"""Seconds that a call which needs no user waits for its name."""


class PrincipalResolver(Protocol):
    """Tells whose a request is; where that is not `needed`, it may be nobody known."""

    async def __call__(
        self, context: ServerRequestContext[Any, Any], *, needed: bool = True
    ) -> Principal:
        """Return the principal of the request's caller."""
        ...


class LocalUser:
    """The user of everyone who needs no token: the one the settings name, else the default."""

    def __init__(self, app: AppContext) -> None:
        self._database = app.database
        self._email: str = app.settings["user"]
        self._project = app.project
        self._session = app.session
        self._id = ""
        self._asked_at = 0.0

    def check(self) -> None:
        """Make sure that the user the settings name exists; opens the store if they name one.

        Raises:
            InvalidConfig: the store does not know the user.
            IncompatibleStore: the store is newer than the program, or damaged.
            Unavailable: the store is out of reach.

        """
        if not self._email:
            return
        found = self._database.read_sync(SYSTEM, accounts.find_user_by_email, self._email)
        if found is None:
            raise InvalidConfig(
                f"user: the store knows no user {self._email!r}",
                hint=f"`rolltop user add {self._email}` adds one.",
            )
        self._remember(found.id)

    async def principal(self, actor: str, *, needed: bool = True) -> Principal:
        """Return the local user's scope; the default user is made the first time.

        Where the user is not `needed`, only the log wants to know: the scope holds the id that
        is known by now or that an open store tells at once, else none.

        Raises:
            Unavailable: the store is out of reach, or the user is gone.

        """
        if needed and (not self._id or time.monotonic() - self._asked_at > USER_CACHE_SECONDS):
            self._remember(await self._find())
        if not self._id and self._database.is_open() and self._may_ask_store():
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(_LOOKUP_TIMEOUT):
                    self._remember(await self._find())
        return Principal.for_user(
            self._id,
            actor=actor,
            permissions=_PERMISSIONS,
            project=self._project,
            session=self._session,
        )

    def _may_ask_store(self) -> bool:
        """Whether the store may be asked once more for what only the log wants to know."""
        now, asked = time.monotonic(), self._asked_at
        self._asked_at = now
        return not asked or now - asked > USER_CACHE_SECONDS

    async def _find(self) -> str:
        email = self._email or accounts.DEFAULT_EMAIL
        found = await self._database.read(SYSTEM, accounts.find_user_by_email, email)
        if found is None and not self._email:
            found = await self._database.write(SYSTEM, accounts.ensure_default_user)
        if found is None:
            raise UserDeleted
        return found.id

    def _remember(self, user_id: str) -> None:
        self._id, self._asked_at = user_id, time.monotonic()
