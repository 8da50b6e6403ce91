"""Bearer tokens: who a request over HTTP comes from, and when it must say so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mcp_types import JSONRPCRequest

from rolltop.core import logs
from rolltop.core.db import SYSTEM
from rolltop.core.errors import ConfigInvalid, Unavailable
from rolltop.core.lazy import lazy
from rolltop.core.registry import UnknownTool
from rolltop.core.scope import READ, WRITE, Scope

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage

    from rolltop.core import accounts
    from rolltop.core.accounts import AccessToken
    from rolltop.core.desk import Desk
    from rolltop.server.replies import Headers
else:
    accounts = lazy("rolltop.core.accounts")

_MISSING: Final = "This server needs a token: `rolltop token create EMAIL` makes one"
_UNKNOWN: Final = "The token is unknown, expired or revoked"
_MAY_NOT_WRITE: Final = "This token may only read"


@dataclass(frozen=True)
class Denied:
    """A request that may not pass: the status, what to say, and the challenge that goes along."""

    status: int
    message: str
    challenge: str


class Authentication:
    """Decides for each request whether it needs a token and whose the token is.

    Nothing is remembered that could let a request pass: whether a token is needed is asked of
    the store each time until it once was, and a token is looked up each time.
    """

    def __init__(self, desk: Desk, *, exposed: bool) -> None:
        """`exposed` says that others than this machine can connect: then a token is a must."""
        self._database = desk.database
        self._registry = desk.registry
        self._off = desk.settings["http.auth"] == "off"
        self._needed: bool = exposed or desk.settings["http.auth"] == "token"
        self._touching: dict[str, asyncio.Task[None]] = {}

    def check(self) -> None:
        """Make sure that somebody can pass where a token is a must; opens the store for that.

        Raises:
            ConfigInvalid: the store holds no valid token.

        """
        if self._needed and not self._database.read_now(SYSTEM, accounts.any_token):
            raise ConfigInvalid(
                "http.auth: a token is needed and the store holds none",
                hint="`rolltop token create EMAIL` makes one.",
            )

    async def caller(self, headers: Headers) -> Scope | Denied | None:
        """Return the scope of the token's owner; None where no token is needed nor given.

        Raises:
            Unavailable: the store, which alone knows, is out of reach: nobody passes.

        """
        if self._off:
            return None
        given = headers.all("authorization")
        if len(given) > 1:
            return Denied(400, "Send one Authorization header", 'Bearer error="invalid_request"')
        scheme, _, token = given[0].partition(" ") if given else ("", "", "")
        if scheme.lower() == "bearer":
            return await self._owner(token.strip())
        if not self._needed:
            self._needed = await self._database.read(SYSTEM, accounts.any_token_ever)
        # Nothing was wrong with a request that brought no token: RFC 6750 wants no error code.
        return Denied(401, _MISSING, "Bearer") if self._needed else None

    def forbids(self, caller: Scope | None, message: JSONRPCMessage) -> Denied | None:
        """Return why the caller may not send this message: a token to read with cannot write."""
        if caller is None or WRITE in caller.rights or not isinstance(message, JSONRPCRequest):
            return None
        name = (message.params or {}).get("name") if message.method == "tools/call" else None
        if not isinstance(name, str) or not self._is_offered(name, Scope.of("")):
            return None
        if self._is_offered(name, caller):
            return None
        challenge = f'Bearer error="insufficient_scope", scope="{WRITE}"'
        return Denied(403, _MAY_NOT_WRITE, f'{challenge}, error_description="{_MAY_NOT_WRITE}"')

    def _is_offered(self, name: str, scope: Scope) -> bool:
        try:
            self._registry.find(name, scope)
        except UnknownTool:
            return False
        return True

    async def _owner(self, plain: str) -> Scope | Denied:
        found = await self._database.read(SYSTEM, accounts.token_owner, plain)
        if found is None:
            challenge = f'Bearer error="invalid_token", error_description="{_UNKNOWN}"'
            return Denied(401, _UNKNOWN, challenge)
        user, token = found
        self._touch(token)
        rights = frozenset({READ} if token.read_only else {READ, WRITE})
        return Scope.of(user.id, actor=token.name, rights=rights)

    def _touch(self, token: AccessToken) -> None:
        """Note the token's use beside the request, which doesn't wait for it."""
        if token.id in self._touching or not token.needs_touch(datetime.now(UTC)):
            return
        task = asyncio.create_task(self._note_use(token.id))
        self._touching[token.id] = task
        task.add_done_callback(lambda _: self._touching.pop(token.id, None))

    async def _note_use(self, token_id: str) -> None:
        try:
            await self._database.write(SYSTEM, accounts.touch_token, token_id)
        except Unavailable:
            logs.event("a token's use was not noted", level="warn")
