"""A server with one user, and devices of that user."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from tests.simperium import Simperium
from tests.simperium.http import Served
from tests.toolsets.notes.sync.device import EMAIL, PASSWORD, Device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rolltop.core.db import Database


@pytest.fixture
def simperium() -> Simperium:
    """A server that knows one user."""
    server = Simperium()
    server.add_user(EMAIL, PASSWORD)
    return server


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop for a test that is no coroutine."""
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def new_device(
    database: Database, simperium: Simperium, runner: asyncio.Runner
) -> Callable[[], Device]:
    """Make devices, each with its own set of notes in the same store."""
    return lambda: Device(database, simperium, runner)


@pytest.fixture
def device(new_device: Callable[[], Device]) -> Device:
    """One device."""
    return new_device()


@pytest.fixture
def served(simperium: Simperium) -> Iterator[Served]:
    """The server on a port of this machine."""
    with Served(simperium) as listening:
        yield listening


@pytest.fixture
def default(database: Database) -> Principal:
    """The scope of the default user, whose account the settings name."""
    return Principal.for_user(database.write_sync(SYSTEM, ensure_default_user).id)


def settings_of(served: Served) -> dict[str, Any]:
    """Return settings that name the account of the test server."""
    return {
        "notes.simplenote.username": EMAIL,
        "notes.simplenote.password": PASSWORD,
        "notes.simperium.auth_url": f"{served.url}/1",
        "notes.simperium.api_url": f"{served.url}/1",
    }
