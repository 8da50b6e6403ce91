"""Column types that behave alike on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import (
    CHAR,
    ColumnElement,
    DateTime,
    Dialect,
    String,
    Text,
    TypeDecorator,
    Uuid,
    and_,
)
from sqlalchemy.types import TypeEngine

MAX_VERSION: Final = 2**30
"""The largest version of a record that comes from a file; it leaves room to count on."""
_UUID_DIGITS: Final = 32
_UUID_LENGTH: Final = 36
_FIRST_DASH: Final = 8
_EMPTY_LIST: Final = "[]"
_decode: Final = json.JSONDecoder().decode
_SORTABLE_LENGTH: Final = len("2026-01-31T12:34:56.000000Z")

T_co = TypeVar("T_co", covariant=True)


class _BindProcessor(Protocol):
    """What makes a value that the driver takes."""

    def __call__(self, value: Any) -> Any:  # noqa: ANN401  # as the driver takes it
        ...


class _ResultProcessor(Protocol[T_co]):
    """What makes a value of what the driver answers."""

    def __call__(self, value: Any) -> T_co | None:  # noqa: ANN401  # as the driver answers it
        ...


class Identifier(TypeDecorator[str]):
    """A UUID; in Python the canonical text in lower case.

    SQLite keeps the 32 digits. SQLAlchemy's own type makes a UUID object of each value it reads,
    which costs more than reading it does.
    """

    impl = Uuid(as_uuid=False)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return 32 characters on SQLite, `uuid` on PostgreSQL."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(CHAR(_UUID_DIGITS))
        return dialect.type_descriptor(Uuid(as_uuid=False))

    def bind_processor(self, dialect: Dialect) -> _BindProcessor | None:
        """Convert an identifier to its digits on SQLite."""
        return _hex_digits if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> _ResultProcessor[str] | None:
        """Convert digits to text with dashes on SQLite."""
        return (
            _with_dashes if dialect.name == "sqlite" else super().result_processor(dialect, coltype)
        )


def _hex_digits(value: Any) -> str | None:  # noqa: ANN401  # a text or None
    return None if value is None else value.replace("-", "").lower()


def canonical_id(value: str) -> str:
    """Return the canonical text of an identifier as either database stores it."""
    return value if "-" in value else _with_dashes(value) or ""


def id_range(digits: str) -> tuple[str, str]:
    """Return the first and the last identifier that begin so: with up to 32 hexadecimal digits."""
    given = digits.replace("-", "").lower()
    first, last = (_with_dashes(given.ljust(_UUID_DIGITS, digit)) or "" for digit in "0f")
    return first, last


def begins(column: ColumnElement[str], start: str) -> ColumnElement[bool]:
    """Return the condition of an id kept as text that begins so, of a UUID in any form."""
    first = start.lower()
    if len(first) == _UUID_LENGTH:
        return column == first
    own = and_(column >= first, column < f"{first}g")
    # Up to its first dash a UUID is the same in all forms: one range, which an index serves.
    has_one_form = "-" in first or len(first) <= _FIRST_DASH
    return own if has_one_form else own | column.between(*id_range(first))


def _with_dashes(value: Any) -> str | None:  # noqa: ANN401  # as the driver answers it
    if value is None:
        return None
    return f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}"


class UTCDateTime(TypeDecorator[datetime]):
    """A moment with microseconds: aware and in UTC on both sides, sortable in the store.

    SQLite would give datetimes back without their zone, so it stores text of one length.
    Raises ValueError for a datetime without a zone.
    """

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return text on SQLite, `timestamp with time zone` on PostgreSQL."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(_SORTABLE_LENGTH))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | str | None:
        """Return the moment as the database takes it."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone cannot be stored")
        moment = value.astimezone(UTC)
        if dialect.name != "sqlite":
            return moment
        return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"

    def process_result_value(
        self,
        value: datetime | str | None,
        dialect: Dialect,  # noqa: ARG002  # SQLAlchemy names it
    ) -> datetime | None:
        """Return the moment, aware, in UTC."""
        if value is None:
            return None
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC)


class JSONText(TypeDecorator[Any]):
    """A JSON document kept as text, so that both databases give back what was put in.

    Key order, equal numbers' spelling and every character survive; NaN and infinities raise
    ValueError. SQL NULL is None.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy names it
        """Return the document's compact text."""
        if value is None:
            return None
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def result_processor(self, dialect: Dialect, coltype: object) -> _ResultProcessor[Any]:  # noqa: ARG002  # SQLAlchemy names them
        """Parse a document's text."""
        return _decode_document


def _decode_document(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    if value is None:
        return None
    return [] if value == _EMPTY_LIST else _decode(value)  # what most lists are


class CodePointString(TypeDecorator[str]):
    """Text that is compared and sorted by code point on both databases.

    `CodePointString()` has no stated length.
    """

    impl = String
    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        """Take the greatest length in code points; PostgreSQL alone enforces it."""
        super().__init__(length)
        self.length: Final = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type with PostgreSQL's collation "C"; SQLite's own is by code point."""
        collation = "C" if dialect.name == "postgresql" else None
        kind = Text if self.length is None else String
        return dialect.type_descriptor(kind(self.length, collation=collation))
