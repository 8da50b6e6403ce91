"""The folder that a client of the legacy era works in, asked for where the start gave none."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from mcp import MCPError
from mcp_types import ListRootsRequest, ListRootsResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from rolltop.core import logging
from rolltop.core.context import AppContext
from rolltop.server.error_middleware import Context
from rolltop.workspace import find_project

_TIMEOUT: Final = 1.0
"""Seconds that the first call which reads files waits for the client's answer."""


class ClientRoots:
    """Asks the client of a stdio connection for its roots, at the first call that reads files."""

    def __init__(self, app: AppContext, *, http: bool) -> None:
        """Ask nothing yet; over HTTP clients never choose what is read."""
        self._app = app
        self._is_settled = http
        self._asking = asyncio.Lock()

    async def resolve(self, context: Context) -> None:
        """Make the client's first usable root the root `code` where there is no root at all.

        A client that offers none may do so later and is asked again; one that doesn't answer in
        time is not.
        """
        if self._is_settled or self._app.roots.named or not _has_roots(context):
            return
        async with self._asking:
            if self._is_settled or self._app.roots.named:
                return
            try:
                uris = await _ask(context)
            except (MCPError, ValidationError, TimeoutError):
                self._is_settled = True
                return
            folder = await self._app.run_in_thread(_first_project, uris)
            if folder is not None:
                self._app.roots = self._app.roots.with_default(folder)
                logging.event("took the client's root", found=bool(self._app.roots.named))


def _has_roots(context: Context) -> bool:
    """Whether the client speaks the legacy era and offers roots, which are deprecated since."""
    client = context.session.client_params
    return (
        context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        and client is not None
        and client.capabilities.roots is not None
    )


async def _ask(context: Context) -> list[str]:
    """Return the roots' addresses. Raises MCPError, ValidationError or TimeoutError."""
    async with asyncio.timeout(_TIMEOUT):
        # The session's own method warns that the modern era has none.
        answer = await context.session.send_request(ListRootsRequest(), ListRootsResult)
    return [str(root.uri) for root in answer.roots]


def _first_project(uris: Iterable[str]) -> Path | None:
    """Return the real path of the first address that is a folder which may be a project."""
    for uri in uris:
        parts = urlsplit(uri)
        given = unquote(parts.path)
        if sys.platform == "win32":
            given = given.removeprefix("/")
        if parts.scheme == "file" and parts.netloc in {"", "localhost"} and "\0" not in given:
            path = Path(os.path.realpath(given))
            # Path.is_dir raises for names that are too long.
            is_folder = os.path.isdir(path) and ".git" not in path.parts  # noqa: PTH112
            if is_folder and find_project(path) is not None:
                return path  # what is offered, not the repository around it
    return None
