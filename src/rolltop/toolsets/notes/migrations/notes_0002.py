"""PostgreSQL: notes with a word that comes often keep all of its places, by which it is found."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from rolltop.core.db import Tx
from rolltop.core.fulltext import document_index
from rolltop.core.principal import Principal

revision = "notes_0002"
down_revision = "notes_0001"
branch_labels = None
depends_on = None

# A tsvector keeps 255 places of a word: where it has them, there may have been more.
_FULL = "EXISTS (SELECT 1 FROM unnest(words) AS word WHERE cardinality(word.positions) >= 255)"
_CUT = sa.text(
    "SELECT number, user_id::text FROM note_texts WHERE number IN ("  # noqa: S608  # no value
    f"SELECT id FROM search_wholes WHERE {_FULL}"
    f" UNION SELECT whole_id FROM search_whole_parts WHERE {_FULL})"
)
_TEXT = sa.text("SELECT content FROM note_texts WHERE user_id = :owner AND number = :number")


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    for number, owner in connection.execute(_CUT).all():
        values = {"owner": owner, "number": number}
        content = connection.execute(_TEXT, values).scalar_one()
        tx = Tx(connection, Principal.for_user(owner), datetime.now(UTC), "postgresql")
        # Core's branch has come first: the tables of the index are those that are written today.
        document_index.replace(tx, number, content)
