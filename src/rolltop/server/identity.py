"""Whose a request is: decided by the connection it came on, never by what it says."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from rolltop.core.db import SYSTEM
from rolltop.core.errors import ConfigInvalid, Unavailable, UserGone
from rolltop.core.lazy import lazy
from rolltop.core.scope import ACT_AS, READ, WRITE, Scope

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from rolltop.core import accounts
    from rolltop.core.desk import Desk
else:
    accounts = lazy("rolltop.core.accounts")

_RIGHTS: Final = frozenset({READ, WRITE, ACT_AS})
_TRUSTED_FOR: Final = 1.0
_PATIENCE: Final = 0.2
"""Seconds that a call which needs no user waits for its name."""


class Identify(Protocol):
    """Tells whose a request is; where that is not `needed`, it may be nobody known."""

    async def __call__(
        self, context: ServerRequestContext[Any, Any], *, needed: bool = True
    ) -> Scope:
        """Return the scope of the request's caller."""
        ...


class LocalUser:
    """The user of everyone who needs no token: the one the settings name, else the default."""

    def __init__(self, desk: Desk) -> None:
        """Hold the desk; look nobody up."""
        self._database = desk.database
        self._email: str = desk.settings["user"]
        self._id = ""
        self._asked = 0.0

    def check(self) -> None:
        """Make sure that the user the settings name exists; opens the store if they name one.

        Raises:
            ConfigInvalid: the store does not know the user.
            StoreRefused: the store is newer than the program, or damaged.
            Unavailable: the store is out of reach.

        """
        if not self._email:
            return
        found = self._database.read_now(SYSTEM, accounts.user_by_email, self._email)
        if found is None:
            raise ConfigInvalid(
                f"user: the store knows no user {self._email!r}",
                hint=f"`rolltop user add {self._email}` adds one.",
            )
        self._remember(found.id)

    async def scope(self, actor: str, *, needed: bool = True) -> Scope:
        """Return the local user's scope; the default user is made the first time.

        Where the user is not `needed`, only the log wants to know: the scope holds the id that
        is known by now or that an open store tells at once, else none.

        Raises:
            Unavailable: the store is out of reach, or the user is gone.

        """
        if needed and (not self._id or time.monotonic() - self._asked > _TRUSTED_FOR):
            self._remember(await self._find())
        if not self._id and self._database.is_open() and self._is_due():
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    self._remember(await self._find())
        return Scope.of(self._id, actor=actor, rights=_RIGHTS)

    def _is_due(self) -> bool:
        """Whether the store may be asked once more for what only the log wants to know."""
        now, asked = time.monotonic(), self._asked
        self._asked = now
        return not asked or now - asked > _TRUSTED_FOR

    async def _find(self) -> str:
        email = self._email or accounts.DEFAULT_EMAIL
        found = await self._database.read(SYSTEM, accounts.user_by_email, email)
        if found is None and not self._email:
            found = await self._database.write(SYSTEM, accounts.ensure_default)
        if found is None:
            raise UserGone
        return found.id

    def _remember(self, user_id: str) -> None:
        self._id, self._asked = user_id, time.monotonic()
