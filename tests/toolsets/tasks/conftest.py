"""Two users at one desk, once for each kind of database.

Whatever a test does, every statement of it must keep to one of the two, or to nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.tasks.service import UNKNOWN_OWNER_ID
from tests.contracts.statements import kept_to
from tests.desks import make_desk
from tests.toolsets.tasks.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal

FOR_ALL_USERS = (
    "DELETE FROM tasks WHERE tasks.id IN (SELECT tasks.id \nFROM tasks \nWHERE tasks.deleted_at <=",
)
"""The one statement that is no user's: it empties the trash."""


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


@pytest.fixture
def mine(desk: AppContext, me: Principal, them: Principal) -> Iterator[Caller]:
    owners = (me.user_id, them.user_id, UNKNOWN_OWNER_ID, UNKNOWN)
    with kept_to(owners, besides=FOR_ALL_USERS):
        yield Caller(desk, me)


@pytest.fixture
def theirs(desk: AppContext, them: Principal) -> Caller:
    return Caller(desk, them)
