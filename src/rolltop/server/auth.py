"""Bearer tokens: who a request over HTTP comes from, and when it must say so."""

from __future__ import annotations

import asyncio
import hmac
import math
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mcp_types import JSONRPCMessage, JSONRPCRequest

from rolltop.core import logging
from rolltop.core.context import AppContext
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import UnknownTool
from rolltop.core.errors import (
    Conflict,
    InvalidArgument,
    InvalidConfig,
    NotFound,
    RateLimited,
    Unavailable,
)
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import READ, WRITE, Principal
from rolltop.server.asgi_responses import Rejection
from rolltop.server.oauth import InvalidToken, TokenClaims, TokenIssuer
from rolltop.server.rate_limits import CallLimits, WrongTokens

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from rolltop.core import accounts, identities, workspaces
    from rolltop.core.accounts import Access, AccessToken, User
    from rolltop.core.settings import Settings
    from rolltop.server.identity import LocalUser
else:
    accounts = lazy("rolltop.core.accounts")
    identities = lazy("rolltop.core.identities")
    workspaces = lazy("rolltop.core.workspaces")

_UNAUTHENTICATED: Final = "This server needs a token: `rolltop token create EMAIL` makes one"
_INVALID_CREDENTIAL: Final = "The token is unknown, expired or revoked"
SETTINGS_ACTOR: Final = "http.bearer_token"
"""Who calls with the token of the settings."""
_READ_ONLY: Final = "This token may only read"
_WORKSPACE_NEEDS_TOKEN: Final = "Rolltop-Workspace needs a token that is for that workspace"  # noqa: S105  # none
_NO_SCOPE: Final = "The token has neither the scope read nor write"
_FOREIGN_WORKSPACE: Final = "This token is not for that workspace, or its user is no member"
_UNKNOWN_SUBJECT: Final = "The issuer's token is valid, but whom it names is no user here"
_MAX_HASHES_AGE: Final = 1.0
_WORKSPACE_HEADER: Final = "rolltop-workspace"


