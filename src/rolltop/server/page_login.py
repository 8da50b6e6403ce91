"""Who is at the page for people: sessions begun with a token, or with a link on the loopback."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rolltop.core import accounts, audit, logging, page_sessions
from rolltop.core.db import SYSTEM
from rolltop.core.errors import NotFound, RateLimited
from rolltop.core.principal import READ, WRITE, Principal
from rolltop.core.thread_pool import FairTurns
from rolltop.server.asgi_responses import log_refusal
from rolltop.server.mcp_server import PRINCIPAL_KEY
from rolltop.server.rate_limits import network

if TYPE_CHECKING:
    from rolltop.core.accounts import Access
    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.server.auth import Authenticator
    from rolltop.server.identity import LocalUser

ACTOR: Final = "page"
"""Who the journal says made the changes that a person makes there."""


class PageLogin:
    """Opens, finds and ends sessions. Nothing is remembered that could let a request pass."""

    def __init__(
        self,
        app: AppContext,
        user: LocalUser,
        authentication: Authenticator,
        *,
        trusts_links: bool = False,
    ) -> None:
        """`trusts_links` lets links in although the server asks others for a token."""
        self._app = app
        self._database = app.database
        self._user = user
        self._authentication = authentication
        self._bearer_token = authentication.bearer_token
        self._trusts_links = trusts_links
        # Of addresses, at what is asked before anybody is known. Nobody is refused for a cookie
        # that opens nothing: a browser has one before each login and when its session is over, and
        # behind a proxy all share one address.
        self._turns = FairTurns(app.settings["threads"], os.cpu_count() or 1)

    async def takes_links(self) -> bool:
        """Whether a link is the login here, and not a token."""
        async with self._app.deadline("Finding out how to log in", "Try again."):
            return self._trusts_links or not await self._authentication.is_token_needed()

    async def create_link(self) -> str:
        """Return the secret of a link that lets the local user in, once."""
        local = await self._user.principal(ACTOR)
        given = local.actor_id, local.workspace_id
        return await self._database.write(SYSTEM, page_sessions.create_link, *given)

    async def use_link(self, link: str, address: str) -> str | None:
        """Return the secret of the session that the link begins; None if it is worth nothing."""
        user_id = None
        if await self.takes_links():
            here = (await self._user.principal(ACTOR)).workspace_id
            user_id = await self._database.write(SYSTEM, page_sessions.use_link, link, here)
        if not user_id:
            logging.event("login refused", level="warn", by="link", address=address)
        return user_id and await self._open(user_id, address)

    async def use_token(self, token: str, address: str) -> str | None:
        """Return the secret of the session that a bearer token begins; None if it is unknown.

        Raises InvalidArgument for one of the issuer's, and RateLimited if too many wrong ones came
        from the address.
        """
        if self._authentication.is_bearer_token(token):
            return await self._open((await self._user.principal(ACTOR)).actor_id, address)
        found = None
        try:
            with suppress(NotFound):
                found = await self._authentication.find_access(token, address)
        finally:
            if found is None:
                logging.event("login refused", level="warn", by="token", address=address)
        if found is None:
            return None
        self._count(found, address)
        return await self._open(found.token.user_id, address, found.token.id)

    async def find_principal(self, secret: str, address: str) -> Principal | None:
        """Return whose session it is, with what the token it began with may do; None if over.

        Raises RateLimited: the token sends too many requests.
        """
        async with self._turns.turn(network(address), "read"):
            found = await self._database.read(
                SYSTEM, page_sessions.find_session, secret, self._bearer_token
            )
        if found is None:
            return None
        user_id, access = found
        if access is not None:
            self._count(access, address)
            return self._authentication.token_principal(access, actor=ACTOR)
        if not self._bearer_token and not await self.takes_links():
            return None
        local = await self._user.principal(ACTOR)
        if local.actor_id != user_id:  # the settings have named another since
            if not await self._database.read(SYSTEM, accounts.find_user_by_id, user_id):
                return None
            local = Principal.for_user(user_id, actor=ACTOR, project=self._app.project)
        return replace(local, session="", permissions=local.permissions & {READ, WRITE})

    async def close(self, secret: str) -> None:
        """End a session."""
        await self._database.write(SYSTEM, page_sessions.close_session, secret, self._bearer_token)

    def _count(self, access: Access, address: str) -> None:
        """Count a request of a token's session. Raises RateLimited."""
        try:
            self._authentication.limits.count(access.token.id)
        except RateLimited as failure:
            caller = self._authentication.token_principal(access, actor=ACTOR)
            scope = {"client": (address, 0), "path": "", PRINCIPAL_KEY: caller}
            log_refusal(scope, 429, failure.message)
            raise

    async def _open(self, user_id: str, address: str, token_id: str | None = None) -> str:
        guard = "" if token_id else self._bearer_token

        def open_session(tx: Tx) -> str:
            user = accounts.find_user_by_id(tx, user_id)
            audit.record(tx, user.email if user else user_id, "login", f"the page, from {address}")
            return page_sessions.open_session(tx, user_id, token_id, guard=guard)

        session = await self._database.write(SYSTEM, open_session)
        logging.event("logged in", user_id=user_id, token_id=token_id or "")
        return session
