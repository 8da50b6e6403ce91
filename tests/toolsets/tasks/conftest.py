"""Two users at one desk, once for each kind of database.

Whatever a test does, every statement of it must keep to one of the two, or to nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.tasks import service
from tests.contracts.statements import kept_to
from tests.desks import make_desk
from tests.toolsets.tasks.caller import UNKNOWN, Caller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.db import Database
    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope

FOR_ALL_USERS = ("DELETE FROM tasks WHERE tasks.deleted_at <=",)
"""The one statement that is no user's: it empties the trash."""


@pytest.fixture
def desk(database: Database) -> Desk:
    return make_desk(database)


@pytest.fixture
def mine(desk: Desk, me: Scope, them: Scope) -> Iterator[Caller]:
    owners = (me.user_id, them.user_id, service.NOBODY, UNKNOWN)
    with kept_to(owners, besides=FOR_ALL_USERS):
        yield Caller(desk, me)


@pytest.fixture
def theirs(desk: Desk, them: Scope) -> Caller:
    return Caller(desk, them)
