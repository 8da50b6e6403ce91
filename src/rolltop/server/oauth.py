"""Access tokens of an OpenID Connect issuer, and what tells clients to get one there (RFC 9728).

The issuer's metadata and keys are fetched over the network, and nothing else is: from the address
in the settings, when a token has to be checked and the keys are not known or an hour old.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from rolltop.core import logging
from rolltop.core.errors import InvalidConfig, Unavailable
from rolltop.core.lazy_imports import lazy
from rolltop.core.principal import READ, WRITE
from rolltop.core.settings import Settings
from rolltop.core.tools import JsonObject
from rolltop.server.host_check import is_loopback

if TYPE_CHECKING:
    import httpx2
    import jwt
else:
    httpx2 = lazy("httpx2")
    jwt = lazy("jwt")

METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
SCOPES: Final = (READ, WRITE)
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures by keys of which the issuer alone has the secret half."""
_DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
_OAUTH_DISCOVERY_PATH: Final = "/.well-known/oauth-authorization-server"
_LEEWAY: Final = 60
_KEY_LIFETIME: Final = 3600.0
_MIN_REFRESH_INTERVAL: Final = 30.0
"""Seconds between two requests for keys: tokens with unknown ones may come at any rate."""
_TIMEOUT: Final = 5.0
_MAX_DOCUMENT_BYTES: Final = 1 << 20
_MAX_TOKEN_LENGTH: Final = 16_384
_MAX_NAME_LENGTH: Final = 200


class InvalidToken(Exception):
    """A token that opens nothing; the message says why, and nothing of the token."""

    def __init__(self, reason: str, *, was_valid: bool = False) -> None:
        """`was_valid` says of a token that it is the issuer's and has expired."""
        super().__init__(reason)
        self.was_valid: Final = was_valid


@dataclass(frozen=True)
class TokenClaims:
    """What a valid token says: who, by which client, until when (Unix seconds), for what."""

    issuer: str
    subject: str
    email: str
    """Empty unless the issuer has verified it."""
    client: str
    expires_at: float
    scopes: frozenset[str]

    @property
    def caller(self) -> str:
        """Who it is, for limits."""
        return f"{self.issuer} {self.subject}"

    @property
    def address(self) -> str:
        """An e-mail address that nobody else has, for a user whose own is not known."""
        digest = hashlib.sha256(f"{self.issuer}\n{self.subject}".encode()).hexdigest()[:24]
        return f"oauth-{digest}@{urlsplit(self.issuer).hostname}"


@dataclass(frozen=True)
class _Key:
    """A key of the issuer, and the one algorithm it is for; empty for any of its kind."""

    public: Any
    algorithm: str


