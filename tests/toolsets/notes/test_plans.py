"""How PostgreSQL goes about lists of a store that it has no statistics of yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store.notebooks import Notebook
from tests.contracts.statements import watched
from tests.desks import make_desk
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rolltop.core.db import Tx
    from tests.databases import MakeDatabase

NOTES: Final = 300
ASKED: Final[tuple[dict[str, Any], ...]] = (
    {"q": "storm"},
    {"q": "storm tag:work"},
    {"q": "storm -tag:none"},
    {"q": "storm after:1970-01-01"},
    {"tags": ["work", "home"]},
)


@pytest.fixture
def crowded(postgres_url: Callable[[], str], make_database: MakeDatabase) -> Caller:
    """A user whose notes were all made a moment ago; a third of them says storm."""
    database = make_database(postgres_url())
    scope = Principal.for_user(database.write_sync(SYSTEM, add_user, "ada@example.org").id)

    def fill(tx: Tx) -> None:
        texts = [f"{'storm' if n % 3 == 0 else 'calm'} {n}" for n in range(NOTES)]
        made = [Content(text, ("work", "home"), modified=1e9 + n) for n, text in enumerate(texts)]
        Notebook(tx).create([NewNote(one) for one in made], source="import")

    database.write_sync(scope, fill)
    return Caller(make_desk(database), scope)


def rows_looked_at(plan: dict[str, Any]) -> Iterator[float]:
    """Yield how many rows each step of a plan took or threw away, in all its runs."""
    removed = sum(value for name, value in plan.items() if name.startswith("Rows Removed"))
    yield (plan["Actual Rows"] + removed) * plan["Actual Loops"]
    for step in plan.get("Plans", []):
        yield from rows_looked_at(step)


def looked_at(caller: Caller, **asked: Any) -> float:
    """Return the most rows that a step of a list's statements looked at."""
    with watched() as statements:
        caller.ok("note_list", **asked)

    def explain(tx: Tx, statement: str, values: Any) -> dict[str, Any]:
        told = tx.connection.exec_driver_sql(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values
        ).scalar_one()
        return told[0]["Plan"]

    database = caller.desk.database
    plans = [
        database.read_sync(caller.scope, explain, statement, values)
        for statement, values in statements.given
        if "notes" in statement
    ]
    assert len(plans) == (4 if "q" in asked else 2)
    return max(most for plan in plans for most in rows_looked_at(plan))


@pytest.mark.parametrize("asked", ASKED)
def test_no_note_is_looked_at_for_each_other_note(crowded: Caller, asked: dict[str, Any]) -> None:
    assert looked_at(crowded, **asked) <= 2 * NOTES