class Authenticator:
    """Decides for each request whether it needs a token and whose the token is.

    Nothing is remembered that could let a request pass: whether a token is needed is asked of
    the store each time until it once was, and a token is looked up each time.
    """

    def __init__(self, app: AppContext, user: LocalUser, *, exposed: bool) -> None:
        """`exposed` says that others than this machine can connect: then a token is a must.

        `user` is whose the token in the settings is.
        """
        settings = app.settings
        self._user = user
        self.bearer_token: str = settings["http.bearer_token"].strip()
        """The token in the settings; empty for none."""
        self._required = settings["http.auth"] in {"token", "jwt"} or settings["http.require_token"]
        self._needs_issuer = _issuer_setting(settings)
        self._database = app.database
        self._registry = app.registry
        self._project = app.project
        self._workspace: str = settings["workspace"].strip().lower()
        self._off: bool = settings["http.auth"] == "off"
        asked_for = self._required or settings["http.oauth_issuer"].strip()
        self._needed: bool = bool(exposed or asked_for or self.bearer_token)
        self._touching: dict[str, asyncio.Task[None]] = {}
        self.issuer = TokenIssuer(settings) if settings["http.oauth_issuer"].strip() else None
        """Who else makes tokens; None for nobody."""
        self._creates_users: bool = settings["http.jwt_create_users"]
        self._wrong_tokens = WrongTokens(settings["http.wrong_token_limit"])
        self._hashes: AbstractSet[str] = frozenset()
        self._hashed_at = -math.inf
        self._hashing = asyncio.Lock()
        self.limits: Final = CallLimits(
            per_minute=settings["http.rate_limit"], at_once=settings["http.max_concurrent_calls"]
        )

    def check(self) -> None:
        """Make sure that somebody can pass where a token is a must; opens the store for that.

        Raises InvalidConfig: there is no valid token, or the settings contradict each other.
        """
        if self._off and (self._required or self.bearer_token or self.issuer):
            raise InvalidConfig(
                "http.auth: off, where http.require_token, http.bearer_token or http.oauth_issuer"
                " asks for a token",
                hint="Leave out http.auth, or the others.",
            )
        if self._needs_issuer and self.issuer is None:
            raise InvalidConfig(
                f"{self._needs_issuer}, and no issuer is set",
                hint="Set http.oauth_issuer and http.public_url.",
            )
        if self.bearer_token:
            if not self.bearer_token.isascii() or len(self.bearer_token.split()) != 1:
                raise InvalidConfig(
                    "http.bearer_token: no client can send it",
                    hint="A token is ASCII without spaces.",
                )
            return
        if self.issuer is not None:
            return
        if self._needed and not self._database.read_sync(SYSTEM, accounts.has_valid_token):
            raise InvalidConfig(
                "http.auth: a token is needed and the store holds none",
                hint="`rolltop token create EMAIL` makes one.",
            )

    async def authenticate(self, headers: Headers, address: str) -> Principal | None:
        """Return the principal of the token's owner; None if no token is needed nor given.

        The header Rolltop-Workspace names one of the token's workspaces; without it, it is for the
        first.

        Raises:
            Rejection: the request may not pass.
            RateLimited: too many wrong tokens came from the address.
            Unavailable: the store, which alone knows, is out of reach: nobody passes.

        """
        given = [] if self._off else headers.getlist("authorization")
        if len(given) > 1:
            text = "Send one Authorization header"
            raise _rejection(400, text, 'Bearer error="invalid_request"')
        scheme, _, token = given[0].partition(" ") if given else ("", "", "")
        if scheme.lower() == "bearer":
            return await self._find_holder(token.strip(), headers, address)
        # Nothing was wrong with a request that brought no token: RFC 6750 wants no error code.
        if not self._off and await self.is_token_needed():
            raise _rejection(401, _UNAUTHENTICATED, self._challenge())
        self._check_workspace(headers)
        return None

    async def _find_holder(self, token: str, headers: Headers, address: str) -> Principal:
        """Return whose the token is. Raises Rejection, RateLimited and Unavailable."""
        workspace = _workspace(headers)
        if self.is_bearer_token(token):
            self._check_workspace(headers)
            owner = await self._user.principal(SETTINGS_ACTOR)
            return replace(owner, permissions=owner.permissions & {READ, WRITE})
        if issuer := self._find_issuer(token):
            return await self._find_subject(issuer, token, address, workspace)
        return await self._find_principal(token, address, workspace)

    def _find_issuer(self, token: str) -> TokenIssuer | None:
        """Return who else than the store may have made the token; None for nobody."""
        return None if token.startswith(accounts.TOKEN_PREFIX) else self.issuer

    def is_bearer_token(self, token: str) -> bool:
        """Whether it is the token in the settings."""
        return is_same_secret(token, self.bearer_token)

    async def is_token_needed(self) -> bool:
        """Whether callers must bring a token. Raises Unavailable."""
        if not self._needed and not self._off:
            self._needed = await self._database.read(SYSTEM, accounts.has_any_token)
        return self._needed

    def check_permission(self, caller: Principal | None, message: JSONRPCMessage) -> None:
        """Refuse what the caller may not send: a token to read with cannot write.

        Raises Rejection.
        """
        if caller is None or WRITE in caller.permissions or not isinstance(message, JSONRPCRequest):
            return
        name = (message.params or {}).get("name") if message.method == "tools/call" else None
        if not isinstance(name, str) or not self._has_tool(name, Principal.for_user("")):
            return
        if self._has_tool(name, caller):
            return
        if reason := caller.viewer_reason:
            raise _forbidden(reason)
        challenge = self._challenge("insufficient_scope", _READ_ONLY, scope=WRITE)
        raise _rejection(403, _READ_ONLY, challenge)

    def _challenge(self, error: str = "", description: str = "", scope: str = "") -> str:
        """Return the WWW-Authenticate of a refusal, with where to get a token if an issuer has."""
        parts = [f'error="{error}"'] if error else []
        if self.issuer is not None:
            parts.append(self.issuer.challenge(*((f"{READ} {scope}",) if scope else ())))
        elif scope:
            parts.append(f'scope="{scope}"')
        if description:
            parts.append(f'error_description="{description}"')
        return f"Bearer {', '.join(parts)}".rstrip()

    def _has_tool(self, name: str, principal: Principal) -> bool:
        try:
            self._registry.find(name, principal)
        except UnknownTool:
            return False
        return True

    def _check_workspace(self, headers: Headers) -> None:
        """Refuse a request that names a workspace without a token for it. Raises Rejection."""
        if _workspace(headers) not in {"", self._workspace}:
            raise _forbidden(_WORKSPACE_NEEDS_TOKEN)

    async def find_access(self, plain: str, address: str, workspace: str = "") -> Access | None:
        """Return what the token opens; None if it is unknown, expired or revoked.

        Raises:
            InvalidArgument: the issuer made it, and what it opens is not in the store.
            NotFound: it is not for the workspace of that name.
            RateLimited: too many wrong tokens came from the address.
            Unavailable: the store or the issuer is out of reach.

        """
        if self._off:
            return None
        if issuer := self._find_issuer(plain):
            try:
                await self._verify(issuer, plain, address)
            except Rejection:
                return None
            raise InvalidArgument(
                "Tokens of the issuer are for clients",
                hint="Here, one of `rolltop token create EMAIL` lets in",
            )
        try:
            self._wrong_tokens.check(address)
        except RateLimited:  # behind a proxy all share one address: the right ones stay in
            if accounts.hash_token(plain) not in await self._valid_hashes():
                raise
        found = await self._database.read(SYSTEM, accounts.find_access, plain, workspace)
        if found is None:
            self._wrong_tokens.count(address)
        return found

    async def _valid_hashes(self) -> AbstractSet[str]:
        """Return the hashes of all valid tokens as they were a second ago at most."""
        async with self._hashing:
            now = asyncio.get_running_loop().time()
            if now - self._hashed_at > _MAX_HASHES_AGE:
                self._hashes = await self._database.read(SYSTEM, accounts.list_valid_hashes)
                self._hashed_at = now
            return self._hashes

    async def _find_principal(self, plain: str, address: str, workspace: str) -> Principal:
        try:
            access = await self.find_access(plain, address, workspace)
        except NotFound:
            raise _forbidden(_FOREIGN_WORKSPACE, accounts.hash_token(plain)) from None
        if access is None:
            raise self._invalid()
        return self.token_principal(access, actor=access.token.name)

    def _invalid(self, caller: str = "") -> Rejection:
        challenge = self._challenge("invalid_token", _INVALID_CREDENTIAL)
        return _rejection(401, _INVALID_CREDENTIAL, challenge, caller)

    async def _find_subject(
        self, issuer: TokenIssuer, token: str, address: str, workspace: str
    ) -> Principal:
        """Return the principal of a token that the issuer made. Raises Rejection."""
        try:
            claims = await self._verify(issuer, token, address)
        except Unavailable as failure:
            raise _rejection(503, failure.message, self._challenge()) from None
        rights = {READ, WRITE} if WRITE in claims.scopes else claims.scopes & {READ}
        if not rights:
            challenge = self._challenge("insufficient_scope")
            raise _rejection(403, _NO_SCOPE, challenge, claims.caller)
        user = await self._find_user(claims)
        if user is None:
            raise _forbidden(_UNKNOWN_SUBJECT, claims.caller)
        principal = Principal.for_user(
            user.id, actor=claims.client, permissions=frozenset(rights), project=self._project
        )
        principal = replace(principal, expires_at=claims.expires_at)
        if workspace in {"", user.email, user.id}:
            return principal
        try:
            found = await self._database.read(
                SYSTEM, workspaces.find_membership, user.id, workspace
            )
        except NotFound:
            raise _forbidden(_FOREIGN_WORKSPACE, user.id) from None
        return principal.in_workspace(found.workspace_id, user.email, found.role)

    async def _verify(self, issuer: TokenIssuer, token: str, address: str) -> TokenClaims:
        """Return what the token says. Wrong ones are limited, right ones never: no store is asked.

        Raises Rejection, RateLimited, and Unavailable where the issuer is out of reach.
        """
        try:
            return await issuer.verify(token)
        except InvalidToken as failure:
            if not failure.was_valid:  # who has to refresh one is told so
                self._wrong_tokens.check(address)
                self._wrong_tokens.count(address)
            logging.event("token of the issuer refused", reason=str(failure), address=address)
            caller = accounts.hash_token(token) if failure.was_valid else ""
            raise self._invalid(caller) from None

    async def _find_user(self, claims: TokenClaims) -> User | None:
        """Return the user whom the issuer means; made now if the settings say so."""
        who = (claims.issuer, claims.subject)
        create = self._creates_users
        email = claims.email if accounts.is_email(claims.email) else ""
        email = email or (claims.address if create else "")
        found, can_link = await self._database.read(SYSTEM, identities.find_candidate, *who, email)
        if found is not None or not (can_link or create):
            return found
        with suppress(Conflict):  # another call makes the same one just now
            return await self._database.write(
                SYSTEM, identities.link_user, *who, email, create=create
            )
        return await self._database.write(SYSTEM, identities.link_user, *who, email, create=create)

    def token_principal(self, access: Access, *, actor: str) -> Principal:
        """Return the principal of a valid token, and note its use."""
        token, membership = access.token, access.membership
        self._schedule_touch(token)
        rights = frozenset({READ} if token.read_only else {READ, WRITE})
        principal = Principal.for_user(
            token.user_id,
            actor=actor,
            permissions=rights,
            project=token.project or self._project,
        )
        principal = replace(principal, token_id=token.id)
        if membership.workspace_id == token.user_id:
            return principal
        return principal.in_workspace(membership.workspace_id, access.email, membership.role)

    def _schedule_touch(self, token: AccessToken) -> None:
        """Note the token's use beside the request, which doesn't wait for it."""
        if token.id in self._touching or not token.needs_touch(datetime.now(UTC)):
            return
        task = asyncio.create_task(self._record_use(token.id))
        self._touching[token.id] = task
        task.add_done_callback(lambda _: self._touching.pop(token.id, None))

    async def _record_use(self, token_id: str) -> None:
        try:
            await self._database.write(SYSTEM, accounts.touch_token, token_id)
        except Unavailable:
            logging.event("a token's use was not noted", level="warn")


def _rejection(status: int, message: str, challenge: str, caller: str = "") -> Rejection:
    """Return the rejection that goes along with a challenge (WWW-Authenticate)."""
    headers = {"www-authenticate": challenge}
    return Rejection.with_message(status, message, headers, caller=caller)


def _forbidden(message: str, caller: str = "") -> Rejection:
    """Return a refusal that no other token of the caller's would change: no error code, no scope.

    To `insufficient_scope` clients answer with a whole login.
    """
    return _rejection(403, message, "Bearer", caller)


def is_same_secret(given: str, own: str) -> bool:
    """Whether a text is the secret in a setting, which is none if it is empty."""
    return bool(own) and hmac.compare_digest(given.encode("utf-8", "replace"), own.encode())


def _issuer_setting(settings: Settings) -> str:
    """Return the setting that is about an issuer's tokens, with its value; empty for none."""
    if settings["http.auth"] == "jwt":
        return "http.auth: jwt"
    if audience := settings["http.oauth_audience"].strip():
        return f"http.oauth_audience: {audience}"
    return "http.jwt_create_users: on" if settings["http.jwt_create_users"] else ""


def _workspace(headers: Headers) -> str:
    return headers.get(_WORKSPACE_HEADER, "").strip().lower()
