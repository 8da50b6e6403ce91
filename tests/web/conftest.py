"""A server's page, and somebody who is logged in there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
def ann(site: Site) -> Visitor:
    visitor = Visitor(site)
    visitor.log_in()
    return visitor
