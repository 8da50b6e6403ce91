"""Two users at one desk, once for each kind of database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.desks import make_desk
from tests.toolsets.tasks.caller import Caller

if TYPE_CHECKING:
    from rolltop.core.db import Database
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope


@pytest.fixture
def desk(database: Database) -> Desk:
    return make_desk(database)


@pytest.fixture
def mine(desk: Desk, me: Scope) -> Caller:
    return Caller(desk, me)


@pytest.fixture
def theirs(desk: Desk, them: Scope) -> Caller:
    return Caller(desk, them)
