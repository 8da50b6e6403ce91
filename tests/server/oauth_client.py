"""The Python SDK's own OAuth client, which knows the server's address alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.server.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

CALLBACK: Final = "http://127.0.0.1:1/callback"
"""Where the issuer sends the browser back to; nobody listens there."""


class Storage:
    """Where the SDK's client keeps what it was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def who_am_i(url: str, mode: Any, storage: Storage, log_in: Callable[[str], str]) -> Any:
    """Return whom the MCP server takes the client's person for.

    `log_in` gets the address of the login and returns where the browser is sent back to.
    """
    backs: list[str] = []

    async def browse(address: str) -> None:
        backs.append(log_in(address))

    async def come_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(backs.pop()).query)
        return AuthorizationCodeResult(
            **{name: query[name][0] for name in ("code", "state", "iss")}
        )

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)])
    provider = OAuthClientProvider(url, metadata, storage, browse, come_back)
    async with httpx2.AsyncClient(auth=provider, timeout=PATIENCE) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=mode) as client:
            return (await client.call_tool("who_am_i", {})).structured_content
