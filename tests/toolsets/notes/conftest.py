"""Two users at one desk, once for each kind of database.

Whatever a test does, every statement on a table of notes must keep to one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from tests.contracts.statements import kept_to
from tests.desks import make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from tests.databases import MakeDatabase

FOR_ALL_USERS = ("DELETE FROM note_versions WHERE (note_versions.user_id, ",)
"""What is no user's: it empties the history of notes that are gone."""


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


@pytest.fixture
def mine(desk: AppContext, me: Principal, them: Principal) -> Iterator[Caller]:
    owners = (me.user_id, them.user_id)
    with kept_to(owners, besides=FOR_ALL_USERS, tables="note"):
        yield Caller(desk, me)


@pytest.fixture
def theirs(desk: AppContext, them: Principal) -> Caller:
    return Caller(desk, them)


@pytest.fixture
def local(sqlite_url: str, make_database: MakeDatabase) -> Caller:
    """Return a caller on SQLite alone, for what is decided before any database is asked."""
    database = make_database(sqlite_url)
    user = database.write_sync(SYSTEM, add_user, "local@example.org")
    return Caller(make_desk(database), Principal.for_user(user.id))
