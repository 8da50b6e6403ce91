"""A prepared statement answers, changes and fails as SQLAlchemy's own run of it does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Integer,
    MetaData,
    Table,
    bindparam,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.engine import CompiledStatement
from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime

if TYPE_CHECKING:
    from collections.abc import Mapping

things: Final = Table(
    "prepared_things",
    MetaData(),
    Column("number", Integer, primary_key=True),
    Column("moment", UTCDateTime),
    Column("document", JSONText),
    Column("text", CodePointString()),
    Column("identifier", Identifier),
    Column("flag", Boolean),
    prefixes=["TEMPORARY"],
)
COUNT: Final = 9
ADD: Final = CompiledStatement(insert(things))
ADD_AND_ANSWER: Final = CompiledStatement(
    insert(things).returning(things.c.number, things.c.moment)
)
AMONG: Final = CompiledStatement(
    select(things)
    .where(things.c.number.in_(bindparam("some", expanding=True)), things.c.flag.is_(True))
    .order_by(things.c.number)
    .limit(bindparam("most", type_=Integer))
)
RENAME: Final = CompiledStatement(
    update(things).where(things.c.number > bindparam("after")).values(text=bindparam("new_text"))
)
ALL: Final = CompiledStatement(select(things).order_by(things.c.number))


def thing(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "moment": datetime(2026, 1, 1, 12, number, tzinfo=UTC),
        "document": {"n": [number, None]},
        "text": f"ü{number}",
        "identifier": f"00000000-0000-0000-0000-{number:012}",
        "flag": True,
    }


def made(tx: Tx) -> list[dict[str, Any]]:
    """Make the table and return what was put into it, the first row twice as slowly."""
    things.create(tx.connection)
    rows = [thing(number) for number in range(COUNT)]
    ADD.run(tx, rows[0])
    ADD.run_each(tx, rows[1:])
    ADD.run_each(tx, [])
    return rows


def gone(tx: Tx) -> None:
    things.drop(tx.connection)


def as_sqlalchemy(
    tx: Tx, prepared: CompiledStatement, values: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tx.execute(prepared.statement, values)]


def test_rows_are_what_was_put_in_and_what_sqlalchemy_reads(database: Database) -> None:
    def compare(tx: Tx) -> None:
        rows = [tuple(row.values()) for row in made(tx)]
        assert [tuple(row) for row in ALL.rows(tx, {})] == rows
        for length in (1, 2, 3, 5, COUNT, 40):
            values = {"some": list(range(length)), "most": 7}
            found = [tuple(row) for row in AMONG.rows(tx, values)]
            assert found == as_sqlalchemy(tx, AMONG, values) == rows[: min(length, 7)]
        assert AMONG.first(tx, {"some": [COUNT], "most": 1}) is None
        gone(tx)

    database.write_sync(SYSTEM, compare)


def test_changes_are_counted_and_answered(database: Database) -> None:
    def change(tx: Tx) -> None:
        made(tx)
        assert RENAME.run(tx, {"after": 6, "new_text": "x"}) == 2
        assert [row[3] for row in ALL.rows(tx, {})][-3:] == ["ü6", "x", "x"]
        more = [thing(number) for number in (20, 21)]
        answered = [tuple(row) for row in ADD_AND_ANSWER.rows_for_each(tx, more)]
        assert answered == [(one["number"], one["moment"]) for one in more]
        assert list(ADD_AND_ANSWER.rows_for_each(tx, [])) == []
        assert CompiledStatement(delete(things)).run(tx, {}) == COUNT + 2
        gone(tx)

    database.write_sync(SYSTEM, change)


def test_a_broken_rule_is_sqlalchemys_error_and_shows_no_value(database: Database) -> None:
    def twice(tx: Tx) -> None:
        made(tx)
        ADD.run(tx, {**thing(0), "text": "secret"})

    with pytest.raises(IntegrityError) as failure:
        database.write_sync(SYSTEM, twice)
    assert "secret" not in str(failure.value)


def test_who_watches_statements_sees_it(database: Database) -> None:
    seen: list[str] = []

    def keep(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        seen.append(text[:6])

    def run(tx: Tx) -> None:
        made(tx)
        event.listen(tx.connection, "before_cursor_execute", keep)
        ALL.rows(tx, {})
        RENAME.run(tx, {"after": 0, "new_text": "x"})
        event.remove(tx.connection, "before_cursor_execute", keep)
        gone(tx)

    database.write_sync(SYSTEM, run)
    assert seen == ["SELECT", "UPDATE"]
