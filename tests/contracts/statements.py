"""Takes down what is sent to the database, and finds statements that don't keep to one tenant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Engine, event

from rolltop.core.db.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Generator

TABLE = re.compile(r"(?i)\b(?:from|join|update|into)\s+(\w+)")
OWNER = re.compile(r"(?i)\buser_id = ")
INSERTED = re.compile(r"(?i)\binsert into \w+ (?:as \w+ )?\([^)]*\buser_id\b")


@dataclass
class Statements:
    """What was sent to the database, with its parameters."""

    sent: list[tuple[str, list[Any]]] = field(default_factory=list[tuple[str, list[Any]]])
    given: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """The same with the parameters as the driver takes them."""

    def listen(self, *arguments: Any) -> None:
        """Take one statement down."""
        _connection, _cursor, statement, parameters, *_ = arguments
        self.sent.append((statement, list(flat(parameters))))
        self.given.append((statement, parameters))


def flat(parameters: object) -> Iterable[object]:
    """Return the values in any shape of parameters."""
    if isinstance(parameters, Mapping):
        parameters = list(cast("Mapping[str, object]", parameters).values())
    if isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes):
        for value in cast("Sequence[object]", parameters):
            yield from flat(value)
    else:
        yield parameters


@contextmanager
def watched() -> Generator[Statements]:
    """Take down every statement of every engine."""
    statements = Statements()
    event.listen(Engine, "before_cursor_execute", statements.listen)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", statements.listen)


@contextmanager
def kept_to(
    owners: Sequence[str], *, besides: tuple[str, ...], tables: str = ""
) -> Generator[None]:
    """Fail at the end where a statement of the block keeps to none of these users.

    It is about tables whose names begin with `tables`, and not about statements that begin like
    one of `besides`: those are no user's.
    """
    with watched() as statements:
        yield
    for statement, parameters in statements.sent:
        ours = not tables or any(name.startswith(tables) for name in TABLE.findall(statement))
        if ours and not statement.startswith(besides):
            wrong = [unbound(statement, parameters, owner) for owner in owners]
            assert "" in wrong, wrong


def is_owned(table: str) -> bool:
    """Tell whether the rows of a table belong to a user."""
    return table in metadata.tables and "user_id" in metadata.tables[table].columns


def unbound(statement: str, parameters: list[Any], user_id: str) -> str:
    """Return what is wrong with a statement that does not keep to one tenant; "" if nothing."""
    touched = [name for name in TABLE.findall(statement) if is_owned(name)]
    if not touched:
        return ""
    bound = sum(str(value).replace("-", "") == user_id.replace("-", "") for value in parameters)
    conditions = len(OWNER.findall(statement)) + len(INSERTED.findall(statement))
    if bound and conditions >= len(touched):
        return ""
    return f"{len(touched)} tables, {conditions} conditions, {bound} bound: {statement}"
