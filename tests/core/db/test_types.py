"""What goes into a column comes out of it, alike on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, insert, select
from sqlalchemy.exc import StatementError

from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.types import CodePointString, Identifier, JSONText, UTCDateTime
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS: Final = {
    "moment": UTCDateTime,
    "document": JSONText,
    "text": CodePointString(40),
    "long_text": CodePointString(),
    "identifier": Identifier,
}
things: Final = Table(
    "things",
    MetaData(),
    Column("number", Integer, primary_key=True),
    *(Column(name, type_) for name, type_ in COLUMNS.items()),
    prefixes=["TEMPORARY"],
)

# The driver of one database takes years 1 to 9999, and a zone may not lead out of them.
moments: Final = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001  # hypothesis adds the zone
    datetime(9999, 12, 30),  # noqa: DTZ001  # as above
    timezones=st.integers(-14 * 60, 14 * 60).map(
        lambda minutes: timezone(timedelta(minutes=minutes))
    ),
)
texts: Final = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
documents: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=8,
)
on_both = settings(
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)


def round_trip(tx: Tx, column: str, values: Sequence[object], ordered: bool) -> list[Any]:  # noqa: FBT001  # positional in write_sync
    things.create(tx.connection)
    rows = [{"number": number, column: value} for number, value in enumerate(values)]
    if rows:
        tx.execute(insert(things), rows)
    order = things.c[column] if ordered else things.c.number
    found = list(tx.execute(select(things.c[column]).order_by(order)).scalars())
    things.drop(tx.connection)
    return found


def stored(database: Database, column: str, values: Sequence[object]) -> list[Any]:
    return database.write_sync(SYSTEM, round_trip, column, values, False)  # noqa: FBT003  # see there


def in_order(database: Database, column: str, values: Sequence[object]) -> list[Any]:
    return database.write_sync(SYSTEM, round_trip, column, values, True)  # noqa: FBT003  # see there


@given(values=st.lists(st.none() | moments, max_size=8))
@on_both
def test_moments_come_back_aware_in_utc_with_their_microseconds(
    database: Database, values: list[datetime | None]
) -> None:
    found = stored(database, "moment", values)
    assert found == values
    assert {moment.tzinfo for moment in found if moment is not None} <= {UTC}


@given(values=st.lists(moments, max_size=8))
@on_both
def test_moments_sort_as_moments(database: Database, values: list[datetime]) -> None:
    assert in_order(database, "moment", values) == sorted(values)


@given(values=st.lists(documents, max_size=8))
@on_both
def test_documents_come_back_as_they_were(database: Database, values: list[object]) -> None:
    found = stored(database, "document", values)
    assert found == values
    assert repr(found) == repr(values), "key order, -0.0 and 1 against 1.0 survive"


@given(values=st.lists(texts.map(lambda text: text[:40]), max_size=8))
@on_both
def test_texts_come_back_and_sort_by_code_point(database: Database, values: list[str]) -> None:
    assert stored(database, "text", values) == values
    assert in_order(database, "long_text", values) == sorted(values)


@given(values=st.lists(st.uuids().map(str), max_size=8))
@on_both
def test_identifiers_come_back_canonical(database: Database, values: list[str]) -> None:
    assert stored(database, "identifier", [value.upper() for value in values]) == values


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("moment", datetime(2026, 1, 31)),  # noqa: DTZ001  # what must be refused
        ("document", float("nan")),
        ("document", [float("inf")]),
    ],
)
def test_what_cannot_be_kept_exactly_is_refused(
    database: Database, column: str, value: object
) -> None:
    with pytest.raises((StatementError, ValueError)):
        stored(database, column, [value])