class TokenIssuer:
    """The issuer of the settings, with its keys as they were last fetched."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the settings; fetch nothing. The clock's unit is seconds.

        Raises InvalidConfig: they do not go together.
        """
        self.issuer: str = settings["http.oauth_issuer"].strip()
        public_url: str = settings["http.public_url"].strip().rstrip("/")
        for key, url in (("http.oauth_issuer", self.issuer), ("http.public_url", public_url)):
            if not _is_secure(url):
                raise InvalidConfig(
                    f"{key}: an issuer needs an https address here (http on the loopback only)",
                    hint="Set both http.oauth_issuer and http.public_url.",
                )
        if urlsplit(public_url).path:
            raise InvalidConfig(
                "http.public_url: clients look for the metadata at the top of a host",
                hint="Leave out the path: https://desk.example.org.",
            )
        self.resource: Final = f"{public_url}/mcp"
        self.metadata_url: Final = f"{public_url}{METADATA_PATH}/mcp"
        self._audience: str = settings["http.oauth_audience"].strip() or self.resource
        self._keys: dict[str, _Key] = {}
        self._implied_scopes = ""
        """What a token is for that names no scopes."""
        self._clock = clock
        self._fetched_at = self._tried_at = -math.inf
        self._fetching = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    def metadata(self) -> JsonObject:
        """Return what clients read to find the issuer."""
        return {
            "resource": self.resource,
            "resource_name": "Rolltop",
            "authorization_servers": [self.issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, scope: str = " ".join(SCOPES)) -> str:
        """Return the parameters of a challenge that tell where to get a token, and for what."""
        return f'resource_metadata="{self.metadata_url}", scope="{scope}"'

    async def verify(self, token: str) -> TokenClaims:
        """Return what a token says.

        Raises:
            InvalidToken: it is not the issuer's, not for this server, or not valid now.
            Unavailable: the issuer's keys are not known and cannot be had.

        """
        key_id, algorithm = _read_header(token)
        try:
            try:
                claims = await self._decode(token, key_id, algorithm)
            except jwt.InvalidSignatureError:
                if key_id:
                    raise
                # It may be by the key that has come in the only one's place.
                await self._refresh_for_all()
                claims = await self._decode(token, key_id, algorithm)
        except (jwt.PyJWTError, TypeError) as failure:  # TypeError: a key of another kind
            was_valid = isinstance(failure, jwt.ExpiredSignatureError)
            raise InvalidToken(type(failure).__name__, was_valid=was_valid) from None
        try:
            return _read_claims(self.issuer, claims, self._implied_scopes)
        except (TypeError, ValueError, OverflowError):
            raise InvalidToken("claims") from None

    async def _decode(self, token: str, key_id: str, algorithm: str) -> JsonObject:
        """Decode a token. Raises InvalidToken, Unavailable, TypeError and PyJWTError."""
        key = await self._find_key(key_id)
        if key.algorithm not in {"", algorithm}:
            raise InvalidToken("algorithm")
        claims: JsonObject = jwt.decode(
            token,
            key.public,
            algorithms=[algorithm],
            audience=self._audience,
            issuer=self.issuer,
            leeway=_LEEWAY,
            options={"require": ["exp", "iss", "aud", "sub"], "strict_aud": False},
        )
        return claims

    async def _find_key(self, key_id: str) -> _Key:
        known = self._known_key(key_id)
        is_old = self._clock() - self._fetched_at > _KEY_LIFETIME
        if known is None or ((is_old or not key_id) and not self._fetching.locked()):
            # Once the issuer did not answer, nobody with a known key waits for it again.
            is_awaited = known is None or (is_old and self._fetched_at == self._tried_at)
            await self._refresh_for_all(is_awaited=is_awaited)
        if not self._keys:
            raise Unavailable(
                "The issuer of tokens is out of reach", hint="Try again in half a minute."
            )
        key = self._known_key(key_id)
        if key is None:
            raise InvalidToken("unknown key")
        return key

    def _known_key(self, key_id: str) -> _Key | None:
        """Return the key of that id; the only one for a token that names none."""
        if not key_id and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    async def _refresh_for_all(self, *, is_awaited: bool = True) -> None:
        """Fetch the keys, also for those who still wait where this caller gives up."""
        self._refreshing = asyncio.create_task(self._refresh())
        if is_awaited:
            await asyncio.shield(self._refreshing)

    async def _refresh(self) -> None:
        """Fetch the keys if they were not asked for just now."""
        async with self._fetching:
            if self._clock() - self._tried_at > _MIN_REFRESH_INTERVAL:
                await self._fetch_keys()

    async def _fetch_keys(self) -> None:
        """Fetch the keys; those that are known stay where that fails."""
        self._tried_at = self._clock()
        try:
            async with (
                asyncio.timeout(2 * _TIMEOUT),
                httpx2.AsyncClient(timeout=_TIMEOUT) as client,
            ):
                found = await _fetch_metadata(client, self.issuer.rstrip("/"))
                keys = await _fetch_json(client, _keys_address(found, self.issuer))
                self._keys = _read_keys(keys)
                self._implied_scopes = _read_implied_scopes(found)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as failure:
            why = str(failure) if isinstance(failure, ValueError) else type(failure).__name__
            logging.event("keys of the issuer not fetched", level="warn", why=why)
        else:
            self._fetched_at = self._tried_at


def _keys_address(metadata: JsonObject, issuer: str) -> str:
    """Return where the issuer's keys are. Raises ValueError."""
    if metadata.get("issuer") != issuer:
        raise ValueError("the metadata names another issuer")
    address = str(metadata.get("jwks_uri"))
    if not _is_secure(address):
        raise ValueError("the keys have no https address")
    return address


def _read_implied_scopes(metadata: JsonObject) -> str:
    """Return all scopes for an issuer that knows none of ours: it cannot grant them one by one."""
    known = metadata.get("scopes_supported")
    is_granting = isinstance(known, list) and any(scope in known for scope in SCOPES)
    return "" if is_granting else " ".join(SCOPES)


async def _fetch_metadata(client: httpx2.AsyncClient, issuer: str) -> JsonObject:
    """Return an issuer's metadata, from either of the addresses that standards name.

    OpenID Connect appends its path to the issuer's, RFC 8414 puts its own in front of that.
    """
    try:
        return await _fetch_json(client, f"{issuer}{_DISCOVERY_PATH}")
    except (httpx2.HTTPStatusError, ValueError):  # nothing is there, or a page for people
        url = urlsplit(issuer)
        host = f"{url.scheme}://{url.netloc}"
        return await _fetch_json(client, f"{host}{_OAUTH_DISCOVERY_PATH}{url.path}")


async def _fetch_json(client: httpx2.AsyncClient, url: str) -> JsonObject:
    """Return the JSON object at an address. Raises HTTPError, InvalidURL and ValueError."""
    body = bytearray()
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with client.stream("GET", url, headers=headers, follow_redirects=False) as response:
        response.raise_for_status()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > _MAX_DOCUMENT_BYTES:
                raise ValueError("the document is too long")
    try:
        found = json.loads(body)
    except RecursionError as failure:
        raise ValueError("the document is too deep") from failure
    if not isinstance(found, dict):
        raise ValueError("the document is no object")  # noqa: TRY004  # what the caller takes for a bad answer
    return cast("JsonObject", found)


def _read_keys(document: JsonObject) -> dict[str, _Key]:
    """Return the keys for signatures by their ids; others in the set are passed over."""
    with suppress(ValueError):  # known already; PyJWT itself knows RFC 9864's name not yet
        jwt.register_algorithm("Ed25519", jwt.get_algorithm_by_name("EdDSA"))
    found: dict[str, _Key] = {}
    given = document.get("keys")
    for one in cast("list[object]", given) if isinstance(given, list) else ():
        key = cast("JsonObject", one) if isinstance(one, dict) else {}
        if key and key.get("use", "sig") == "sig" and key.get("kty") != "oct":
            try:
                public = jwt.PyJWK.from_dict(key, "EdDSA" if key["kty"] == "OKP" else None).key
                found[str(key.get("kid", ""))] = _Key(public, str(key.get("alg") or ""))
            except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                continue
    if not found:
        raise ValueError("there are no keys for signatures")
    return found


def _read_header(token: str) -> tuple[str, str]:
    """Return the key's id and the algorithm that a token names. Raises InvalidToken."""
    if len(token) > _MAX_TOKEN_LENGTH:
        raise InvalidToken("too long")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise InvalidToken("no JWT") from None
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise InvalidToken("algorithm")
    return str(header.get("kid", "")), algorithm


def _read_claims(issuer: str, claims: JsonObject, implied_scopes: str) -> TokenClaims:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 1 <= len(subject) <= _MAX_NAME_LENGTH:
        raise InvalidToken("subject")
    if not subject.isprintable():
        raise InvalidToken("subject")
    email = claims.get("email")
    verified = claims.get("email_verified") in (True, "true")
    client = claims.get("client_id") or claims.get("azp") or "oauth"
    given = next((claims[name] for name in ("scope", "scp") if name in claims), implied_scopes)
    names: Sequence[object] = given.split() if isinstance(given, str) else list(given or ())
    scopes = frozenset(map(str, names))
    return TokenClaims(
        issuer=issuer,
        subject=subject,
        email=email if isinstance(email, str) and verified and _is_plain(email) else "",
        client=str(client)[:_MAX_NAME_LENGTH],
        expires_at=float(claims["exp"]) + _LEEWAY,
        scopes=scopes,
    )


def _is_plain(email: str) -> bool:
    """Whether no letter of an address becomes another in lower case, as the Kelvin sign does."""
    return all(letter.isascii() or letter == letter.lower() for letter in email)


def _is_secure(url: str) -> bool:
    """Whether an address is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )
