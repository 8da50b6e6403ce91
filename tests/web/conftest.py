"""A server's page, and somebody who is logged in there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from tests.web.visitor import Site, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


@pytest.fixture
def other(site: Site) -> str:
    """Return the id of another user of the same server."""
    return site.app.database.write_sync(SYSTEM, add_user, "bob@example.org").id


@pytest.fixture
def ann(site: Site) -> Visitor:
    visitor = Visitor(site)
    visitor.log_in()
    return visitor
